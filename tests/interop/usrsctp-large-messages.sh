#!/usr/bin/env bash
# Our stack against usrsctp with messages that are larger than our receive buffer: ours delivers them in pieces. And messages
# that ours hands over in pieces, which usrsctp sees as whole ones.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

net_up 1
build_peers

# Up to 600 kB each.
large=(--messages 40 --mean-size 300000)
for order in "" --unordered; do
    name="messages of up to 600 kB${order:+, unordered}"
    exchange "$name, our receive buffer has 64 KiB" --sink "${large[@]}" --receive-buffer 65536 ${order:+"$order"} \
        -- --source "${large[@]}" ${order:+"$order"}
    expect_count in_pieces "> 20"
    expect_count receive_buffer_peak "< 100000"
    exchange "$name, handed over in pieces" --source "${large[@]}" --pieces 50000 ${order:+"$order"} \
        -- --sink "${large[@]}" ${order:+"$order"}
done
exchange "in pieces of 700 bytes" --source --messages 200 --mean-size 5000 --pieces 700 -- --sink --messages 200 --mean-size 5000
say "usrsctp with large messages: passed"
