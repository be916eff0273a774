#!/usr/bin/env bash
# Files over two real links at once: 100 and 50 Mbit/s, shaped by token buckets with a queue of 150 kB in both
# directions. First each link alone, then both, then one with IPv4 and one with IPv6, then both with the faster one cut
# in the middle. Every file must arrive intact.
#
#   two-links.sh [MEGABYTES [MBIT]]    size of the file (20), and the rate over both links to demand (none)
#
# POLYPATH_PRESET names policies other than those that users get.
# Runs alone: it reports rates, and may demand one.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

MEGABYTES=${1:-20}
DEMANDED=${2:-0}
LIMIT=$((90 + MEGABYTES))
POLICIES=(${POLYPATH_PRESET:+--preset "$POLYPATH_PRESET"})

# transfer NAME FROM TO [COMMAND...]: sends the file from the addresses FROM (in B) to TO (in A). The command runs once
# the transfer has begun. Sets RATE.
transfer() {
    local name=$1 from=$2 to=$3 receiver
    shift 3
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    : > "$WORK/receiver"
    in_a timeout "$LIMIT" "$POLYPATH" receive "${POLICIES[@]}" --listen "$to" --out "$WORK/out" --once \
        > /dev/null 2> "$WORK/receiver" &
    receiver=$!
    wait_for 10 grep -q '^listening' "$WORK/receiver" || report "$name: the receiver did not start"
    if (($# > 0)); then ("$@") & fi
    in_b timeout "$LIMIT" "$POLYPATH" send "${POLICIES[@]}" "$WORK/file" --from "$from" --to "$to" --json \
        > "$WORK/summary" 2> "$WORK/sender" ||
        report "$name: the sender failed"
    wait "$receiver" || report "$name: the receiver failed"
    cmp "$WORK/file" "$WORK/out/file" || report "$name: the file arrived damaged"
    [[ $(ls -A "$WORK/out") == file ]] || report "$name: something was left beside the file"
    RATE=$(field goodput_bit_s)
    say "  $(printf '%-24s %8.1f Mbit/s in %6.2f s' "$name" "$(mbit "$RATE")" "$(field duration_s)")"
    paths
}

# A number of the summary's top level.
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$WORK/summary" "$1"; }
mbit() { awk -v rate="$1" 'BEGIN { print rate / 1e6 }'; }

paths() {
    python3 - "$WORK/summary" << 'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    paths = json.load(file)["paths"]
for path in paths:
    lost = path["fast_retransmissions"] + path["timeout_retransmissions"]
    print(f"      {path['name']}: {path['goodput_bit_s'] / 1e6:6.1f} Mbit/s, {lost} retransmissions, {path['status']}")
PYTHON
}

# Cuts path 1 when a quarter of the file is on the receiver's disk, and notes whether more was still to come.
cut_in_the_middle() {
    wait_for 60 arrived $((MEGABYTES * 1000 / 4)) && cut 1 && arrived 0 && touch "$WORK/was-cut"
}

# Whether an incomplete file of more than $1 kB is there.
arrived() {
    [[ -n $(find "$WORK/out" -name '.polypath-*.part' -size "+$1k" -print -quit 2> /dev/null) ]]
}

# The cut can come too late on a busy machine.
transfer_with_cut() {
    local attempt
    for attempt in 1 2 3; do
        transfer "both, the faster one cut" "$(addresses b)" "$(addresses a)" cut_in_the_middle
        wait
        [[ -e $WORK/was-cut ]] && return
        say "  the cut came too late (attempt $attempt)"
        mend 1
    done
    die "the link could not be cut in the middle of a transfer"
}

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{sender,receiver,summary} >&2 || true
    exit 1
}

net_up 2
build_ours
for side in a b; do
    shape $side 1 100mbit
    shape $side 2 50mbit
done
head -c "${MEGABYTES}000000" /dev/urandom > "$WORK/file"
say "two links, $MEGABYTES MB:"
transfer "100 Mbit/s alone" "$(address b 1)" "$(address a 1)"
transfer "50 Mbit/s alone" "$(address b 2)" "$(address a 2)"
transfer "both" "$(addresses b)" "$(addresses a)"
both=$RATE
transfer "both, IPv4 and IPv6" "$(address b 1),$(address6 b 2)" "$(address a 1),$(address6 a 2)"
transfer_with_cut
awk -v rate="$both" -v demanded="$DEMANDED" 'BEGIN { exit !(rate >= demanded * 1e6) }' ||
    die "$(mbit "$both") Mbit/s over both links, less than $DEMANDED"
