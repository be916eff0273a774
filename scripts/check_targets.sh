#!/usr/bin/env bash
# Checks that the program compiles for the systems of a release, without warnings; nothing is linked, so no system needs its tools here.
#
# usage: scripts/check_targets.sh [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

targets=("$@")
[[ $# -gt 0 ]] || targets=(
    aarch64-unknown-linux-musl aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-msvc
)
for target in "${targets[@]}"; do
    add_target "$target"
    say "targets: $target"
    # Quiet, it prints warnings only: code that no other system uses, for example.
    said=$(cargo check --quiet --locked --package polypath-cli --package polypath-examples --target "$target" 2>&1) || die "$said"
    [[ -z $said ]] || die "$target compiles with warnings:"$'\n'"$said"
done
say "targets: ${#targets[@]} compile: ${targets[*]}"
