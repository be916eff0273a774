#!/usr/bin/env bash
# Programs that nobody wrote for this: SCTP sockets over the stack, by `polypath with`. Needs a C compiler, iperf3, lksctp-tools and
# libsctp-dev, and for two paths root.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh

need() {
    for program in "$@"; do
        command -v "$program" > /dev/null || skip interop "$program is not installed: make setup-interop"
    done
}

need cc iperf3 pkg-config readelf sctp_test sctp_darn python3
[[ -e /usr/include/netinet/sctp.h ]] || skip interop "libsctp-dev is not installed: make setup-interop"

build_programs
polypath=$(cd "$POLYPATH_PROGRAMS" && pwd)/polypath

source tests/sockets/lib.sh

say "== the API, call by call"
cc -Wall -Wextra -Werror -O1 -o "$work/walk" tests/sockets/walk.c -lsctp
"${with[@]}" "$work/walk"

if have valgrind; then
    say "== the library and the memory of programs"
    cc -g -O1 -o "$work/walk-checked" tests/sockets/walk.c -lsctp
    WALK_IN_VALGRIND=yes WALK_SECONDS=600 "${with[@]}" valgrind --trace-children=yes --error-limit=no --log-file="$work/memory.%p" "$work/walk-checked"
    # Calls with pointers that lead nowhere are part of the test.
    if grep -h "ninitialised\|Invalid \|definitely lost: [1-9]" "$work"/memory.*; then
        cat "$work"/memory.*
        exit 1
    fi
else
    say "   valgrind is not installed: the memory of programs was not checked"
fi

say "== readers beside others"
cc -Wall -Wextra -Werror -O1 -shared -fPIC -o "$work/libbeside.so" tests/sockets/beside.c
cc -Wall -Wextra -Werror -O1 -o "$work/readers" tests/sockets/readers.c -L"$work" -lbeside
LD_LIBRARY_PATH=$work "${with[@]}" "$work/readers"

say "== programs that are linked with the library, whose header and pkg-config file are installed"
python3 tests/sockets/compare_header.py
PREFIX=$work/root POLYPATH_PROGRAMS=$POLYPATH_PROGRAMS scripts/install_capi.sh
export PKG_CONFIG_PATH=$work/root/lib/pkgconfig
read -ra shared <<< "$(pkg-config --cflags --libs polypath)"
read -ra static <<< "$(pkg-config --cflags polypath) -Wl,-Bstatic -lpolypath -Wl,-Bdynamic $(pkg-config --libs --static polypath)"
cc -Wall -Wextra -Werror -O1 -o "$work/walk-shared" tests/sockets/walk.c "${shared[@]}"
cc -Wall -Wextra -Werror -O1 -o "$work/walk-static" tests/sockets/walk.c -L"$work/root/lib" "${static[@]}"
readelf -d "$work/walk-shared" | grep "NEEDED.*libpolypath.so.0" > /dev/null
! readelf -d "$work/walk-static" | grep "NEEDED.*libpolypath"
# They find the service by its path, or start that of the user, which has the usual UDP port: that is for a network of its own, below.
# It may have ended meanwhile.
"${with[@]}" true
socket=$(find "$XDG_RUNTIME_DIR/polypath" -type s)
for kind in shared static; do
    LD_LIBRARY_PATH=$work/root/lib POLYPATH_SOCKETS=$socket POLYPATH_SOCKETS_SETTINGS=udp-port=$port "$work/walk-$kind"
done
if PATH=/nowhere XDG_RUNTIME_DIR=$work "$work/walk-static" 2> "$work/error"; then
    say "a program had sockets without a service"
    exit 1
fi
grep -q "install it in PATH" "$work/error" || { cat "$work/error"; exit 1; }

say "== packets that the program carries itself"
read -ra flags <<< "$(pkg-config --cflags --libs usrsctp)"
cc -Wall -Wextra -Werror -O1 -o "$work/carried" tests/sockets/carried.c "${flags[@]}" -lpthread
for mode in threads nothreads; do
    LD_LIBRARY_PATH=$work/root/lib timeout 120 "$work/carried" "$mode"
done

say "== sctp_test (lksctp-tools), one-to-many"
begin "$work/receiver" "${with[@]}" stdbuf -oL sctp_test -H 127.0.0.1 -P 6100 -l
wait_for "$work/receiver" "Receiving packets"
"${with[@]}" sctp_test -H 127.0.0.1 -P 6101 -h 127.0.0.1 -p 6100 -s -x 1 > "$work/sender"
wait_for "$work/receiver" "SHUTDOWN_COMPLETE"
sent=$(grep -c 'bytes\.$' "$work/sender")
received=$(grep -c 'recvmsg(sk=3) Data' "$work/receiver")
[[ $sent -gt 0 && $received -ge $sent ]] || { say "sent $sent messages, received $received"; exit 1; }
say "sctp_test: $sent messages"

say "== a program that asks for SCTP by Python's socket module"
begin "$work/python" "${with[@]}" python3 tests/sockets/server.py
wait_for "$work/python" "listening"
"$polypath" ss --local-encapsulation-port "$port" | grep "^LISTEN one-to-one .* at 127.0.0.1$" > /dev/null
"${with[@]}" python3 tests/sockets/client.py "$(awk '/listening/ { print $2 }' "$work/python")"

say "== services that end, and services of other versions"
"${with[@]}" python3 tests/sockets/again.py "$port"
"${with[@]}" python3 tests/sockets/boards.py
python3 tests/sockets/versions.py "$work/root/lib/libpolypath.so.0" "$work"

say "== sandboxes"
cc -Wall -Wextra -Werror -O1 -o "$work/sandbox" tests/sockets/sandbox.c
cc -Wall -Wextra -Werror -O2 -o "$work/pingpong" tests/sockets/pingpong.c
for call in process_vm_readv memfd_create; do
    "${with[@]}" "$work/sandbox" "$call" "$work/pingpong" sctp 64 100
done
"${with[@]}" "$work/pingpong" sctp 200000 10
if "${with[@]}" "$work/sandbox" unix "$work/pingpong" sctp 64 100 2> "$work/error"; then
    say "a program had sockets without AF_UNIX"
    exit 1
fi
grep -q "allow them in its sandbox" "$work/error" || { cat "$work/error"; exit 1; }
# In KiB: less than a large message takes, and less than the memory of the service.
if (ulimit -f 32 && "${with[@]}" "$work/pingpong" sctp 200000 1) 2> "$work/error"; then
    say "a message was larger than the program may write"
    exit 1
fi
grep -q "File too large" "$work/error" || { cat "$work/error"; exit 1; }
mkdir -m 700 "$work/limited"
limited=("$polypath" with --local-encapsulation-port "$((port + 2))" --encapsulation-port "$((port + 2))")
(ulimit -f 2000 && XDG_RUNTIME_DIR=$work/limited "${limited[@]}" "$work/pingpong" sctp 200000 10)

iperf() {
    local log=$work/iperf-$RANDOM
    begin "$log" "${with[@]}" iperf3 -s -1 -p "$((port + 1))" --forceflush
    wait_for "$log" "listening"
    "${with[@]}" iperf3 --sctp -c 127.0.0.1 -p "$((port + 1))" --json "$@" > "$log.json"
    python3 - "$log.json" "$*" << 'PYTHON'
import json, sys
run = json.load(open(sys.argv[1], encoding="utf-8"))
assert "error" not in run, run["error"]
end = run["end"]
sent, received = end["sum_sent"]["bytes"], end["sum_received"]["bytes"]
assert received > 1_000_000, (sent, received)
print(f"iperf3 --sctp {sys.argv[2]}: {received * 8 / end['sum_received']['seconds'] / 1e9:.2f} Gbit/s")
PYTHON
}
say "== iperf3"
iperf -t 1 -l 64K
iperf -t 1 -l 1400 --reverse
# iperf3 3.12 limits itself to 1 Mbit/s with --nstreams, over TCP as well, unless a rate is named.
iperf -t 1 -P 3 --nstreams 4 -b 0

say "== exit codes, and what is wrong"
set +e
"${with[@]}" sh -c 'exit 7'
[[ $? == 7 ]] || { say "the exit code of the program is lost"; exit 1; }
"${with[@]}" no-such-program 2> "$work/error"
[[ $? == 2 ]] && grep -q "cannot run no-such-program" "$work/error" || { cat "$work/error"; exit 1; }
"${with[@]}" --set policies.rto.mim=1 true 2> "$work/error"
[[ $? == 2 ]] && grep -q "did you mean" "$work/error" || { cat "$work/error"; exit 1; }
printf 'preset = "cmt"\nencapsulation-port = 1\n' > "$work/with.toml"
"${with[@]}" --config "$work/with.toml" true 2> "$work/error"
[[ $? == 2 ]] && grep -q "with.toml:2:1: unknown key" "$work/error" || { cat "$work/error"; exit 1; }
set -e
printf 'local_encapsulation_port = %s\nencapsulation_port = %s\npaths = "all"\nset = ["outbound_streams=77"]\n' \
    "$port" "$port" > "$work/with.toml"
"$polypath" with --config "$work/with.toml" --set outbound_streams=78 python3 - << 'PYTHON'
import os, socket, struct
settings = os.environ["POLYPATH_SOCKETS_SETTINGS"].splitlines()
assert "paths=all" in settings and settings[1:3] == ["set=outbound_streams=77", "set=outbound_streams=78"], settings
one = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
streams = struct.unpack("4H", one.getsockopt(132, 2, 8))[0]
assert streams == 78, streams
PYTHON

if [[ $(id -u) != 0 ]]; then
    skip net "two paths need root"
fi
say "== programs of other users are refused, also where they can reach the socket"
others=(setpriv --reuid=65534 --regid=65534 --clear-groups env POLYPATH_SOCKETS="$work/open" LD_PRELOAD="$work/root/lib/libpolypath.so.0")
"${with[@]}" true
socket=$(find "$XDG_RUNTIME_DIR/polypath" -type s -name "*-udp-$port")
[[ $(stat -c %a "$(dirname "$socket")") == 700 && $(stat -c %a "$socket") == 600 ]]
# A door that should not be there.
chmod 711 "$work"
ln "$socket" "$work/open"
chmod 666 "$work/open"
attempt='import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)'
POLYPATH_SOCKETS=$work/open LD_PRELOAD=$work/root/lib/libpolypath.so.0 python3 -c "$attempt"
if "${others[@]}" python3 -c "$attempt" 2> "$work/error"; then
    say "another user got a socket"
    exit 1
fi
grep -q "Network is down" "$work/error" || { cat "$work/error"; exit 1; }

say "== a service of another user, in a folder that looks like this user's, is refused"
space=$(readlink /proc/self/ns/net | tr -dc 0-9)
mkdir -m 711 "$work/false" "$work/false/polypath"
chown -R 65534:65534 "$work/false"
listen='import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o666); s.listen(9)
print("listening", flush=True)
while True: s.accept()[0].close()'
begin "$work/false-service" setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 -c "$listen" "$work/false/polypath/sockets-$space"
wait_for "$work/false-service" "listening"
for program in "$polypath with true" "$polypath ss" "env -u POLYPATH_SOCKETS LD_PRELOAD=$work/root/lib/libpolypath.so.0 python3 -c $(printf %q "$attempt")"; do
    if XDG_RUNTIME_DIR=$work/false bash -c "$program" 2> "$work/error"; then
        say "a program used it: $program"
        exit 1
    fi
    grep -q "belongs to another user (65534)" "$work/error" || { cat "$work/error"; exit 1; }
done

say "== two hosts, two paths, one of them cut"
for side in a b; do
    space=pp-sockets-$side-$$
    ip netns add "$space"
    spaces+=("$space")
    ip -n "$space" link set lo up
done
for path in 1 2; do
    ip link add "ps$path-a" netns "${spaces[0]}" type veth peer name "ps$path-b" netns "${spaces[1]}"
    ip -n "${spaces[0]}" address add "10.77.$path.1/24" dev "ps$path-a"
    ip -n "${spaces[1]}" address add "10.77.$path.2/24" dev "ps$path-b"
    ip -n "${spaces[0]}" link set "ps$path-a" up
    ip -n "${spaces[1]}" link set "ps$path-b" up
    for end in 0:a 1:b; do
        tc -n "${spaces[${end%:*}]}" qdisc add dev "ps$path-${end#*:}" root tbf rate 50mbit burst 32k latency 20ms
    done
done
PATH=$work/root/bin:$PATH ip netns exec "${spaces[0]}" "$work/walk-static"
in_a=(ip netns exec "${spaces[0]}" "$polypath" with)
in_b=(ip netns exec "${spaces[1]}" "$polypath" with)
begin "$work/two" "${in_b[@]}" iperf3 -s -1 --forceflush
wait_for "$work/two" "listening"
"${in_a[@]}" iperf3 --sctp -c 10.77.1.2 -t 3 --json > "$work/two.json"
python3 - "$work/two.json" << 'PYTHON'
import json, sys
end = json.load(open(sys.argv[1], encoding="utf-8"))["end"]
rate = end["sum_received"]["bits_per_second"] / 1e6
print(f"iperf3 --sctp over two paths of 50 Mbit/s: {rate:.1f} Mbit/s")
assert rate > 52, "one path would carry 48"
PYTHON
begin "$work/cut" "${in_b[@]}" python3 tests/sockets/server.py 10.77.1.2
wait_for "$work/cut" "listening"
cut_port=$(awk '/listening/ { print $2 }' "$work/cut")
begin "$work/cut-client" "${in_a[@]}" python3 tests/sockets/client.py "$cut_port" 10.77.1.2 slowly
wait_for "$work/cut-client" "half"
ip -n "${spaces[0]}" link set ps1-a down
wait_for "$work/cut-client" "all answered"
say "the second path carried on when the first one was cut"
