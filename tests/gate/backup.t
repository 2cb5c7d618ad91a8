#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119,SC2120,SC2016,SC2154
# The ledger is lost or damaged: a backup takes its place, if it reaches as far as is known.
. "$(dirname "$0")/lib.sh"

R=$LAB/trusted.git
LEDGER=/var/lib/weir-gate/ledger

change() {
	start_run
	echo "$1" >"$LAB/ws/$1"
	end_run
	commit >/dev/null
}

good() {
	"$GATE" verify main --deep --repo "$R" --signers /etc/weir/allowed_signers >/dev/null
	"$GATE" audit "$R" --signers /etc/weir/allowed_signers >/dev/null
	python3 "$TOP/tests/gate/tlog.py" log $LEDGER /etc/weir/ledger.vkey >/dev/null
}

t "backup, up to date again, and back in place of a ledger that is gone" <<'EOT'
rm -rf backup; fresh; change one; "$GATE" ledger backup backup >out; grep -q 'backed up: 2 entries' out; [ "$(stat -c %U backup)" = weir ]
change two; "$GATE" ledger backup backup >out; grep -q '4 entries' out; diff -r $LEDGER backup; "$GATE" ledger check >out; grep -q 'whole: 4' out; "$GATE" ledger check backup >/dev/null
must_refuse ledger-whole '4 entries' "$GATE" ledger restore backup; rm -r $LEDGER; must_refuse ledger 'No such file' "$GATE" ledger check; must_refuse ledger 'No such file' commit
"$GATE" ledger restore backup >out; grep -q 'restored: 4' out; good; change three; good
EOT

t "a damaged one is kept aside, and is not backed up over a good copy" <<'EOT'
rm -rf backup; fresh; change one; "$GATE" ledger backup backup >/dev/null; cp -a backup first; file=$(find $LEDGER/tile/entries -type f | sort | tail -n 1); printf x | dd of=$file bs=1 seek=40 conv=notrunc status=none
must_refuse ledger '' "$GATE" ledger backup backup; diff -r backup first; must_refuse ledger '' "$GATE" ledger check; "$GATE" ledger restore backup >/dev/null; good; ls -d $LEDGER.lost-*; [ ! -e $LEDGER.new ]
EOT

t "a backup that is older than the repository knows, damaged or another's is refused, and nothing changes" <<'EOT'
rm -rf backup other; fresh; change one; "$GATE" ledger backup backup >/dev/null; change two; "$GATE" ledger backup other >/dev/null; rm -r $LEDGER
must_refuse ledger-rolled-back '' "$GATE" ledger restore backup; must_refuse ledger-rolled-back '' "$GATE" ledger check backup; [ ! -e $LEDGER ]; [ ! -e $LEDGER.new ]
file=$(find other/tile/0 -type f | sort | tail -n 1); printf x | dd of=$file bs=1 conv=notrunc status=none; must_refuse ledger '' "$GATE" ledger restore other
rm -r other; mkdir other; chown weir: other; must_refuse ledger '' "$GATE" ledger restore other 2>/dev/null || not "$GATE" ledger restore other 2>/dev/null; ln -s /etc/shadow other/checkpoint; not "$GATE" ledger restore other 2>err; not grep -q root: err; [ ! -e $LEDGER ]
for bad in 'ledger' 'ledger restore' 'ledger backup' 'ledger eat x' 'ledger restore /nowhere'; do status=0; "$GATE" $bad >/dev/null 2>err || status=$?; [ $status = 2 ]; done
EOT

t "without the repository's copy nothing says how far it went: only who says --newest goes on" <<'EOT'
rm -rf backup; fresh; change one; "$GATE" ledger backup backup >/dev/null; change two; rm $R/weir/checkpoint
must_refuse ledger 'checkpoint is gone' "$GATE" ledger check; must_refuse ledger 'checkpoint is gone' "$GATE" ledger backup backup; start_run; echo x >ws/x; end_run; must_refuse ledger 'checkpoint is gone' commit
must_refuse ledger 'checkpoint is gone' "$GATE" ledger restore backup --newest; mv $LEDGER kept; must_refuse ledger 'checkpoint is gone' "$GATE" ledger restore backup; [ ! -e $LEDGER ]; mv kept $LEDGER
must_refuse ledger 'checkpoint is gone' "$GATE" ledger check backup --newest; "$GATE" ledger check --newest | grep -q 'whole: 4'; commit >/dev/null; good
rm -r $LEDGER $R/weir/checkpoint; "$GATE" ledger restore backup --newest | grep -q 'restored: 2'; "$GATE" ledger check | grep -q 'whole: 2'; "$GATE" verify main --repo $R --signers /etc/weir/allowed_signers >/dev/null 2>&1 && false; change three
EOT

done_testing
