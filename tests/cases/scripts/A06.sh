#!/bin/bash
# SPDX-License-Identifier: MIT
# A06 - Ultralytics: poisoned shared build cache
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
mkdir -p $LAB/out/cache/http; echo good > $LAB/out/cache/http/abc123
run 'echo poisoned > $LAB/out/cache/http/abc123.tmp; mv $LAB/out/cache/http/abc123.tmp $LAB/out/cache/http/abc123'
eff 'grep -q poisoned $LAB/out/cache/http/abc123'
