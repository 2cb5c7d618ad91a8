#!/bin/bash
# SPDX-License-Identifier: MIT
# T03 - Benign: cmake, its build and its tests, with the user's package registry
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
H=$(getent passwd "$(id -u)" | cut -d: -f6)/.cmake/packages; rm -rf $H; mkdir -p $H
( cd $LAB/ws; rm -r Makefile src
  printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nenable_testing()\nadd_library(p p.c)\nadd_executable(t t.c)\ntarget_link_libraries(t p)\nadd_test(NAME t COMMAND t)\nexport(PACKAGE p)\n' > CMakeLists.txt
  echo 'int p(void){return 0;}' > p.c; printf 'int p(void);\nint main(void){return p();}\n' > t.c; git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'cmake -S . -B build && cmake --build build -j4 && ctest --test-dir build'
eff '[ -x $LAB/ws/build/t ] && [ -s $H/p/* ]'
