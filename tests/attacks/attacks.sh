#!/usr/bin/env bash
# Attacks over a network on a server built on the crate (examples/attacks), on a program with SCTP sockets (`polypath with`) and on
# `polypath receive`, while honest clients use it. Prints a table: what an attack sent and got back, the memory of the server before,
# at most and after, and the service of the clients.
#
#   attacks.sh                          every attack on every server, for 4 s each
#   attacks.sh 10 sockets reneging ...  so many seconds, one server (crate, sockets, receive), these attacks
#
# It fails if a client gets no service, if strangers get back more than three times what they sent, if a server ends, or if its memory
# grows by more than MOST_MB and 30 kB per association.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

SECONDS_EACH=${1:-4}
TARGETS=${2:-crate sockets receive}
ATTACKS=("${@:3}")
# Buffers of all associations may have 64 MiB; the rest is the server itself.
MOST_MB=${MOST_MB:-110}
PORT=5001
# Places that strangers take; with more than the servers have, which are 1,792 by the memory that they may use, nobody else gets one.
MOST_ASSOCIATIONS=${MOST_ASSOCIATIONS:-1000}
FAILED=()

[[ $(id -u) == 0 ]] || skip net "network namespaces need root"
have python3 || skip net "python3 is not installed"
build_ours
ATTACKER=$POLYPATH_PROGRAMS/examples/attacks
[[ -x $ATTACKER ]] || cargo build --profile optimized --workspace --locked --example attacks
POLYPATH=$(realpath "$POLYPATH")
ATTACKER=$(realpath "$ATTACKER")
[[ ${#ATTACKS[@]} -gt 0 ]] || readarray -t ATTACKS < <("$ATTACKER" list; printf '%s\n' none forged-icmp replays replays-elsewhere replays-damaged stripped-handshakes)

net_up 1
ip -n "$NS_B" route add local 10.88.0.0/16 dev lo
ip -n "$NS_A" route add 10.88.0.0/16 via "$(address b 1)"
ip -n "$NS_B" address add 10.77.1.3/24 dev path1
ip -n "$NS_B" address add 10.77.1.4/24 dev path1
export XDG_RUNTIME_DIR=$WORK/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
head -c 1000000 /dev/urandom > "$WORK/file"

# What a process has in memory, and at most had, in kB.
resident() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"; }
# Hundredths of a second of the processor.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# Starts a server: SERVED is its first process, SERVER the one that has the associations.
serve() {
    : > "$WORK/server"
    case $1 in
        crate) in_a "$ATTACKER" server --local "$(address a 1)" --open-addresses > "$WORK/server" 2>&1 & ;;
        sockets) in_a "$POLYPATH" with --preset recommended python3 tests/attacks/echo.py $PORT > "$WORK/server" 2>&1 & ;;
        receive)
            rm -rf "$WORK/inbox"
            in_a "$POLYPATH" receive --listen "$(address a 1)" --port $PORT --out "$WORK/inbox" --overwrite \
                --max-senders 2000 --max-memory '64 MiB' > "$WORK/server" 2>&1 &
            ;;
    esac
    SERVED=$!
    wait_for 10 grep -q '^ready\|^listening' "$WORK/server" || die "the server did not start: $(cat "$WORK/server")"
    # What was started is a shell, and beside a program with SCTP sockets there is their service.
    local pid what found=()
    case $1 in
        crate) what="attacks server" ;;
        sockets) what="polypath.* stack" ;;
        receive) what="polypath receive" ;;
    esac
    for pid in $(ip netns pids "$NS_A"); do
        tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q "$what" && found+=("$pid")
    done
    [[ ${#found[@]} == 1 ]] || die "${#found[@]} processes have the associations: $(ip netns pids "$NS_A")"
    SERVER=${found[0]}
}

end_server() {
    local pid
    for pid in $(ip netns pids "$NS_A"); do kill -KILL "$pid" 2> /dev/null || true; done
    wait "$SERVED" 2> /dev/null || true
}

# An honest sender of files, as long as $1 seconds: a line as that of `attacks client`.
send_files() {
    local until=$((SECONDS + $1)) sent=0 failed=0 began took longest=0 times=()
    while ((SECONDS < until)); do
        began=$(date +%s%3N)
        if in_b timeout 20 "$POLYPATH" send "$WORK/file" --from 10.77.1.3 --to "$(address a 1)" --port $PORT --retry-for 0 -q > "$WORK/send" 2>&1; then
            sent=$((sent + 1))
        else
            failed=$((failed + 1))
            cat "$WORK/send" >> "$WORK/client.err"
        fi
        took=$(($(date +%s%3N) - began))
        times+=("$took")
        ((took > longest)) && longest=$took
    done
    readarray -t times < <(printf '%s\n' "${times[@]}" | sort -n)
    echo "mbits=$((sent * 8 / $1)) visits=$sent failed=$failed median_ms=${times[$((${#times[@]} / 2))]} longest_ms=$longest"
    ((failed == 0))
}

# The clients of a server, for a second more than the attack lasts.
clients() {
    local plain=()
    case $1 in
        receive) send_files $((SECONDS_EACH + 1)) ;;
        sockets) plain=(--plain) ;&
        crate) in_b "$ATTACKER" client --local 10.77.1.3 --to "$(address a 1)" --seconds $((SECONDS_EACH + 1)) "${plain[@]}" ;;
    esac
}

# The relay between one more client and the server, which sends old packets again.
relay() {
    local options=() changes=() plain=()
    case $2 in
        replays) ;;
        replays-elsewhere) options=(--elsewhere) ;;
        replays-damaged) options=(--damage) ;;
        stripped-handshakes) options=(--strip --again 0) ;;
    esac
    : > "$WORK/relay"
    in_b "$ATTACKER" relay --local 10.77.1.4 --to "$(address a 1)" --seconds $((SECONDS_EACH + 2)) "${options[@]}" > "$WORK/relay" &
    local pid=$!
    wait_for 10 grep -q ready "$WORK/relay"
    [[ $1 == sockets ]] && plain=(--plain)
    [[ $1 == crate ]] && changes=(--changes)
    # Whether this one is served is up to who is on the way.
    in_b timeout $((SECONDS_EACH + 2)) "$ATTACKER" client --local 10.77.1.2 --to 10.77.1.4 --seconds $((SECONDS_EACH - 1)) "${plain[@]}" "${changes[@]}" \
        > "$WORK/victim" 2> "$WORK/victim.err" || true
    wait $pid
    tail -n 1 "$WORK/relay"
}

# The number behind NAME= in a line, or 0.
value() {
    local number
    number=$(sed -n "s/.*\\b$1=\\([0-9]*\\).*/\\1/p" <<< "$2")
    echo "${number:-0}"
}

fail() {
    FAILED+=("$1")
    say "   $1"
}

run_attack() {
    local target=$1 attack=$2 client before peak after spent pid line=none
    serve "$target"
    before=$(resident "$SERVER" VmRSS)
    spent=$(ticks "$SERVER")
    : > "$WORK/client.err"
    clients "$target" > "$WORK/client" 2>> "$WORK/client.err" &
    client=$!
    case $attack in
        none) sleep "$SECONDS_EACH" ;;
        forged-icmp) line=$(in_b python3 tests/attacks/icmp.py "$(address a 1)" 10.77.1.3 9899 "$SECONDS_EACH") ;;
        replays* | stripped-handshakes) line=$(relay "$target" "$attack") ;;
        *)
            if ! line=$(in_b timeout $((SECONDS_EACH + 60)) "$ATTACKER" attack "$attack" --local 10.88.0.1 --to "$(address a 1)" \
                --port $PORT --seconds "$SECONDS_EACH" --most "$MOST_ASSOCIATIONS" 2> "$WORK/attack.err"); then
                line="attack failed: $(tail -n 1 "$WORK/attack.err")"
            fi
            ;;
    esac
    wait $client || fail "$target, $attack: clients had no service: $(tail -n 2 "$WORK/client.err")"
    if ! kill -0 "$SERVER" 2> /dev/null; then
        fail "$target, $attack: the server ended: $(tail -n 3 "$WORK/server")"
        return
    fi
    peak=$(resident "$SERVER" VmHWM)
    sleep 2
    after=$(resident "$SERVER" VmRSS)
    spent=$(($(ticks "$SERVER") - spent))
    printf '%-8s %-20s memory %3d %3d %3d MB, cpu %3d.%02d s, %s\n%30s %s\n' "$target" "$attack" \
        $((before / 1000)) $((peak / 1000)) $((after / 1000)) $((spent / 100)) $((spent % 100)) "$(cat "$WORK/client")" "" "$line"
    # Each association that exists takes something.
    ((peak - before <= MOST_MB * 1000 + 30 * $(value established "$line"))) || fail "$target, $attack: $(((peak - before) / 1000)) MB more"
    local sent got
    sent=$(value sent_bytes "$line")
    got=$(value got_bytes "$line")
    # Without a handshake nobody gets more than was sent, but the answers to INIT, in bytes of IP three times as much.
    case $attack in
        init-flood | unusual-inits | *-cookies | garbage | damaged-packets | blind-chunks)
            ((got + 28 * $(value got_packets "$line") <= 3 * (sent + 28 * $(value sent_packets "$line")))) ||
                fail "$target, $attack: $got bytes for $sent"
            ;;
    esac
    # An address that a peer names gets three packets from each association before it answers (RFC 5062).
    (($(value victim_packets "$line") <= 24 * ($(value established "$line") + 1))) || fail "$target, $attack: victims got packets: $line"
    end_server
}

say "memory: before, most, after; clients: rate of a transfer, and visits (connect, a message and its echo, leave)"
for target in $TARGETS; do
    for attack in "${ATTACKS[@]}"; do run_attack "$target" "$attack"; done
done
[[ ${#FAILED[@]} == 0 ]] || die "${#FAILED[@]} failed"
