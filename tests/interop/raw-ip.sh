#!/usr/bin/env bash
# SCTP over IP itself (protocol 132) between two namespaces: files over two paths, of IPv4 and of IPv6, with a link of a
# smaller MTU, and a receiver that nobody is at. Then, where usrsctp is installed, our stack against it the same way.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

MEGABYTES=5

# transfer NAME FROM TO: sends the file from the addresses FROM (in B) to TO (in A), and demands so many paths.
transfer() {
    local name=$1 from=$2 to=$3 wanted=$4 receiver paths
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    : > "$WORK/receiver"
    in_a timeout 90 "$POLYPATH" receive --raw --listen "$to" --out "$WORK/out" --once > /dev/null 2> "$WORK/receiver" &
    receiver=$!
    wait_for 10 grep -q '^listening' "$WORK/receiver" || report "$name: the receiver did not start"
    in_b timeout 90 "$POLYPATH" send --raw "$WORK/file" --from "$from" --to "$to" --json > "$WORK/summary" 2> "$WORK/sender" ||
        report "$name: the sender failed"
    wait "$receiver" || report "$name: the receiver failed"
    cmp "$WORK/file" "$WORK/out/file" || report "$name: the file arrived damaged"
    paths=$(python3 -c 'import json, sys
print(sum(path["goodput_bit_s"] > 0 for path in json.load(open(sys.argv[1]))["paths"]))' "$WORK/summary")
    [[ $paths == "$wanted" ]] || report "$name: $paths paths carried data, not $wanted"
    say "  $name: intact, $paths paths"
}

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{sender,receiver,summary} >&2 || true
    exit 1
}

# Against usrsctp: NAME OPTION...
against() {
    local name=$1
    shift
    exchange "$name" --source --raw "$@" -- --sink --raw "$@"
}

net_up 2
build_ours
for side in a b; do
    shape $side 1 50mbit
    shape $side 2 20mbit
done
head -c "${MEGABYTES}000000" /dev/urandom > "$WORK/file"
say "over IP, $MEGABYTES MB:"
transfer "IPv4" "$(address b 1)" "$(address a 1)" 1
transfer "IPv6" "$(address6 b 1)" "$(address6 a 1)" 1
transfer "two paths, IPv4" "$(addresses b)" "$(addresses a)" 2
transfer "two paths, IPv6" "$(addresses6 b)" "$(addresses6 a)" 2
transfer "two paths, one of each" "$(address b 1),$(address6 b 2)" "$(address a 1),$(address6 a 2)" 2
ip -n "$NS_A" link set path2 mtu 1400
ip -n "$NS_B" link set path2 mtu 1400
transfer "two paths, one of a smaller MTU" "$(addresses b)" "$(addresses a)" 2

if have cc && [[ -e /usr/include/usrsctp.h ]]; then
    build_peers
    against "usrsctp, one path" --messages 1000
    against "usrsctp, two paths" --messages 2000 --cmt
else
    required interop && die "usrsctp is not installed (POLYPATH_REQUIRE names interop)"
    say "  usrsctp is not installed: only ours was tried"
fi
say "raw IP: passed"
