#!/usr/bin/env bash
# Strangers who take every place of `polypath receive` and offer nothing, and a sender that is in earnest: a place is free after a
# minute, not only after the idle timeout of five. Real programs over loopback.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/attacks/lib.sh

ATTACKER=$POLYPATH_PROGRAMS/examples/attacks
[[ -x $ATTACKER ]] || cargo build --profile optimized --workspace --locked --example attacks
head -c 100000 /dev/urandom > "$WORK/file"
: > "$WORK/receiver"
"$POLYPATH" receive --listen 127.0.0.1 --encapsulation-port 0 --out "$WORK/inbox" --max-senders 4 > "$WORK/receiver" 2>&1 &
STARTED+=($!)
wait_for 10 grep -q '^listening' "$WORK/receiver" || die "the receiver did not start: $(cat "$WORK/receiver")"
UDP=$(sed -n 's/^listening .* //p' "$WORK/receiver")
PORT=$(sed -n 's/^listening .*SCTP port \([0-9]*\),.*/\1/p' "$WORK/receiver")
send() {
    "$POLYPATH" send "$WORK/file" --from 127.0.0.7 --to 127.0.0.1 --encapsulation-port "$UDP" --retry-for 0 > "$WORK/sent" 2>&1
}
refused() { ! send && grep -q 'out of resource' "$WORK/sent"; }

# Twenty attempts, of which four succeed; their associations answer HEARTBEATs.
"$ATTACKER" attack hoard --local 127.0.0.8 --addresses 1 --to 127.0.0.1 --udp "$UDP" --port "$PORT" --rate 10 --most 20 --seconds 150 \
    > "$WORK/attack" 2>&1 &
STARTED+=($!)
wait_for 20 refused || die "the places were not taken: $(cat "$WORK/sent" "$WORK/attack")"
say "every place is taken: a sender is refused"
BEGAN=$SECONDS
until send; do
    ((SECONDS < BEGAN + 100)) || die "strangers who are silent keep all places: $(cat "$WORK/sent")"
    sleep 1
done
cmp "$WORK/file" "$WORK/inbox/file"
say "after $((SECONDS - BEGAN)) s the sender was served"
