#!/usr/bin/env bash
# Looks the crates of Cargo.lock up in the advisory database of RustSec, and checks that none of them was yanked from crates.io.
#
# usage: scripts/check_advisories.sh
#
# The database is a Git repository on GitHub, and no package of a registry has a copy of it. POLYPATH_ADVISORY_DB names a clone of it, for a
# machine without access to GitHub. If there is neither, crates are checked for being yanked only, and the rest is skipped, or fails if
# POLYPATH_REQUIRE names advisories.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

origin=https://github.com/RustSec/advisory-db
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

missing=
if [[ -n ${POLYPATH_ADVISORY_DB:-} ]]; then
    database=$(cd "$POLYPATH_ADVISORY_DB" && pwd)
    [[ -d $database/crates ]] || die "POLYPATH_ADVISORY_DB: $database is not a clone of $origin"
elif GIT_TERMINAL_PROMPT=0 timeout 60 git clone --quiet --depth 1 --branch main "$origin" "$work/database" 2> "$work/errors"; then
    database=$work/database
else
    missing="the advisory database cannot be fetched ($(tail -n 1 "$work/errors")); POLYPATH_ADVISORY_DB can name a clone of $origin"
    required advisories && die "$missing"
    # A database about no crate, since cargo-deny takes no empty one: the index of crates.io says which crates were yanked.
    database=$work/database
    git init --quiet --initial-branch main "$database"
    mkdir -p "$database/crates/none"
    printf '```toml\n[advisory]\nid = "RUSTSEC-2000-0001"\npackage = "none"\ndate = "2000-01-01"\n[versions]\npatched = []\n```\n\n# None\n' \
        > "$database/crates/none/RUSTSEC-2000-0001.md"
    git -C "$database" add crates
    git -C "$database" -c user.name=none -c user.email=none commit --quiet --message empty
fi

# cargo-deny fetches with Git, which takes the clone instead of GitHub here; its copy is not the one of the user.
sed "s|^\[advisories\]$|&\ndb-path = \"$work/copies\"|" deny.toml > "$work/deny.toml"
grep -q '^db-path' "$work/deny.toml" || die "deny.toml has no section [advisories]"
cargo fetch --quiet --locked
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$database.insteadOf" GIT_CONFIG_VALUE_0=$origin \
    cargo deny --config "$work/deny.toml" check --hide-inclusion-graph advisories
if [[ -n $missing ]]; then
    say "SKIPPED: $missing; checked only: no crate was yanked"
else
    say "advisories: none about the crates of Cargo.lock; the database is of $(git -C "$database" log -1 --format=%cs)"
fi
