#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# Cross-check of strength trace: what it looks at, what it says that it skipped, where it is refused.
. "$(dirname "$0")/lib.sh"

R=$LAB/trusted.git
S=/etc/weir/allowed_signers

# traced [OPTION...]: a run in a tree of 50 files, three of which it changes
traced() {
	fresh
	sed -i 's/crosscheck: "stat"/crosscheck: "trace"/' /etc/weir/gate.yaml
	(
		cd "$LAB/seed" || exit 1
		mkdir -p deep
		for i in $(seq 50); do echo "$i" >"deep/f$i"; done
		git add -A
		git commit -qm more
		git push -q "$R" HEAD:main
	)
	chown -R weir: "$R"
	BASE=$(tip)
	start_run
	echo changed >"$LAB/ws/deep/f1"
	rm "$LAB/ws/deep/f2"
	echo new >"$LAB/ws/deep/new"
	end_run "$@"
}

promotion() {
	git -C "$R" cat-file blob "refs/weir/attestations:$(tip | cut -c1-2)/$(tip)/promotion"
}

t "three of fifty files: promoted; what was skipped stands in digest, attestations and review" <<'EOT'
traced; commit --json >out; grep -q '"crosscheck":"trace"' run/promoted.json
[ "$(git -C $R show main:deep/f1)" = changed ]; not git -C $R cat-file -e main:deep/f2 2>/dev/null; [ "$(git -C $R show main:deep/f3)" = 3 ]
promotion | grep -qx 'crosscheck trace'; n=$(promotion | sed -n 's/^skipped //p'); [ "$n" -ge 50 ]; [ "$n" -le 56 ]
"$GATE" verify main --repo $R --signers $S >/dev/null; git -C $R fsck --strict 2>&1
"$GATE" attest main --repo $R | python3 -c 'import base64, json, sys
s = [json.loads(base64.b64decode(json.loads(l)["payload"])) for l in sys.stdin]
p = s[0]["predicate"]["buildDefinition"]["internalParameters"]
assert p["crosscheck"] == "trace" and p["crosscheckSkipped"] == int(sys.argv[1]), p
assert any("WEIR_CROSSCHECK_TRACE" in x["predicate"].get("properties", []) for x in s)' "$n"
EOT

t "stat says nothing of skipping" <<'EOT'
fresh; echo 1 >ws/one; end_run; commit >/dev/null; not grep -q '^skipped' <(promotion)
EOT

t "what the trace names was changed after the run: refused" <<'EOT'
traced; echo again >>ws/deep/f1; must_refuse changed-after-run 'deep/f1 was touched' commit; unchanged
traced; touch ws/deep/new; must_refuse changed-after-run 'deep/new was touched' commit; unchanged
traced; rm ws/deep/new; must_refuse changed-after-run 'deep/new vanished' commit; unchanged
traced; echo 2 >ws/deep/f2; must_refuse changed-after-run 'deep/f2 appeared' commit; unchanged
traced; ln -s f3 ws/deep/f2; must_refuse changed-after-run 'deep/f2 appeared' commit; unchanged
traced; mkfifo ws/deep/f2; must_refuse changed-after-run 'deep/f2 appeared' commit; unchanged
traced; chmod 600 ws/deep/f1; must_refuse changed-after-run 'deep/f1 was touched' commit; unchanged
traced; rm ws/deep/new; mkfifo ws/deep/new; must_refuse changed-after-run 'deep/new' commit; unchanged
EOT

t "what it does not name is not looked at, and not promoted either" <<'EOT'
traced; echo evil >ws/deep/f9; echo evil >ws/deep/evil; commit >/dev/null
[ "$(git -C $R show main:deep/f9)" = 9 ]; not git -C $R cat-file -e main:deep/evil 2>/dev/null
"$GATE" verify main --repo $R --signers $S >/dev/null
EOT

t "a change that nobody made is a foreign write here, too" <<'EOT'
traced untraced=deep/f1; must_refuse foreign-write deep/f1 commit; unchanged
EOT

t "refused where it is not known that nothing else was written" <<'EOT'
for f in file name attr task; do traced unwatched=$f; must_refuse crosscheck "the family $f" commit; unchanged; done
traced unwatched=exec; commit >/dev/null
traced; sed -i 's/"checkout":"[0-9a-f]*",//' /var/lib/weir-gate/nonces/$NONCE
must_refuse crosscheck 'no checkout that the gate made' commit; unchanged
sed -i 's/crosscheck: "trace"/crosscheck: "stat"/' /etc/weir/gate.yaml; commit >/dev/null
EOT

# over: the workspace is an overlay from the start
over() {
	mkdir -p low up work ws
	mount -t overlay -o lowerdir=low,upperdir=up,workdir=work over ws
	"$GATE" nonce --workspace "$LAB/ws" >nonce.json
	NONCE=$(sed 's/.*"nonce":"\([0-9a-f]*\)".*/\1/' nonce.json)
	"$GATE" checkout --nonce "$NONCE" --into "$LAB/ws" --owner 1000:1000
	"$MKRUN" before "$LAB/run" "$LAB/ws"
	echo changed >ws/deep/f1
	end_run
}

t "refused when somebody wrote between checkout and start; stat says where" <<'EOT'
traced; rm -rf ws run; mkdir ws; "$GATE" nonce --workspace ws >nonce.json; NONCE=$(sed 's/.*"nonce":"\([0-9a-f]*\)".*/\1/' nonce.json)
"$GATE" checkout --nonce $NONCE --into ws --owner 1000:1000; chmod +x ws/deep/f7; "$MKRUN" before run ws; echo 1 >ws/deep/f1; end_run
must_refuse crosscheck 'between' commit; unchanged
sed -i 's/crosscheck: "trace"/crosscheck: "stat"/' /etc/weir/gate.yaml; must_refuse workspace-dirty deep/f7 commit; unchanged
EOT

t "modes, links, an empty file and a large one: what the gate wrote is what the run finds" <<'EOT'
traced; rm -rf ws run; (cd seed; ln -s f3 deep/link; ln -s nowhere deep/gone; cp deep/f3 deep/x; chmod +x deep/x; : >deep/empty; head -c 9000000 /dev/urandom >big; git add -A; git commit -qm odd; git push -q $R HEAD:main)
chown -R weir: $R; BASE=$(tip); start_run; echo changed >ws/deep/f1; end_run; commit >/dev/null; promotion | grep -qx 'crosscheck trace'
git -C $R diff --stat $BASE main | grep -q '1 file changed'
EOT

t "refused on a file system of layers, which stat does not mind" <<'EOT'
traced; rm -rf ws run; over; trap "umount $LAB/ws" EXIT
must_refuse crosscheck 'file system that others may change' commit; unchanged
sed -i 's/crosscheck: "trace"/crosscheck: "stat"/' /etc/weir/gate.yaml; commit >/dev/null; [ "$(git -C $R show main:deep/f1)" = changed ]
EOT

done_testing
