#!/bin/bash
# SPDX-License-Identifier: MIT
# D06 - Twelve ways to change a file
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
for i in a b c d e g h; do head -c 8192 /dev/zero | tr '\0' A > $LAB/out/$i; done
run 'o=$LAB/out; s=src/main.c; wl sendfile $s $o/a; wl cfr $s $o/b; wl splice $s $o/c; wl mapwrite $o/d MAPPED; wl tmplink $o $o/new T; echo x > $o/../tmp/e2; cp $s e2; wl exchange e2 $o/e; wl fallocate $o/g; truncate -s 1 $o/h; ln -sfn /nonexistent $o/sl; ln $o/a $o/hl; mkfifo $o/ff; dd if=$s of=$o/dd bs=8 count=1 status=none'
eff 'o=$LAB/out; grep -q MAPPED $o/d && [ -f $o/new ] && [ -p $o/ff ] && [ -L $o/sl ] && [ -f $o/dd ] && [ "$(stat -c %s $o/h)" = 1 ]'
