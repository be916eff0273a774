#!/usr/bin/env bash
# A host with two uplinks, as a laptop has with Ethernet and mobile radio: B reaches the address of A over both, by routes
# of different metrics, and each uplink lets only packets pass that have its own address. Routes alone take the first
# uplink for everything. Addresses that are bound to their interfaces use both, over UDP and over IP; and link-local
# addresses can be used at all. What cannot be bound is told. An interface that is removed and comes back is used again.
# Runs alone: what each uplink carries depends on when packets come.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

SERVER=10.99.0.1
# What the second uplink carries at least of a file of 8 MB, if it carries any of it.
MUCH=400000

# What came to A by an uplink so far.
came() { in_a cat "/sys/class/net/path$1/statistics/rx_bytes"; }

# transfer NAME FROM TO LISTEN OPTION...: sends the file; sets BY_SECOND to what came by the second uplink meanwhile.
transfer() {
    local name=$1 from=$2 to=$3 listen=$4 receiver before
    shift 4
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    : > "$WORK/receiver"
    before=$(came 2)
    in_a timeout 120 "$POLYPATH" receive "$@" --listen "$listen" --out "$WORK/out" --once > /dev/null 2> "$WORK/receiver" &
    receiver=$!
    wait_for 10 grep -q '^listening' "$WORK/receiver" || report "$name: the receiver did not start"
    in_b timeout 90 "$POLYPATH" send "$@" "$WORK/file" ${from:+--from "$from"} --to "$to" > "$WORK/sender" 2>&1 ||
        report "$name: the sender failed"
    wait "$receiver" || report "$name: the receiver failed"
    cmp "$WORK/file" "$WORK/out/file" || report "$name: the file arrived damaged"
    BY_SECOND=$(($(came 2) - before))
    say "  $name: intact, $BY_SECOND bytes by the second uplink"
}

# refused NAME PATTERN FROM: the sender ends with exit code 5 and says why.
refused() {
    local status=0
    in_b "$POLYPATH" send "$WORK/file" --from "$3" --to $SERVER > "$WORK/sender" 2>&1 || status=$?
    [[ $status == 5 ]] || report "$1: exit code $status, not 5"
    grep -q "$2" "$WORK/sender" || report "$1: no word of it"
    say "  $1: told"
}

# Whether the interface has its link-local address.
link_local() { in_"$1" ip -6 -o address show dev "$2" scope link | sed -n 's|.*inet6 \([^/]*\)/.*|\1|p'; }
has_link_local() { [[ -n $(link_local "$1" "$2") ]]; }

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{sender,receiver} >&2 || true
    exit 1
}

net_up 2
build_ours
ip -n "$NS_A" address add "$SERVER/32" dev lo
ip -n "$NS_B" route add "$SERVER" via "$(address a 1)" metric 100
ip -n "$NS_B" route add "$SERVER" via "$(address a 2)" metric 200
for path in path1 path2; do
    # A provider drops what has not its own addresses; the host must not drop what comes by the other uplink.
    in_a sysctl -qw net.ipv4.conf.$path.rp_filter=1
    in_b sysctl -qw net.ipv4.conf.$path.rp_filter=2
done
for path in 1 2; do shape b $path 50mbit; done
head -c 8000000 /dev/urandom > "$WORK/file"
bound="$(address b 1)%path1,$(address b 2)%path2"
say "two uplinks to one address, 8 MB:"
transfer "routes alone" "$(addresses b)" $SERVER $SERVER
((BY_SECOND < MUCH)) || die "the second uplink carried it without being bound: nothing was tested"
transfer "bound, UDP" "$bound" $SERVER $SERVER
((BY_SECOND >= MUCH)) || report "the second uplink carried next to nothing"
transfer "bound, IP" "$bound" $SERVER $SERVER --raw
((BY_SECOND >= MUCH)) || report "the second uplink carried next to nothing"
for path in path1 path2; do
    wait_for 10 has_link_local a $path || die "A has no link-local address at $path"
    wait_for 10 has_link_local b $path || die "B has no link-local address at $path"
done
transfer "link-local, UDP" "" "$(link_local a path2)%path2" "$(link_local a path2)%path2"
((BY_SECOND >= MUCH)) || report "it went by the other uplink"
transfer "link-local, IP" "$(link_local b path2)%path2" "$(link_local a path2)%path2" "$(link_local a path2)%path2" --raw
refused "an address of another interface" "path2.*does not have that address" "$(address b 1)%path2"
refused "an interface that there is not" "no interface has that name" "$(address b 1)%path9"
: > "$WORK/server"
in_a "$POLYPATH" meter server -B "$SERVER" -1 > /dev/null 2> "$WORK/server" &
SERVER_PID=$!
wait_for 10 grep -q '^listening' "$WORK/server" || die "the meter's server did not start: $(cat "$WORK/server")"
before=$(came 2)
in_b "$POLYPATH" meter client $SERVER -B "$bound" -n 8M > "$WORK/meter" 2>&1 || die "the meter failed: $(cat "$WORK/meter")"
wait $SERVER_PID || die "the meter's server failed: $(cat "$WORK/server")"
(($(came 2) - before >= MUCH)) || die "the meter did not use the second uplink: $(cat "$WORK/meter")"
say "  the meter: both uplinks"

# A modem that is plugged in again: an interface with the old name and address, and none of the old sockets hears of it.
plugged_in_again() {
    ip -n "$NS_B" link delete path1
    sleep 1
    NET_PATHS=0
    add_path
    NET_PATHS=2
    ip -n "$NS_B" route add "$SERVER" via "$(address a 1)" metric 100
}

first_carries_much() { (($(came 1) - BEFORE >= MUCH)); }
: > "$WORK/server"
in_a "$POLYPATH" meter server -B "$SERVER" -1 > /dev/null 2> "$WORK/server" &
SERVER_PID=$!
wait_for 10 grep -q '^listening' "$WORK/server" || die "the meter's server did not start: $(cat "$WORK/server")"
BEFORE=$(came 1)
in_b "$POLYPATH" meter client $SERVER -B "$bound" -t 60 > "$WORK/meter" 2>&1 &
CLIENT_PID=$!
wait_for 10 first_carries_much || die "the first uplink carried next to nothing: $(cat "$WORK/meter")"
plugged_in_again
BEFORE=0
wait_for 20 first_carries_much || die "the first uplink stayed silent when it was plugged in again: $(cat "$WORK/meter")"
# shellcheck disable=SC2046 # one process per word
kill -INT $(ip netns pids "$NS_B")
wait $CLIENT_PID || true
wait $SERVER_PID || true
say "  plugged in again: the first uplink carries data"
