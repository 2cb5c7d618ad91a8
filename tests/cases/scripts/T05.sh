#!/bin/bash
# SPDX-License-Identifier: MIT
# T05 - Benign: a virtual environment, and a local package put into it
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; mkdir p; echo 'x = 42' > p/lab_p.py; printf 'from setuptools import setup\nsetup(name="lab-p", version="1.0", py_modules=["lab_p"])\n' > p/setup.py; git add -A; git commit -qm project; git push -q origin HEAD:main; mkdir .venv )
run 'python3 -m venv .venv && .venv/bin/pip install --no-index --no-build-isolation ./p'
eff '[ "$($LAB/ws/.venv/bin/python -c "import lab_p; print(lab_p.x)")" = 42 ]'
