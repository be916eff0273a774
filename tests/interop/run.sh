#!/usr/bin/env bash
# Runs the network tests: every script in this directory but this one and lib.sh, or those that are named (run.sh marks outage).
# Each passes, fails, or says SKIPPED and why. They mostly wait, so several run at once, and what each says is printed when it ends. Those that compare rates or
# times, or need much of what all namespaces share, need the machine for themselves, and say so by a line "# Runs alone: WHY"; they run last, one after the other.
#
# POLYPATH_TESTS_AT_ONCE limits how many run at once (default: twice as many as there are processors).
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh

AT_ONCE=${POLYPATH_TESTS_AT_ONCE:-$((2 * $(nproc)))}
[[ $AT_ONCE =~ ^[1-9][0-9]*$ ]] || die "POLYPATH_TESTS_AT_ONCE must be a number of at least 1, not '$AT_ONCE'"
# The longest ones, so that none of them is left over at the end. All others follow.
LONGEST=(matrix usrsctp path-mtu usrsctp-partial-reliability marks usrsctp-nr-sack)

passed=0
skipped=()
failed=()
# The scripts that run, by process, and when they began.
declare -A running=() began=()
# What each says, and its status.
logs=$(mktemp -d)
# What failed tests said last, once more at the end, where it is found.
ends=$logs/ends
: > "$ends"

clean_up() {
    local status=$? pid
    trap - EXIT
    trap '' INT TERM
    # Each removes what it has made.
    for pid in "${!running[@]}"; do kill -TERM -- "-$pid" 2> /dev/null || true; done
    wait
    rm -rf "$logs"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# note NAME STATUS: counts the result of a script whose output is in its log.
note() {
    local name=$1 status=$2 log=$logs/$1
    if [[ $status != 0 ]]; then
        failed+=("$name")
        { say "== tests/interop/$name.sh failed (status $status):"; tail -n 80 "$log"; } >> "$ends"
    elif grep -q '^SKIPPED' "$log"; then
        skipped+=("$name")
    else
        passed=$((passed + 1))
    fi
}

# Starts a script in a process group of its own, so that a signal ends what it waits for, too. Around it is a shell that outlives the
# signal and keeps the status: `wait` has none of a job that a signal has ended.
begin() {
    set -m
    {
        trap : INT TERM
        status=0
        "tests/interop/$1.sh" < /dev/null > "$logs/$1" 2>&1 || status=$?
        say "$status" > "$logs/$1.status"
    } &
    set +m
    running[$!]=$1
    began[$1]=$SECONDS
}

# Whether the script of a process has ended.
has_ended() { [[ -s $logs/${running[$1]}.status ]] || ! kill -0 "$1" 2> /dev/null; }

# Waits until one of those that run has ended.
end_one() {
    local pid name status
    while true; do
        for pid in "${!running[@]}"; do
            ! has_ended "$pid" || break 2
        done
        wait -n "${!running[@]}" || true
    done
    name=${running[$pid]}
    unset "running[$pid]"
    status=$(cat "$logs/$name.status" 2> /dev/null) || status="none: it was killed"
    say "== tests/interop/$name.sh ($((SECONDS - began[$name])) s)"
    cat "$logs/$name"
    note "$name" "$status"
}

scripts=("$@")
(($# > 0)) || scripts=("${LONGEST[@]}" tests/interop/*.sh)
together=()
alone=()
for script in "${scripts[@]}"; do
    name=$(basename "$script" .sh)
    [[ -e tests/interop/$name.sh ]] || die "there is no tests/interop/$name.sh"
    [[ $name == run || $name == lib || " ${together[*]} " == *" $name "* ]] && continue
    if grep -q '^# Runs alone: ' "tests/interop/$name.sh"; then alone+=("$name"); else together+=("$name"); fi
done

# Once, and not by each of them.
build_programs
export POLYPATH_PROGRAMS
for name in "${together[@]}"; do
    ((${#running[@]} < AT_ONCE)) || end_one
    begin "$name"
done
while ((${#running[@]} > 0)); do end_one; done
for name in "${alone[@]}"; do
    begin "$name"
    end_one
done
cat "$ends"
say "network tests: $passed passed, ${#skipped[@]} skipped${skipped[*]:+ (${skipped[*]})}, ${#failed[@]} failed${failed[*]:+ (${failed[*]})} in $SECONDS s"
[[ ${#failed[@]} == 0 ]]
