# shellcheck shell=bash
# Shared by the scripts of this project; sourced, never run.
#
# Tests that need more than a compiler are skipped where that is missing, with a line that begins with SKIPPED and says
# why. POLYPATH_REQUIRE turns such a skip into a failure. It is a comma-separated list of:
#   net      network namespaces may be made (root)
#   tshark   the dissectors tshark and scapy
#   interop  other SCTP stacks
#   browser  Chromium, to open reports
#   matplotlib  matplotlib for python3, to run the scripts beside figures
#   slurm    a local Slurm
#   advisories  the advisory database of RustSec

say() { printf '%s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" > /dev/null 2>&1; }

# Whether POLYPATH_REQUIRE names $1.
required() { [[ ",${POLYPATH_REQUIRE:-}," == *",$1,"* ]]; }

# Ends a test that cannot run here: skipped, or failed if POLYPATH_REQUIRE names $1. The rest says why.
skip() {
    local name=$1
    shift
    required "$name" && die "$* (POLYPATH_REQUIRE names $name)"
    say "SKIPPED: $*"
    exit 0
}

# The root of the project and cargo's target directory, both absolute.
root_dir() { cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd; }
target_dir() { mkdir -p "${CARGO_TARGET_DIR:-target}" && (cd "${CARGO_TARGET_DIR:-target}" && pwd); }

# Builds what tests outside cargo run, and sets POLYPATH_PROGRAMS to its folder, unless that names one already. One call with
# the features that tests of the workspace have: any other selection would build all dependencies once more.
build_programs() {
    [[ -n ${POLYPATH_PROGRAMS:-} ]] && return
    cargo build --profile optimized --workspace --locked --lib --bin polypath --example interop_peer --example crowd --example echo
    POLYPATH_PROGRAMS=$(target_dir)/optimized
}

# The version of all crates.
project_version() { sed -n 's/^version = "\(.*\)"/\1/p' "$(root_dir)/Cargo.toml" | head -n 1; }

# The time of the commit, for packages that are the same whenever they are made.
source_date() { printf '%s\n' "${SOURCE_DATE_EPOCH:-$(git -C "$(root_dir)" log -1 --format=%ct)}"; }

# Installs the standard library for a target: add_target TARGET
add_target() {
    local installed
    installed=$(rustup target list --installed)
    [[ $'\n'$installed$'\n' == *$'\n'$1$'\n'* ]] && return
    say "setup: adding the target $1 to the toolchain"
    rustup target add "$1"
}
