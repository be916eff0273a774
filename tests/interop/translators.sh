#!/usr/bin/env bash
# Address translators of Linux (nftables) between a client with two uplinks and a server with two addresses: a masquerade,
# mappings that are forgotten in the middle of a transfer, random ports, a translator for each uplink, a server behind a
# forwarded port. What the routers do not know they reject with ICMP, as Linux does.
#
#   client 10.1.0.2 u1 -- 10.1.0.1 router 1 203.0.113.2 -- server 198.51.100.1, 198.51.100.2
#          10.2.0.2 u2 -- 10.2.0.1 router 2 192.0.2.2   --
#
#   translators.sh        every case for some seconds, with uplinks of 20 Mbit/s
#   translators.sh long   two uplinks of 50 Mbit/s for a minute each: undisturbed, and with other ports each 10 s
# Runs alone: it demands rates of links that are shared with nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

RATE=20
[[ ${1:-} == long ]] && RATE=50
[[ $(id -u) == 0 ]] || skip net "network namespaces need root"
have ip && have tc || skip net "ip and tc (iproute2) are not installed"
have nft && have conntrack || skip net "nft and conntrack are not installed (Debian: nftables conntrack)"

CLIENT=polypath-$$-c
SERVER=polypath-$$-s
ROUTERS=("" "polypath-$$-r1" "polypath-$$-r2")
SERVERS=198.51.100.1,198.51.100.2
PUBLIC=("" 203.0.113 192.0.2)
BOTH=10.1.0.2%u1,10.2.0.2%u2
# What is measured goes before all other work of the machine. The links have no delay, so a sender has packets for some milliseconds
# under way, and a link is idle if the sender or the receiver waits longer than that for a processor: on two processors with a load of
# eleven, two links of 50 Mbit/s carried 93 Mbit/s without this, and 95.3 of 95.4 with it.
FIRST=()
! chrt -f 10 true 2> /dev/null || FIRST=(chrt -f 10)

down() {
    local status=$? namespace
    trap - EXIT
    for namespace in "$CLIENT" "$SERVER" "${ROUTERS[@]:1}"; do
        # shellcheck disable=SC2046 # one process per word
        kill $(ip netns pids "$namespace" 2> /dev/null) 2> /dev/null || true
        ip netns delete "$namespace" 2> /dev/null || true
    done
    rm -rf "$WORK"
    exit "$status"
}

up() {
    trap down EXIT
    trap 'exit 130' INT TERM
    WORK=$(mktemp -d)
    local namespace uplink router
    for namespace in "$CLIENT" "$SERVER" "${ROUTERS[@]:1}"; do
        ip netns add "$namespace" 2> "$WORK/error" || skip net "no network namespace could be made: $(cat "$WORK/error")"
        ip -n "$namespace" link set lo up
        ip netns exec "$namespace" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
            net.ipv4.icmp_ratelimit=0
    done
    ip -n "$SERVER" address add 198.51.100.1/32 dev lo
    ip -n "$SERVER" address add 198.51.100.2/32 dev lo
    for uplink in 1 2; do
        router=${ROUTERS[uplink]}
        ip -n "$CLIENT" link add "u$uplink" type veth peer name in netns "$router"
        ip -n "$router" link add out type veth peer name "w$uplink" netns "$SERVER"
        ip -n "$CLIENT" address add "10.$uplink.0.2/24" dev "u$uplink"
        ip -n "$router" address add "10.$uplink.0.1/24" dev in
        ip -n "$router" address add "${PUBLIC[uplink]}.2/24" dev out
        ip -n "$SERVER" address add "${PUBLIC[uplink]}.1/24" dev "w$uplink"
        ip -n "$CLIENT" link set "u$uplink" up
        ip -n "$router" link set in up
        ip -n "$router" link set out up
        ip -n "$SERVER" link set "w$uplink" up
        ip -n "$CLIENT" route add default via "10.$uplink.0.1" dev "u$uplink" metric "${uplink}00"
        ip -n "$router" route add 198.51.100.0/24 via "${PUBLIC[uplink]}.1"
        ip netns exec "$router" sysctl -qw net.ipv4.ip_forward=1
        # The same rate in each direction.
        ip netns exec "$CLIENT" tc qdisc add dev "u$uplink" root tbf rate "${RATE}mbit" burst 16kb limit "$((3 * RATE))kb"
        ip netns exec "$router" tc qdisc add dev in root tbf rate "${RATE}mbit" burst 16kb limit "$((3 * RATE))kb"
    done
    translate masquerade || skip net "no address translation in this kernel: $(cat "$WORK/error")"
}

# translate RULE: how both routers translate what leaves them.
translate() {
    local uplink
    for uplink in 1 2; do
        ip netns exec "${ROUTERS[uplink]}" nft -f - 2> "$WORK/error" <<- RULES || return 1
			flush ruleset
			table ip translator {
			    chain out {
			        type nat hook postrouting priority srcnat
			        oifname out $1
			    }
			    chain forwarded {
			        type nat hook prerouting priority dstnat
			        iifname out udp dport 9899 dnat to 10.$uplink.0.2
			    }
			}
		RULES
        ip netns exec "${ROUTERS[uplink]}" conntrack -F > "$WORK/error" 2>&1 || return 1
    done
}

# The routers forget every mapping, as when they are restarted.
forget() {
    local uplink
    for uplink in 1 2; do ip netns exec "${ROUTERS[uplink]}" conntrack -F > /dev/null 2>&1; done
}

# The provider gives router 1 another public address.
HOST=2
readdress() {
    ip -n "${ROUTERS[1]}" address del "${PUBLIC[1]}.$HOST/24" dev out
    HOST=$((HOST + 1))
    ip -n "${ROUTERS[1]}" address add "${PUBLIC[1]}.$HOST/24" dev out
    ip -n "${ROUTERS[1]}" route replace 198.51.100.0/24 via "${PUBLIC[1]}.1"
    forget
}

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{one,other} >&2 || true
    exit 1
}

# measure NAME FROM TO SECONDS TIMES LEAST OPTION...: the client's meter, with mappings that are forgotten so many times ($EVENT says
# what else may happen); it must carry LEAST Mbit/s.
EVENT=forget
measure() {
    local name=$1 from=$2 to=$3 seconds=$4 times=$5 least=$6 server client rate hosts
    shift 6
    IFS=, read -ra hosts <<< "$to"
    : > "$WORK/other"
    ip netns exec "$SERVER" "${FIRST[@]}" timeout 120 "$POLYPATH" meter server -B "$to" -1 > /dev/null 2> "$WORK/other" &
    server=$!
    wait_for 10 grep -q '^listening' "$WORK/other" || report "$name: the server did not start"
    ip netns exec "$CLIENT" "${FIRST[@]}" timeout 120 "$POLYPATH" meter client "${hosts[@]}" -B "$from" -t "$seconds" --json "$@" \
        > "$WORK/json" 2> "$WORK/one" &
    client=$!
    while ((times-- > 0)); do
        sleep 1.2
        $EVENT
    done
    wait $client || report "$name: the client failed"
    wait $server || report "$name: the server failed"
    rate=$(rate_of "$WORK/json")
    ((rate >= least)) || report "$name: $rate Mbit/s, not $least"
    say "  $name: $rate Mbit/s"
}

# A server behind a translator that forwards its port, and a sender outside.
forwarded() {
    local receiver
    : > "$WORK/other"
    head -c 5000000 /dev/urandom > "$WORK/file"
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    ip netns exec "$CLIENT" "${FIRST[@]}" timeout 60 "$POLYPATH" receive --listen 10.2.0.2%u2 --out "$WORK/out" --once > /dev/null 2> "$WORK/other" &
    receiver=$!
    wait_for 10 grep -q '^listening' "$WORK/other" || report "a forwarded port: the receiver did not start"
    ip netns exec "$SERVER" "${FIRST[@]}" timeout 60 "$POLYPATH" send "$WORK/file" --from 198.51.100.1 --to "${PUBLIC[2]}.2" > "$WORK/one" 2>&1 ||
        report "a forwarded port: the sender failed"
    wait $receiver || report "a forwarded port: the receiver failed"
    cmp "$WORK/file" "$WORK/out/file" || report "a forwarded port: the file arrived damaged"
    say "  a server behind a forwarded port: intact"
}

# rebound NAME MEGABYTES SECONDS LEAST: a file over both uplinks, whose routers forget their mappings each so many seconds; it must
# arrive intact, at LEAST Mbit/s.
rebound() {
    local name=$1 bytes=$(($2 * 1000000)) every=$3 least=$4 receiver sender forgetter began took rate times
    : > "$WORK/other"
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    head -c "$bytes" /dev/urandom > "$WORK/file"
    ip netns exec "$SERVER" "${FIRST[@]}" timeout 300 "$POLYPATH" receive --listen $SERVERS --out "$WORK/out" --once --max-bytes '10 GB' \
        > /dev/null 2> "$WORK/other" &
    receiver=$!
    wait_for 10 grep -q '^listening' "$WORK/other" || report "$name: the receiver did not start"
    began=$(date +%s%N)
    ip netns exec "$CLIENT" "${FIRST[@]}" timeout 300 "$POLYPATH" send "$WORK/file" --from $BOTH --to $SERVERS --retry-for 0 > "$WORK/one" 2>&1 &
    sender=$!
    : > "$WORK/times"
    (while sleep "$every"; do forget && echo forgotten >> "$WORK/times"; done) &
    forgetter=$!
    wait $sender || report "$name: the sender failed"
    took=$(($(date +%s%N) - began))
    kill $forgetter
    wait $receiver || report "$name: the receiver failed"
    cmp "$WORK/file" "$WORK/out/file" || report "$name: the file arrived damaged"
    rate=$((bytes * 8000 / took))
    times=$(wc -l < "$WORK/times")
    ((times > 0)) || report "$name: no mapping was forgotten"
    ((rate >= least)) || report "$name: $rate Mbit/s, not $least"
    say "  $name: intact, mappings forgotten $times times, $rate Mbit/s"
}

# Whole Mbit/s of a measurement, as its receiver saw it.
rate_of() {
    python3 - "$1" <<- 'PYTHON'
		import json, sys
		total = json.load(open(sys.argv[1]))["end"]
		print(int(total["sum_received"]["bits_per_second"] / 1e6))
	PYTHON
}

build_ours
have python3 || skip net "python3 is not installed"
up
say "translators, $RATE Mbit/s on each uplink:"
if [[ $RATE == 50 ]]; then
    measure "a translator for each uplink" $BOTH $SERVERS 60 0 94
    measure "the same, backwards" $BOTH $SERVERS 60 0 94 -R
    translate "masquerade fully-random"
    rebound "a file, other ports each 10 s" 650 10 85
    exit
fi
measure "one uplink, a server with two addresses" 10.1.0.2 $SERVERS 2 0 14
measure "the same, backwards" 10.1.0.2 $SERVERS 2 0 14 -R
measure "mappings forgotten twice" 10.1.0.2 $SERVERS 4 2 10
measure "mappings forgotten twice, backwards" 10.1.0.2 $SERVERS 5 2 8 -R
measure "a translator for each uplink" $BOTH $SERVERS 4 0 32
measure "the same, backwards" $BOTH $SERVERS 4 0 32 -R
measure "and one address of the server" $BOTH 198.51.100.1 4 0 30
measure "mappings of both forgotten" $BOTH $SERVERS 4 2 20
translate "masquerade fully-random"
measure "random ports" $BOTH $SERVERS 4 0 30
measure "random ports, mappings forgotten twice" 10.1.0.2 198.51.100.1 4 2 10
measure "the same, backwards" 10.1.0.2 198.51.100.1 5 2 8 -R
measure "two uplinks, random ports, mappings forgotten twice" $BOTH $SERVERS 4 2 20
rebound "a file over two uplinks, random ports" 20 2 20
EVENT=readdress
measure "a public address that changes twice" 10.1.0.2 $SERVERS 6 2 6
measure "one of two that changes twice, backwards" $BOTH 198.51.100.1 6 2 12 -R
forwarded
