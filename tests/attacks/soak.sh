#!/usr/bin/env bash
# A server of the crate with associations that come and go for SECONDS (1,200 if omitted), 1,000 at a time: its memory and descriptors
# each ten seconds. Fails if a client fails, a counter of the endpoint runs backwards, or if at the end memory is a fifth larger, or
# there are more descriptors, than after a fifth of the time. Over loopback.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/attacks/lib.sh

LASTS=${1:-1200}
ASSOCIATIONS=${2:-1000}
PEERS=$POLYPATH_PROGRAMS/examples/attacks
[[ -x $PEERS ]] || cargo build --profile optimized --workspace --locked --example attacks
: > "$WORK/server"
"$PEERS" server --local 127.20.0.1 --max-per-address "$ASSOCIATIONS" > "$WORK/server" 2>&1 &
SERVER=$!
STARTED+=("$SERVER")
wait_for 10 grep -q ready "$WORK/server" || die "the server did not start: $(cat "$WORK/server")"
"$PEERS" churn --local "$(seq -s, -f '127.21.0.%g' 1 20)" --to 127.20.0.1 --associations "$ASSOCIATIONS" --seconds "$LASTS" \
    > "$WORK/clients" 2> "$WORK/clients.err" &
CLIENTS=$!
STARTED+=("$CLIENTS")
memory=()
descriptors=()
while kill -0 $CLIENTS 2> /dev/null; do
    memory+=("$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$SERVER/status")")
    descriptors+=("$(find "/proc/$SERVER/fd" -type l | wc -l)")
    sleep $((LASTS < 200 ? 1 : 10))
done
wait $CLIENTS || die "clients failed: $(tail -n 3 "$WORK/clients.err")"
kill -INT $SERVER
wait $SERVER || true
! grep -q backwards "$WORK/server" || die "$(grep backwards "$WORK/server")"
SECOND=$((${#memory[@]} / 5))
say "kB of memory: $(for ((at = 0; at < ${#memory[@]}; at += ${#memory[@]} / 10 + 1)); do echo -n "${memory[at]} "; done)${memory[-1]}"
say "descriptors: ${descriptors[SECOND]}, at the end ${descriptors[-1]}; $(tail -n 1 "$WORK/clients"); server: $(tail -n 1 "$WORK/server")"
((memory[-1] <= memory[SECOND] * 6 / 5)) || die "memory has grown"
((descriptors[-1] <= descriptors[SECOND])) || die "descriptors were left"
