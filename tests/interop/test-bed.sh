#!/usr/bin/env bash
# Studies in real time: figure 8, right, of dreibholz-model at one rate in its quick form, with verdicts; what is said
# without root; and that an interruption and a sudden death leave nothing behind.
# Runs alone: it measures rates of links.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

REPRODUCTION=

clean_up() {
    local status=$?
    trap - EXIT
    if [[ -n $REPRODUCTION ]]; then
        # Once more ends it at once, and its guardian what it left.
        kill -KILL "$REPRODUCTION" 2> /dev/null || true
        wait "$REPRODUCTION" 2> /dev/null || true
    fi
    rm -rf "$WORK"
    exit "$status"
}

failed() {
    say "$1" >&2
    tail -n 20 "$WORK"/{said,result} >&2 || true
    exit 1
}

gone() { ! kill -0 "$REPRODUCTION" 2> /dev/null; }
# Whether there are namespaces of the reproduction.
has_namespaces() { compgen -G "/run/netns/polypath-emulate-$REPRODUCTION-*" > /dev/null; }
has_none() { ! has_namespaces; }
# Whether a meter runs there: all is made by then, the guardian too.
measures() { [[ -n $(ip netns pids "polypath-emulate-$REPRODUCTION-b" 2> /dev/null) ]]; }

[[ $(id -u) == 0 ]] || skip net "network namespaces need root"
have ip && have tc || skip net "ip and tc (iproute2) are not installed"
ip netns add "polypath-$$-try" 2> /dev/null || skip net "no network namespace could be made"
ip netns delete "polypath-$$-try"
WORK=$(mktemp -d)
trap clean_up EXIT
trap 'exit 130' INT TERM
build_ours
POLYPATH=$(realpath "$POLYPATH")
# One rate and one run: whether all is well, not how well.
cp -r papers "$WORK/papers"
STUDY=$WORK/papers/dreibholz-model/fig8-real.toml
sed -i 's/^runs = 3$/runs = 1/; s/^values = { rate = .*/values = { rate = ["10 Mbit\/s"] }/' "$STUDY"
sed -i 's/"run.duration" = "7 s", "run.measure_from" = "4 s"/"run.duration" = "3 s", "run.measure_from" = "1 s"/' "$STUDY"

say "  one rate"
timeout -k 10 300 "$POLYPATH" reproduce dreibholz-model/fig8-real --papers "$WORK/papers" --quick --out "$WORK/out" --json \
    > "$WORK/result" 2> "$WORK/said" || failed "exit code $?"
python3 - "$WORK" << 'PYTHON' || failed "the results are not as they should be"
import csv
import json
import sys
from pathlib import Path

work = Path(sys.argv[1])
[paper] = json.loads((work / "result").read_text())["papers"]
[study] = paper["studies"]
assert study["rows"] == study["new"] == 4 and study["statuses"] == {"ok": 4}, study
assert all("Linux" in program for program in study["programs"]), study["programs"]
folder = work / "out/dreibholz-model/fig8-real"
with open(folder / "runs.csv", encoding="utf-8") as file:
    rows = {row["variant"]: float(row["measure.goodput"]) for row in csv.DictReader(file)}
print("   ", {name: round(rate, 2) for name, rate in rows.items()}, "Mbit/s")
# What the links allow is never exceeded by more than a bucket and a queue; a busy machine may be slower.
assert all(rows[name] < 11.5 for name in ("off", "off-udp")) and all(rows[name] < 23 for name in ("cmt", "cmt-udp"))
assert all(rate > 1 for rate in rows.values())
assert (folder / "figures/real.svg").exists()
PYTHON

say "  an interruption, and a sudden death"
for signal in TERM KILL; do
    rm -rf "$WORK/out"
    "$POLYPATH" reproduce dreibholz-model/fig8-real --papers "$WORK/papers" --quick --out "$WORK/out" \
        > "$WORK/result" 2> "$WORK/said" &
    REPRODUCTION=$!
    wait_for 60 measures || failed "nothing was started"
    kill "-$signal" "$REPRODUCTION"
    # The first interruption lets the run that has begun come to its end.
    wait_for 60 gone 2> /dev/null || failed "it did not end"
    status=0
    wait "$REPRODUCTION" 2> /dev/null || status=$?
    [[ $signal == KILL || $status == 130 ]] || failed "exit code $status after $signal"
    wait_for 20 has_none || failed "namespaces were left behind after $signal"
    REPRODUCTION=
done

say "  no root"
if have setpriv; then
    chmod -R a+rX "$WORK" && mkdir "$WORK/others" && chmod a+rwx "$WORK/others" && cp "$POLYPATH" "$WORK/others/polypath"
    status=0
    setpriv --reuid 65534 --regid 65534 --clear-groups "$WORK/others/polypath" reproduce dreibholz-model/fig8-real \
        --papers "$WORK/papers" --quick --out "$WORK/others/out" > "$WORK/result" 2> "$WORK/said" || status=$?
    [[ $status == 5 ]] && grep -q 'only root' "$WORK/said" && grep -q 'not run' "$WORK/result" || failed "exit code $status"
else
    say "    setpriv is not there: not tried"
fi
