#!/usr/bin/env bash
# A link with an MTU of 1400 bytes, below what an endpoint assumes: both sides ask their routes and stay below. Then a
# link whose MTU shrinks in the middle of a transfer: what is on its way goes out in IP fragments, and what follows is
# cut smaller.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

MTU=1400
# Packets of a transfer of 10 MB that may arrive in fragments: about a tenth.
MANY=750
# The echo server has the default.
UDP_PORT=9900

# counted_by_kernel a|b NAME: what the kernel of that side counts under that name.
counted_by_kernel() { "in_$1" nstat -asz "$2" | awk -v name="$2" '$1 == name { print $2 }'; }
set_mtu() { for side in "$NS_A" "$NS_B"; do ip -n "$side" link set path1 mtu "$1"; done; }
half_there() { [[ -n $(find "$WORK/out" -name '.polypath-*.part' -size +2000k -print -quit) ]]; }

build_ours
ECHO=$POLYPATH_PROGRAMS/examples/echo
net_up 1
set_mtu $MTU
TEXT=$(head -c 20000 /dev/zero | tr '\0' x)

in_a "$ECHO" serve "$(address a 1),$(address6 a 1)" > "$WORK/server" 2>&1 &
say "echo over a link with MTU $MTU:"
for to in "$(address a 1)" "$(address6 a 1)"; do
    wait_for 10 in_b "$ECHO" say "$to" "$TEXT" > "$WORK/answer" 2> "$WORK/client" ||
        die "$to: no answer: $(cat "$WORK/client" "$WORK/server")"
    [[ $(head -n 1 "$WORK/answer") == "$TEXT" ]] || die "$to: the answer differs"
    counter=IpFragCreates
    [[ $to == *:* ]] && counter=Ip6FragCreates
    for side in a b; do
        (($(counted_by_kernel $side $counter) == 0)) || die "$to: $side did not ask its routes for the MTU"
    done
    say "  $to: intact, no fragments"
done

shape b 1 50mbit
head -c 10000000 /dev/urandom > "$WORK/file"

# shrink FROM TO COUNTER: the link shrinks when the file is half there.
shrink() {
    local from=$1 to=$2 counter=$3 before joined receiver sender
    set_mtu 1500
    before=$(counted_by_kernel a "$counter")
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    : > "$WORK/receiver"
    in_a "$POLYPATH" receive --listen "$to" --out "$WORK/out" --once --encapsulation-port $UDP_PORT 2> "$WORK/receiver" &
    receiver=$!
    wait_for 10 grep -q '^listening' "$WORK/receiver" || die "the receiver did not start: $(cat "$WORK/receiver")"
    in_b "$POLYPATH" send "$WORK/file" --to "$to" --from "$from" --encapsulation-port $UDP_PORT > "$WORK/sender" 2>&1 &
    sender=$!
    wait_for 30 half_there || die "the transfer did not begin: $(cat "$WORK/sender")"
    set_mtu $MTU
    wait $sender || die "the sender failed: $(cat "$WORK/sender")"
    wait $receiver || die "the receiver failed: $(cat "$WORK/receiver")"
    cmp "$WORK/file" "$WORK/out/file" || die "the file arrived damaged"
    # The receiver's kernel is asked, because over IPv4 the sender makes the fragments itself.
    joined=$(($(counted_by_kernel a "$counter") - before))
    ((joined > 0)) || die "nothing was too big, so nothing was tested"
    ((joined < MANY)) || die "$joined packets in fragments: the sender did not adapt to the new MTU"
    say "  shrunk to $MTU in the middle of a transfer to $to: intact, $joined packets in fragments"
}

shrink "$(address b 1)" "$(address a 1)" IpReasmOKs
shrink "$(address6 b 1)" "$(address6 a 1)" Ip6ReasmOKs
