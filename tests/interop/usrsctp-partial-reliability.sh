#!/usr/bin/env bash
# Our stack against usrsctp over a link that loses packets, with messages that are given up when they are lost: both
# sides tell the other by FORWARD-TSN, and all that is not given up arrives once, in order where it has one. A peer that
# does not know FORWARD-TSN gets everything.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

MESSAGES=3000
# In several chunks, many of them.
SIZE=1500
# In one chunk each.
SMALL=500

# both CASE OUR_SHARE THEIR_SHARE OPTION...: a share is --source or --sink; the options are for both.
both() {
    local case=$1 ours=$2 theirs=$3
    shift 3
    local common=(--messages "$MESSAGES" "$@")
    exchange_in_part "$case" "$ours" "${common[@]}" -- "$theirs" "${common[@]}"
}

# expect_some_missing ARRIVED: messages were given up, though by far not all of them.
expect_some_missing() {
    say "    arrived: $1 of $MESSAGES"
    (($1 < MESSAGES && $1 > MESSAGES / 2)) || exchange_failed "$1 messages arrived"
}

net_up 1
build_peers
# Queues so short that packets are lost.
for side in a b; do
    shape "$side" 1 10mbit 20kb
done

for order in "" --unordered; do
    # usrsctp 0.9.5 acknowledges unordered messages of several chunks behind one that was abandoned, and then at times does not
    # deliver those of its stream: what it receives without order is in one chunk.
    size=$SIZE
    [[ -z $order ]] || size=$SMALL
    for limit in 0 1; do
        name="given up after $limit retransmissions${order:+, unordered}"
        options=(--give-up-after "$limit" ${order:+"$order"})
        both "$name, we send" --source --sink --mean-size "$size" "${options[@]}"
        if [[ $limit == 0 ]]; then
            expect_count forward_tsns_sent "> 0"
            expect_count abandoned "> 0"
            expect_some_missing "$(counted_theirs arrived)"
        fi
        (($(counted_theirs arrived) + $(counted abandoned) >= MESSAGES)) || exchange_failed "messages vanished"
        both "$name, usrsctp sends" --sink --source --mean-size "$SIZE" "${options[@]}"
        if [[ $limit == 0 ]]; then
            expect_count forward_tsns_received "> 0"
            expect_some_missing "$(counted arrived)"
        fi
    done
done

common=(--messages "$MESSAGES" --mean-size "$SIZE")
exchange_in_part "usrsctp without FORWARD-TSN, we send" --source "${common[@]}" --give-up-after 0 \
    -- --sink "${common[@]}" --no-partial-reliability
expect_count forward_tsns_sent "== 0"
expect_count abandoned "== 0"
expect_count kept_reliable "== $MESSAGES"
grep -q "^messages=$MESSAGES " "$WORK/theirs.out" || exchange_failed "not everything arrived"
say "usrsctp with partial reliability: passed"
