#!/bin/bash
# SPDX-License-Identifier: MIT
# What the command starts with: identity, capabilities, environment, descriptors, limits.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

status_line()
{
	sed -n "s/^$1:[[:space:]]*//p" "$ws/status"
}

# Environment: by allow-list.
SECRET=token LANG=C.UTF-8 GIT_DIR=/x PYTHONPATH=/x weir_sh 'env >env; cat /proc/self/status >status
	ls -l /proc/self/fd >fds; umask >umask; ulimit -c >core; ps -o sid= $$ >sid; echo $$ >pid'
is "$status" 0 'a command looks at itself' "$stderr"
is "$(sed 's/=.*//' "$ws/env" | grep -vxE '_|PWD|OLDPWD|SHLVL' | sort | tr '\n' ' ')" \
	'HOME LANG LOGNAME PATH SHELL TERM TMPDIR USER ' 'the environment is what is on the list'
like "$(grep ^HOME= "$ws/env")" '=/root$' 'HOME is of the user'
tmp=$(sed -n 's/^TMPDIR=//p' "$ws/env")
[[ $tmp = "$state"/tmp/* && ! -e $tmp ]]
ok $? 'TMPDIR is of the run, and gone after it' "$tmp"

# Privileges: none, also for root.
is "$(status_line CapPrm) $(status_line CapEff) $(status_line CapBnd) $(status_line CapAmb)" \
	'0000000000000000 0000000000000000 0000000000000000 0000000000000000' 'no capabilities'
is "$(status_line NoNewPrivs)" 1 'no_new_privs'
is "$(status_line Groups | tr -d ' ')" 0 "root's groups"
is "$(grep -c -- '->' "$ws/fds")" 4 'descriptors 0 to 2, and that of ls'
is "$(<"$ws/umask")" 0022 'umask 022'
is "$(<"$ws/core")" 0 'no core dumps'
is "$(tr -d ' ' <"$ws/sid")" "$(<"$ws/pid")" 'a session of its own'

# A user.
chown -R builder: "$ws"
policy_write "$policy" 'network: {netlink: true}' # su tells the audit system
weir_run --user builder -- sh -c 'cat /proc/self/status >status; env >env; id >id
	cat /etc/shadow; su -c true root </dev/null; true'
is "$status" 0 '--user builder' "$stderr"
like "$(<"$ws/id")" '^uid=1000\(builder\) gid=1000\(builder\) groups=1000\(builder\)$' 'is builder'
is "$(status_line Uid)" $'1000\t1000\t1000\t1000' 'with all its user ids'
is "$(status_line CapPrm)$(status_line CapBnd)" 00000000000000000000000000000000 'and no capabilities'
like "$(grep -E '^(HOME|USER)=' "$ws/env" | sort | tr '\n' ' ')" '^HOME=/home/builder USER=builder $' \
	"HOME and USER are the user's"
like "$stderr" '/etc/shadow: Permission denied' 'root may read what it may not'
rm -f "$ws"/*
weir_sh 'id -u >id'
is "$(<"$ws/id")" 1000 "without --user: the workspace's owner" "$stderr"
chown -R root: "$ws"
SUDO_USER=builder weir_run -- id -u
is "$stdout" 1000 'under sudo: who called sudo' "$stderr"

# Declared otherwise.
policy_write "$policy" 'environment: {pass: [SECRET], set: {CI: "1", WHERE: "${WORKSPACE}/x"}}
privileges: {no_new_privs: false, capabilities: [CAP_CHOWN]}'
SECRET=token OTHER=x weir_sh 'env >env; cat /proc/self/status >status; : >f; chown 1000 f; stat -c %u f >owner'
is "$status" 0 'a policy that declares more' "$stderr"
like "$(sort "$ws/env" | tr '\n' ' ')" "CI=1 .*SECRET=token .*WHERE=$ws/x" 'variables passed and set'
unlike "$(<"$ws/env")" OTHER 'and no other'
is "$(status_line NoNewPrivs)" 0 'no_new_privs off'
is "$(status_line CapBnd)" 0000000000000001 'one capability'
is "$(<"$ws/owner")" 1000 'that works'

# Limits.
policy_write "$policy" 'limits: {disk: 64K, processes: 20}'
weir_sh 'head -c 100000 /dev/zero >big; echo still here >after'
is "$status" 121 'more disk than allowed: indeterminate' "$stderr"
like "$stderr" 'disk limit of 65536 bytes' 'which is said'
is "$(stat -c %s "$ws/big")" 65536 'and the file is no larger'
weir_sh 'for i in $(seq 40); do sleep 3 & done; wait'
like "$stderr" '[Cc]annot fork|Resource temporarily unavailable' 'the number of tasks'
policy_write "$policy" 'limits: {memory: 64M}'
weir_run -- python3 -c 'x = bytearray(300 << 20)'
[[ $status = 137 || $status = 1 ]]
ok $? 'memory' "$status $stderr"

done_testing
