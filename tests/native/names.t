#!/bin/bash
# SPDX-License-Identifier: MIT
# Where a name led, whichever way it was written: links, "..", mounts, descriptors, long names.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# led TITLE COMMAND FINDING...: exactly these findings, and no doubt about any.
led()
{
	local wanted
	wanted=$(printf '%s\n' "${@:3}" | sort)
	find "$ws" "$out" -mindepth 1 -delete
	mkdir -p "$out/deep/er" "$ws/sub"
	echo precious >"$out/file"
	watch -- sh -c "$2"
	is "$(findings)" "$wanted" "$1" "$stdout$stderr"
	is "$(reasons)" '' "$1: no doubt"
}

py()
{
	echo "/usr/bin/python3 -c 'import os; $1'"
}

long=$(printf '%0250d' 7)
led 'inside' 'cd sub; : >a; mv a ../b; ln ../b c; rm c ../b; mkdir d; rmdir d' ''
led 'relative, from below' "cd sub; rm ../../out/file" 'file-outside unlink out/file'
led 'slashes and dots' "rm .//sub/../..//out/./deep/../file" 'file-outside unlink out/file'
led 'slashes at the end' "mkdir $out/new//; rmdir $out/new/" \
	'file-outside mkdir out/new' 'file-outside rmdir out/new'
led 'a link on the way' "ln -s $out l; rm l/file" 'file-outside unlink out/file'
led 'a relative link on the way' "ln -s ../out/deep l; mkdir l/er/x" 'file-outside mkdir out/deep/er/x'
led 'links to links' "ln -s $out a; ln -s a b; ln -s ./b c; chmod 600 c/file" 'file-outside chmod out/file'
led 'a link as the last name, followed' "ln -s ../out/file l; chmod 600 l" 'file-outside chmod out/file'
led 'the same, not followed' "ln -s ../out/file l; touch -h l; chown -h 0 l" ''
led 'a name of 250 bytes' "mkdir $out/$long" "file-outside mkdir out/$long"
led 'by a descriptor of the directory' \
	"$(py "d = os.open(\"$out/deep\", os.O_RDONLY); os.mkdir(\"er/x\", dir_fd=d); os.rmdir(\"er/x\", dir_fd=d)")" \
	'file-outside mkdir out/deep/er/x' 'file-outside rmdir out/deep/er/x'
led 'a descriptor itself' "$(py "os.utime(os.open(\"$out/file\", os.O_RDONLY))")" \
	'file-outside utimes out/file'
led 'after chdir to the outside' "cd $out; mkdir x; mv x deep/y" 'file-outside mkdir out/x' \
	'file-outside rename out/deep/y' 'file-outside rename out/x'
led 'into the workspace' "mv $out/file ." 'file-outside rename out/file'
led 'out of the workspace' ": >a; mv a $out/b" 'file-outside rename out/b'
led 'a hook of git' "mkdir -p .git/hooks; : >.git/hooks/x" 'file-control create ws/.git/hooks/x' \
	'file-control mkdir ws/.git' 'file-control mkdir ws/.git/hooks'

# Mounts: what counts is where the bytes live.
mkdir -p "$lab/bound" "$ws"
mount --bind "$out" "$lab/bound"
led 'a bind mount of the outside' "rm $lab/bound/file; mkdir $lab/bound/x" \
	'file-outside mkdir bound/x' 'file-outside unlink bound/file'
umount "$lab/bound"
mount --bind "$ws" "$lab/bound"
led 'a bind mount of the workspace' "mkdir $lab/bound/x; cd $lab/bound/x; : >f; mv f ../g; rm ../g" ''
umount "$lab/bound"
mkdir -p "$lab/other"
mount -t tmpfs other "$lab/other"
mkdir "$lab/other/dir"
led 'another file system, and back over its root' "cd $lab/other/dir; mkdir x; rmdir ../dir/x; rm ../../out/file" \
	'file-outside mkdir other/dir/x' 'file-outside rmdir other/dir/x' 'file-outside unlink out/file'
umount "$lab/other"

# Links that the run made are its own; others are not.
led 'a hard link of its own' ': >a; ln a b; echo x >>b; chmod 600 a; rm a; echo x >>b' ''
mkdir -p "$lab/keep"
led_link()
{
	rm -rf "${ws:?}"/*
	echo precious >"$lab/keep/f"
	ln "$lab/keep/f" "$ws/f"
	watch -- sh -c 'echo x >>f'
	is "$(findings)" 'file-outside write ws/f hardlink' 'a hard link from before'
}
led_link

# A directory with many names that memory holds, most of them of files that are no more.
/usr/bin/python3 - "$out" <<-'END'
	import os, sys
	for i in range(20000):
	    try:
	        os.stat(f"{sys.argv[1]}/no{i}")
	    except OSError:
	        pass
END
watch -- sh -c "chmod 600 $out/deep"
is "$(findings) $(reasons)" 'file-outside chmod out/deep ' 'a directory with many names'

# What is gone before it is looked at is unknown, and the run is not sure. Only the file system
# knows where a link of /proc leads.
watch -- sh -c "exec 9<$out; chmod 600 /proc/self/fd/9/file"
is "$(verdict_of)" violated 'a way that can not be followed'
like "$(findings)" 'unresolved' 'is marked'
like "$(reasons)" 'gone when it was looked at' 'and told'
done_testing
