#!/usr/bin/env bash
# Our stack against usrsctp over a link that damages packets, with packet drop reports on both sides, on one, on none.
# All data must arrive whatever is damaged; reports are sent where both sides have them, and nowhere else.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

# both CASE OUR_SHARE THEIR_SHARE OUR_OPTION THEIR_OPTION: a share is --source or --sink; an option may be empty.
both() {
    local common=(--messages 2000 --mean-size 1000)
    exchange "$1" "$2" "${common[@]}" ${4:+"$4"} -- "$3" "${common[@]}" ${5:+"$5"}
}

net_up 1
build_peers
bridge_in
bridge --damage 20

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
