#!/bin/bash
# SPDX-License-Identifier: MIT
# The stock profiles: each is good on any host and on this one, gives away nothing that needs a
# warning, says why of each of its rules, and is where the documents say.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
profiles=$top/user/profiles

# Lines of the profile $1 that grant something without a comment above it.
uncommented()
{
	awk '/^ *#/ { said = 1; next }
		/^  - path:|^(limits|leftover|coverage|writeback|  [a-z]+: true)/ && !said { print FILENAME ":" FNR ": " $0 }
		{ said = 0 }' "$1"
}

is "$(cd "$profiles" && echo *)" \
	'agent.yaml autotools.yaml c.yaml cmake.yaml deb.yaml npm.yaml python.yaml' 'seven profiles'
for file in "$profiles"/*.yaml; do
	name=$(basename "$file" .yaml)
	try weir policy check "$file"
	like "$status $stdout" "^0 $file: good: $name, enforce, " "$name: good, by its own name" "$stderr"
	unlike "$stdout$stderr" 'warning:' "$name: gives nothing away"
	try weir policy check "$file" -w "$ws"
	like "$status $stdout" '^0 .*on this host: [1-9][0-9]* objects' "$name: good on this host" "$stderr"
	unlike "$stdout" "note: [^"$'\n'"]*(symbolic|same)" "$name: its rules are about what they name"
	is "$(uncommented "$file")" '' "$name: each grant says why"
	like "$(<"$top/README.md")" "\`$name\`" "$name: is in the README"
	like "$(<"$top/user/man/weir.1")" "
\.It Pa $name\.yaml
" "$name: is in the manual page"
	# what no build has to do, whatever else it may
	for path in /etc/passwd "$HOME/.bashrc" "$ws/.github/workflows/x.yml" "$ws/.git/hooks/x" /usr/bin/x; do
		try weir policy explain "$file" "$path" -w "$ws"
		like "$stdout" '^[^:]*: (read(, exec)?;|read, write, exec \(a control name)' "$name: can't change $path"
	done
	try weir policy explain "$file" "$HOME/.ssh/id" -w "$ws"
	like "$stdout" ': none; by the credential store' "$name: can't read a key"
done

done_testing
