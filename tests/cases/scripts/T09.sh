#!/bin/bash
# SPDX-License-Identifier: MIT
# T09 - Benign: a Debian package; the workspace is the directory above its source
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; mkdir -p labpkg/debian; cd labpkg; echo hello > hello.txt
  printf 'Source: labpkg\nSection: misc\nPriority: optional\nMaintainer: Lab <lab@example.invalid>\nBuild-Depends: debhelper-compat (= 13)\nStandards-Version: 4.6.2\nRules-Requires-Root: binary-targets\n\nPackage: labpkg\nArchitecture: all\nDescription: lab\n A package.\n' > debian/control
  printf 'labpkg (1.0) unstable; urgency=low\n\n  * First.\n\n -- Lab <lab@example.invalid>  Thu, 01 Jan 2026 00:00:00 +0000\n' > debian/changelog
  printf '#!/usr/bin/make -f\n%%:\n\tdh $@\n' > debian/rules; chmod +x debian/rules; echo 'hello.txt usr/share/labpkg' > debian/install
  git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'cd labpkg && dpkg-buildpackage -us -uc -b -rfakeroot'
eff 'dpkg-deb -c $LAB/ws/labpkg_1.0_all.deb | grep -q "root/root.*hello.txt"'
