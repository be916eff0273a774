#!/usr/bin/env bash
# Programs of others with SCTP sockets, over the stack by `polypath with` on both sides. Each is SKIPPED where it is not installed. With
# names as arguments, only these are tested.
# shellcheck disable=SC2034 # needs_NAME are read by their names
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh
build_programs
polypath=$(cd "$POLYPATH_PROGRAMS" && pwd)/polypath
source tests/sockets/lib.sh
programs=$PWD/tests/sockets/programs

# A program that reads from its standard input has to wait for more.
begin_with_input() {
    local log=$1
    shift
    sleep 60 | "$@" > "$log" 2>&1 &
    started+=($!)
}

# Each test is a function; `needs_NAME` has the programs that it needs.

needs_sctp_darn=(sctp_darn)
test_sctp_darn() {
    begin_with_input "$work/darn" "${with[@]}" stdbuf -oL sctp_darn -H 127.0.0.1 -P 6200 -l
    wait_for "$work/darn" "listening"
    # It ends with 1 at the end of its input.
    (printf 'first\nsecond\n' && sleep 2) | "${with[@]}" sctp_darn -H 127.0.0.1 -P 6201 -h 127.0.0.1 -p 6200 -s > "$work/darn-sender" || true
    wait_for "$work/darn" "second"
}

needs_netperfmeter=(netperfmeter)
test_netperfmeter() {
    begin "$work/meter" "${with[@]}" netperfmeter "$((port + 2))"
    wait_for "$work/meter" "manual stop"
    sleep 1
    "${with[@]}" netperfmeter "127.0.0.1:$((port + 2))" -runtime=2 -sctp const0:const1400:const0:const1400 > "$work/active" 2>&1
    # Saturated in both directions.
    for direction in Transmission Reception; do
        [[ $(awk -v d="- $direction:" 'index($0, d) { on = 1 } on && /Bytes:/ { print $3; exit }' "$work/active") -gt 0 ]]
    done
}

needs_freediameter=(freeDiameterd openssl)
test_freediameter() {
    local node peer connect own
    for node in first second; do
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$node.localdomain" -keyout "$work/$node.key" -out "$work/$node.pem" 2> /dev/null
        if [[ $node == first ]]; then
            peer=second connect="" own=3868
        else
            peer=first connect='ConnectTo = "127.0.0.1"; Port = 3868;' own=3869
        fi
        sed -e "s|@NAME@|$node|g; s|@PEER@|$peer|g; s|@WORK@|$work|g; s|@CONNECT@|$connect|g; s|@ADDRESS@|127.0.0.1|g; s|@PORT@|$own|g" \
            "$programs/freediameter.conf" > "$work/$node.conf"
        begin "$work/$node" "${with[@]}" stdbuf -oL freeDiameterd -c "$work/$node.conf"
        wait_for "$work/$node" "initialized\\|STATE"
    done
    # Capabilities are exchanged (CER, CEA).
    wait_for "$work/first" "> 'STATE_OPEN'"
    wait_for "$work/second" "> 'STATE_OPEN'"
    [[ $("$polypath" ss --local-encapsulation-port "$port" | grep -c Established) == 2 ]]
}

needs_osmocom=(osmo-stp osmo-msc osmo-bsc)
test_osmocom() {
    printf '%s\n' 'log stderr' ' logging level set-all notice' 'cs7 instance 0' ' xua rkm routing-key-allocation dynamic-permitted' \
        ' listen m3ua 2905' '  accept-asp-connections dynamic-permitted' > "$work/stp.cfg"
    begin "$work/stp" "${with[@]}" osmo-stp -c "$work/stp.cfg"
    wait_for "$work/stp" "m3ua\\|VTY\\|telnet"
    # It writes a file where it is started.
    begin "$work/msc" env -C "$work" "${with[@]}" osmo-msc -c /etc/osmocom/osmo-msc.cfg
    begin "$work/bsc" "${with[@]}" osmo-bsc -c /usr/share/doc/osmo-bsc/examples/osmo-bsc/osmo-bsc-minimal.cfg
    # BSC and MSC have found each other over the STP.
    wait_for "$work/bsc" "link up"
    ! grep -q "failed to accept" "$work/stp" "$work/msc"
}

needs_erlang=(erl erlc)
test_erlang() {
    cp "$programs/gen_sctp.erl" "$work/gen_sctp_test.erl"
    cd "$work"
    erlc gen_sctp_test.erl
    "${with[@]}" erl -noshell -s gen_sctp_test main | grep "all messages came"
}

needs_java=(java javac)
test_java() {
    "${with[@]}" java "$programs/Channels.java" | grep "all messages came back"
}

needs_go=(go cc)
test_go() {
    GOFLAGS='' GOTOOLCHAIN=local go build -o "$work/go" "$programs/sctp.go"
    "${with[@]}" "$work/go" | grep "all messages came back"
}

needs_pysctp=()
test_pysctp() {
    local python=${POLYPATH_PYSCTP:-python3}
    "$python" -c 'import sctp' 2> /dev/null || skip programs "the Python module pysctp is not installed: POLYPATH_PYSCTP can name a Python that has it"
    "${with[@]}" "$python" "$programs/pysctp_test.py" | grep "all messages came"
}

# Either listens, and gets what the other one sends. The one that listens ends with its standard input.
needs_ncat=(ncat socat)
test_ncat() {
    begin_with_input "$work/ncat" "${with[@]}" ncat --sctp -l 127.0.0.1 6300
    wait_for_port 6300
    (echo "from socat" && sleep 1) | "${with[@]}" socat - SCTP:127.0.0.1:6300
    wait_for "$work/ncat" "^from socat"
    begin_with_input "$work/socat" "${with[@]}" socat - SCTP-LISTEN:6301,bind=127.0.0.1
    wait_for_port 6301
    (echo "from ncat" && sleep 1) | "${with[@]}" ncat --sctp 127.0.0.1 6301
    wait_for "$work/socat" "^from ncat"
}

# The programs of usrsctp, as they are: what they call of its library is this stack.
usrsctp=/usr/lib/usrsctp
needs_usrsctp=("$usrsctp/echo_server" "$usrsctp/tsctp")
test_usrsctp() {
    begin "$work/echo" "${with[@]}" stdbuf -oL "$usrsctp/echo_server" 9899 "$port"
    begin "$work/discard" "${with[@]}" stdbuf -oL "$usrsctp/discard_server_upcall" 9899 "$port"
    wait_for_port 7
    wait_for_port 9
    echoed client 7 > "$work/client"
    # By upcalls on both sides.
    (echo first && sleep 2) | "${with[@]}" "$usrsctp/client_upcall" 127.0.0.1 9 0 9899 "$port" > "$work/upcalls"
    wait_for "$work/discard" "Msg of length 6 received from ::ffff:127.0.0.1"
    # By callbacks on both sides.
    begin "$work/tsctp" "${with[@]}" stdbuf -oL "$usrsctp/tsctp" -c -U "$port" -p 5009
    wait_for_port 5009
    "${with[@]}" "$usrsctp/tsctp" -c -U "$port" -p 5009 -n 1000 -l 1400 127.0.0.1 > "$work/tsctp-client"
    wait_for "$work/tsctp" "^1400, 1000, 1400000, "
}

# Sockets of AF_CONN, whose packets the programs carry over UDP: this stack on both sides, and usrsctp's own library on one.
needs_usrsctp_conn=("$usrsctp/ekr_loop" "$usrsctp/ekr_server")
test_usrsctp_conn() {
    local first=$((port + 10)) offload ours theirs=() bytes
    ours=("${with[@]}")
    # Both sockets in one process; then with checksums that the program computes; then by upcalls.
    for offload in 0 1; do
        "${ours[@]}" "$usrsctp/ekr_loop" "$((first++))" "$((first++))" "$offload" > "$work/loop" 2>&1
        bytes=$(grep -o "RCV: length [0-9]*" "$work/loop" | awk '{ sum += $3 } END { print sum }')
        [[ $bytes == $((20 << 20)) ]] || { say "$bytes bytes came"; return 1; }
    done
    "${ours[@]}" "$usrsctp/ekr_loop_upcall" "$((first++))" "$((first++))" > "$work/loop" 2>&1
    grep -q "Connection closed" "$work/loop"
    served ours ours "$((first++))" "$((first++))"
    served ours theirs "$((first++))" "$((first++))"
    served theirs ours "$((first++))" "$((first++))"
}

# A client sends a message to a server; each runs over the library of the named array's command.
served() {
    local -n server=$1 client=$2
    begin "$work/server" "${server[@]}" stdbuf -oL "$usrsctp/ekr_server" 127.0.0.1 "$3" 127.0.0.1 "$4"
    wait_for_udp "$3"
    "${client[@]}" "$usrsctp/ekr_client" 127.0.0.1 "$4" 127.0.0.1 "$3" > "$work/client" 2>&1
    wait_for "$work/server" "Msg of length 80 received"
}

# Waits until a program has a UDP port.
wait_for_udp() {
    local hex
    hex=$(printf ':%04X ' "$1")
    for _ in $(seq 400); do
        grep -q "$hex" /proc/net/udp && return
        sleep 0.05
    done
    say "no program has UDP port $1"
    return 1
}

# Waits until a program listens at an SCTP port.
wait_for_port() {
    for _ in $(seq 400); do
        "$polypath" ss --local-encapsulation-port "$port" 2> /dev/null | grep "^LISTEN.* port $1 " > /dev/null && return
        sleep 0.05
    done
    say "nothing listens at port $1"
    return 1
}

# What a client of usrsctp's prints that sends two lines to the echo server.
echoed() {
    (echo first && echo second && sleep 2) | "${with[@]}" "$usrsctp/$1" 127.0.0.1 "$2" 0 9899 "$port" | tee "$work/echoed"
    grep -q "^first" "$work/echoed" && grep -q "^second" "$work/echoed"
    grep -q "Association change SCTP_COMM_UP" "$work/echoed"
}

# The same from their source text, with the header and the library of this project.
examples=/usr/share/doc/libusrsctp-dev/examples
needs_usrsctp_source=(cc pkg-config "$usrsctp/client")
test_usrsctp_source() {
    [[ -e $examples/echo_server.c ]] || skip programs "libusrsctp-dev is not installed"
    PREFIX=$work/root POLYPATH_PROGRAMS=$POLYPATH_PROGRAMS scripts/install_capi.sh
    # Debian leaves this file out.
    printf '%s\n' '#include <stdio.h>' '#include <usrsctp.h>' 'void handle_notification(union sctp_notification *, size_t);' \
        'void debug_printf(const char *, ...);' 'void debug_printf_stack(const char *, ...);' 'void debug_set_target(FILE *);' \
        > "$work/programs_helper.h"
    local flags
    read -ra flags <<< "$(PKG_CONFIG_PATH=$work/root/lib/pkgconfig pkg-config --cflags --libs usrsctp)"
    cc -w -DINET -DINET6 -I"$work" -o "$work/echo_server" "$examples/echo_server.c" "$examples/programs_helper.c" "${flags[@]}"
    readelf -d "$work/echo_server" | grep "NEEDED.*libpolypath.so.0" > /dev/null
    begin "$work/echo" env LD_LIBRARY_PATH="$work/root/lib" "${with[@]}" stdbuf -oL "$work/echo_server" 9899 "$port"
    wait_for_port 7
    echoed client 7
}

# The function tests of lksctp-tools from Debian's source package, those that do not depend on how soon the peer answers
# (docs/sockets-api.md has the others). The package lists are read into a folder of their own; apt verifies what it fetches.
needs_lksctp_functions=(apt-get cc dpkg-source)
test_lksctp_functions() {
    local sources=$work/lksctp codename name
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    mkdir -p "$sources"/{lists/partial,cache/archives/partial,parts,programs}
    printf 'Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
        "$codename" /usr/share/keyrings/debian-archive-keyring.gpg > "$sources/parts/source.sources"
    local apt=(apt-get -qq -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$sources/parts"
        -o "Dir::State::Lists=$sources/lists" -o "Dir::Cache=$sources/cache" -o "APT::Sandbox::User=$(id -un)")
    (cd "$sources" && "${apt[@]}" update && "${apt[@]}" source lksctp-tools) > "$work/fetched" 2>&1 ||
        skip programs "the source package of lksctp-tools cannot be fetched: $(tail -n 1 "$work/fetched")"
    cd "$sources"/lksctp-tools-*/src
    local names=(1_to_1_accept_close 1_to_1_addrs 1_to_1_connect 1_to_1_events 1_to_1_initmsg_connect 1_to_1_recvfrom
        1_to_1_recvmsg 1_to_1_rtoinfo 1_to_1_sendto 1_to_1_shutdown 1_to_1_socket_bind_listen 1_to_1_threads autoclose basic
        fragments getname inaddr_any recvmsg sctp_sendvrecvv sockopt tcp_style
        basic_v6 fragments_v6 getname_v6 inaddr_any_v6 sctp_sendvrecvv_v6 sockopt_v6 tcp_style_v6)
    for name in "${names[@]}"; do
        local family=()
        [[ $name != *_v6 ]] || family=(-DTEST_V6=1)
        cc -w "${family[@]}" -DHAVE_SCTP_SENDV -Itestlib -o "$sources/programs/$name" "func_tests/test_${name%_v6}.c" testlib/sctputil.c -lsctp -lpthread
    done
    local wrong=()
    for name in "${names[@]}"; do
        if ! timeout 30 "${with[@]}" "$sources/programs/$name" > "$work/$name.log" 2>&1; then
            wrong+=("$name")
            tail -n 3 "$work/$name.log"
        fi
    done
    say "function tests of lksctp-tools: $((${#names[@]} - ${#wrong[@]})) of ${#names[@]} pass"
    [[ ${#wrong[@]} == 0 ]]
}

passed=0 failed=0 skipped=0
all=(sctp_darn netperfmeter freediameter osmocom erlang java go pysctp ncat usrsctp usrsctp_conn usrsctp_source lksctp_functions)
[[ $# == 0 ]] || all=("$@")
for name in "${all[@]}"; do
    declare -n needs=needs_$name
    missing=""
    for program in "${needs[@]}"; do have "$program" || missing=$program; done
    say "== $name"
    # No part of a condition: there, errors end nothing.
    set +e
    (
        # What a test has started is known here only, and would be in the way of the next run.
        trap end_started EXIT
        set -e
        [[ -z $missing ]] || skip programs "$missing is not installed"
        "test_$name"
    ) > "$work/told" 2>&1
    status=$?
    set -e
    cat "$work/told"
    if [[ $status != 0 ]]; then
        say "FAILED: $name"
        failed=$((failed + 1))
    elif grep -q "^SKIPPED" "$work/told"; then
        skipped=$((skipped + 1))
    else
        passed=$((passed + 1))
    fi
done
say "$passed passed, $failed failed, $skipped skipped"
[[ $failed == 0 ]]
