#!/usr/bin/env bash
# Runs the network tests: every script in this directory but this one and lib.sh, or those that are named (run.sh marks outage).
# Each passes, fails, or says SKIPPED and why. They mostly wait, so several run at once, and what each says is printed when it ends. Those that compare rates or
# times need the machine for themselves, and say so by a line "# Runs alone: WHY"; they run last, one after the other.
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
logs=$(mktemp -d)
# What failed tests said last, once more at the end, where it is found.
ends=$logs/ends
: > "$ends"

clean_up() {
    local status=$?
    trap - EXIT
    # Each removes what it has made.
    ((${#running[@]} == 0)) || kill "${!running[@]}" 2> /dev/null || true
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
        { say "== tests/interop/$name.sh failed:"; tail -n 80 "$log"; } >> "$ends"
    elif grep -q '^SKIPPED' "$log"; then
        skipped+=("$name")
    else
        passed=$((passed + 1))
    fi
}

begin() {
    "tests/interop/$1.sh" < /dev/null > "$logs/$1" 2>&1 &
    running[$!]=$1
    began[$1]=$SECONDS
}

# Waits until one of those that run has ended.
end_one() {
    local pid name status=0
    wait -n -p pid "${!running[@]}" || status=$?
    name=${running[$pid]}
    unset "running[$pid]"
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
    say "== tests/interop/$name.sh"
    status=0
    began[$name]=$SECONDS
    "tests/interop/$name.sh" < /dev/null 2>&1 | tee "$logs/$name" || status=$?
    say "   ($((SECONDS - began[$name])) s)"
    note "$name" "$status"
done
cat "$ends"
say "network tests: $passed passed, ${#skipped[@]} skipped${skipped[*]:+ (${skipped[*]})}, ${#failed[@]} failed${failed[*]:+ (${failed[*]})} in $SECONDS s"
[[ ${#failed[@]} == 0 ]]
