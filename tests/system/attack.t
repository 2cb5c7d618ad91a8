#!/bin/bash
# SPDX-License-Identifier: MIT
# What attackers tried. Each attack of attack.py, on the watched families, is denied and found where
# rules are enforced, and found where they are observed; so is each in a run of its own below. Then
# what looks like an attack, and is not.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
here=$(dirname "$(readlink -f "$0")")
home=$lab/home
credentials="credentials: [\"$home/.ssh\", \"$home/.netrc\"]"

prepare()
{
	rm -rf "$ws" "$out" "$home"
	mkdir -p "$ws" "$out" "$home"
	python3 "$here/attack.py" prepare "$ws" "$out" "$home"
}

# attack [OPTION of weir...] -- [NAME...]
attack()
{
	local options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	weir_run "${options[@]}" -- python3 "$here/attack.py" 'do' "$ws" "$out" "$home" "$@"
}

# violated_by KIND... TITLE: the last run was violated by these kinds of findings and no other.
violated_by()
{
	local kinds
	kinds=$(printf "'%s'\n" "${@:1:$#-1}" | sort | paste -sd, | sed 's/,/, /g')
	is "$status $(of_run 'sorted({x["kind"] for x in f})')" "120 [$kinds]" "${*: -1}" "$stderr"
}

clean()
{
	is "$status $(verdict_of) $(of_run 'len(f)')" '0 clean 0' "$1" "$stderr"
}

policy_write "$policy" "$credentials"
for mode in enforce observe; do
	prepare
	attack --$mode --
	while IFS= read -r line; do
		[[ $line = ok* ]]
		ok $? "${line#*ok } ($mode)" "$line"
	done < <(python3 "$here/attack.py" judge "$run" "$ws" "$out" "$home" "$mode")
	# io_uring and all the rest: what was there is there
	[[ $mode = enforce ]] || continue
	is "$(grep -L precious "$out"/* | grep -v /cred)" '' 'no file outside has changed'
	is "$(find "$out" -name '*.new')" '' 'nor is there a new one'
done

# A creation is not taken back by what comes after it, so these alone violate a run.
for name in mknod_then_open mknod_then_create create_with_o_directory; do
	rm -f "$out"/*.new
	attack --observe -- "$name"
	[[ $(<"$ws/said") = *EINVAL || $(<"$ws/said") = *ENOENT ]] && continue
	violated_by file-outside "$name is a violation by itself"
done

# Descriptors from outside.
prepare
echo precious >"$out/served"
python3 "$here/attack.py" serve "$out/received.new" "$out" "$home" &
until_ok test -S "$out/received.new"
policy_write "$policy" "$credentials
ipc: {unix: [$out/received.new]}"
attack -- received
wait $!
is "$(paste -sd, <<<"$stdout")" 'write none came,read none came,create EPERM,reopen EPERM' \
	'descriptors from outside give nothing' "$stderr"
violated_by credential-read file-outside 'and are findings'

# Root with capabilities over files.
prepare
policy_write "$policy" "$credentials
privileges: {capabilities: [CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_CHOWN, CAP_FOWNER, CAP_MKNOD]}"
chmod 000 "$out/linked"
cat >handle.py <<'END2'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
handle = ctypes.create_string_buffer(136)
if sys.argv[1] == "make":
    ctypes.c_uint.from_buffer(handle).value = 128
    libc.name_to_handle_at(-100, os.fsencode(sys.argv[2]), handle, ctypes.byref(ctypes.c_int()), 0)
    open("handle", "wb").write(handle.raw)
else:
    handle.raw = open(sys.argv[2], "rb").read()
    fd = libc.open_by_handle_at(os.open(sys.argv[3], os.O_RDONLY), handle, os.O_WRONLY)
    sys.exit(0 if fd < 0 and ctypes.get_errno() == 1 else 1)
END2
python3 handle.py make "$out/file_setattr"
echo 3 >/proc/sys/vm/drop_caches
weir_sh "python3 $lab/handle.py use $lab/handle $lab || echo opened
	chown 1000 $out/link_in; chmod 666 $out/link_in; echo x >>$out/linked; mknod sda b 8 0; true" 2>/dev/null
is "$stdout" '' 'open_by_handle_at does not open for writing'
is "$(of_run 'sorted({(x["op"], x["outcome"]) for x in f})')" \
	"[('chmod', 'denied'), ('chown', 'denied'), ('mknod', 'denied'), ('write', 'denied')]" \
	'capabilities over files change nothing outside' "$stderr"

# Root with CAP_SYS_ADMIN, on the ways round the watched families.
prepare
mounting='namespaces: [user, mount]
mounts: [mount, bind, remount, umount]'
policy_write "$policy" "$credentials
privileges: {capabilities: [CAP_SYS_ADMIN]}
$mounting"
attack -- personality
violated_by file-outside 'a personality of io_uring is no overlay at work'
mkdir pins
mount --bind /sys/fs/bpf pins # so that they need not be made again
weir_sh "umount -l /sys/fs/bpf; touch $out/a.new; true"
[[ $status = 120 && ! -e $out/a.new ]]
ok $? 'unmounting the pins ends nothing' "$stderr"
mount --bind pins /sys/fs/bpf
umount pins
weir_sh "unshare -m sh -c 'mount --bind $home/.ssh $ws; cat $ws/id; mount -t tmpfs t $out
	echo x >$out/a.new; mount -t proc p /mnt; echo 0 >/mnt/sys/kernel/ftrace_enabled'; true"
violated_by credential-read file-outside kernel-tunable 'mounts lead no way round'
is "$stdout" '' 'nor to the secret'

# Again, before the first refusal has grown cold.
cat >again.c <<'END2'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	unsigned long args[11] = { CLONE_NEWUTS };
	int done = 0;

	args[4] = 17; /* SIGCHLD */
	for (int i = 0; i < 500; i++) {
		long pid = syscall(SYS_clone3, args, sizeof(args));

		if (pid == 0)
			_exit(0);
		if (pid > 0) {
			waitpid(pid, NULL, 0);
			done |= 1;
		}
		done |= (unshare(CLONE_NEWUTS) == 0) << 1;
		done |= (sethostname("evil", 4) == 0) << 2;
		done |= (sethostname("evil", 4) == 0) << 3;
		done |= (unshare(CLONE_NEWUTS) == 0) << 4;
		done |= (unshare(CLONE_NEWUTS) == 0) << 5;
	}
	printf("%d\n", done);
	return 0;
}
END2
gcc -o "$ws/again" again.c
weir_run -- ./again
is "$stdout $(hostname)" "0 $(</proc/sys/kernel/hostname)" 'what is refused once is refused again at once' "$stderr"
[[ $(hostname) != evil ]]
ok $? 'and changes nothing'
violated_by kernel-tunable namespace 'and found'

# Flags that change in the same memory, right after others that are granted; firewalls and interfaces by
# options and commands of an ordinary socket; more owners of signals than are remembered.
cat >alike.c <<'END2'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	unsigned long args[11] = { 0 };

	args[4] = 17; /* SIGCHLD */
	for (int i = 0; i < 200; i++) {
		long pid;

		args[0] = i % 2 ? CLONE_NEWIPC : CLONE_NEWUTS;
		pid = syscall(SYS_clone3, args, sizeof(args));
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	return 0;
}
END2
gcc -o "$ws/alike" alike.c
policy_write "$policy" 'privileges: {capabilities: [CAP_SYS_ADMIN]}
namespaces: [uts]'
weir_run --observe -- ./alike
violated_by namespace 'one that is granted hides none that looks like it'
is "$(of_run 'sorted({x["powers"][0] for x in f})')" "['namespaces: ipc']" 'and is none itself' "$stderr"
cat >sockets.py <<'END'
import fcntl, os, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for name, act in (("ioctl", lambda: fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x49))),
                  ("setsockopt", lambda: s.setsockopt(socket.SOL_IP, 19, 1))):
    try:
        act()
        print(name, "done")
    except OSError as e:
        print(name, os.strerror(e.errno))
# IP_TRANSPARENT stands for the tables of filters, which ask likewise, where there are some
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 20)  # SO_RCVBUFFORCE: its own buffer
END
policy_write "$policy" 'privileges: {capabilities: [CAP_NET_ADMIN]}'
weir_run -- python3 "$lab/sockets.py"
is "$stdout" $'ioctl Operation not permitted\nsetsockopt Operation not permitted' 'interfaces and filters need netlink' "$stderr"
is "$status $(of_run 'sorted((x["kind"], x["op"]) for x in f)')" "120 [('network', 'ioctl'), ('network', 'socket')]" \
	'and are found'
policy_write "$policy" 'privileges: {capabilities: [CAP_NET_ADMIN]}
network: {netlink: true}'
weir_run -- python3 "$lab/sockets.py"
is "$status $(head -n 1 <<<"$stdout")" '0 ioctl done' 'which allows them' "$stderr"
cat >module.py <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/bin/true", os.O_RDONLY)
for flags in 0, 4:  # MODULE_INIT_COMPRESSED_FILE
    libc.syscall(313, fd, b"", flags)
    print(os.strerror(ctypes.get_errno()))
END
policy_write "$policy" 'privileges: {capabilities: [CAP_SYS_MODULE]}'
weir_run -- python3 "$lab/module.py"
is "$stdout" $'Operation not permitted\nOperation not permitted' 'a module is one when it is compressed, too' "$stderr"
violated_by module 'and found'
policy_write "$policy"
cat >owners.py <<'END'
import fcntl, os, sys
r, w = os.pipe()
for i in range(int(sys.argv[1])):
    fcntl.fcntl(r, fcntl.F_SETOWN, os.getpid())
END
weir_run -- python3 "$lab/owners.py" 64
is "$status" 0 '64 owners of signals are remembered' "$stderr"
weir_run -- python3 "$lab/owners.py" 65
is "$status" 121 'one more: indeterminate' "$stderr"
like "$stderr" 'too often who gets the signals' 'which is said'

# An unprivileged user, with mounts of its own.
prepare
policy_write "$policy" "$credentials
$mounting"
chown -R builder "$ws" "$out" "$home"
weir_run --user builder -- unshare -Urm sh -c "mkdir u w m
	mount -t overlay o -o lowerdir=$home/.ssh:/etc,upperdir=u,workdir=w m; cat m/id; echo x >m/passwd
	umount m; mount -t overlay o -o lowerdir=/etc,upperdir=$out,workdir=w m; echo x >m/a.new; true"
is "$status $stdout" '120 ' 'an overlay over the secret does not show it' "$stderr"
[[ ! -e $out/a.new ]]
ok $? 'nor does one write outside'

# The collector as a tracer: the command does not look as if it had ended.
cat >traceme.py <<'END2'
import ctypes, os, signal, time
signal.signal(signal.SIGUSR1, lambda *_: None)
ctypes.CDLL(None).ptrace(0, 0, 0, 0)
os.kill(os.getpid(), signal.SIGUSR1)
time.sleep(1)
open("after", "w")
END2
weir_run -- python3 "$lab/traceme.py"
violated_by tamper 'who makes the collector its tracer is found'
[[ -e $ws/after ]]
ok $? 'and goes on'

# git's files in the workspace, but not below .git.
rm -rf "$ws/.git"
mkdir -p "$ws/bare/hooks"
ln -s bare "$ws/.git"
weir_sh 'echo x >bare/hooks/pre-commit'
is "$status" 121 'a .git that is a link into the workspace is indeterminate' "$stderr"
rm "$ws/.git"
echo 'gitdir: ./bare' >"$ws/.git"
weir_sh 'echo x >bare/hooks/pre-commit'
is "$status" 121 'and one that names a place there' "$stderr"
echo "gitdir: $out/worktrees/x" >"$ws/.git"
weir_sh true
clean 'one that leads elsewhere is as good as none'

# A flood stops neither the clock nor the loss of records.
weir_run --timeout 2s --ring 64K -- sh -c \
	'for i in 1 2 3; do (while :; do : >f$i; done) & done; wait'
is "$status" 121 'a flood beyond the ring is indeterminate' "$stderr"
like "$(of_run 'r["reasons"]')" 'time limit' 'and its time limit holds'

# What is no attack. ------------------------------------------------------------------------------
rm -rf "$ws"
mkdir "$ws"
echo 1 >"$ws/p"
ln "$ws/p" "$ws/q"
weir_sh 'ln p r; rm q; echo 2 >>p; mv r s; rm s'
clean 'hard links from before that all lie in the workspace'
weir run -q -w "$ws" -p "$policy" -- sh -c 'echo 1 >a; ln a b; cp -al b c; sync; touch ready
	while [ ! -e ../go ]; do sleep 0.2; done; echo 2 >>b; rm a c; mv b d; rm d' 2>"$lab/stderr" &
until_ok test -e "$ws/ready"
sync
echo 3 >/proc/sys/vm/drop_caches
touch go
wait $!
is $? 0 'hard links of the run, also after memory forgot them' "$(<"$lab/stderr")"
mkdir "$ws/keep"
ln "$ws/p" "$ws/keep/p"
policy_write "$policy" "  - path: \${WORKSPACE}/keep
    deny: [write]"
weir_sh 'echo 3 >>p; true'
violated_by file-outside 'but not with a name where the policy denies writing'
mkdir -p "$ws/closed/open"
echo x | tee "$ws/closed/it" "$ws/closed/open/it" >"$ws/it"
policy_write "$policy" "  - {path: '\${WORKSPACE}/closed', deny: [read]}
  - {path: '\${WORKSPACE}/closed/open', allow: [read]}
  - {path: '\${WORKSPACE}/later', deny: [read], optional: true}"
weir_sh 'echo x >later
	for f in it closed/it closed/open/it later it; do { read -r x <$f; } 2>/dev/null && echo $f; done'
is "$status $(xargs <<<"$stdout")" '120 it closed/open/it it' 'reading is denied where the policy says so' "$stderr"
is "$(of_run 'sorted(x["object"]["path"].split("/ws/")[1] for x in f)')" "['closed/it', 'later']" \
	'and it is found' "$stderr"
policy_write "$policy" "$credentials"
weir_run -- python3 -c '
import fcntl, os
m = os.memfd_create("x")
os.fchmod(m, 0o600)
os.utime(m, (1, 1))
os.fchmod(os.pipe()[0], 0o600)
fcntl.ioctl(os.open("/proc/self/ns/user", 0), 0xb703)'
clean 'attributes of memfds and pipes, questions to a namespace'
git init -q "$ws" 2>/dev/null
weir_sh 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	git add -A; git commit -qm 1; git checkout -qb feature/config; echo 2 >f; git add f
	git commit -qm 2; git stash -q; git tag hooks; git checkout -q -; git merge -q feature/config
	git gc -q; git repack -adq; git update-server-info' >/dev/null
clean 'ordinary commands of git'
weir_sh 'mktemp; mktemp -p .; : >l; flock l true; flock . true; cp -a /etc/hostname .
	cp -al hostname h2; tar cf - -C /usr/share/doc bash | tar xf - ; sed -i s/x/y/ hostname
	install -m 755 /bin/true t; ./t; mkfifo f1; (echo 1 >f1 &); cat f1; ln -s x y; mv y z
	touch -d yesterday hostname; chmod -R u+w bash; lsattr .; echo x >/dev/stderr
	bash -c "cat <(ls)"; true' >/dev/null
clean 'mktemp, flock, cp -a, cp -al, tar, sed -i, install, a FIFO'

done_testing
