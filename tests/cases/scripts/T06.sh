#!/bin/bash
# SPDX-License-Identifier: MIT
# T06 - Benign: a wheel, built in isolation; the index is a directory of wheels
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; echo 'x = 42' > lab_p.py; printf '[build-system]\nrequires = ["setuptools", "wheel"]\nbuild-backend = "setuptools.build_meta"\n[project]\nname = "lab-p"\nversion = "1.0"\n[tool.setuptools]\npy-modules = ["lab_p"]\n' > pyproject.toml; git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'PIP_NO_INDEX=1 PIP_FIND_LINKS=/usr/share/python-wheels pip wheel . -w dist --no-deps'
eff '[ -s $LAB/ws/dist/lab_p-1.0-py3-none-any.whl ]'
