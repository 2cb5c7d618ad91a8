#!/bin/bash
# SPDX-License-Identifier: MIT
# Networks and other processes: nothing is allowed that the policy doesn't name, each grant allows
# what it names, and what members make themselves is theirs.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
here=$(dirname "$(readlink -f "$0")")
lab_make
python3 "$here/reach.py" serve "$out" &
server=$!
trap 'kill "$server" 2>/dev/null' EXIT
until_ok test -e "$out/ports"
port()
{
	sed -n "s/^$1 //p" "$out/ports"
}

# reach POLICY-LINES NAME...: sets said, a line for each name.
reach()
{
	policy_write "$policy" "environment: {set: {SERVED: \"$out\"}}
$1"
	shift
	weir_run -q -- python3 "$here/reach.py" 'do' "$@"
	said=$(paste -sd, <<<"$stdout")
}

findings()
{
	of_run 'sorted({x["kind"] + " " + x["op"] + " " + x["object"]["path"] for x in f})'
}

reach '' tcp4 mapped nowhere uring among tcp6
is "$said" 'tcp4 EPERM,mapped EPERM,nowhere EPERM,uring EPERM,among EPERM,tcp6 EPERM' \
	'no connection without a rule' "$stderr"
is "$status $(findings)" "120 ['network connect tcp:127.0.0.1:$(port tcp4)', \
'network connect tcp:[::1]:$(port tcp6)', 'network listen tcp:127.0.0.1:$(of_run \
	'[x["peer"]["port"] for x in f if x["op"] == "listen"][0]')']" \
	'each is told by its address, the same through either family' "$stderr"

reach '' udp_connected udp_mapped path abstract datagram pair interfaces
is "$said" 'udp_connected EPERM,udp_mapped EPERM,path EPERM,abstract EPERM,datagram EPERM,pair ok,interfaces ok' \
	'nor datagrams or peers; pairs and questions are free' "$stderr"
is "$(findings)" "['ipc connect $out/stream', 'ipc connect unix:@weir-reach', \
'ipc send $out/datagram', 'network connect udp:127.0.0.1:$(port udp4)', \
'network send udp:127.0.0.1:$(port udp4)']" 'each is told by its name' "$stderr"
is "$(of_run '[x["peer"]["pid"] for x in f if x["object"]["path"].endswith("/stream")]')" "[$server]" \
	'and by the process that waits there' "$stderr"

reach "network: {egress: [{cidr: 127.0.0.0/8, ports: [$(port tcp4)-$(port tcp4)]}, \
{cidr: \"::1\", protocol: tcp}, {cidr: 127.0.0.1, ports: [$(port udp4)], protocol: udp}], \
listen: [{cidr: 0.0.0.0/0, ports: [8080]}]}
ipc: {unix: [$out/stream, $out/datagram, \"@weir-reach\"], receive: true}" \
	tcp4 mapped nowhere uring tcp6 udp_connected udp_mapped listen_all path abstract datagram passed
is "${said//[^,]/}" ',,,,,,,,,,,' 'all of them answer' "$stderr"
unlike "$said" '[A-Z]' 'each rule allows what it names'
is "$status $(verdict_of) $(of_run 'len(f)')" '0 clean 0' 'and such a run is clean' "$stderr"

reach "network: {egress: [{cidr: 127.0.0.1, ports: [$(port tcp4)], protocol: udp}, \
{cidr: 127.0.0.2}, {cidr: \"::/0\"}]}
ipc: {unix: [$out/stream]}" tcp4 listen_all passed
is "$said" 'tcp4 EPERM,listen_all EPERM,passed EPERM' 'and nothing beside it' "$stderr"

reach 'network: {loopback: true}' among among_udp tcp4
is "$said" 'among ok,among_udp ok,tcp4 EPERM' 'loopback is among members' "$stderr"
is "$(findings)" "['network connect tcp:127.0.0.1:$(port tcp4)']" \
	'not with those who listen there besides' "$stderr"

reach 'network: {loopback: true}' take_tcp take_udp
is "$said" 'take_tcp EPERM,take_udp EPERM' 'nor is a port that somebody else shares' "$stderr"
is "$(findings)" "['network bind udp:127.0.0.1:$(port shared_udp)', 'network listen tcp:127.0.0.1:$(port shared_tcp)']" \
	'which is a listener to the world' "$stderr"
reach "network: {listen: [{cidr: 127.0.0.1, ports: [$(port shared_tcp), $(port shared_udp)]}]}" take_tcp take_udp
is "$said $status" 'take_tcp ok,take_udp ok 0' 'and takes a rule' "$stderr"
done_testing
