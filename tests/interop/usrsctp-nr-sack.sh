#!/usr/bin/env bash
# Our stack against usrsctp over two unequal links that lose packets, with NR-SACK on both sides, on one, on none. Where
# both sides have it every acknowledgement is an NR-SACK, elsewhere none is; the data arrives all the same.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

# both CASE OUR_SHARE THEIR_SHARE OUR_CLASS THEIR_OPTION: a share is --source or --sink; their option may be empty.
both() {
    local common=(--messages 3000 --mean-size 1000 --cmt)
    exchange "$1" "$2" "${common[@]}" --nr-sack "$4" -- "$3" "${common[@]}" ${5:+"$5"}
}

net_up 2
build_peers
# Queues so short that packets are lost.
for side in a b; do
    shape "$side" 1 20mbit 30kb
    shape "$side" 2 5mbit 15kb
done

for value in deliverable all; do
    both "NR-SACK on both sides, $value, we send" --source --sink "$value" --nr-sack
    expect_count nr_sacks_received "> 0"
    expect_count nr_sacks_received "== $(counted sacks_received)"
    expect_count released_early "> 0"
    both "NR-SACK on both sides, $value, usrsctp sends" --sink --source "$value" --nr-sack
    expect_count nr_sacks_sent "> 0"
    expect_count nr_sacks_sent "== $(counted sacks_sent)"
done
for name in "NR-SACK on our side only" "NR-SACK on usrsctp's side only" "no NR-SACK"; do
    ours=off theirs=''
    [[ $name == *our* ]] && ours=all
    [[ $name == *usrsctp* ]] && theirs=--nr-sack
    both "$name, we send" --source --sink "$ours" "$theirs"
    expect_count nr_sacks_received "== 0"
    expect_count sacks_received "> 0"
    both "$name, usrsctp sends" --sink --source "$ours" "$theirs"
    expect_count nr_sacks_sent "== 0"
    expect_count sacks_sent "> 0"
done
say "usrsctp with NR-SACK: passed"
