#!/bin/bash
# SPDX-License-Identifier: MIT
# Proposals and what a person sees of them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

t "a run that needs people is kept, and nothing is promoted" <<'EOT'
proposed; unchanged
[ -s "trusted.git/weir/pending/$NONCE/q.pack" ]
"$GATE" pending >out; grep -q '20260101-000000-abcdef .* waits for 1 approver' out
"$GATE" pending --json | python3 -c 'import json,sys; d=json.load(sys.stdin); assert d["schema"]=="weir.pending/1" and len(d["pending"])==1 and d["pending"][0]["missing"]=="1 approver"'
must_refuse approvals-missing '0 agreed' commit; unchanged
EOT

t "review shows contents, modes, deletions, links, binaries; nothing is collapsed" <<'EOT'
with_people "$ONE"
printf 'int main(void){return 7;}\n' >ws/src/main.c; chmod +x ws/Makefile; rm ws/.gitignore; ln -s ../elsewhere ws/link
printf 'a\0b' >ws/blob.bin; mkdir -p ws/vendor/dist; echo hidden >ws/vendor/dist/x.log; seq 1 3000 >ws/long.txt; printf 'no end' >ws/noend; : >ws/empty
end_run; must_refuse approvals-missing 'waits' commit
review >out || fail "$(cat stderr)"
grep -q '^-int main(void){return 0;}' out; grep -q '^+int main(void){return 7;}' out
grep -A1 '^M Makefile' out | grep -q 'mode 100644 -> 100755'
grep -A9 '^D .gitignore' out | grep -q '^-\*.o'; grep -A9 '^D .gitignore' out | grep -q '^-app'
grep -A9 '^A link' out | grep -q 'a link to ../elsewhere'
grep -A5 '^A blob.bin' out | grep -q "now 3 bytes, git .*, sha256:$(sha256sum <ws/blob.bin | cut -d' ' -f1)"
grep -q '^+hidden' out; [ "$(grep -c '^+[0-9]*$' out)" = 3000 ]
grep -q '\\ no newline at the end' out; grep -q '^A empty' out; grep -q '^9 changed files' out
[ "$(review --json | python3 -c 'import json,sys; d=json.load(sys.stdin); print(len(d["changes"]), d["schema"])')" = '9 weir.review/1' ]
EOT

t "escaped: no byte of a name or a content reaches the terminal raw" <<'EOT'
with_people "$ONE"
printf 'x\033]0;owned\007\r\n\342\200\256evil\n\377\n\ttab \\n\n' >ws/esc; printf 'x' >"$(printf 'ws/a\303\251 b')"
MSG='hello \x1b'; end_run; must_refuse approvals-missing 'waits' commit
review >out; not grep -qP '[\x00-\x08\x0b-\x1f\x7f]' out; not grep -qP '\xe2\x80\xae' out
grep -qF 'x\x1b]0;owned\x07\x0d' out; grep -qF '\xe2\x80\xaeevil' out; grep -qF '+\xff' out
grep -qF '+	tab \\n' out; grep -qF 'hello \\x1b' out
review --json >j; not grep -qP '[\x00-\x09\x0b-\x1f\x7f]' j; python3 -m json.tool j >/dev/null
EOT

t "privileged first, with its role; findings, left-behind files and skipped checks are told" <<'EOT'
with_people "  approvals:
    - {paths: ['**'], count: 1}
    - {paths: ['zz/**'], role: security}
" "'**'"
mkdir ws/zz; echo 1 >ws/aaa; echo 2 >ws/zz/last; ln -s /etc/passwd ws/mmm; touch ws/x.o; end_run
must_refuse approvals-missing '1 approver, 1 security' commit
review >out
[ "$(grep -E '^[AMD] ' out | head -n 2 | tr '\n' '|')" = 'A zz/last [security]|A mmm [finding]|' ]
grep -q 'link-outside-[0-9a-f]*' out; grep -q '1 changed file is left behind' out; grep -q 'A x.o (ignored)' out
grep -q 'compared by inode' out; grep -q 'producer *job' out
[ "$(review --json | python3 -c 'import json,sys; d=json.load(sys.stdin); print([c["path"] for c in d["changes"]], d["changes"][0]["roles"], len(d["findings"]), d["left_behind"][0]["path"], len(d["skipped"]), d["producers"])')" = "['zz/last', 'mmm', 'aaa'] ['security'] 1 x.o 1 ['job']" ]
EOT

t "what is shown is the quarantine, whatever became of the workspace" <<'EOT'
proposed; echo evil >ws/good; review >out; grep -q '^+good' out; not grep -q evil out
rm -rf ws; review | cmp - out
EOT

t "an edited quarantine or list is no proposal" <<'EOT'
proposed; P=trusted.git/weir/pending/$NONCE
cp -a $P keep; reset() { rm -rf $P; cp -a keep $P; }
chmod u+w $P/q.pack; printf '\377' | dd of=$P/q.pack bs=1 seek=20 conv=notrunc 2>/dev/null; must_refuse quarantine 'other bytes' review; reset
sed -i 's/good/evil/' $P/changes; must_refuse void changes review; reset
echo more >>$P/message; must_refuse void message review; reset
sed -i 's/exec/read/' $P/policy.yaml; must_refuse void policy review; reset
rm $P/left; must_refuse void missing review; reset
review >/dev/null
EOT

t "nothing waits: unknown nonce, no run, no message" <<'EOT'
with_people "$ONE"; echo good >ws/good; end_run
must_refuse pending 'nothing waits' review
must_refuse pending 'nothing waits' "$GATE" review --nonce 00000000000000000000000000000000
must_refuse pending '32 lower-case' "$GATE" review --nonce 0000000000000000000000000000000X
status=0; "$GATE" review 2>err || status=$?; [ $status = 2 ]; grep -q -e '--run DIR or --nonce' err
status=0; "$GATE" commit --run run 2>err || status=$?; [ $status = 2 ]; grep -q -e '-m MSG is missing' err
EOT

t "a proposal is given up, also a damaged one" <<'EOT'
proposed; A=$NONCE; start_run; echo more >ws/more; end_run; must_refuse approvals-missing waits commit
rm trusted.git/weir/pending/$A/changes; "$GATE" pending | grep -q 'changes of the proposal is missing\|is missing'; [ "$("$GATE" pending | wc -l)" = 2 ]
must_refuse pending 'nothing waits' "$GATE" pending --drop ${A%?}x; "$GATE" pending --drop $A | grep -q dropped
[ "$("$GATE" pending | wc -l)" = 1 ]; must_refuse pending 'nothing waits' "$GATE" pending --drop $A; unchanged
EOT

t "proposals have a limit" <<'EOT'
proposed; P=trusted.git/weir/pending
for i in $(seq 1 1000); do mkdir $P/$(printf %032x $i); done; chown -R weir: $P
start_run; echo good >ws/good; end_run; must_refuse limit '1001 proposals' commit
EOT

done_testing
