#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2016,SC2154
# The branch has moved while a run was at work: what it changed goes on top, as another promotion,
# or is refused.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

R=$LAB/trusted.git

# moved COMMAND: the branch gets a commit by this, done in a checkout
moved() {
	rm -rf "$LAB/other"
	git clone -q "$R" "$LAB/other"
	(
		cd "$LAB/other" || exit 1
		eval "$1"
		git add -A
		git commit -qm other
		git push -q origin HEAD:main
	)
	chown -R weir: "$R"
	MOVED=$(tip)
}

rebase() {
	commit --rebase "$@"
}

verify() {
	"$GATE" verify main --repo "$R" --signers /etc/weir/allowed_signers "$@"
}

# record FILE: of the tip's record
record() {
	local id
	id=$(tip)
	git -C "$R" show "refs/weir/attestations:${id:0:2}/$id/$1"
}

t "the branch has moved elsewhere: the change goes on top of it, and verifies" <<'EOT'
fresh; echo new >ws/new.c; echo 'int x;' >>ws/src/main.c; end_run; moved 'echo doc >README; rm Makefile'
must_refuse base-moved "moved from $BASE to $MOVED" commit; [ "$(tip)" = $MOVED ]
rebase --json >out; grep -q "\"parent\":\"$MOVED\"" out; [ "$(git -C $R rev-parse main^)" = $MOVED ]
git -C $R show main:README | grep -q doc; not git -C $R cat-file -e main:Makefile 2>/dev/null; git -C $R show main:src/main.c | grep -q 'int x'; git -C $R show main:new.c | grep -q new
record promotion >text; grep -qx "base $MOVED" text; grep -qx "rebased $BASE" text; verify >out; verify --deep --json >/dev/null
git -C $R fsck --strict --full >/dev/null 2>&1; [ "$(git -C $R diff --name-only main^ main | xargs)" = 'new.c src/main.c' ]
rebase >out; grep -q 'already promoted' out
EOT

t "where nothing has moved it is a commit like any other" <<'EOT'
fresh; echo new >ws/new.c; end_run; rebase >/dev/null; [ "$(git -C $R rev-parse main^)" = $BASE ]; record promotion >text; not grep -q '^rebased' text; verify >/dev/null
EOT

t "what changed on both sides is refused: a file, its mode, a deletion, a new one, a directory" <<'EOT'
both() { fresh; (cd ws && eval "$1"); end_run; moved "$2"; must_refuse rebase-conflict "$3 has changed on the branch" rebase; [ "$(tip)" = $MOVED ]; }
both 'echo a >>src/main.c' 'echo b >>src/main.c' src/main.c
both 'echo a >>src/main.c' 'chmod +x src/main.c' src/main.c
both 'rm Makefile' 'echo b >>Makefile' Makefile
both 'echo a >>Makefile' 'rm Makefile' Makefile
both 'echo a >one' 'echo a >one' one
both 'mkdir one; echo a >one/two' 'echo b >one' one
both 'echo a >one' 'mkdir one; echo b >one/two' one
both 'rm -r src; echo a >src' 'echo b >src/other.c' src
EOT

t "a name beside the branch's new one: twins are found among what is there now" <<'EOT'
fresh '' '  strict: true'; echo a >ws/readme; end_run; moved 'echo b >README'; must_refuse tree-unsafe readme rebase; [ "$(tip)" = $MOVED ]
EOT

t "a repository that comes to be where both sides meet, below the root or at it" <<'EOT'
half() { fresh; (cd ws && eval "$1"); end_run; moved "$2"; must_refuse tree-unsafe "nested" rebase; [ "$(tip)" = $MOVED ]; }
half 'mkdir -p sub/objects; echo a >sub/objects/a; echo b >sub/HEAD' 'mkdir -p sub/refs/heads; echo c >sub/refs/heads/c'
half 'mkdir -p sub/refs/heads; echo a >sub/refs/heads/a' 'mkdir -p sub/objects/0a; echo b >sub/objects/0a/b; echo c >sub/HEAD'
half 'mkdir -p objects refs; echo a >objects/a; echo b >refs/b' 'echo c >HEAD'
fresh; moved 'mkdir -p sub/objects; echo a >sub/objects/a; echo b >sub/HEAD'; start_run; rm ws/sub/HEAD; echo c >ws/sub/c; end_run; moved 'mkdir -p sub/refs sub-/refs; echo d >sub/refs/d; echo e >sub-/refs/HEAD'
rebase >/dev/null; [ "$(git -C $R ls-tree -r --name-only main sub | xargs)" = 'sub/c sub/objects/a sub/refs/d' ]; verify >/dev/null
EOT

t "under another policy it is run again; a branch that went elsewhere is no base" <<'EOT'
fresh; echo new >ws/new.c; end_run; moved 'echo "# x" >>.weir/policy.yaml'; must_refuse rebase-policy '.weir has changed' rebase; [ "$(tip)" = $MOVED ]
fresh; echo new >ws/new.c; end_run; other=$(git -C $R commit-tree -m other "main^{tree}"); git -C $R update-ref refs/heads/main $other; chown -R weir: $R
must_refuse base-moved 'does not go on from' rebase; [ "$(tip)" = $other ]
EOT

t "the cross-check is against where the run began" <<'EOT'
fresh; echo new >ws/new.c; end_run; moved 'echo doc >README'; echo late >ws/new.c; must_refuse changed-after-run new.c rebase; [ "$(tip)" = $MOVED ]
fresh; echo dirty >ws/src/main.c; rm -rf run; "$MKRUN" before run ws; echo 'int x;' >>ws/src/main.c; end_run; moved 'echo doc >README'; must_refuse workspace-dirty src/main.c rebase
EOT

t "another digest: what people signed before is void, what they sign then holds" <<'EOT'
proposed; approve ann >/dev/null; old=$(sha256sum <$R/weir/pending/$NONCE/promotion); moved 'echo doc >README'
must_refuse base-moved moved commit; must_refuse approvals-missing 'waits for' rebase; new=$(sha256sum <$R/weir/pending/$NONCE/promotion); [ "$old" != "$new" ]
grep -qx "rebased $BASE" $R/weir/pending/$NONCE/promotion; [ -z "$(ls $R/weir/pending/$NONCE/signed)" ]
"$GATE" review --run run >out; grep -q "$BASE" out; grep -q "$MOVED" out
must_refuse approvals-missing 'waits for' "$GATE" commit --run run --rebase; [ "$(sha256sum <$R/weir/pending/$NONCE/promotion)" = "$new" ]
approve ann >/dev/null; rm -rf ws; "$GATE" commit --run run >/dev/null; [ "$(git -C $R rev-parse main^)" = $MOVED ]; verify >/dev/null
git -C $R show main:good | grep -q good; git -C $R show main:README | grep -q doc
EOT

t "it moves again: what was proposed waits for no branch that is gone, the words stay" <<'EOT'
proposed; moved 'echo doc >README'; must_refuse approvals-missing 'waits for' "$GATE" commit --run run --rebase; approve ann >/dev/null; moved 'echo doc >SECOND'
must_refuse base-moved moved "$GATE" commit --run run; must_refuse approvals-missing 'waits for' "$GATE" commit --run run --rebase; grep -qx "base $MOVED" $R/weir/pending/$NONCE/promotion
approve ann >/dev/null; "$GATE" commit --run run --rebase >/dev/null; [ "$(git -C $R log -1 --format=%s main)" = 'a change' ]; verify >/dev/null
EOT

t "what the run read, and is another file now, is a finding" <<'EOT'
read_it() { fresh '' "$1"; echo new >ws/new.c; end_run read=Makefile; moved 'echo x >>Makefile'; }
read_it ''; rebase >/dev/null 2>err; record promotion | grep -q '^finding rebase-read-[0-9a-f]* warn .* Makefile$'; verify >/dev/null
read_it '  strict: true'; must_refuse rebase-conflict Makefile rebase; [ "$(tip)" = $MOVED ]
EOT

done_testing
