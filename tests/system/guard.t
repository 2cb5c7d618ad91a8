#!/bin/bash
# SPDX-License-Identifier: MIT
# Members can't touch what watches them, in any mode and with any capability.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
policy_write "$policy" 'privileges:
  no_new_privs: false
  capabilities: [CAP_KILL, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_SYS_RESOURCE, CAP_BPF, CAP_PERFMON,
    CAP_DAC_OVERRIDE, CAP_FOWNER]'

# The collector is the parent of the first process. judged TITLE KIND [SCRIPT]: the last run was
# violated by exactly this.
judged()
{
	is "$status $(of_run 'sorted({(x["kind"], x["outcome"]) for x in f})')" "120 [('$2', 'denied')]" \
		"$1: a finding, denied" "$stderr"
}

calls()
{
	cat <<-'END'
		import ctypes, fcntl, os, signal, sys, time
		libc = ctypes.CDLL(None, use_errno=True)
		parent = os.getppid()
		def says(name, ret):
		    open("said", "a").write("%s %d %d\n" % (name, ret, ctypes.get_errno() if ret < 0 else 0))
	END
	cat
}

said()
{
	cat "$ws/said" 2>/dev/null
	rm -f "$ws/said"
}

for mode in --enforce --observe; do
	weir_run $mode -- sh -c 'for s in TERM INT KILL STOP; do kill -s $s $PPID && echo $s >>said; done; true'
	judged "signals ($mode)" tamper
	is "$(said)" '' 'none arrives'

	calls >sigio.py <<-'END'
		r, w = os.pipe()
		fcntl.fcntl(r, fcntl.F_SETOWN, parent)
		fcntl.fcntl(r, 10, signal.SIGTERM)  # F_SETSIG
		fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
		os.write(w, b"x")
		time.sleep(1)
		says("alive", 0)
	END
	weir_run $mode -- python3 "$lab/sigio.py"
	judged "a signal by F_SETOWN ($mode)" tamper
	is "$(said)" 'alive 0 0' 'does not arrive'

	calls >ptrace.py <<-'END'
		says("seize", libc.ptrace(0x4206, parent, 0, 0))
		says("attach", libc.ptrace(16, parent, 0, 0))
	END
	weir_run $mode -- python3 "$lab/ptrace.py"
	judged "ptrace ($mode)" tamper
	is "$(said | tr '\n' ' ')" 'seize -1 1 attach -1 1 ' 'is refused'

	calls >prlimit.py <<-'END'
		import resource
		try:
		    resource.prlimit(parent, resource.RLIMIT_NOFILE, (3, 3))
		    says("prlimit", 0)
		except PermissionError:
		    says("prlimit refused", 0)
	END
	weir_run $mode -- python3 "$lab/prlimit.py"
	judged "prlimit ($mode)" tamper
	is "$(said)" 'prlimit refused 0 0' 'is refused'

	calls >bpf.py <<-'END'
		attr = ctypes.create_string_buffer(128)
		says("next_id", libc.syscall(321, 11, attr, 128))  # BPF_PROG_GET_NEXT_ID
	END
	weir_run $mode -- python3 "$lab/bpf.py"
	judged "bpf() ($mode)" bpf
	is "$(said)" 'next_id -1 1' 'is refused'
done

# Memory, environment and maps of the collector. Newer kernels accept CAP_PERFMON and CAP_SYS_ADMIN
# for these instead of asking any hook (may_access_mm).
SECRET=of-the-collector weir_sh 'cd /proc/$PPID
	cat environ auxv maps smaps smaps_rollup mem >"$OLDPWD/got" 2>/dev/null; true'
is "$(tr -d '\0' <"$ws/got")" '' "the collector's environment, maps and memory can't be read"
judged 'reading them' tamper

# Pins, run directories, keys.
pins=$(find /sys/fs/bpf/weir -type f | wc -l)
weir_sh 'rm -rf /sys/fs/bpf/weir; true'
judged 'removing pins' tamper
is "$(find /sys/fs/bpf/weir -type f | wc -l)" "$pins" 'removes none'
weir_sh "for f in $state/runs/*/trace $state/runs/*/run.json; do echo x >>\$f; rm -f \$f; done; true"
judged 'writing to run directories' tamper
is "$(find "$state/runs" -name run.json -size -4c | wc -l)" 0 'changes nothing there'
weir_sh "mkdir $state/runs/20200101-000000-abcdef $state/x; mv $state $state.old; true"
judged 'making and moving them' tamper
[[ -d $state && ! -e $state/x ]]
ok $? 'is of no effect'
mkdir -p /etc/weir
echo key >/etc/weir/host.key
weir_sh 'cat /etc/weir/host.key >stolen; echo x >>/etc/weir/host.key; true' 2>/dev/null
judged 'keys in /etc/weir' tamper
is "$(cat "$ws/stolen") $(</etc/weir/host.key)" ' key' 'are neither read nor changed'
rm -r /etc/weir

# The switch that turns enforcement off, for members and for everybody else.
weir_sh 'echo 0 >/proc/sys/kernel/ftrace_enabled; true'
is "$status $(</proc/sys/kernel/ftrace_enabled)" '120 1' 'members cannot clear ftrace_enabled' "$stderr"
rm -f "$ws/up"
weir run -q -w "$ws" -p "$policy" -- sh -c 'touch up; sleep 3' 2>/dev/null &
until_ok test -e "$ws/up"
(echo 0 >/proc/sys/kernel/ftrace_enabled) 2>/dev/null
is "$(</proc/sys/kernel/ftrace_enabled)" 1 'nor can root while a run is active'
wait $!
is $? 0 'which does not notice'

# The cgroup is left, the run is not.
weir_sh "echo \$\$ >/sys/fs/cgroup/cgroup.procs; touch $out/escaped; true"
[[ $status = 120 && ! -e $out/escaped ]]
ok $? 'who leaves the cgroup stays a member' "$stderr"

# An outsider may still do all this to anybody else, and look at the collector.
sleep 60 &
kill $! && wait $! 2>/dev/null
is $? 143 'outsiders are not in the way of each other'

done_testing
