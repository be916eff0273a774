# shellcheck shell=bash disable=SC2034 # the scripts that source this use them
# Functions that the tests of programs with SCTP sockets share: a service of its own, programs in the background, and what they print.
# Sourced from the folder of the project, after scripts/lib.sh.

work=$(mktemp -d)
spaces=()
started=()
end_started() {
    for pid in "${started[@]}"; do kill "$pid" 2> /dev/null || true; done
}
clean_up() {
    end_started
    for space in "${spaces[@]}"; do ip netns del "$space" 2> /dev/null || true; done
    rm -rf "$work"
}
trap clean_up EXIT
# A service of its own, whatever else this user runs.
export XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
port=$((20000 + RANDOM % 10000))
# An array and no function: what runs in the background is the program itself then, and can be ended.
with=("$polypath" with --local-encapsulation-port "$port" --encapsulation-port "$port")

# Runs something in the background: its output in a file, its number in `started`.
begin() {
    local log=$1
    shift
    "$@" > "$log" 2>&1 &
    started+=($!)
}

# Waits until a file has a line.
wait_for() {
    for _ in $(seq 400); do
        grep -q "$2" "$1" 2> /dev/null && return
        sleep 0.05
    done
    say "no line with '$2' in $1:"
    cat "$1"
    return 1
}
