#!/bin/bash
# SPDX-License-Identifier: MIT
# T11 - Benign: a clone of a repository in the place for clones, a commit in it, and maintenance
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; mkdir scratch; echo x > scratch/keep; git add -A; git commit -qm project; git push -q origin HEAD:main
  git init -q scratch/src; cd scratch/src; for i in 1 2 3; do echo $i > f; git add f; git commit -qm $i; done )
run 'cd scratch && git clone -q -c user.name=lab -c user.email=lab@example.invalid src dst && cd dst && echo y >> f && git commit -qam y && git gc -q &&
mkdir o && for i in {1..300}; do echo $i > o/$i; done && git hash-object -w o/* > /dev/null && git -c gc.auto=200 gc --auto'
eff '[ "$(git -C $LAB/ws/scratch/dst log --format=%s -1)" = y ]'
