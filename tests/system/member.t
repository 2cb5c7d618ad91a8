#!/bin/bash
# SPDX-License-Identifier: MIT
# Whoever descends from the run is of the run, whatever it does; nobody else is.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# outside TITLE: the last run tried to write $out/x: it was denied, seen, and nothing was written.
outside()
{
	is "$status $(of_run 'sorted({x["kind"] for x in f})')" "120 ['file-outside']" "$1: seen" "$stderr"
	[[ ! -e $out/x ]]
	ok $? 'and denied'
	rm -f "$out/x"
}

weir_sh "setsid -w sh -c 'echo x >$out/x'; true"
outside 'a session of its own'
weir_sh --grace 5s "(setsid sh -c 'sleep 1; echo x >$out/x' &) & exit 0"
outside 'twice forked, and left by its parents'
weir_sh "nohup nice -n 5 env -i /bin/sh -c 'echo x >$out/x' >/dev/null; true"
outside 'nohup, nice, env -i'
cat >thread.py <<'END'
import os, sys, threading
def work():
    try:
        open(sys.argv[1], "w")
    except OSError:
        pass
t = threading.Thread(target=work)
t.start()
t.join()
END
weir_run -- python3 "$lab/thread.py" "$out/x"
outside 'a thread'
cat >vfork.py <<'END'
import os, subprocess, sys
subprocess.run(["/bin/sh", "-c", "echo x >" + sys.argv[1]], close_fds=False)
os.posix_spawn("/bin/sh", ["sh", "-c", "echo x >" + sys.argv[1]], os.environ)
os.wait()
END
weir_run -- python3 "$lab/vfork.py" "$out/x"
outside 'vfork and posix_spawn'
policy_write "$policy" 'privileges: {capabilities: [CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID]}
namespaces: [mount, pid]
mounts: [mount, bind]'
weir_run -- unshare --pid --fork --mount-proc sh -c "echo x >$out/x; true"
outside 'pid and mount namespaces'
like "$(of_run 'f[0]["actor"]["exe"]')" '/dash$' 'with the program by its right name'
weir_run -- unshare --mount sh -c "mount --bind $out $ws; echo x >$ws/x; true"
[[ $status = 120 && ! -e $out/x ]]
ok $? 'a bind mount over the workspace: the file lives where it lives' "$stderr"
policy_write "$policy"

# The chain of processes is told.
weir_sh "sh -c 'sh -c \"touch $out/x; true\"; true'; true"
outside 'a chain of shells'
is "$(of_run '[a["exe"].split("/")[-1] for a in [f[0]["actor"]] + f[0]["actor"]["ancestors"]]')" \
	"['touch', 'dash', 'dash', 'dash']" 'is told from the end to the beginning'
like "$stderr" 'dash\([0-9]+\) > dash\([0-9]+\) > dash\([0-9]+\) > touch\([0-9]+\)' 'and printed'

# Descriptors that come from elsewhere.
weir run -q -w "$ws" -p "$policy" -- sh -c 'echo x >&7' 7>"$out/x" 2>/dev/null
is "$(cat "$out/x")" '' 'an inherited descriptor is closed'
rm -f "$out/x"

# An outsider is none, even in the workspace's terminal and cgroup.
rm -f "$ws/up"
weir run -w "$ws" -p "$policy" -- sh -c 'touch up; sleep 3' 2>"$lab/bg.err" &
until_ok test -e "$ws/up"
touch "$out/outsider"
ok $? 'an outsider writes outside'
wait $!
is $? 0 'which is none of the run' "$(<"$lab/bg.err")"
rm -f "$ws/up"
weir run -w "$ws" -p "$policy" -- sh -c 'touch up; sleep 3' 2>"$lab/bg.err" &
until_ok test -e "$ws/up"
echo x >"$ws/foreign"
wait $!
is $? 120 'an outsider writes into the workspace: violated' "$(<"$lab/bg.err")"
run=$(run_last)
is "$(of_run 'sorted({x["kind"] for x in f})')" "['gate-race']" 'as a foreign write'
like "$(of_run 'f[0]["object"]["path"]')" "^$ws/foreign$" 'of this file'

# An outsider opens a file by its handle, when the kernel has forgotten its path.
handle_write()
{
	python3 -c 'import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
handle = (ctypes.c_uint * 34)(128)
if libc.name_to_handle_at(-100, sys.argv[1].encode(), handle, ctypes.byref(ctypes.c_int()), 0) != 0:
    sys.exit("name_to_handle_at")
top = os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY)
open("/proc/sys/vm/drop_caches", "w").write("2")
got = libc.open_by_handle_at(top, handle, os.O_WRONLY)
print("written" if got >= 0 else os.strerror(ctypes.get_errno()))' "$1"
}

# meanwhile FUNCTION [ARGS]: an outsider acts beside a run, which becomes indeterminate.
meanwhile()
{
	rm -f "$ws/up"
	weir run -w "$ws" -p "$policy" -- sh -c 'touch up; sleep 3' 2>"$lab/bg.err" &
	until_ok test -e "$ws/up"
	is "$("$@")" written "an outsider: $1"
	wait $!
	is $? 121 'which makes the run indeterminate' "$(<"$lab/bg.err")"
	like "$(<"$lab/bg.err")" 'another process changed something that nobody can place' 'and is told'
	rm -f "$ws/up"
}

# Where nobody can tell where a file lies, it may be in the workspace.
deep_make "$lab/deep"
meanwhile deep_write "$lab/deep"
echo x >"$ws/handle"
meanwhile handle_write "$ws/handle"

# Two runs of different slots don't get each other's rights.
mkdir -p "$lab/second"
weir run -q -w "$lab/second" -p "$policy" -- sh -c 'touch up; sleep 4' 2>/dev/null &
until_ok test -e "$lab/second/up"
weir_run -- touch "$lab/second/x"
is "$status" 120 'a run has no rights in the workspace of another' "$stderr"
wait

# Everything is counted.
weir_sh 'for i in 1 2 3 4 5; do mkdir d$i; echo x >d$i/f; mv d$i/f d$i/g; rm -r d$i; done; ls -R /usr >/dev/null'
is "$status" 0 'a busy run' "$stderr"
is "$(of_run '[n for n, c in r["counters"].items() if c["seen"] != c["emitted"] + c["aggregated"] + c["dropped"]]')" \
	'[]' 'seen = emitted + aggregated + dropped, for each hook'
is "$(of_run 'sum(c["dropped"] for c in r["counters"].values())')" 0 'nothing was dropped'
is "$(of_run 'r["counters"]["path_mkdir"]["seen"] >= 5')" True 'and there was something to count'
weir_run --ring 4K -- sh -c 'i=0; while [ $i -lt 3000 ]; do : >f; i=$((i + 1)); done'
like "$status $(verdict_of)" '^(0 clean|121 indeterminate)$' 'with a tiny ring: all or indeterminate' "$stderr"

done_testing
