#!/usr/bin/env bash
# Our stack against usrsctp over a link that damages packets, with packet drop reports on both sides, on one, on none.
# All data must arrive whatever is damaged; reports are sent where both sides have them, and nowhere else.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

NS_M=polypath-$$-m

# Puts a bridge in namespace M into path 1 that damages one data packet in $1.
damage() {
    trap 'damage_down $?' EXIT
    ip netns add "$NS_M"
    ip -n "$NS_B" link set path1 netns "$NS_M" name left
    ip -n "$NS_M" link add right type veth peer name path1 netns "$NS_B"
    ip -n "$NS_B" address add "$(address b 1)/24" dev path1
    ip -n "$NS_M" link set left up
    ip -n "$NS_M" link set right up
    ip -n "$NS_B" link set path1 up
    # Frames longer than the MTU would not pass the bridge.
    ip -n "$NS_A" link set path1 gso_max_segs 1
    ip -n "$NS_B" link set path1 gso_max_segs 1
    ip netns exec "$NS_M" tests/interop/damaging_bridge.py left right "$1" > "$WORK/bridge.out" 2> "$WORK/bridge.err" &
    wait_for 10 grep -q '^ready' "$WORK/bridge.out" || die "the bridge did not start: $(cat "$WORK/bridge.err")"
}

damage_down() {
    set +e
    # shellcheck disable=SC2046 # one process per word
    kill $(ip netns pids "$NS_M" 2> /dev/null) 2> /dev/null
    ip netns delete "$NS_M" 2> /dev/null
    (exit "$1")
    net_down
}

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

# transfer NAME OURS_DOES THEIRS_DOES OUR_OPTION THEIR_OPTION: usrsctp listens in A, we connect from B.
transfer() {
    local name=$1 common=(--messages 2000 --mean-size 1000)
    say "  $name"
    touch "$WORK"/{ours,theirs}.{out,err}
    truncate --size 0 "$WORK"/{ours,theirs}.{out,err}
    # shellcheck disable=SC2086 # an option may be missing
    in_a "$THEIRS" --listen "$3" --local "$(address a 1)" "${common[@]}" $5 \
        > "$WORK/theirs.out" 2> "$WORK/theirs.err" &
    local pid=$!
    wait_for 10 grep -q '^ready' "$WORK/theirs.out" || report "$name: usrsctp did not start"
    # shellcheck disable=SC2086
    in_b "$OURS" --connect "$(address a 1)" "$2" --local "$(address b 1)" "${common[@]}" $4 \
        > "$WORK/ours.out" 2> "$WORK/ours.err" || report "$name: ours failed"
    wait "$pid" || report "$name: usrsctp failed"
    [[ $(grep -h '^messages=' "$WORK"/{ours,theirs}.out | sort -u | wc -l) == 1 ]] || report "$name: the sums differ"
    say "    $(grep '^damaged=' "$WORK/ours.out")"
}

# counter NAME: what our side counted.
counter() { grep '^damaged=' "$WORK/ours.out" | tr ' ' '\n' | sed -n "s/^$1=//p"; }

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

net_up 1
have python3 || skip net "python3 is not installed"
build
damage 20

name="reports on both sides, we send"
transfer "$name" --source --sink --drop-reports --drop-reports
expect reports_received "> 0"
expect repaired "> 0"
name="reports on both sides, usrsctp sends"
transfer "$name" --sink --source --drop-reports --drop-reports
expect damaged "> 0"
expect reports_sent "> 0"
for name in "reports on our side only" "reports on usrsctp's side only" "no reports"; do
    ours='' theirs=''
    [[ $name == *our* ]] && ours=--drop-reports
    [[ $name == *usrsctp* ]] && theirs=--drop-reports
    transfer "$name, we send" --source --sink "$ours" "$theirs"
    expect reports_received "== 0"
    transfer "$name, usrsctp sends" --sink --source "$ours" "$theirs"
    expect damaged "> 0"
    expect reports_sent "== 0"
done
say "usrsctp over a damaging link: passed"
