#!/usr/bin/env bash
# Strangers who take every place of `polypath receive` and do nothing or little, and a sender that is in earnest: it gets the place of one of
# them after ten seconds. With --make-way-after 0, those who offer nothing lose theirs after a minute. Real programs over loopback.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/attacks/lib.sh

ATTACKER=$POLYPATH_PROGRAMS/examples/attacks
[[ -x $ATTACKER ]] || cargo build --profile optimized --workspace --locked --example attacks
head -c 100000 /dev/urandom > "$WORK/file"

# receiver OPTION...
receiver() {
    : > "$WORK/receiver"
    "$POLYPATH" receive --listen 127.0.0.1 --encapsulation-port 0 --out "$WORK/inbox" --max-senders 4 "$@" > "$WORK/receiver" 2>&1 &
    RECEIVER=$!
    STARTED+=("$RECEIVER")
    wait_for 10 grep -q '^listening' "$WORK/receiver" || die "the receiver did not start: $(cat "$WORK/receiver")"
    UDP=$(sed -n 's/^listening .* //p' "$WORK/receiver")
    PORT=$(sed -n 's/^listening .*SCTP port \([0-9]*\),.*/\1/p' "$WORK/receiver")
}
# send FROM FILE OPTION...
send() { "$POLYPATH" send "$2" --from "$1" --to 127.0.0.1 --encapsulation-port "$UDP" --retry-for 0 "${@:3}"; }
earnest() { send 127.0.0.7 "$WORK/file" > "$WORK/sent" 2>&1; }
refused() { ! earnest && grep -q 'out of resource' "$WORK/sent"; }
# Waits until the sender is served, less than so many seconds.
served_within() {
    local began=$SECONDS
    until earnest; do
        ((SECONDS < began + $1)) || die "the sender is not served: $(cat "$WORK/sent" "$WORK/receiver")"
        sleep 0.5
    done
    cmp "$WORK/file" "$WORK/inbox/file"
    rm "$WORK/inbox/file"
    say "after $((SECONDS - began)) s the sender was served"
}
hoard() {
    # Twenty attempts, of which four succeed; their associations answer HEARTBEATs.
    "$ATTACKER" attack hoard --local 127.0.0.8 --addresses 1 --to 127.0.0.1 --udp "$UDP" --port "$PORT" --rate 10 --most 20 --seconds "$1" \
        > "$WORK/attack" 2>&1 &
    STARTED+=($!)
    wait_for 20 refused || die "the places were not taken: $(cat "$WORK/sent" "$WORK/attack")"
}

receiver
hoard 40
say "silent strangers have every place: a sender is refused"
served_within 30
kill "$RECEIVER"

receiver
for place in 1 2 3 4; do head -c 3000000 /dev/urandom > "$WORK/trickle-$place"; done
for place in 1 2 3 4; do
    send 127.0.1.$place "$WORK/trickle-$place" --limit-rate '16 kbit/s' > "$WORK/trickle-$place.out" 2>&1 &
    STARTED+=($!)
done
wait_for 20 refused || die "the places were not taken: $(cat "$WORK/sent" "$WORK/receiver")"
say "senders that trickle have every place: a sender is refused"
served_within 30
kill "$RECEIVER"

receiver --make-way-after 0
hoard 150
say "nobody makes way: a sender is refused"
served_within 100
