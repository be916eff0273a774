#!/usr/bin/env bash
# A sender that is promised most of the room of `polypath receive` and fills it at 16 kbit/s, and one that is in earnest: the room is
# promised to the first one only for its first 30 seconds. Then the second one is served, and the first one goes on. Real programs over
# loopback; takes a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/attacks/lib.sh

head -c 15000000 /dev/urandom > "$WORK/slow"
head -c 12000000 /dev/urandom > "$WORK/earnest"
: > "$WORK/receiver"
"$POLYPATH" receive --listen 127.0.0.1 --encapsulation-port 0 --out "$WORK/inbox" --max-total '20 MB' > "$WORK/receiver" 2>&1 &
RECEIVER=$!
STARTED+=("$RECEIVER")
wait_for 10 grep -q '^listening' "$WORK/receiver" || die "the receiver did not start: $(cat "$WORK/receiver")"
UDP=$(sed -n 's/^listening .* //p' "$WORK/receiver")

# send FROM FILE OPTION...
send() { "$POLYPATH" send "$2" --from "$1" --to 127.0.0.1 --encapsulation-port "$UDP" --retry-for 0 "${@:3}"; }
# What the receiver says it has got of the slow file, line by line.
progress() { grep -c '^slow: ' "$WORK/receiver" || true; }
begun() { (($(progress) > 0)); }

send 127.0.0.6 "$WORK/slow" --limit-rate '16 kbit/s' > "$WORK/slow.out" 2>&1 &
SLOW=$!
STARTED+=("$SLOW")
wait_for 20 begun || die "the slow sender did not begin: $(cat "$WORK/slow.out" "$WORK/receiver")"
send 127.0.0.7 "$WORK/earnest" > "$WORK/refused" 2>&1 && die "the room of the slow sender was given away at once"
grep -q 'accepts at most 20000000 bytes' "$WORK/refused" || die "refused for another reason: $(cat "$WORK/refused")"
say "room is promised to a slow sender: another one is refused"
BEGAN=$SECONDS
until send 127.0.0.7 "$WORK/earnest" > "$WORK/sent" 2>&1; do
    ((SECONDS < BEGAN + 90)) || die "a slow sender keeps room from others: $(cat "$WORK/sent")"
    sleep 1
done
cmp "$WORK/earnest" "$WORK/inbox/earnest"
say "after $((SECONDS - BEGAN)) s the other one was served"
kill -0 $SLOW 2> /dev/null || die "the slow sender was sent away: $(cat "$WORK/slow.out")"
BEFORE=$(progress)
has_more() { (($(progress) > BEFORE)); }
wait_for 30 has_more || die "the slow sender does not go on: $(cat "$WORK/slow.out")"
say "the slow one goes on"
