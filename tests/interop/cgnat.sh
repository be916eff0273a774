#!/usr/bin/env bash
# A carrier's address translator of Linux (nftables): 1,000 clients behind one public address, alike but for their private ones, all
# of them with one server at once. Halfway through their transfers the translator forgets every mapping, so that each client has
# another port.
#
#   clients 10.1.0.2 to 10.1.3.233 -- 10.1.255.254 translator 203.0.113.2 -- 203.0.113.1 server
#
#   cgnat.sh                  1,000 clients with 30 messages each
#   cgnat.sh CLIENTS MESSAGES so many
#
# Runs alone: its 1,000 neighbours count towards gc_thresh3, which limits those of all namespaces together.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

export RUST_BACKTRACE=0
CLIENTS=${1:-1000}
MESSAGES=${2:-30}
FIRST=10.1.0.2
SERVER_ADDRESS=203.0.113.1

[[ $(id -u) == 0 ]] || skip net "network namespaces need root"
have ip || skip net "ip (iproute2) is not installed"
have nft && have conntrack || skip net "nft and conntrack are not installed (Debian: nftables conntrack)"

INSIDE=polypath-$$-i
TRANSLATOR=polypath-$$-t
OUTSIDE=polypath-$$-o

down() {
    local status=$? namespace
    trap - EXIT
    for namespace in "$INSIDE" "$TRANSLATOR" "$OUTSIDE"; do
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
    local namespace
    for namespace in "$INSIDE" "$TRANSLATOR" "$OUTSIDE"; do
        ip netns add "$namespace" 2> "$WORK/error" || skip net "no network namespace could be made: $(cat "$WORK/error")"
        ip -n "$namespace" link set lo up
    done
    ip -n "$INSIDE" link add eth0 type veth peer name in netns "$TRANSLATOR"
    ip -n "$TRANSLATOR" link add out type veth peer name eth0 netns "$OUTSIDE"
    ip -n "$TRANSLATOR" address add 10.1.255.254/16 dev in
    ip -n "$TRANSLATOR" address add 203.0.113.2/24 dev out
    ip -n "$OUTSIDE" address add "$SERVER_ADDRESS/24" dev eth0
    ip -n "$TRANSLATOR" link set in up
    ip -n "$TRANSLATOR" link set out up
    ip -n "$OUTSIDE" link set eth0 up
    ip -n "$INSIDE" link set eth0 up
    python3 -c 'import ipaddress, sys
for i in range(int(sys.argv[2])): print("address add", f"{ipaddress.ip_address(sys.argv[1]) + i}/16", "dev eth0")' \
        "$FIRST" "$CLIENTS" | ip -n "$INSIDE" -batch -
    ip -n "$INSIDE" route add default via 10.1.255.254
    ip netns exec "$TRANSLATOR" sysctl -qw net.ipv4.ip_forward=1
    # Neighbours beyond the default of 1,024.
    ip netns exec "$TRANSLATOR" sysctl -qw net.ipv4.neigh.default.gc_thresh3=65536 2> /dev/null || true
    ip netns exec "$TRANSLATOR" nft -f - 2> "$WORK/error" <<- RULES || skip net "no address translation in this kernel: $(cat "$WORK/error")"
		table ip translator {
		    chain out {
		        type nat hook postrouting priority srcnat
		        oifname out masquerade fully-random
		    }
		}
	RULES
}

forget() { ip netns exec "$TRANSLATOR" conntrack -F > /dev/null 2>&1; }
mappings() { ip netns exec "$TRANSLATOR" conntrack -L -p udp 2> /dev/null | wc -l; }

# Or the clients failed.
halfway() { grep -q '^half' "$WORK/clients" || ! kill -0 "$clients" 2> /dev/null; }

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{server,clients} >&2 || true
    exit 1
}

build_ours
have python3 || skip net "python3 is not installed"
# Two descriptors per client.
ulimit -n "$((2 * CLIENTS + 200))" 2> /dev/null || skip net "a process may not have $CLIENTS sockets"
up
CROWD=$POLYPATH_PROGRAMS/examples/crowd
say "$CLIENTS clients behind one address, $MESSAGES messages each:"
ip netns exec "$OUTSIDE" timeout 300 "$CROWD" server --local "$SERVER_ADDRESS" --clients "$CLIENTS" > "$WORK/server" 2>&1 &
server=$!
wait_for 10 grep -q '^ready' "$WORK/server" || report "the server did not start"
mkfifo "$WORK/pause"
started=$SECONDS
ip netns exec "$INSIDE" timeout 300 "$CROWD" clients --local "$FIRST" --to "$SERVER_ADDRESS" --clients "$CLIENTS" \
    --messages "$MESSAGES" --pause < "$WORK/pause" > "$WORK/clients" 2>&1 &
clients=$!
exec 3> "$WORK/pause"
wait_for 120 halfway && grep -q '^half' "$WORK/clients" || report "the clients did not get halfway"
before=$(mappings)
((before >= CLIENTS)) || report "$before mappings for $CLIENTS clients"
forget
exec 3>&-
wait $clients || report "the clients failed"
wait $server || report "the server failed"
expected="complete=$CLIENTS messages=$((CLIENTS * MESSAGES))"
for side in server clients; do grep -q "^$expected\$" "$WORK/$side" || report "the $side did not say $expected"; done
grep -q "^together=$CLIENTS\$" "$WORK/server" || report "the clients were not there at once"
say "  $expected, intact and in order; every mapping forgotten halfway ($((SECONDS - started)) s)"
