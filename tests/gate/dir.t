#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119,SC2120
# Directories of artefacts: what a run made takes the place of what was there, whole or not at all.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

R=$LAB/trusted.git
D=$LAB/srv/site
S=/etc/weir/allowed_signers

# allow_dirs [ENTRY]: a place that only the gate writes to
allow_dirs() {
	rm -rf "$LAB/srv"
	mkdir "$LAB/srv"
	chown weir: "$LAB/srv"
	echo "dirs: ['${1:-site dist $D}']" >>/etc/weir/gate.yaml
}

# build [TEXT]: what a run leaves in dist, which git ignores
build() {
	mkdir -p "$LAB/ws/dist/lib"
	printf '%s\n' "${1:-one}" >"$LAB/ws/dist/index.html"
	printf 'x\0y' >"$LAB/ws/dist/lib/a b.o"
	printf '#!/bin/sh\n' >"$LAB/ws/dist/run"
	chmod 755 "$LAB/ws/dist/run"
	ln -sfn index.html "$LAB/ws/dist/start"
}

# promoted: one good directory at $D
promoted() {
	fresh
	allow_dirs
	build
	end_run
	to site >/dev/null
}

# again TEXT: the next run, with another text
again() {
	start_run
	build "$1"
	end_run
}

to() {
	commit --to "dir:$1" "${@:2}"
}

verify() {
	"$GATE" verify "${@:-$D}" --repo "$R" --signers $S
}

head_of() {
	git -C "$R" rev-parse -q --verify "refs/weir/dirs/${1:-site}"
}

# nothing beside the directory, no lock, no journal
# shellcheck disable=SC2012 # names of ours
clean() {
	[ "$(ls -A "$LAB/srv" | tr '\n' ' ')" = "${1-site }" ] || fail "left: $(ls -A "$LAB/srv")"
	[ ! -e "$R/weir/journal" ] || fail "journal left"
	[ -z "$(find "$R" -name '*.lock')" ] || fail "lock left"
}

ledger_says() {
	python3 "$TOP/tests/gate/tlog.py" log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey | tail -1 | grep -q "\"kind\":\"$1\".*\"ref\":\"refs/weir/dirs/site\""
}

t "all files of the run's directory, whatever git ignores; sums, provenance, ledger" <<'EOT'
fresh; allow_dirs; build; echo 'int x;' >ws/src/x.c; end_run; to site >out; H=$(head_of); [ "$(tip)" = $BASE ]; clean
grep -q "^promoted $H to refs/weir/dirs/site" out; grep -q 'src/x.c' out
[ "$(find $D -mindepth 1 -printf '%P\n' | LC_ALL=C sort | tr '\n' ' ')" = 'SHA256SUMS index.html lib lib/a b.o run site.intoto.jsonl start ' ]
[ "$(stat -c %a-%U $D $D/run $D/index.html | tr '\n' ' ')" = '755-weir 755-weir 644-weir ' ]; [ "$(readlink $D/start)" = index.html ]
for f in index.html run 'lib/a b.o'; do cmp "ws/dist/$f" "$D/$f"; done
(cd $D && sha256sum --strict -c SHA256SUMS) | not grep -v ': OK$'; [ "$(wc -l <$D/SHA256SUMS)" = 3 ]; ledger_says done
git -C $R fsck --strict --full 2>&1 | not grep -v dangling; git -C $R verify-commit $H
[ "$(git -C $R log -1 --format='%P %(trailers:key=Weir-Directory,valueonly)' $H | head -1)" = "$BASE site" ]
EOT

t "verify: all links, offline, also of a copy and in a clone; JSON; who opened it keeps the old" <<'EOT'
promoted; verify >out; grep -q '^ok    directory ' out; grep -q "^good  dir:site, promoted as $(head_of)" out; verify $D --name site >/dev/null; must_refuse verify "it is dir:site, not dir:other" verify $D --name other; verify $D --deep >/dev/null; verify $D/ --json >out
python3 -c 'import json; d = json.load(open("out")); assert d["ok"] and d["links"][-1] == {"link": "directory", "ok": True}, d'
cp -a $D copy; (umask 077; cp -a $D narrow; chmod -R go= narrow); verify ./copy >/dev/null; verify $LAB/narrow >/dev/null; rm -rf copy narrow
git clone -q --mirror $R clone.git; git clone -q --bare $R part.git; "$GATE" verify $D --repo clone.git --signers $S --ledger-key /etc/weir/ledger.vkey >/dev/null
must_refuse verify 'directory: ' "$GATE" verify $D --repo part.git --signers $S --ledger-key /etc/weir/ledger.vkey; rm -rf clone.git part.git
verify $(head_of) | not grep -q directory; exec 7<$D/index.html; again two; to site -m again >/dev/null; [ "$(cat <&7)" = one ]
exec 7<&-; grep -qx two $D/index.html; verify >/dev/null; clean; [ "$(git -C $R show refs/weir/attestations:$(head_of | cut -c1-2)/$(head_of)/promotion | grep -c '^old [0-9a-f]\{40\}$')" = 1 ]
EOT

t "provenance: stock tools find the files' hashes under the gate's signature" <<'EOT'
promoted; python3 - $D $(head_of) <<'PY'
import base64, hashlib, json, pathlib, sys
d = pathlib.Path(sys.argv[1]); lines = (d / "site.intoto.jsonl").read_text().splitlines(); assert len(lines) == 4, len(lines)
for line in lines:
    e = json.loads(line); s = json.loads(base64.b64decode(e["payload"])); a = {x["name"]: x["digest"].get("sha256") for x in s["subject"][1:]}
    assert s["subject"][0]["digest"]["gitCommit"] == sys.argv[2] and set(a) == {"SHA256SUMS", "index.html", "lib/a b.o", "run"}, a
    assert all(hashlib.sha256((d / n).read_bytes()).hexdigest() == h for n, h in a.items())
e = json.loads(lines[0]); body, kind = base64.b64decode(e["payload"]), e["payloadType"].encode()
open("pae", "wb").write(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(body), body)); open("sig", "wb").write(base64.b64decode(e["signatures"][0]["sig"]))
PY
openssl pkeyutl -verify -pubin -inkey /etc/weir/gate.pem -rawin -in pae -sigfile sig | grep -q Success
EOT

t "verify names what is wrong with the directory" <<'EOT'
promoted; cp -a $D good; bad() { must_refuse verify "directory: $1" verify; rm -rf $D; cp -a good $D; }
echo x >>$D/index.html; bad 'index.html has another content'; rm $D/run; bad 'run is missing'; echo x >$D/lib/b; bad 'lib/b does not belong there'; chmod 644 $D/run; bad 'run has another mode'
chmod 4755 $D/run; bad 'run has another mode'; ln -sfn run $D/start; bad 'start has another content'; rm $D/start; cp $D/index.html $D/start; bad 'start has another type'
mkdir $D/zz; bad 'zz is a directory that does not belong there'; mkdir $D/lib/zz; bad 'lib/zz is a directory'; rm $D/SHA256SUMS; bad 'SHA256SUMS is missing'; mkfifo $D/p; bad 'p does not belong there'
sed -i 1d $D/SHA256SUMS; bad 'SHA256SUMS is not the one'; sed -i 1d $D/site.intoto.jsonl; bad 'site.intoto.jsonl is not the one'; mv $D/site.intoto.jsonl $D/else.intoto.jsonl; must_refuse verify 'has no ref refs/weir/dirs/else' verify; rm -rf $D; cp -a good $D
cp $D/site.intoto.jsonl $D/x.intoto.jsonl; bad 'it has no NAME.intoto.jsonl of the gate, or more'; rm $D/*.jsonl; bad 'it has no NAME.intoto.jsonl'; rm -r $D/lib; bad 'lib/a b.o is missing'; verify >/dev/null
s=0; verify ./nosuch 2>err || s=$?; [ $s = 2 ]; H=$(head_of); again two; to site -m two >/dev/null; must_refuse verify 'site.intoto.jsonl is not the one' verify $LAB/good; rm -rf good
must_refuse verify 'branch: another directory took its place' verify $H; git -C $R update-ref refs/heads/main $(git -C $R commit-tree -m x $BASE^{tree}); must_refuse verify 'branch: the branch does not reach' verify
EOT

t "compare-and-swap: what the gate did not leave there is not overwritten" <<'EOT'
fresh; allow_dirs; mkdir $D; build; end_run; must_refuse directory 'is there, and no gate made it' to site; rmdir $D; not head_of; clean ''; ledger_says aborted
ln -s ws $D; must_refuse directory "$D: " to site; rm $D; touch $D; must_refuse directory "$D: " to site; rm $D; to site >/dev/null; H=$(head_of)
echo evil >>$D/run; again two; must_refuse directory 'run has another content' to site -m two; [ "$(head_of)" = $H ]; grep -q evil $D/run; clean; ledger_says aborted; verify $H >/dev/null
printf '#!/bin/sh\n' >$D/run; mv $D $D.bak; mkdir $D; cp $D.bak/site.intoto.jsonl $D.bak/SHA256SUMS $D; must_refuse directory 'index.html is missing' to site -m two
rm -r $D; to site -m two >/dev/null; grep -qx two $D/index.html; verify >/dev/null
EOT

t "the place belongs to the gate: not where others write, no link, no mount" <<'EOT'
fresh; allow_dirs; build; end_run; chmod 777 srv; s=0; to site 2>err || s=$?; [ $s = 125 ]; grep -q 'nobody else may write there' err; chmod 755 srv; chown nobody srv
s=0; to site 2>err || s=$?; [ $s = 125 ]; grep -q "must belong to root or the gate's user" err; chown weir: srv; mv srv real; ln -s real srv; s=0; to site 2>err || s=$?; [ $s = 125 ]; rm srv; mv real srv; not head_of
to site >/dev/null; again two; mount -t tmpfs none $D; cp -a ws/dist/. $D; must_refuse directory 'is not what the gate left there' to site -m two; umount $D; mount --bind $D $D; s=0; to site -m two 2>err || s=$?
umount $D; [ $s = 125 ]; grep -q 'exchanging .*busy' err; grep -qx one $D/index.html; clean; to site -m two >/dev/null; verify >/dev/null
EOT

t "only directories that gate.yaml lists, in words that can be read" <<'EOT'
fresh; build; end_run; must_refuse ref 'lists no directory site' to site; allow_dirs; must_refuse ref 'lists no directory x' to x; s=0; commit --to site 2>err || s=$?; [ $s = 2 ]; grep -q 'dir:NAME' err
for e in 'site dist' "site  $D" "site ../x $D" "site /dist $D" "site dist/ $D" "site a/./b $D" 'site dist srv' "../x dist $D" ".x dist $D" "x..y dist $D" "x.lock dist $D" 'site dist /' 'site dist /srv/../etc' 'site dist /srv//x'; do
	sed -i /^dirs/d /etc/weir/gate.yaml; echo "dirs: ['$e']" >>/etc/weir/gate.yaml; s=0; to site 2>err || s=$?; [ $s = 125 ] && grep -q 'dirs: each is' err || fail "$e: $s $(cat err)"; done
sed -i /^dirs/d /etc/weir/gate.yaml; echo "dirs: ['a x $D', 'b y $D']" >>/etc/weir/gate.yaml; s=0; to a 2>err || s=$?; [ $s = 125 ]; grep -q 'dirs: two have' err
EOT

t "all of it or nothing: files that may not go, the gate's own names, an empty one" <<'EOT'
fresh "'dist/**'"; allow_dirs; end_run; must_refuse nothing-to-promote 'dist has no files' to site; start_run; build; echo x >ws/dist/SHA256SUMS; end_run; must_refuse directory-files 'dist/SHA256SUMS is a file that the gate writes' to site; start_run; build; echo x >ws/dist/x.intoto.jsonl; end_run; must_refuse directory-files 'dist/x.intoto.jsonl is a file that the gate writes' to site
start_run; build; echo x >ws/dist/site.intoto.jsonl; end_run; must_refuse directory-files 'site.intoto.jsonl' to site; start_run; build; mkfifo ws/dist/p; end_run; must_refuse tree-unrepresentable dist/p to site; not head_of
start_run; build; end_run; to site >/dev/null; again one; must_refuse nothing-to-promote 'has these very files' to site; start_run; build; mkdir ws/other; echo x >ws/other/y; end_run; must_refuse nothing-to-promote '' to site
fresh "'dist/lib/**'"; allow_dirs; build; end_run; must_refuse directory-files 'dist/index.html is not in writeback.paths' to site; clean ''
EOT

t "inspection: secrets refuse, programs don't; a link may not lead out of the directory" <<'EOT'
fresh "" "  strict: true"; allow_dirs; build; cp /bin/true ws/dist/true; end_run; to site >/dev/null; cmp /bin/true $D/true; H=$(head_of)
start_run; build two; ssh-keygen -q -t ed25519 -N '' -f key; cp key ws/dist/k; end_run; must_refuse secret dist/k to site -m two; rm key*
for l in ../src/main.c lib/../../x /etc/passwd; do start_run; build two; ln -sfn $l ws/dist/start; end_run; must_refuse tree-unsafe "link-outside dist/start" to site -m two; done
start_run; build two; ln -sfn ../index.html ws/dist/lib/up; end_run; to site -m two >/dev/null; [ "$(head_of)" != $H ]; verify >/dev/null; clean
EOT

t "people agree to exactly this directory and to what it replaces" <<'EOT'
with_people "  approvals:
    - {paths: ['dist/**'], count: 1}
    - {paths: ['src/**'], count: 1}
"
allow_dirs; build; end_run; must_refuse approvals-missing 'waits for 1 approver' to site; not head_of; "$GATE" review --run "$LAB/run" >out; grep -q 'dist/index.html' out
s=0; "$GATE" commit --run "$LAB/run" 2>err || s=$?; [ $s = 2 ]; s=0; commit --run "$LAB/run" --to dir:other 2>err || s=$?; [ $s = 122 ]; approve ann >out; grep -q 'weir commit RUN --to dir:NAME' out
"$GATE" commit --run "$LAB/run" --to dir:site >/dev/null; verify >/dev/null; H=$(head_of); again two; must_refuse approvals-missing '' to site -m two; approve ann >/dev/null; cp -a "$LAB/run" "$LAB/run2"; cp -a "$LAB/ws" "$LAB/ws2"
git -C $R update-ref refs/weir/dirs/site $BASE; must_refuse void '`old` has changed' "$GATE" commit --run "$LAB/run" --to dir:site; git -C $R update-ref refs/weir/dirs/site $H
"$GATE" commit --run "$LAB/run" --to dir:site >/dev/null; verify >/dev/null; grep -qx two $D/index.html
EOT

t "the run's branch: moved on is fine, gone is not; the branch can't be pushed to as a directory" <<'EOT'
promoted; to site -m other | grep -q "^already promoted as $(head_of)"; commit | grep -q '^already promoted'; cp -a run first; again two; git -C $R update-ref refs/heads/main $(git -C $R commit-tree -p $BASE -m x $BASE^{tree}); to site -m two >/dev/null; verify >/dev/null
must_refuse base-moved 'another directory took its place' "$GATE" commit --run first -m x; rm -r first; git -C $R update-ref refs/heads/main $BASE; again three; git -C $R update-ref refs/heads/main $(git -C $R commit-tree -m x $BASE^{tree}); must_refuse base-moved 'does not reach' to site -m three; grep -qx two $D/index.html; clean
EOT

# keep, back: one directory promoted, a run with the next one; and back to that
keep() {
	promoted
	again two
	H=$(head_of)
	cp -a "$R" keep.git
	cp -a /var/lib/weir-gate keep.state
	cp -a srv keep.srv
}

back() {
	rm -rf "$R" "$LAB/srv" /var/lib/weir-gate/*
	cp -a keep.git "$R"
	cp -a keep.srv "$LAB/srv"
	cp -a keep.state/. /var/lib/weir-gate/
}

# strained OPTION...: the next one, under strace
strained() {
	strace -f -qq -o strace "$@" "$GATE" commit --run "$LAB/run" -m two --to dir:site >/dev/null 2>err
}

# whole_again WHAT: one of the two is there, all of it; the same command ends it
whole_again() {
	grep -Eqx 'one|two' "$D/index.html" || fail "$1: neither"
	(cd "$D" && sha256sum --quiet --strict -c SHA256SUMS) || fail "$1: half"
	to site -m two >out 2>err || fail "$1: $(cat err)"
	grep -qx two "$D/index.html" || fail "$1: not the new one"
	verify >/dev/null || fail "$1: verify"
	clean || fail "$1"
}

command -v strace >/dev/null || {
	done_testing
	exit
}

t "killed at any step: the old directory or the new one, and the same command ends it" <<'EOT'
keep; new=0
for calls in renameat,renameat2,rename unlinkat,unlink,rmdir; do n=0; while n=$((n + 1)); back; ! strained -e trace=$calls -e inject=$calls:signal=SIGKILL:when=$n; do
	! grep -qx two $D/index.html || new=$((new + 1)); whole_again "$calls $n"; done; [ $n -gt 1 ]; done
[ $new -gt 0 ]; rm -rf keep.*
EOT

t "a disk that fails: the old directory stays, the ledger says aborted, the same command ends it" <<'EOT'
keep; for f in EINVAL-renameat2-1 EIO-syncfs-1 ENOSPC-symlinkat-1 EIO-fchmod-3; do IFS=- read -r err call n <<<$f; s=0; strained -e trace=$call -e inject=$call:error=$err:when=$n || s=$?
	[ $s = 125 ]; [ -s err ]; grep -qx one $D/index.html; [ "$(head_of)" = $H ]; verify >/dev/null; clean; ledger_says aborted; done; whole_again it
n=0; while n=$((n + 1)); back; strained -e trace=renameat -e inject=renameat:error=ENOSPC:when=$n || true; grep -q INJECTED strace; do whole_again "renameat $n"; done; [ $n -gt 8 ]; rm -rf keep.*
EOT

done_testing
