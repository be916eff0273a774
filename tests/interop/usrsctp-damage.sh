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

# both CASE OUR_SHARE THEIR_SHARE OUR_OPTION THEIR_OPTION: a share is --source or --sink; an option may be empty.
both() {
    local common=(--messages 2000 --mean-size 1000)
    exchange "$1" "$2" "${common[@]}" ${4:+"$4"} -- "$3" "${common[@]}" ${5:+"$5"}
}

net_up 1
have python3 || skip net "python3 is not installed"
build_peers
damage 20

both "reports on both sides, we send" --source --sink --drop-reports --drop-reports
expect_count reports_received "> 0"
expect_count repaired "> 0"
both "reports on both sides, usrsctp sends" --sink --source --drop-reports --drop-reports
expect_count damaged "> 0"
expect_count reports_sent "> 0"
for name in "reports on our side only" "reports on usrsctp's side only" "no reports"; do
    ours='' theirs=''
    [[ $name == *our* ]] && ours=--drop-reports
    [[ $name == *usrsctp* ]] && theirs=--drop-reports
    both "$name, we send" --source --sink "$ours" "$theirs"
    expect_count reports_received "== 0"
    both "$name, usrsctp sends" --sink --source "$ours" "$theirs"
    expect_count damaged "> 0"
    expect_count reports_sent "== 0"
done
say "usrsctp over a damaging link: passed"
