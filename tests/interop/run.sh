#!/usr/bin/env bash
# Runs the network tests one after the other: every script in this directory but this one and lib.sh. Each passes,
# fails, or says SKIPPED and why.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh

passed=0
skipped=()
failed=()
log=$(mktemp)
# What failed tests said last, once more at the end, where it is found.
ends=$(mktemp)
trap 'rm -f "$log" "$ends"' EXIT
for script in tests/interop/*.sh; do
    name=$(basename "$script" .sh)
    [[ $name == run || $name == lib ]] && continue
    say "== $script"
    if ! "$script" < /dev/null 2>&1 | tee "$log"; then
        failed+=("$name")
        { say "== $script failed:"; tail -n 80 "$log"; } >> "$ends"
    elif grep -q '^SKIPPED' "$log"; then
        skipped+=("$name")
    else
        passed=$((passed + 1))
    fi
done
cat "$ends"
say "network tests: $passed passed, ${#skipped[@]} skipped${skipped[*]:+ (${skipped[*]})}, ${#failed[@]} failed${failed[*]:+ (${failed[*]})}"
[[ ${#failed[@]} == 0 ]]
