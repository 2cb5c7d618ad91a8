#!/bin/bash
# SPDX-License-Identifier: MIT
# D19 - Process pools need named semaphores and shared memory
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'python3 -c "import multiprocessing as m;p=m.Pool(2);print(p.map(abs,[-1,-2]));p.close();p.join()" > tests/p.txt'
eff 'grep -q "1, 2" $LAB/ws/tests/p.txt'
