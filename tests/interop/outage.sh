#!/usr/bin/env bash
# Outages that end an association: the sender connects again by itself and goes on where it was, also from another address.
# A path that is lost and comes back is said, by its interface.
# Runs alone: some seconds of silence decide.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

# Seconds after which both sides take an association for lost.
PATIENCE=4

report() {
    say "$1" >&2
    tail -n 20 "$WORK"/{sender,receiver} >&2 || true
    exit 1
}

some_arrived() { [[ -n $(find "$WORK/out" -name '.polypath-*.part' -size "+$1k" -print -quit 2> /dev/null) ]]; }

is_empty() { [[ -z $(ip netns pids "$NS_A") ]]; }

# Ends what runs in A, by a signal.
end_receiver() {
    # shellcheck disable=SC2046 # one process per word
    kill -s "$1" $(ip netns pids "$NS_A") 2> /dev/null || true
    wait_for 10 is_empty || report "the receiver does not end"
    wait "$RECEIVER" 2> /dev/null || true
}

# begin OPTION...: both programs, and a part of the file. SENDER and RECEIVER are their processes.
begin() {
    rm -rf "$WORK/out"
    mkdir "$WORK/out"
    : > "$WORK/receiver"
    in_a timeout 120 "$POLYPATH" receive --listen "$(addresses a)" --out "$WORK/out" --idle-timeout $PATIENCE \
        > /dev/null 2> "$WORK/receiver" &
    RECEIVER=$!
    wait_for 10 grep -q '^listening' "$WORK/receiver" || report "the receiver did not start"
    in_b timeout 100 "$POLYPATH" send "$WORK/file" --to "$(addresses a)" --idle-timeout $PATIENCE --json "$@" \
        > "$WORK/result" 2> "$WORK/sender" &
    SENDER=$!
    wait_for 30 some_arrived 2000 || report "the transfer did not begin"
}

# intact NAME: the file arrives, over two associations and without what was there before.
intact() {
    wait "$SENDER" || report "$1: the sender failed"
    cmp "$WORK/file" "$WORK/out/file" || report "$1: the file arrived damaged"
    [[ $(ls -A "$WORK/out") == file ]] || report "$1: something was left beside the file"
    end_receiver TERM
    python3 - "$WORK/result" "$1" << 'END' || report "$1: that was not gone on with"
import json
import sys

result = json.load(open(sys.argv[1], encoding="utf-8"))
resumed = result["files"][0]["resumed_bytes"]
carried = sum(path["bytes"] for path in result["paths"])
print(f"  {sys.argv[2]}: intact, {result['associations']} associations, {resumed} bytes were there, {carried} were carried")
sys.exit(not (result["associations"] >= 2 and resumed > 2_000_000 and carried < 1.5 * result["bytes"]))
END
}

# uninterrupted NAME: the file arrives, over one association.
uninterrupted() {
    wait "$SENDER" || report "$1: the sender failed"
    cmp "$WORK/file" "$WORK/out/file" || report "$1: the file arrived damaged"
    end_receiver TERM
    grep -q '"associations":1[,}]' "$WORK/result" || report "$1: the association ended"
    say "  $1: intact, one association"
}

net_up 2
build_ours
have python3 || skip net "python3 is not installed"
for path in 1 2; do shape b $path 20mbit; done
head -c 20000000 /dev/urandom > "$WORK/file"

say "outages of 20 MB over two links:"
begin --from "$(addresses b)"
for path in 1 2; do cut $path; done
wait_for 30 grep -q 'the connection was lost' "$WORK/sender" || report "the sender does not say that the connection was lost"
for path in 1 2; do mend $path; done
intact "longer than the idle timeout"
grep -q '^path[12] lost at' "$WORK/sender" || report "no path is said to be lost"

begin
for path in 1 2; do cut $path; done
wait_for 30 grep -q 'the connection was lost' "$WORK/sender" || report "the sender does not say that the connection was lost"
for path in 1 2; do
    ip -n "$NS_B" address del "$(address b $path)/24" dev "path$path"
    ip -n "$NS_B" address add "10.77.$path.77/24" dev "path$path"
    mend $path
done
intact "with other addresses afterwards"
grep -q '"local":"10.77.1.77"' "$WORK/result" || report "it did not go on from the new address"
for path in 1 2; do
    ip -n "$NS_B" address del "10.77.$path.77/24" dev "path$path"
    ip -n "$NS_B" address add "$(address b $path)/24" dev "path$path"
done

begin --from "$(addresses b)"
end_receiver KILL
in_a timeout 120 "$POLYPATH" receive --listen "$(addresses a)" --out "$WORK/out" > /dev/null 2> "$WORK/receiver" &
RECEIVER=$!
intact "a receiver that is killed and started again"

# The sender has every address of its host: what it loses and gains counts at once.
begin --from 0.0.0.0
for path in 1 2; do ip -n "$NS_B" address del "$(address b $path)/24" dev "path$path"; done
sleep 1
ip -n "$NS_B" address add "$(address b 2)/24" dev path2
uninterrupted "without an address for a second"
ip -n "$NS_B" address add "$(address b 1)/24" dev path1

begin --from 0.0.0.0
for path in 1 2; do ip -n "$NS_B" address del "$(address b $path)/24" dev "path$path"; done
sleep 1
ip -n "$NS_B" address add 10.77.1.78/24 dev path1
uninterrupted "with another address after a second without any"
