#!/usr/bin/env bash
# Over IP, somebody else on the host answers packets of our associations with ABORT, as the kernel's own SCTP does. Where
# it was there first, binding is refused; where it comes while an association lives, the end of that is named for what it
# is; and who connects to such a host is told what may be behind it.
#
# The kernel's SCTP is played: a program that answers (foreign_stack.py), and a /proc of our own, in which its sign appears.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

# Runs a command in A, with $WORK/proc in place of /proc; what is made in there is seen.
in_a_with_own_proc() {
    # shellcheck disable=SC2016 # for the inner shell
    ip netns exec "$NS_A" unshare --mount sh -c 'mount --bind "$0" /proc && exec "$@"' "$WORK/proc" "$@"
}

# receive_at_a: begins to wait for files.
receive_at_a() {
    : > "$WORK/receiver"
    in_a_with_own_proc timeout 90 "$POLYPATH" receive --raw --listen "$(address a 1)" --out "$WORK/out" --once \
        > /dev/null 2> "$WORK/receiver" &
    RECEIVER=$!
    wait_for 10 grep -q '^listening' "$WORK/receiver" || die "the receiver did not start: $(cat "$WORK/receiver")"
}

# Begins to answer in A; what it did goes to $WORK/foreign.
foreign_stack() {
    : > "$WORK/foreign"
    ip netns exec "$NS_A" tests/interop/foreign_stack.py "$(address a 1)" > "$WORK/foreign" 2>&1 &
    wait_for 10 grep -q '^ready' "$WORK/foreign" || die "the foreign stack did not start: $(cat "$WORK/foreign")"
}

some_arrived() { [[ -n $(find "$WORK/out" -name '.polypath-*.part' -size +500k -print -quit 2> /dev/null) ]]; }

net_up 1
have unshare && have python3 || skip net "unshare (util-linux) or python3 is not installed"
build_ours
mkdir -p "$WORK/proc/net" "$WORK/out"
head -c 20000000 /dev/urandom > "$WORK/file"
shape b 1 20mbit

say "the kernel's SCTP, over IP:"
receive_at_a
in_b timeout 90 "$POLYPATH" send --raw "$WORK/file" --from "$(address b 1)" --to "$(address a 1)" --retry-for 0 \
    > "$WORK/sender" 2>&1 &
SENDER=$!
wait_for 30 some_arrived || die "the transfer did not begin: $(cat "$WORK/sender" "$WORK/receiver")"
mkdir "$WORK/proc/net/sctp"
foreign_stack
! wait $SENDER || die "the sender did not notice"
! wait $RECEIVER || die "the receiver did not notice"
grep -q '^aborted' "$WORK/foreign" || die "the foreign stack answered nothing: nothing was tested"
grep -q "kernel has loaded its own SCTP meanwhile" "$WORK/receiver" ||
    die "the receiver does not name the cause: $(cat "$WORK/receiver")"
say "  loaded while an association lives: named"

status=0
in_a_with_own_proc "$POLYPATH" receive --raw --listen "$(address a 1)" --out "$WORK/out" > "$WORK/receiver" 2>&1 || status=$?
[[ $status == 5 ]] || die "bound beside the kernel's SCTP: exit code $status: $(cat "$WORK/receiver")"
grep -q "modprobe -r sctp" "$WORK/receiver" || die "no remedy: $(cat "$WORK/receiver")"
say "  loaded before: refused"

rmdir "$WORK/proc/net/sctp"
receive_at_a
# A kernel is quicker than any program; what plays it here is one, too.
PROGRAM=$(pgrep -P "$RECEIVER")
kill -STOP "$PROGRAM"
status=0
in_b timeout 60 "$POLYPATH" send --raw "$WORK/file" --from "$(address b 1)" --to "$(address a 1)" > "$WORK/sender" 2>&1 || status=$?
kill -CONT "$PROGRAM"
[[ $status == 3 ]] || die "connected past the foreign stack: exit code $status: $(cat "$WORK/sender")"
grep -q "kernel has its own SCTP" "$WORK/sender" || die "the sender is not told: $(cat "$WORK/sender")"
say "  loaded at the other host: told"
