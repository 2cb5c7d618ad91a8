#!/bin/bash
# SPDX-License-Identifier: MIT
# T08 - Benign: npm install with a script of a package, and npm test; the packages are a directory and
# an archive, since there is no registry
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; mkdir -p dep other/package
  printf '{"name":"dep","version":"1.0.0","scripts":{"postinstall":"node -e \\"require(%sfs%s).writeFileSync(%smade%s, %s1%s)\\""}}\n' \' \' \' \' \' \' > dep/package.json; echo 'module.exports = 40;' > dep/index.js
  printf '{"name":"other","version":"1.0.0"}\n' > other/package/package.json; echo 'module.exports = 2;' > other/package/index.js
  tar czf other-1.0.0.tgz -C other package; rm -r other
  printf '{"name":"lab","version":"1.0.0","dependencies":{"dep":"file:dep","other":"file:other-1.0.0.tgz"},"scripts":{"test":"node test.js"}}\n' > package.json
  echo 'if (require("dep") + require("other") !== 42) process.exit(1); require("fs").writeFileSync("passed", "");' > test.js
  git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'npm install --no-audit --no-fund --foreground-scripts && npm test'
eff '[ -e $LAB/ws/passed ] && [ -e $LAB/ws/node_modules/dep/made ]'
