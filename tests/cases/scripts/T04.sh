#!/bin/bash
# SPDX-License-Identifier: MIT
# T04 - Benign: the whole of an autotools project
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; rm -r Makefile src
  printf 'AC_INIT([lab],[1.0])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_CHECK_HEADERS([unistd.h])\nAC_CHECK_FUNCS([fork])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n' > configure.ac
  printf 'bin_PROGRAMS = lab\nlab_SOURCES = lab.c\nTESTS = t.sh\nEXTRA_DIST = t.sh\n' > Makefile.am
  echo 'int main(void){return 0;}' > lab.c; printf '#!/bin/sh\n./lab\n' > t.sh; chmod +x t.sh; git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'autoreconf -fi && ./configure && make check && make DESTDIR=$PWD/dest install'
eff '[ -x $LAB/ws/dest/usr/local/bin/lab ]'
