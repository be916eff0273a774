#!/usr/bin/env bash
# Figure 8, right, of papers/dreibholz-model with the tool of the paper: NetPerfMeter over `polypath with`, with one path and with CMT over
# two, between two hosts over shaped links; beside it the same by `polypath meter`. Prints a table in Mbit/s. Needs root and netperfmeter.
# RATES has the rates of each path in Mbit/s, SECONDS the time of each measurement.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh
have netperfmeter || skip programs "netperfmeter is not installed"
[[ $(id -u) == 0 ]] || skip net "network namespaces need root"
build_programs
polypath=$(cd "$POLYPATH_PROGRAMS" && pwd)/polypath
source tests/sockets/lib.sh
read -ra rates <<< "${RATES:-10 20 30 40 50 60 70 80 90 100}"
seconds=${SECONDS_EACH:-10}
# Bytes of user data that fill a packet in UDP.
message=1444

for side in a b; do
    space=pp-figure8-$side-$$
    ip netns add "$space"
    spaces+=("$space")
    ip -n "$space" link set lo up
done
in_a=(ip netns exec "${spaces[0]}")
in_b=(ip netns exec "${spaces[1]}")

# Two links of this rate; a packet takes 24 bytes of an Ethernet beside its frame.
shape() {
    for path in 1 2; do
        for end in 0:a 1:b; do
            tc -n "${spaces[${end%:*}]}" qdisc replace dev "pf$path-${end#*:}" root stab overhead 24 linklayer ethernet tbf \
                rate "$1mbit" burst 16k limit 150000
        done
    done
}

# The first $1 of two links, anew: what a host has learned of the others is gone.
connect() {
    for path in 1 2; do
        ip -n "${spaces[0]}" link del "pf$path-a" 2> /dev/null || true
    done
    for path in 1 2; do
        ip link add "pf$path-a" netns "${spaces[0]}" type veth peer name "pf$path-b" netns "${spaces[1]}"
        ip -n "${spaces[0]}" address add "10.78.$path.1/24" dev "pf$path-a"
        ip -n "${spaces[1]}" address add "10.78.$path.2/24" dev "pf$path-b"
        # shellcheck disable=SC2086
        if [[ $path -le $1 ]]; then
            ip -n "${spaces[0]}" link set "pf$path-a" up
            ip -n "${spaces[1]}" link set "pf$path-b" up
        fi
    done
}

# Goodput of NetPerfMeter with a preset: the passive side sends, and this one receives.
by_netperfmeter() {
    local with=("$polypath" with --local-encapsulation-port "$port" --encapsulation-port "$port" --preset "$1")
    begin "$work/passive" "${in_b[@]}" "${with[@]}" netperfmeter 9100
    wait_for "$work/passive" "manual stop"
    sleep 1
    "${in_a[@]}" "${with[@]}" netperfmeter 10.78.1.2:9100 "-runtime=$seconds" -sctp \
        "const0:const0:const0:const$message:unordered=1:sndbuf=5000000:rcvbuf=5000000" > "$work/active" 2>&1 || true
    kill "${started[-1]}" 2> /dev/null || true
    goodput=$(awk -v seconds="$seconds" '/- Reception:/ { on = 1 } on && /Bytes:/ { printf "%.1f", $3 * 8 / seconds / 1e6; exit }' "$work/active")
}

# The same of `polypath meter`.
by_meter() {
    local addresses=10.78.1.2
    [[ $2 == 1 ]] || addresses+=,10.78.2.2
    begin "$work/server" "${in_b[@]}" "$polypath" meter server -B "$addresses" --encap-port "$((port + 1))" --one-off
    sleep 1
    "${in_a[@]}" "$polypath" meter client 10.78.1.2 --encap-port "$((port + 1))" --preset "$1" -t "$seconds" -w 5000000 --json \
        --flow "const0:const$message:unordered=1" > "$work/meter.json"
    goodput=$(python3 - "$work/meter.json" << 'PYTHON'
import json, sys
run = json.load(open(sys.argv[1], encoding="utf-8"))
rate = run["end"]["sum_received"]["bits_per_second"]
print(f"{rate / 1e6:.1f}")
PYTHON
    )
}

say "rate, one path: NetPerfMeter, meter; CMT over two: NetPerfMeter, meter (Mbit/s)"
for rate in "${rates[@]}"; do
    row=$rate
    for paths in 1 2; do
        preset=rfc9260
        [[ $paths == 1 ]] || preset=cmt
        connect "$paths"
        shape "$rate"
        by_netperfmeter "$preset"
        row+=", $goodput"
        by_meter "$preset" "$paths"
        row+=", $goodput"
    done
    say "$row"
done
