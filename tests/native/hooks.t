#!/bin/bash
# SPDX-License-Identifier: MIT
# Each thing that a member does outside is seen; each hook left out takes exactly its own away, and
# the run says so.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
here=$top/tests/native

# hook, act, finding. "-" as the act: seen through another one.
table='file_open	append	file-outside write out/file
path_mknod	create	file-outside create out/new
path_mknod	mkfifo	file-outside mknod out/fifo
path_mkdir	mkdir	file-outside mkdir out/dir
path_symlink	symlink	file-outside symlink out/sym
path_link	link	file-outside link out/file
path_rename	rename	file-outside rename out/new
path_unlink	unlink	file-outside unlink out/newer
path_rmdir	rmdir	file-outside rmdir out/dir
path_truncate	truncate	file-outside truncate out/file
inode_setattr	chmod	file-outside chmod out/file
inode_setattr	chown	file-outside chown out/file
inode_setattr	times	file-outside utimes out/file
inode_setxattr	setxattr	file-outside setxattr out/file
inode_removexattr	removexattr	file-outside removexattr out/file
file_ioctl	flags	file-outside ioctl out/file
file_receive	receive	file-outside receive out/file
bprm_check_security	exec	exec-new-binary exec out/program
ptrace_access_check	peek	memory-access ptrace'
mapfile -t rows <<<"$table"

# Someone whose memory a member may reach: the same user, and as little power.
setpriv --inh-caps=-all --bounding-set=-all /usr/bin/python3 "$here/outsider.py" "$out" &
outsider=$!
trap 'kill $outsider; rm -rf "$WEIR_LAB"' EXIT
until_ok test -s "$out/peer"
printf '#!/bin/sh\nexit 0\n' >"$out/program"
chmod 755 "$out/program"

renew()
{
	rm -rf "${out:?}"/{new,newer,dir,fifo,sym,hard}
	echo precious >"$out/file"
	chmod 644 "$out/file"
}

has()
{
	grep -qF -- "$1" <<<"$found"
}

acts=$(cut -f 2 <<<"$table" | paste -sd ' ')
renew
# shellcheck disable=SC2086 # words
watch -- /usr/bin/python3 "$here/acts.py" "$out" $acts
is "$status $(verdict_of)" '120 violated' 'all acts: violated' "$stdout$stderr"
is "$(reasons)" '' 'and nothing is uncertain'
is "$(of_run 'r["coverage"]["source"]')" syscall 'the coverage says where from'
like "$stderr" 'source syscall' 'and so does weir'
found=$(findings)
for row in "${rows[@]}"; do
	IFS=$'\t' read -r hook act finding <<<"$row"
	has "$finding"
	ok $? "$act: $finding" "$found"
done
is "$(of_run 'all(h["seen"] == h["emitted"] + h["aggregated"] + h["dropped"] for h in r["counters"].values())')" \
	True 'counters add up'

while read -r hook; do
	renew
	# shellcheck disable=SC2086 # words
	watch --without-hook "$hook" -- /usr/bin/python3 "$here/acts.py" "$out" $acts
	found=$(findings)
	left=0
	for row in "${rows[@]}"; do
		IFS=$'\t' read -r at act finding <<<"$row"
		if [[ $at = "$hook" ]]; then
			! has "$finding" || left=1
		else
			has "$finding" || left=2
		fi
	done
	is "$left" 0 "without $hook: its findings are gone, the others are not" "$found"
	like "$(reasons)" "hook $hook was not attached" 'and the run says so'
done < <(cut -f 1 <<<"$table" | uniq)

# Those whose act leaves nothing for others.
alone='task_kill	signal	tamper signal
task_setrlimit	limit	tamper prlimit
bpf	bpf	bpf bpf
ptrace_access_check	memory	memory-access ptrace
ptrace_access_check	attach	memory-access ptrace
file_truncate	ftruncate	file-outside truncate out/file'
while IFS=$'\t' read -r hook act finding; do
	renew
	watch -- /usr/bin/python3 "$here/acts.py" "$out" "$act"
	found=$(findings)
	has "$finding"
	ok $? "$act: $finding" "$found$stderr"
	renew
	watch --without-hook "$hook" -- /usr/bin/python3 "$here/acts.py" "$out" "$act"
	found=$(findings)
	! has "$finding"
	ok $? "without $hook it is not seen" "$found"
	like "$(reasons)" "hook $hook was not attached" 'and the run says so'
done <<<"$alone"

for hook in task_alloc task_newtask sched_process_exec sched_process_exit task_free; do
	wanted=$hook
	[[ $hook != task_newtask ]] || wanted=task_alloc # one program sees both
	[[ $hook != sched_process_exec ]] || wanted=bprm_check_security
	watch --without-hook "$hook" -- true
	like "$status $(reasons)" "^121 hook $wanted was not attached" "without $hook: indeterminate"
done
done_testing
