#!/usr/bin/env bash
# SCTP in UDP against sctp-proto and rtc-sctp. Data channels over DTLS against dcSCTP in one program with ours, then pion as a program
# of its own, in both roles of the DTLS handshake and of the association, with either side opening the channels and ending the association.
# Downloads what both need from crates.io and the Go module proxy. WEBRTC_TABLE names a file that gets the results as lines for
# tests/interop/table.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh

FAILED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# note STACK CARRIED TEST RESULT
note() {
    [[ $4 == ok ]] || FAILED=$((FAILED + 1))
    [[ -z ${WEBRTC_TABLE:-} ]] || printf '%s\t%s\tsingle\t%s\t-\t-\t%s\n' "$@" >> "$WEBRTC_TABLE"
}

cd tests/webrtc
cargo build --locked --tests --bins
cargo test --locked --no-fail-fast 2>&1 | tee "$work/tests" || true
# Either side writes what it finds to the standard output, so that a name and its result may be on different lines.
for test in $(sed -n 's/^test \([a-z0-9_:]*\) \.\.\..*/\1/p' "$work/tests"); do
    result=failed
    case $test in with_sctp_proto::*) stack=sctp-proto carried=udp ;; with_rtc_sctp::*) stack=rtc-sctp carried=udp ;; *) stack=dcsctp carried=dtls ;; esac
    # Failed tests are listed once more.
    grep -q "^    $test\$" "$work/tests" || result=ok
    note $stack $carried "$(tr _ - <<< "${test##*::}")" $result
done
grep -q '^test result: ok' "$work/tests" || die "the tests did not run"
if ! have go; then
    ((FAILED == 0)) || die "$FAILED tests failed"
    say "SKIPPED: go was not found, so pion was left out"
    exit 0
fi
(cd pion && go build -o "$work/pion" .)
ours=${CARGO_TARGET_DIR:-target}/debug/data_channel
PORT=42100

# pair NAME "OPTIONS OF OURS" "OPTIONS OF PION": the DTLS client repeats its first message until the server is there.
pair() {
    local name=$1 status=0 result=ok
    PORT=$((PORT + 2))
    # shellcheck disable=SC2086 # options, one per word
    timeout 100 "$work/pion" --local 127.0.0.1:$((PORT + 1)) --peer "127.0.0.1:$PORT" $3 > "$work/pion.log" 2>&1 &
    local pion=$!
    # shellcheck disable=SC2086
    RUST_BACKTRACE=0 timeout 100 "$ours" --local "127.0.0.1:$PORT" --peer 127.0.0.1:$((PORT + 1)) $2 > "$work/ours.log" 2>&1 || status=$?
    # Where packets get lost, the last one may: pion would wait for it.
    [[ $2 != *--lose*check || $status != 0 ]] || kill "$pion" 2> /dev/null || true
    wait "$pion" || [[ $2 == *--lose*check ]] || status=$?
    if [[ $status != 0 ]]; then
        result=failed
        tail -n 30 "$work/ours.log" "$work/pion.log" >&2
    fi
    say "pion: $name: $result"
    note pion dtls "$name" $result
}

pair everything-comes-back "check" "--server --what echo"
pair everything-comes-back-to-the-server "--server check" "--what echo"
pair pion-opens-the-channels "--server echo" "--what check"
pair pion-opens-the-channels-as-server "echo" "--server --what check"
pair we-open-the-association "--begin ours check" "--server --waits --what echo"
pair pion-opens-the-association "--begin peer --server check" "--what echo"
pair abandoned "--lose-one-of 20 check" "--server --what echo"
pair abandoned-without-i-data "--lose-one-of 20 --no-interleaving check" "--server --what echo --interleaves=false"
pair pion-abandons "--lose-one-of 20 echo" "--server --what check --loses"
pair pion-abandons-without-i-data "--lose-one-of 20 --no-interleaving echo" "--server --what check --loses --interleaves=false"
pair we-abort "--abort check" "--server --what echo"
pair pion-aborts "--abort echo" "--server --what check --abort"
((FAILED == 0)) || die "$FAILED tests failed"
