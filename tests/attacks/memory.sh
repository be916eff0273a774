#!/usr/bin/env bash
# Senders of `polypath receive` who fill its memory with messages that wait for one that never comes: all together they get what
# --max-memory says, whatever each of them could have, and an honest sender has a share of it. Real programs over loopback.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/attacks/lib.sh

ATTACKER=$POLYPATH_PROGRAMS/examples/attacks
[[ -x $ATTACKER ]] || cargo build --profile optimized --workspace --locked --example attacks
head -c 1000 /dev/urandom > "$WORK/file"
resident() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"; }

# filled MEMORY: sets GROWN to the MB that sixteen hostile senders fill.
filled() {
    local receiver udp port before attack
    : > "$WORK/receiver"
    "$POLYPATH" receive --listen 127.0.0.1 --encapsulation-port 0 --out "$WORK/inbox" --max-memory "$1" > "$WORK/receiver" 2>&1 &
    receiver=$!
    STARTED+=("$receiver")
    wait_for 10 grep -q '^listening' "$WORK/receiver" || die "the receiver did not start: $(cat "$WORK/receiver")"
    udp=$(sed -n 's/^listening .* //p' "$WORK/receiver")
    port=$(sed -n 's/^listening .*SCTP port \([0-9]*\),.*/\1/p' "$WORK/receiver")
    before=$(resident $receiver VmRSS)
    attack=$("$ATTACKER" attack gaps-on-streams --local 127.0.0.8 --addresses 1 --to 127.0.0.1 --udp "$udp" --port "$port" --seconds 5)
    GROWN=$((($(resident $receiver VmHWM) - before) / 1000))
    "$POLYPATH" send "$WORK/file" --from 127.0.0.7 --to 127.0.0.1 --encapsulation-port "$udp" --retry-for 0 > "$WORK/sent" 2>&1 ||
        die "an honest sender has no share: $(tail -n 1 "$WORK/sent")"
    say "--max-memory $1: $GROWN MB more, $attack; an honest sender was served"
    kill $receiver
    wait $receiver 2> /dev/null || true
    rm -rf "$WORK/inbox"
}

filled '256 MiB'
((GROWN > 24)) || die "the senders did not fill the memory"
filled '8 MiB'
((GROWN <= 8)) || die "more than was allowed"
