#!/bin/bash
# SPDX-License-Identifier: MIT
# A18 - A process left behind writes after the job is over
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'setsid sh -c "sleep 2; echo // late >> src/main.c" > /dev/null 2>&1 < /dev/null & exit 0'
git -C $LAB/ws diff --quiet && echo "clean at return"; sleep 3; eff 'grep -q late $LAB/ws/src/main.c'
