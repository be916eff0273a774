#!/usr/bin/env bash
# Runs the tests whose result must not depend on the build once more with optimised code.
#
# usage: scripts/test_release.sh [build]
#
# With `build` nothing is run, and the programs of the network tests are built, too: one cargo call each with the same features, so
# that nothing is built twice.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

# Test targets of the simulator and of the network below it that compare traces or their hashes.
targets=()
for file in crates/{netsim,sim}/tests/{determinism,golden,hash,trace}*.rs; do
    [[ -e $file ]] && targets+=(--test "$(basename "$file" .rs)")
done
[[ ${#targets[@]} -gt 0 ]] || die "no determinism tests found in crates/{netsim,sim}/tests"
case $* in
    "") cargo test --profile optimized --workspace --locked "${targets[@]}" ;;
    build)
        cargo test --profile optimized --workspace --locked --no-run "${targets[@]}"
        build_programs
        ;;
    *) die "usage: scripts/test_release.sh [build]" ;;
esac
