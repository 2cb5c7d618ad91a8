#!/bin/bash
# SPDX-License-Identifier: MIT
# The same operations on each file system: one event for each, the right path, the right verdict.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Each line of this is one operation on a place outside the workspace, and one event.
cat >"$lab/steps" <<'END'
with open(o + "/old", "a"): pass
with open(o + "/new", "x"): pass
os.mkdir(o + "/dir")
os.symlink("nowhere", o + "/symlink")
os.mkfifo(o + "/fifo")
os.link(o + "/a", o + "/hard")
os.rename(o + "/b", o + "/moved")
os.unlink(o + "/c")
os.rmdir(o + "/empty")
os.chmod(o + "/d", 0o600)
os.utime(o + "/d", (1, 1))
os.truncate(o + "/e", 1)
END
expected="[('chmod', 'd'), ('create', 'new'), ('link', 'a'), ('link', 'hard'), ('mkdir', 'dir'), ('mknod', 'fifo'), \
('rename', 'b'), ('rename', 'moved'), ('rmdir', 'empty'), ('symlink', 'symlink'), ('truncate', 'e'), ('unlink', 'c'), \
('utimes', 'd'), ('write', 'old')]"
cat >"$lab/do" <<END
import os, sys
o = sys.argv[1]
for line in open("$lab/steps"):
    try:
        exec(line)
    except PermissionError:
        print("denied", end=" ")
    except OSError as e:
        print(line, e)
END

# What the run above reported, below a place: (operation, name), each once.
told()
{
	of_run "sorted((x['op'], x['object']['path'][len('$1/'):] if x['object']['path'].startswith('$1/') else x['object']['path']) for x in f)"
}

# on NAME DIR [REAL]: DIR lies on the file system; REAL, where what happens below DIR really lives.
on()
{
	local dir=$2 real=${3:-$2}
	mkdir -p "$dir/ws" "$dir/out/empty"
	touch "$dir"/out/{old,a,b,c,d,e}
	echo content >"$dir/out/e"
	ws=$dir/ws
	weir_run -- python3 "$lab/do" "$dir/out"
	is "$status $(verdict_of)" '120 violated' "$1: violated" "$stderr"
	is "$(told "$real/out")" "$expected" "$1: one finding for each operation"
	is "$(of_run 'sorted({(x["kind"], x["count"], x["outcome"]) for x in f})')" \
		"[('file-outside', 1, 'denied')]" "$1: each denied, each once"
	is "$(cat "$dir/out/e") $(ls "$dir/out")" "content $(printf 'a\nb\nc\nd\ne\nempty\nold')" "$1: nothing has changed"
	weir_run --observe -- python3 "$lab/do" "$dir/out"
	is "$(told "$real/out")" "$expected" "$1: observed, the same"
	is "$(of_run 'sorted({(x["count"], x["outcome"]) for x in f})')" "[(1, 'passed')]" "$1: each let through"
	mkdir -p "$ws/out/empty"
	touch "$ws"/out/{old,a,b,c,d,e}
	weir_run -- python3 "$lab/do" "$ws/out"
	is "$status $(verdict_of)" '0 clean' "$1: in the workspace, clean" "$stderr"
	is "$stdout $(ls "$ws/out")" " $(printf 'a\nd\ndir\ne\nfifo\nhard\nmoved\nnew\nold\nsymlink')" "$1: and all was done"
}

# disk NAME MKFS...: a file system in an image, mounted on $lab/NAME.
disk()
{
	truncate -s 512M "$lab/$1.img"
	"${@:2}" "$lab/$1.img" >"$lab/mkfs" 2>&1 || cat "$lab/mkfs"
	mkdir "$lab/$1"
	mount -o loop "$lab/$1.img" "$lab/$1"
	ok $? "$1: mounted"
}

modprobe -a loop xfs btrfs overlay
on ext4 "$lab/plain"

disk xfs mkfs.xfs -q
on xfs "$lab/xfs"

disk btrfs mkfs.btrfs -q
on btrfs "$lab/btrfs"
btrfs -q subvolume create "$lab/btrfs/sub"
on 'btrfs, a subvolume' "$lab/btrfs/sub"

mkdir "$lab/tmpfs"
mount -t tmpfs none "$lab/tmpfs"
on tmpfs "$lab/tmpfs"

mkdir -p "$lab/bind/from" "$lab/bind/to"
mount --bind "$lab/bind/from" "$lab/bind/to"
on 'a bind mount' "$lab/bind/to" "$lab/bind/to"

mkdir -p "$lab/over/"{lower/out/empty,lower/ws,upper,work,merged}
touch "$lab"/over/lower/out/{old,a,b,c,d,e}
mount -t overlay -o "lowerdir=$lab/over/lower,upperdir=$lab/over/upper,workdir=$lab/over/work" none "$lab/over/merged"
on overlay "$lab/over/merged"

for place in xfs btrfs tmpfs bind/to over/merged; do umount "$lab/$place"; done
done_testing
