# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# For tests of what others push: source it after lib.sh. A gate with hooks and three promotions.

R=$LAB/trusted.git
S=/etc/weir/allowed_signers
Z=0000000000000000000000000000000000000000
A=refs/weir/attestations
HOOKS=

# weir COMMAND...: as the gate's user, who may write the repository
weir() {
	setpriv --reuid weir --regid weir --clear-groups env HOME="$LAB/weirhome" "$@"
}

# says CODE TEXT: what the hook said
says() {
	grep -q "weir-gate: refused: $1: " "$LAB/err" || fail "not $1: $(cat "$LAB/err")"
	grep -qF -- "$2" "$LAB/err" || fail "no '$2' in: $(cat "$LAB/err")"
}

# same: nothing in the repository has changed
same() {
	[ "$(git -C "$R" for-each-ref)" = "$REFS" ] || fail "refs: $(git -C "$R" for-each-ref)"
	[ -z "$(find "$R/objects" -name 'tmp_objdir*')" ] || fail "objects of the push are left"
}

# refused CODE TEXT COMMAND...: fails, the hook says why, and nothing has changed
refused() {
	local code=$1 text=$2
	shift 2
	REFS=$(git -C "$R" for-each-ref)
	not weir "$@" 2>"$LAB/err"
	says "$code" "$text"
	same
}

# ours: a clone that the gate's user pushes from, with the records
ours() {
	rm -rf "$LAB/clone"
	install -d -o weir -g weir "$LAB/clone"
	weir git clone -q "$R" "$LAB/clone"
	weir git -C "$LAB/clone" fetch -q "$R" "$A:$A"
}

# write NAME: a commit that nobody promoted, in the clone
write() {
	weir git -C "$LAB/clone" -c user.name=eve -c user.email=eve@x commit -q --allow-empty -m "$1"
	git -C "$LAB/clone" rev-parse HEAD
}

# behind: what stock git does without the gate's hooks
behind() {
	weir git -c core.hooksPath=/dev/null -C "$R" "$@"
}

promote() {
	BASE=$(tip)
	start_run
	echo "$RANDOM$RANDOM" >>"$LAB/ws/src/more.c"
	end_run
	commit >/dev/null
}

mkdir "$LAB/weirhome"
cat >"$LAB/weirhome/.gitconfig" <<-EOT
	[safe]
		directory = *
EOT
chmod 755 "$LAB"
fresh
chown -R weir: "$LAB/weirhome"
promote
promote
promote
snapshot_take
reset() {
	snapshot_restore
	ours
}

# older N: the repository as it was N promotions ago, with all of it still in the clone
older() {
	reset
	behind update-ref refs/heads/main "main~$1"
	behind update-ref $A "$A~$((2 * $1))"
	behind reflog expire --expire=now --all
	behind gc -q --prune=now
}
