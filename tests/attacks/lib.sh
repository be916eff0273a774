# shellcheck shell=bash
# What the attacks on programs over loopback share: a directory, WORK, and processes, STARTED, that are gone at the end; and the
# programs.
source tests/interop/lib.sh

WORK=$(mktemp -d)
STARTED=()
end() {
    local status=$? pid
    trap - EXIT
    for pid in "${STARTED[@]}"; do kill "$pid" 2> /dev/null || true; done
    rm -rf "$WORK"
    exit "$status"
}
trap end EXIT
trap 'exit 130' INT TERM

build_ours
