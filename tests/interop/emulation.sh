#!/usr/bin/env bash
# Real programs across the links of a scenario, with `polypath emulate`: round-trip times, rates of kernel TCP and of
# `polypath send` over one path and both, losses, IPv6; what is said when the machine cannot keep up or the system drops packets,
# and that nothing is left behind. Bounds are those that the links set, and far apart otherwise: a busy machine makes everything later.
# Runs alone: it measures round-trip times and rates.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

PROBE=$PWD/tests/interop/emulation_probe.py
SCENARIO=scenarios/emulated-two-paths.toml
EMULATOR=

clean_up() {
    local status=$?
    trap - EXIT
    if [[ -n $EMULATOR ]]; then
        # It ends its programs and namespaces, if it can.
        kill -CONT "$EMULATOR" 2> /dev/null || true
        kill -TERM "$EMULATOR" 2> /dev/null || true
        wait_for 10 gone || kill -KILL "$EMULATOR" 2> /dev/null || true
        wait "$EMULATOR" 2> /dev/null || true
    fi
    rm -rf "$WORK"
    exit "$status"
}

gone() { ! kill -0 "$EMULATOR" 2> /dev/null; }

# Waits for the emulation in the background; its status is in $status.
ended() {
    wait_for 30 gone 2> /dev/null || failed "the emulation did not end"
    status=0
    wait "$EMULATOR" 2> /dev/null || status=$?
    EMULATOR=
}

# emulate NAME [ARGUMENT...]: runs the scenario with these arguments; its result is in $WORK/result.
emulate() {
    say "  $1"
    shift
    timeout -k 10 120 "$POLYPATH" emulate "$SCENARIO" --allow-behind '100 %' --json "$@" > "$WORK/result" 2> "$WORK/said" || failed "the emulation failed"
}

failed() {
    say "$1" >&2
    tail -n 20 "$WORK"/{said,result} >&2 || true
    exit 1
}

# holds EXPRESSION: whether Python finds it true of the result `r`, of the link `l(NAME, TO)`, and of `p`, the last JSON that a program printed.
holds() {
    python3 - "$WORK" "$1" << 'PYTHON' || failed "$1"
import json
import sys
from pathlib import Path

work = Path(sys.argv[1])
r = json.loads((work / "result").read_text())
said = [line.split(": ", 1)[1] for line in (work / "said").read_text().splitlines() if line[1:4] == ": {"]
p = json.loads(said[-1]) if said else None


def l(name, to):
    return next(link for link in r["links"] if link["link"] == name and link["to"] == to)


def drops(link, cause):
    return sum(drop["packets"] for drop in link["dropped"] if drop["cause"] == cause)


late = r["timing"]["deliveries"]
found = {key: p[key] for key in ("least", "median", "bit_s", "goodput_bit_s") if p and key in p}
print(f"    {found}; packets late by {1e3 * (late['p50_s'] or 0):.3f} ms in the median")
sys.exit(not eval(sys.argv[2]))
PYTHON
}

# transfer NAME FROM TO MEGABYTES: a file from addresses of b to addresses of a.
transfer() {
    rm -rf "$WORK/out" "$WORK/listening"
    mkdir "$WORK/out"
    head -c "${4}000000" /dev/urandom > "$WORK/file"
    emulate "$1" --duration '100 s' \
        --exec "a='$POLYPATH' receive --preset recommended --listen $3 --out '$WORK/out' --once 2> '$WORK/listening'" \
        --exec "b=until grep -q ^listening '$WORK/listening'; do sleep 0.05; done; '$POLYPATH' send --preset recommended '$WORK/file' --from $2 --to $3 --json 2> /dev/null | tr -d '\n'"
    cmp "$WORK/file" "$WORK/out/file" || failed "the file arrived damaged"
}

[[ $(id -u) == 0 ]] || skip net "network namespaces need root"
have ip || skip net "ip (iproute2) is not installed"
[[ -c /dev/net/tun ]] || skip net "there is no /dev/net/tun"
ip netns add "polypath-$$-try" 2> /dev/null || skip net "no network namespace could be made"
ip netns delete "polypath-$$-try"
WORK=$(mktemp -d)
trap clean_up EXIT
trap 'exit 130' INT TERM
build_ours

emulate "round-trip time" --exec "b=$PROBE echo 10.1.1.2 &" --exec "a=$PROBE ping 10.1.1.1 10.1.1.2 10"
holds '0.040 <= p["least"] < 2 and p["count"] == 10 and r["unanswered_packets"] == 0'

emulate "round-trip time with IPv6" --set network.disjoint.ip=v6 \
    --exec "b=$PROBE echo fd00:2:1::2 &" --exec "a=$PROBE ping fd00:2:1::1 fd00:2:1::2 5"
holds '0.080 <= p["least"] < 2 and p["count"] == 5'

emulate "kernel TCP" --exec "b=$PROBE sink 10.1.1.2 &" --exec "a=$PROBE pour 10.1.1.1 10.1.1.2 2000000"
holds '1e6 < p["bit_s"] < 10e6 and l("dsl", "B")["delivered_bytes"] > 2e6 and l("lte", "B")["offered_packets"] == 0'

transfer "one path" 10.1.1.2 10.1.1.1 2
holds '1e6 < p["goodput_bit_s"] < 10e6'
transfer "both paths" 10.1.1.2,10.2.1.2 10.1.1.1,10.2.1.1 3
holds '1e6 < p["goodput_bit_s"] < 15e6 and l("dsl", "A")["delivered_bytes"] > 5e5 and l("lte", "A")["delivered_bytes"] > 1e5'

emulate "losses" --set 'network.disjoint.paths.lte.bottleneck.loss.forward=5 %' \
    --exec "b=$PROBE sink 10.2.1.2 &" --exec "a=$PROBE pour 10.2.1.1 10.2.1.2 1000000"
holds '0.01 < drops(l("lte", "B"), "uniform-loss") / l("lte", "B")["offered_packets"] < 0.15 and drops(l("lte", "A"), "uniform-loss") == 0'

say "  a program that fails"
status=0
timeout -k 10 60 "$POLYPATH" emulate "$SCENARIO" --allow-behind '100 %' --exec 'a=exit 3' > "$WORK/result" 2> "$WORK/said" || status=$?
[[ $status == 1 ]] && grep -q 'exit code 3' "$WORK/said" || failed "exit code $status"

# A device that holds one packet, and nobody who takes it meanwhile.
say "  the system drops packets"
"$POLYPATH" emulate "$SCENARIO" --duration '60 s' --allow-behind '100 %' \
    --exec "a=ip link set path1 txqueuelen 1; echo ready; until [ -e '$WORK/go' ]; do sleep 0.05; done; $PROBE flood 10.1.1.1 10.1.1.2 5000; touch '$WORK/flooded'" \
    > "$WORK/result" 2> "$WORK/said" &
EMULATOR=$!
wait_for 20 grep -q ready "$WORK/result" || failed "the emulation did not start"
kill -STOP "$EMULATOR"
touch "$WORK/go"
wait_for 30 test -e "$WORK/flooded" || failed "the program did not end"
kill -CONT "$EMULATOR"
ended
[[ $status == 1 ]] && grep -q 'the system dropped [1-9]' "$WORK/said" || failed "exit code $status"

# Both hold their output open. That of b has left the namespace: it is nobody's any more, and not waited for.
say "  what programs leave behind"
timeout -k 10 60 "$POLYPATH" emulate "$SCENARIO" --allow-behind '100 %' --exec 'a=setsid sleep 100 & echo $!' \
    --exec "b=nsenter --net=/proc/$$/ns/net sleep 100 & echo \$!; sleep 1" > "$WORK/result" 2> "$WORK/said" || failed "exit code $?"
grep -q '^a: [0-9]' "$WORK/result" && [[ ! -e /proc/$(sed -n 's/^a: //p' "$WORK/result")/exe ]] || failed "a program is still there"
kill "$(sed -n 's/^b: //p' "$WORK/result")" || failed "what has left was not there"

# Stopped for two seconds, the emulation cannot have kept up, however fast the machine is.
say "  a machine that cannot keep up"
"$POLYPATH" emulate "$SCENARIO" --allow-behind '5 %' --exec 'a=echo ready; sleep 12' > "$WORK/result" 2> "$WORK/said" &
EMULATOR=$!
wait_for 20 grep -q ready "$WORK/result" || failed "the emulation did not start"
kill -STOP "$EMULATOR" 2> /dev/null || failed "the emulation ended before it could be stopped"
sleep 2
kill -CONT "$EMULATOR"
ended
[[ $status == 1 ]] && grep -q 'invalid: this machine could not keep up: for [1-9]' "$WORK/said" || failed "exit code $status"

say "  an interruption, and a sudden death"
for signal in TERM KILL; do
    rm -f "$WORK/said"
    "$POLYPATH" emulate "$SCENARIO" --allow-behind '100 %' > "$WORK/result" 2> "$WORK/said" &
    EMULATOR=$!
    namespace=polypath-emulate-$EMULATOR-a
    wait_for 20 grep -qs '^Ctrl-C' "$WORK/said" || failed "the emulation did not start"
    ip netns exec "$namespace" true || failed "there is no namespace"
    kill "-$signal" "$EMULATOR"
    ended
    [[ $signal == KILL || $status == 0 ]] || failed "exit code $status"
    [[ $signal == TERM ]] || timeout -k 10 60 "$POLYPATH" emulate "$SCENARIO" --allow-behind '100 %' --exec 'a=true' > /dev/null
    [[ ! -e /run/netns/$namespace ]] || failed "the namespace was left behind"
done
