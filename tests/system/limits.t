#!/bin/bash
# SPDX-License-Identifier: MIT
# Ceilings of bpf/abi/limits.h: what just fits does, one more does not and says so.
limits=$(readlink -f "$(dirname "$0")/../../bpf/abi/limits.h")
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

limit()
{
	sed -n "s/^#define WEIR_$1 \([0-9]*\)$/\1/p" "$limits"
}

# Depth: the workspace is one level of as many.
depth=$(limit DEPTH_MAX)
cat >"$ws/dig.py" <<-'END'
	import os
	n = 0
	while n < 400:
	    try:
	        os.mkdir("d")
	    except OSError as e:
	        print(n, e.strerror)
	        break
	    os.chdir("d")
	    n += 1
END
weir_run -q -- python3 dig.py
is "$status $stdout" "120 $((depth - 1)) Operation not permitted" \
	"$depth levels: as deep as rules reach" "$stderr"
is "$(of_run '[(x["kind"], x["op"], x["object"]["path"].count("/d")) for x in f]')" \
	"[('file-outside', 'mkdir', $depth)]" 'one more has no rights' "$stderr"

# A path of so many bytes, as it lies on its file system: limits/out/... FILE.
path=$(limit PATH_MAX)
cat >make.py <<-'END'
	import os, sys
	top, size, make = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "make"
	size -= len("limits/out/")
	os.chdir(top)
	while size > 300:
	    name = "d" * min(255, size - 250)
	    if make:
	        os.makedirs(name, exist_ok=True)
	        os.chmod(name, 0o777)
	    os.chdir(name)
	    size -= len(name) + 1
	if not make:
	    for i in 0, 1:
	        try:
	            open("f" * (size - 1 + i), "w")
	        except OSError as e:
	            print(e.strerror)
END
chmod 777 "$out"
python3 make.py "$out" "$path" make
weir_run -q -- python3 "$lab/make.py" "$out" "$path" reach
is "$status $(of_run 'len(f)')" '120 2' 'paths at the limit and beyond: both denied' "$stdout $stderr"
is "$(of_run '[(len(x["object"]["path"]) - len("/lab/"), "truncated" in x["flags"]) for x in f][0]')" \
	"($((path - 1)), False)" "$path bytes: a whole path"
is "$(of_run '[(x["object"]["path"].split(":")[-1][:8], "truncated" in x["flags"]) for x in f][1]')" \
	"('.../out/', True)" 'one more: it begins lower, and says so'

# Arguments: "touch", FILE, and an x of the length that is left.
args=$(limit ARGS_MAX)
for more in 0 1; do
	# shellcheck disable=SC2016 # for the inner shell
	weir_run -q -- sh -c 'exec touch "$1/new" "$(printf "%*s" $(($2 - 6 - 1 - ${#1} - 5)) "" | tr " " x)"' \
		sh "$out" $((args + more))
	is "$status $(of_run '[(len("\0".join(x["actor"]["args"])), "args_cut" in x["actor"]) for x in f]')" \
		"120 [($((args - 1 + more)), $([[ $more = 0 ]] && echo False || echo True))]" \
		"$((args + more)) bytes of arguments: $([[ $more = 0 ]] && echo all || echo 'cut before their NUL')" "$stderr"
done
done_testing
