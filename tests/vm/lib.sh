# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# lib.sh: what all scripts of the test VM share. Sourced; the caller sets $here to tests/vm.

# Status of a failure that is the harness's own: see the contract in README.md.
VM_HARNESS=199

cache=${WEIR_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/weir}

vm_say()
{
	echo "vm: $*" >&2
}

vm_die()
{
	vm_say "$*"
	exit $VM_HARNESS
}

# Runs the rest of the calling script under the lock $cache/$1.lock, so that two runners that need
# the same thing make it once. The lock ends with the script.
vm_lock()
{
	mkdir -p "$cache" || vm_die "cannot make the cache directory $cache"
	exec 9>"$cache/$1.lock" || vm_die "cannot open $cache/$1.lock"
	if ! flock -n 9; then
		vm_say "waiting for another runner that is making $1"
		flock 9 || vm_die "cannot lock $cache/$1.lock"
	fi
}

# One digest of all files given, in order: the key of what is made from them.
vm_digest()
{
	cat -- "$@" | sha256sum | cut -c1-16
}

# Packs the directory $1 to $2 as a compressed cpio; equal trees give equal bytes.
vm_cpio()
{
	find "$1" -exec touch -h -d @1767225600 {} +
	(cd "$1" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible -R 0:0) |
		gzip -n -1 >"$2"
}
