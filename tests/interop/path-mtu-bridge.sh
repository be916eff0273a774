#!/usr/bin/env bash
# A bridge in the middle, one port of which carries 1300 bytes only from the middle of a transfer on. It fragments nothing and says
# nothing, so what was cut for 1500 bytes gets through only in fragments that the sender makes. Over UDP and over IP.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

MTU=1300

# bridged NAMESPACE LINK ADDRESS: a link from the namespace to the bridge.
bridged() {
    local here=$1 link=$2 address=$3
    ip -n "$here" link add "$link" type veth peer name "$link" netns "$NS_M"
    ip -n "$here" address add "$address" dev "$link"
    ip -n "$here" link set "$link" up
    ip -n "$NS_M" link set "$link" master bridge up
}

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{sender,receiver} >&2 || true
    exit 1
}

# shrink NAME OPTION...: the link behind the bridge shrinks when a part of the file is there.
shrink() {
    local name=$1 receiver sender
    shift
    ip -n "$NS_M" link set far mtu 1500
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    : > "$WORK/receiver"
    in_a timeout 120 "$POLYPATH" receive "$@" --listen 10.78.1.1 --out "$WORK/out" --once > /dev/null 2> "$WORK/receiver" &
    receiver=$!
    wait_for 10 grep -q '^listening' "$WORK/receiver" || report "$name: the receiver did not start"
    in_b timeout 90 "$POLYPATH" send "$@" "$WORK/file" --from 10.78.1.2 --to 10.78.1.1 > "$WORK/sender" 2>&1 &
    sender=$!
    wait_for 30 partly_there || report "$name: the transfer did not begin"
    ip -n "$NS_M" link set far mtu $MTU
    wait $sender || report "$name: the sender failed"
    wait $receiver || report "$name: the receiver failed"
    cmp "$WORK/file" "$WORK/out/file" || report "$name: the file arrived damaged"
    say "  $name: intact"
}
partly_there() { [[ -n $(find "$WORK/out" -name '.polypath-*.part' -size +1000k -print -quit 2> /dev/null) ]]; }

net_up 1
cut 1
build_ours
ip netns add "$NS_M"
ip -n "$NS_M" link add bridge type bridge
ip -n "$NS_M" link set bridge up
bridged "$NS_B" near 10.78.1.2/24
bridged "$NS_A" far 10.78.1.1/24
in_b tc qdisc replace dev near root tbf rate 20mbit burst 16kb limit 150kb
head -c 5000000 /dev/urandom > "$WORK/file"
say "a link behind a bridge shrinks in the middle of a transfer, and nobody says so:"
shrink "UDP, IPv4"
shrink "IP, IPv4" --raw
say "path-mtu-bridge: passed"
