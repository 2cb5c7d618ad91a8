#!/bin/bash
# SPDX-License-Identifier: MIT
# A11 - Run-control file: extra lines in the job's environment file
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
mkdir -p $LAB/out/runner_temp; : > $LAB/out/runner_temp/set_env
run 'export GITHUB_ENV=$LAB/out/runner_temp/set_env; printf "PR=1\nLD_PRELOAD=/nonexistent/lab.so\n" >> $GITHUB_ENV'
eff 'grep -q LD_PRELOAD $LAB/out/runner_temp/set_env'
