#!/usr/bin/env bash
# Explicit congestion notification: a filter marks one in twenty of the ECN-capable packets in either direction, and drops none. The sender
# reduces its window, and retransmits nothing. Ours against ours over UDP and IP, and against usrsctp over IP: in UDP usrsctp neither
# sets nor reads the field.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

# both NAME OPTION... -- OPTION...: ours connects with the first options, the other program listens with the last ones; we send, and then they.
both() {
    local name=$1 share
    shift
    for share in "--source --sink" "--sink --source"; do
        # shellcheck disable=SC2086 # two words
        one "$name" $share "$@"
    done
}

one() {
    local name=$1 does=$2 other=$3 ours=() common=(--messages 4000 --mean-size 1000)
    shift 3
    while [[ $1 != -- ]]; do
        ours+=("$1")
        shift
    done
    shift
    exchange "$name, ours is $does" "$does" "${common[@]}" "${ours[@]}" -- "$other" "${common[@]}" "$@"
    if [[ " ${ours[*]} " != *" --marks "* ]]; then
        expect_count capable_sent "== 0"
    elif [[ $does == --source ]]; then
        expect_count capable_sent "> 1000"
        expect_count echoes_received "> 0"
        expect_count reductions "> 2"
        expect_count retransmitted "== 0"
    else
        expect_count capable_received "> 1000"
        expect_count marked_received "> 20"
    fi
}

net_up 2
build_peers
USRSCTP=$THEIRS
mark_one_in 20
# Queues in which all windows have room.
for side in a b; do
    for path in 1 2; do shape "$side" "$path" 40mbit 4mb; done
done

THEIRS=$OURS
both "UDP" --marks -- --marks
both "UDP, two paths at once" --cmt --marks -- --cmt --marks
both "IP" --raw --marks -- --raw --marks
one "UDP, one side has it" --source --sink -- --marks
addresses() { join_paths address6 "$1"; }
both "UDP over IPv6" --marks -- --marks
addresses() { join_paths address "$1"; }
THEIRS=$USRSCTP
both "usrsctp over IP" --raw --marks -- --raw --all-extensions
say "marks: passed"
