#!/usr/bin/env bash
# A link with an MTU of 1400 bytes, below what an endpoint assumes. The side that connects asks its routes and stays
# below; the side that accepts does not know and falls back to IP fragments. An echo needs both.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

MTU=1400

# fragments NAME: what the kernel of A counts under that name.
fragments() { in_a nstat -asz "$1" | awk -v name="$1" '$1 == name { print $2 }'; }

cargo build --workspace --locked --example echo
ECHO=$(target_dir)/debug/examples/echo
net_up 1
for side in "$NS_A" "$NS_B"; do ip -n "$side" link set path1 mtu $MTU; done
TEXT=$(head -c 20000 /dev/zero | tr '\0' x)

in_a "$ECHO" serve "$(address a 1),$(address6 a 1)" > "$WORK/server" 2>&1 &
say "echo over a link with MTU $MTU:"
for to in "$(address a 1)" "$(address6 a 1)"; do
    wait_for 10 in_b "$ECHO" say "$to" "$TEXT" > "$WORK/answer" 2> "$WORK/client" ||
        die "$to: no answer: $(cat "$WORK/client" "$WORK/server")"
    [[ $(head -n 1 "$WORK/answer") == "$TEXT" ]] || die "$to: the answer differs"
    counter=IpFragCreates
    [[ $to == *:* ]] && counter=Ip6FragCreates
    (($(fragments $counter) > 0)) || die "$to: nothing was fragmented, so nothing was tested"
    say "  $to: intact, $(fragments $counter) fragments"
done
(($(in_b nstat -asz IpFragCreates | awk '$1 == "IpFragCreates" { print $2 }') == 0)) ||
    die "the side that connects did not ask its routes for the MTU"
