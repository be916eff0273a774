#!/usr/bin/env bash
# SCTP in UDP against sctp-proto and rtc-sctp. Data channels over DTLS against dcSCTP in one program with ours, then pion as a program
# of its own, in both roles of the DTLS handshake and with either side opening the channels. Downloads what both need from crates.io and the Go module proxy.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh

cd tests/webrtc
cargo test --locked
cargo build --locked
if ! have go; then
    say "SKIPPED: go was not found, so pion was left out"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd pion && go build -o "$work/pion" .)
ours=${CARGO_TARGET_DIR:-target}/debug/data_channel

# What ours does, what pion does, and who is the DTLS server. The client repeats its first message until the server is there.
pair() {
    local what=$1 other=$2 ours_flag=$3 pion_flag=$4 port=$5 status=0
    timeout 60 "$work/pion" --local 127.0.0.1:$((port + 1)) --peer "127.0.0.1:$port" $pion_flag --what "$other" > "$work/pion.log" 2>&1 &
    local pion=$!
    timeout 60 "$ours" --local "127.0.0.1:$port" --peer 127.0.0.1:$((port + 1)) $ours_flag "$what" > "$work/ours.log" 2>&1 || status=$?
    wait "$pion" || status=$?
    if [[ $status != 0 ]]; then
        cat "$work/ours.log" "$work/pion.log"
        die "pion: $what, ${ours_flag:-client}: failed"
    fi
    say "pion: ours does \"$what\" as ${ours_flag:---client}: ok"
}

pair check echo "" --server 42100
pair check echo --server "" 42110
pair echo check "" --server 42120
pair echo check --server "" 42130
