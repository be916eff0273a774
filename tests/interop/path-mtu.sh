#!/usr/bin/env bash
# A router in the middle, with a link of 1300 bytes behind it that neither end can see: packets that do not fit are
# answered by ICMP, and the sender cuts smaller ones. Over UDP and over IP, IPv4 and IPv6. Who neither probes nor listens
# to ICMP never gets a full packet through. Then the router says nothing, and only probes help; also where the link shrinks
# only when a transfer has begun.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

MTU=1300

# Between B and the router, and between the router and A.
routed() {
    local here=$1 link=$2 number=$3
    ip -n "$here" link add "$link" type veth peer name "$link" netns "$NS_M"
    ip -n "$here" address add "10.78.$number.2/24" dev "$link"
    ip -n "$NS_M" address add "10.78.$number.1/24" dev "$link"
    ip -n "$here" address add "fd78:$number::2/64" dev "$link" nodad
    ip -n "$NS_M" address add "fd78:$number::1/64" dev "$link" nodad
    ip -n "$here" link set "$link" up
    ip -n "$NS_M" link set "$link" up
    ip -n "$here" route add 10.78.0.0/16 via "10.78.$number.1"
    ip -n "$here" -6 route add fd78::/16 via "fd78:$number::1"
}

# transfer NAME FROM TO OPTION...
transfer() {
    local name=$1 from=$2 to=$3 receiver
    shift 3
    # What the kernel has learnt of paths is forgotten: each transfer finds out by itself.
    ip -n "$NS_B" route flush cache
    ip -n "$NS_B" -6 route flush cache
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    : > "$WORK/receiver"
    in_a timeout 120 "$POLYPATH" receive "$@" --listen "$to" --out "$WORK/out" --once > /dev/null 2> "$WORK/receiver" &
    receiver=$!
    wait_for 10 grep -q '^listening' "$WORK/receiver" || report "$name: the receiver did not start"
    in_b timeout 90 "$POLYPATH" send "$@" "$WORK/file" --from "$from" --to "$to" > "$WORK/sender" 2>&1 ||
        report "$name: the sender failed"
    wait "$receiver" || report "$name: the receiver failed"
    cmp "$WORK/file" "$WORK/out/file" || report "$name: the file arrived damaged"
    say "  $name: intact"
}

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{sender,receiver} >&2 || true
    exit 1
}

net_up 1
cut 1
build_ours
ip netns add "$NS_M"
routed "$NS_B" near 1
routed "$NS_A" far 2
ip -n "$NS_M" link set far mtu $MTU
ip netns exec "$NS_M" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
head -c 3000000 /dev/urandom > "$WORK/file"
say "a link of $MTU bytes behind a router:"
for discovery in icmp probe; do
    transfer "$discovery, UDP, IPv4" 10.78.1.2 10.78.2.2 --set pmtu_discovery=$discovery
    transfer "$discovery, UDP, IPv6" fd78:1::2 fd78:2::2 --set pmtu_discovery=$discovery
    transfer "$discovery, IP, IPv4" 10.78.1.2 10.78.2.2 --raw --set pmtu_discovery=$discovery
    transfer "$discovery, IP, IPv6" fd78:1::2 fd78:2::2 --raw --set pmtu_discovery=$discovery
done
# What the router itself would send has no route.
ip -n "$NS_M" rule add iif lo prohibit
ip -n "$NS_M" -6 rule add iif lo prohibit
say "the same link, and a router that says nothing:"
transfer "UDP, IPv4" 10.78.1.2 10.78.2.2
transfer "UDP, IPv6" fd78:1::2 fd78:2::2
transfer "IP, IPv4" 10.78.1.2 10.78.2.2 --raw
transfer "IP, IPv6" fd78:1::2 fd78:2::2 --raw

# shrink NAME FROM TO: the link behind the router shrinks when a part of the file is there, and nobody says so.
shrink() {
    local name=$1 from=$2 to=$3 receiver sender
    shift 3
    ip -n "$NS_M" link set far mtu 1500
    ip -n "$NS_A" link set far mtu 1500
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    : > "$WORK/receiver"
    in_a timeout 120 "$POLYPATH" receive "$@" --listen "$to" --out "$WORK/out" --once > /dev/null 2> "$WORK/receiver" &
    receiver=$!
    wait_for 10 grep -q '^listening' "$WORK/receiver" || report "$name: the receiver did not start"
    in_b timeout 90 "$POLYPATH" send "$@" "$WORK/file" --from "$from" --to "$to" > "$WORK/sender" 2>&1 &
    sender=$!
    wait_for 30 partly_there || report "$name: the transfer did not begin"
    ip -n "$NS_M" link set far mtu $MTU
    wait $sender || report "$name: the sender failed"
    wait $receiver || report "$name: the receiver failed"
    cmp "$WORK/file" "$WORK/out/file" || report "$name: the file arrived damaged"
    say "  $name: intact"
}
partly_there() { [[ -n $(find "$WORK/out" -name '.polypath-*.part' -size +1000k -print -quit 2> /dev/null) ]]; }

in_b tc qdisc replace dev near root tbf rate 20mbit burst 16kb limit 150kb
head -c 5000000 /dev/urandom > "$WORK/file"
say "the link shrinks in the middle of a transfer, and nobody says so:"
shrink "UDP, IPv4" 10.78.1.2 10.78.2.2
shrink "UDP, IPv6" fd78:1::2 fd78:2::2
shrink "IP, IPv6" fd78:1::2 fd78:2::2 --raw
