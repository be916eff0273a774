#!/usr/bin/env bash
# Compares the public interfaces of the libraries with those of an earlier revision, by cargo-semver-checks: a change that breaks
# programs needs another minor version before 1.0, and another major one after it.
#
# usage: scripts/check_semver.sh [REVISION [PACKAGE...]]
#
# Default: the last release before this commit, that is the last tag `v1.2.3`, and all published libraries. Without a release there is
# nothing to keep.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

revision=${1:-}
[[ -n $revision ]] || revision=$(git describe --tags --abbrev=0 --match 'v[0-9]*.[0-9]*.[0-9]*' HEAD~1 2> /dev/null) || true
if [[ -z $revision ]]; then
    [[ $(git rev-parse --is-shallow-repository) == false ]] || die "this clone lacks the history and may lack tags: git fetch --unshallow --tags"
    say "SKIPPED: there is no release to compare with (no tag v1.2.3); name a revision: scripts/check_semver.sh REVISION"
    exit 0
fi
git rev-parse --quiet --verify "$revision^{commit}" > /dev/null || die "there is no revision $revision"
scripts/setup.sh semver

# Published crates with a library; one that the revision lacks is new and breaks nothing.
packages=("${@:2}")
if [[ ${#packages[@]} == 0 ]]; then
    published=$(cargo metadata --no-deps --format-version 1 --locked | python3 -c '
import json, os, sys
for package in sorted(json.load(sys.stdin)["packages"], key=lambda package: package["name"]):
    if package["publish"] != [] and any("lib" in target["kind"] for target in package["targets"]):
        print(package["name"], os.path.relpath(os.path.dirname(package["manifest_path"])))')
    while read -r name folder; do
        if git cat-file -e "$revision:$folder/Cargo.toml" 2> /dev/null; then
            packages+=("$name")
        else
            say "semver: $name is new since $revision"
        fi
    done <<< "$published"
fi
if [[ ${#packages[@]} == 0 ]]; then
    say "SKIPPED: all libraries are new since $revision"
    exit 0
fi
selection=()
for package in "${packages[@]}"; do selection+=(--package "$package"); done
cargo semver-checks check-release --baseline-rev "$revision" "${selection[@]}"
say "semver: ${#packages[@]} libraries keep the interfaces of $revision, or have a version that says so"
