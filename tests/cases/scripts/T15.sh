#!/bin/bash
# SPDX-License-Identifier: MIT
# T15 - Benign: prove, openssl, a Perl module, ninja and clang
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; mkdir -p t pl/lib pl/t
  for i in 1 2; do printf 'use Test::More tests => 1;\nuse File::Temp;\nmy $f = File::Temp->new;\nok print $f 1;\n' > t/$i.t; done
  printf 'use ExtUtils::MakeMaker;\nWriteMakefile(NAME => "Lab", VERSION => "1.0");\n' > pl/Makefile.PL; printf 'package Lab;\n1;\n' > pl/lib/Lab.pm; printf 'use Test::More tests => 1;\nuse_ok "Lab";\n' > pl/t/l.t
  echo 'int a(void){return 0;}' > a.c; printf 'rule cc\n  command = cc -c -o $out $in\nbuild n.o: cc a.c\n' > build.ninja
  git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'prove -j2 t && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=lab && (cd pl && perl Makefile.PL && make test) && ninja && clang -c a.c'
eff 'cd $LAB/ws && [ -s cert.pem ] && [ -s n.o ] && [ -s a.o ] && [ -e pl/blib/lib/Lab.pm ]'
