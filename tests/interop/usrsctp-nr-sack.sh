#!/usr/bin/env bash
# Our stack against usrsctp over two unequal links that lose packets, with NR-SACK on both sides, on one, on none. Where
# both sides have it every acknowledgement is an NR-SACK, elsewhere none is; the data arrives all the same.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

build() {
    have cc && [[ -e /usr/include/usrsctp.h ]] || skip interop "usrsctp is not installed (Debian: libusrsctp-dev gcc)"
    local target
    target=$(target_dir)
    THEIRS=$target/interop/usrsctp_peer
    mkdir -p "$target/interop"
    cc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$THEIRS" tests/interop/usrsctp_peer.c -lusrsctp -lpthread
    build_ours
    OURS=$INTEROP_PEER
}

# transfer NAME OURS_DOES THEIRS_DOES OUR_VALUE THEIR_OPTION: usrsctp listens in A, we connect from B.
transfer() {
    local name=$1 common=(--messages 3000 --mean-size 1000 --cmt)
    say "  $name"
    touch "$WORK"/{ours,theirs}.{out,err}
    truncate --size 0 "$WORK"/{ours,theirs}.{out,err}
    # shellcheck disable=SC2086 # an option may be missing
    in_a "$THEIRS" --listen "$3" --local "$(addresses a)" "${common[@]}" $5 \
        > "$WORK/theirs.out" 2> "$WORK/theirs.err" &
    local pid=$!
    wait_for 10 grep -q '^ready' "$WORK/theirs.out" || report "$name: usrsctp did not start"
    in_b "$OURS" --connect "$(addresses a)" "$2" --local "$(addresses b)" "${common[@]}" --nr-sack "$4" \
        > "$WORK/ours.out" 2> "$WORK/ours.err" || report "$name: ours failed"
    wait "$pid" || report "$name: usrsctp failed"
    [[ $(grep -h '^messages=' "$WORK"/{ours,theirs}.out | sort -u | wc -l) == 1 ]] || report "$name: the sums differ"
    say "    $(grep '^sacks_sent=' "$WORK/ours.out")"
}

# counter NAME: what our side counted.
counter() { grep '^sacks_sent=' "$WORK/ours.out" | tr ' ' '\n' | sed -n "s/^$1=//p"; }

expect() {
    local condition
    condition="$(counter "$1") $2"
    ((condition)) || report "$name: $1 is $(counter "$1"), not $2"
}

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{ours,theirs}.{out,err} >&2 || true
    exit 1
}

net_up 2
build
# Queues so short that packets are lost.
for side in a b; do
    shape "$side" 1 20mbit 30kb
    shape "$side" 2 5mbit 15kb
done

for value in deliverable all; do
    name="NR-SACK on both sides, $value, we send"
    transfer "$name" --source --sink "$value" --nr-sack
    expect nr_sacks_received "> 0"
    expect nr_sacks_received "== $(counter sacks_received)"
    expect released_early "> 0"
    name="NR-SACK on both sides, $value, usrsctp sends"
    transfer "$name" --sink --source "$value" --nr-sack
    expect nr_sacks_sent "> 0"
    expect nr_sacks_sent "== $(counter sacks_sent)"
done
for name in "NR-SACK on our side only" "NR-SACK on usrsctp's side only" "no NR-SACK"; do
    ours=off theirs=''
    [[ $name == *our* ]] && ours=all
    [[ $name == *usrsctp* ]] && theirs=--nr-sack
    transfer "$name, we send" --source --sink "$ours" "$theirs"
    expect nr_sacks_received "== 0"
    expect sacks_received "> 0"
    transfer "$name, usrsctp sends" --sink --source "$ours" "$theirs"
    expect nr_sacks_sent "== 0"
    expect sacks_sent "> 0"
done
say "usrsctp with NR-SACK: passed"
