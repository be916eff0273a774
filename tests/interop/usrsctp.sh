#!/usr/bin/env bash
# Our stack against usrsctp: each side sends and each side connects, over one path and over two, IPv4 and IPv6. Both
# sides check every byte they receive, and print the same sum at the end. Everything on the wire must please tshark.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

# transfer NAME LISTENER CONNECTOR SENDER OPTION...: the listener is in A, the connector in B; SENDER is one of
# listener and connector.
transfer() {
    local name=$1 listener=$2 connector=$3 sender=$4
    shift 4
    local listen_does=--sink connect_does=--source
    if [[ $sender == listener ]]; then
        listen_does=--source
        connect_does=--sink
    fi
    say "  $name"
    touch "$WORK"/{listener,connector}.{out,err}
    truncate --size 0 "$WORK"/{listener,connector}.{out,err}
    in_a "$listener" --listen "$listen_does" --local "$LOCAL_A" "$@" \
        > "$WORK/listener.out" 2> "$WORK/listener.err" &
    local pid=$!
    wait_for 10 grep -q '^ready' "$WORK/listener.out" || report "$name: the listener did not start"
    in_b "$connector" --connect "$LOCAL_A" "$connect_does" --local "$LOCAL_B" "$@" \
        > "$WORK/connector.out" 2> "$WORK/connector.err" || report "$name: the connector failed"
    wait "$pid" || report "$name: the listener failed"
    local sums
    sums=$(grep -h '^messages=' "$WORK"/{listener,connector}.out | sort -u)
    [[ $(wc -l <<< "$sums") == 1 && $sums == messages=* ]] || report "$name: the sums differ"
    say "    $sums"
    if [[ $listener == "$OURS" ]]; then check_paths listener; else check_paths connector; fi
}

# With CMT over two paths, each must have carried data: what our side, $1, says of them.
check_paths() {
    [[ -n $EXPECT_BOTH ]] || return 0
    local column=3 used
    grep -q '^messages=' "$WORK/$1.out" || report "no result of ours"
    [[ $sender == "$1" ]] && column=2
    used=$(awk -v column=$column '/^path=/ { split($column, field, "="); if (field[2] > 0) used++ } END { print used + 0 }' \
        "$WORK/$1.out")
    [[ $used == 2 ]] || report "$name: $used paths carried data, not 2"
    say "    both paths carried data"
}

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{listener,connector}.{out,err} >&2 || true
    exit 1
}

# Takes path 1 down while the data is on its way, and up again.
interrupt() {
    wait_for 20 carried 1 300000
    cut 1
    sleep 1.5
    mend 1
}

# transfer, with an interruption.
interrupted() {
    interrupt &
    local pid=$!
    transfer "$@"
    wait "$pid" || report "$1: path 1 carried too little to be interrupted"
}

# Every direction over the addresses in LOCAL_A and LOCAL_B.
matrix() {
    local label=$1 sender
    shift
    for sender in connector listener; do
        transfer "$label, we connect, $sender sends" "$THEIRS" "$OURS" "$sender" "$@"
        transfer "$label, usrsctp connects, $sender sends" "$OURS" "$THEIRS" "$sender" "$@"
    done
}

EXPECT_BOTH=
net_up 2
build_peers
if have dumpcap && have tshark; then
    capture "$WORK/capture.pcapng"
else
    required tshark && die "tshark is not installed (POLYPATH_REQUIRE names tshark)"
    say "  tshark is not installed: the packets are not looked at"
fi

LOCAL_A=$(address a 1) LOCAL_B=$(address b 1)
matrix "one path" --messages 2000 --mean-size 1000
matrix "one path, long messages" --messages 100 --mean-size 30000
LOCAL_A=$(address6 a 1) LOCAL_B=$(address6 b 1)
matrix "one path, IPv6" --messages 2000 --mean-size 1000
LOCAL_A=$(addresses a) LOCAL_B=$(addresses b)
matrix "two paths" --messages 2000 --mean-size 1000
matrix "two paths, CMT" --messages 4000 --mean-size 1000 --cmt
# Narrow links with short queues, so that packets are lost and sent again.
for side in a b; do
    shape "$side" 1 20mbit 30kb
    shape "$side" 2 10mbit 30kb
done
EXPECT_BOTH=yes
matrix "two narrow paths, CMT" --messages 4000 --mean-size 1000 --cmt
interrupted "two paths, one interrupted, we send" "$THEIRS" "$OURS" connector --messages 4000 --cmt
interrupted "two paths, one interrupted, usrsctp sends" "$OURS" "$THEIRS" connector --messages 4000 --cmt

if [[ -n $CAPTURE_PID ]]; then
    capture_stop
    well_formed "$WORK/capture.pcapng"
    probed "$WORK/capture.pcapng"
fi
say "usrsctp: passed"
