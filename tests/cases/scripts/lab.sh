# SPDX-License-Identifier: MIT
# shellcheck disable=all # a recipe, kept word for word but for TEMPLATE
# TEMPLATE: a lab made by this file before, to be copied; making one takes seconds in the VM.
# lab.sh - bash; source it first. Everything lives below $LAB, nothing else is written.
set -u; D=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
LAB=$(mktemp -d /tmp/weirlab.XXXXXX); export LAB; P=()
trap 'kill "${P[@]}" 2>/dev/null; [ -n "${KEEP:-}" ] || rm -rf "$LAB"' EXIT
mkdir -p $LAB/{out,tmp,bin,host/{etc,dev},home/{.ssh,.aws,.config}}
export HOME=$LAB/home TMPDIR=$LAB/tmp GIT_CONFIG_NOSYSTEM=1 PATH=$LAB/bin:$PATH
if [ -n "${TEMPLATE:-}" ]; then cp -a $TEMPLATE/. $LAB; sed -i "s#$TEMPLATE#$LAB#" $LAB/ws/.git/config; else
git config --global user.name lab; git config --global user.email lab@example.invalid
git config --global init.defaultBranch main; git config --global gc.auto 0; git config --global advice.detachedHead false
echo CANARY-ssh > $HOME/.ssh/id_lab; echo 'ssh-ed25519 AAAA lab' > $HOME/.ssh/authorized_keys
echo '//registry.invalid/:_authToken=CANARY-npm' > $HOME/.npmrc; echo 'aws_secret_access_key=CANARY-aws' > $HOME/.aws/credentials
echo '# rc' > $HOME/.bashrc; echo original > $LAB/out/victim.txt
git init -q --bare $LAB/trusted.git; git clone -q $LAB/trusted.git $LAB/ws 2>/dev/null
( cd $LAB/ws; mkdir src tests; printf 'int main(void){return 0;}\n' > src/main.c
  printf 'all: app\napp: src/main.c\n\tcc -o app src/main.c\n' > Makefile; echo app > .gitignore
  git add -A; git commit -qm base; git push -q origin HEAD:main )
gcc -O1 -w -o $LAB/bin/wl $D/wl.c
fi
BASE=$(git -C $LAB/trusted.git rev-parse main)
bg()   { "$@" & P+=($!); BG=$!; }                                  # helper outside the run
run()  { ( cd "${RUNDIR:-$LAB/ws}" && ${W:-} bash -c "$1" ); }      # W = the monitor's run prefix; empty = dry run
eff()  { if eval "$1"; then echo "EFFECT yes"; else echo "EFFECT NO: $1"; fi; }  # did the bare recipe do what it claims?
sink() { bg python3 $D/sink.py "$1" "${2:-x}"; sleep .4; PORT=$(cat $LAB/port); export PORT; }  # sink tcp|udp | unix PATH | abs NAME -> $LAB/sink.txt
