#!/bin/bash
# SPDX-License-Identifier: MIT
# C08 - bpf() used from inside the run
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'wl bpftry > tests/b.txt'
eff 'grep -q bpf= $LAB/ws/tests/b.txt'
