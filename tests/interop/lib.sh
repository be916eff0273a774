# shellcheck shell=bash
# Two network namespaces, A and B, joined by veth pairs: one pair and one subnet per path. Sourced by the network tests.
#
#   net_up 2                          makes $NS_A and $NS_B with two paths, and removes them when the script ends
#   in_a COMMAND... / in_b COMMAND... runs a command there
#   address a 1                       10.77.1.1;  address b 2  10.77.2.2;  address6 likewise
#   shape a 1 100mbit [150kb]         what leaves A on path 1 goes through a token bucket with that rate and queue
#   mark_one_in 20 / mark_none        marks every 20th ECN-capable packet that comes to B or leaves it, until it no longer does
#   cut 1 / mend 1                    takes path 1 down and up, at both ends
#   capture FILE / capture_stop       records every path at A, packet by packet
#   well_formed FILE                  fails if tshark finds a malformed packet or a wrong checksum in FILE
#   probed FILE                       fails if no probe for a path MTU is in FILE, or one that is not as it should be
#   carried 1 BYTES                   whether A received so much on path 1 since the first such question
#   build_ours                        sets POLYPATH and INTEROP_PEER to programs of ours
#   wait_for SECONDS COMMAND...       until the command succeeds
#
# Ours against another stack, with what each says in $WORK/{ours,theirs}.{out,err}:
#
#   build_peers                       build_ours, and sets OURS and THEIRS to the two programs, with usrsctp
#   use_linux                         before net_up: the other stack is the Linux kernel's, in a guest that takes the
#                                     place of A (linux/guest.sh). Then guest_build, net_up, guest_up
#   theirs OPTION...                  runs the other stack's program; theirs_end gives its status, theirs_kill ends it
#                                     without a word where it can be
#   bridge_in                         puts a bridge into every path; bridge OPTION... begins to carry packets
#                                     (bridge.py), bridge_dark, bridge_light and bridge_light_at_init tell
#                                     it what its signals do
#   exchange CASE OURS... -- THEIRS...  usrsctp listens in A, ours connects from B, each with these options; both
#                                     must end with the same sum
#   exchange_in_part CASE ...         the same without that demand, where messages may be given up
#   counted NAME                      what ours printed as NAME=number after the last exchange
#   counted_theirs NAME               the same of usrsctp
#   expect_count NAME CONDITION       fails unless that number meets it: expect_count reports_sent "> 0"
#   expect_count_theirs NAME CONDITION  the same of what the other stack's program printed
#   exchange_failed REASON            ends the test with what both programs said

source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/linux/guest.sh"

NS_A=polypath-$$-a
NS_B=polypath-$$-b
NS_M=polypath-$$-m
NET_PATHS=0
# veth: A is a namespace. tap: it is a guest, and what is in A is in the guest.
NET_KIND=veth
BRIDGE_PID=
THEIRS_PID=
CAPTURE_PID=
WORK=
POLYPATH=
INTEROP_PEER=
OURS=
THEIRS=
EXCHANGE=

in_a() { ip netns exec "$NS_A" "$@"; }
in_b() { ip netns exec "$NS_B" "$@"; }

address() { if [[ $1 == a ]]; then echo "10.77.$2.1"; else echo "10.77.$2.2"; fi; }
address6() { if [[ $1 == a ]]; then echo "fd77:$2::1"; else echo "fd77:$2::2"; fi; }

# Every address of a side, separated by commas: addresses a, addresses6 b.
addresses() { join_paths address "$1"; }
addresses6() { join_paths address6 "$1"; }
join_paths() {
    local path list=
    for ((path = 1; path <= NET_PATHS; path++)); do list+=${list:+,}$("$1" "$2" "$path"); done
    echo "$list"
}

net_up() {
    [[ $(id -u) == 0 ]] || skip net "network namespaces need root"
    have ip && have tc || skip net "ip and tc (iproute2) are not installed"
    trap net_down EXIT
    trap 'exit 130' INT TERM
    WORK=$(mktemp -d)
    ip netns add "$NS_A" 2> "$WORK/error" || skip net "no network namespace could be made: $(cat "$WORK/error")"
    ip netns add "$NS_B"
    local side
    for side in "$NS_A" "$NS_B"; do
        ip -n "$side" link set lo up
        # A path is a pair of addresses: without this, replies could leave by the other link.
        ip netns exec "$side" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv6.conf.all.accept_dad=0 \
            net.ipv6.conf.default.accept_dad=0
    done
    while ((NET_PATHS < $1)); do add_path; done
}

add_path() {
    local path=$((NET_PATHS += 1))
    if [[ $NET_KIND == tap ]]; then
        ip -n "$NS_B" tuntap add dev "path$path" mode tap 2> "$WORK/error" || skip net "no tap: $(cat "$WORK/error")"
        ip -n "$NS_B" address add "$(address b "$path")/24" dev "path$path"
        ip -n "$NS_B" address add "$(address6 b "$path")/64" dev "path$path" nodad
        ip -n "$NS_B" link set "path$path" up
        return
    fi
    ip -n "$NS_A" link add "path$path" type veth peer name "path$path" netns "$NS_B"
    ip -n "$NS_A" address add "$(address a "$path")/24" dev "path$path"
    ip -n "$NS_B" address add "$(address b "$path")/24" dev "path$path"
    ip -n "$NS_A" address add "$(address6 a "$path")/64" dev "path$path" nodad
    ip -n "$NS_B" address add "$(address6 b "$path")/64" dev "path$path" nodad
    mend "$path"
}

net_down() {
    local status=$?
    trap - EXIT
    capture_stop
    guest_down
    local namespace
    for namespace in "$NS_A" "$NS_B" "$NS_M"; do
        # shellcheck disable=SC2046 # one process per word
        kill $(ip netns pids "$namespace" 2> /dev/null) 2> /dev/null || true
        ip netns delete "$namespace" 2> /dev/null || true
    done
    if [[ $status != 0 && -n ${KEEP:-} ]]; then
        say "kept: $WORK"
    else
        rm -rf "$WORK"
    fi
    exit "$status"
}

shape() {
    local namespace=$NS_A
    [[ $1 == b ]] && namespace=$NS_B
    ip netns exec "$namespace" tc qdisc replace dev "path$2" root tbf rate "$3" burst 16kb limit "${4:-150kb}"
}

mark_one_in() {
    have nft || skip net "nft is not installed (Debian: nftables)"
    local rules hook
    rules="table inet marks {"
    for hook in prerouting postrouting; do
        rules+="
            chain $hook {
                type filter hook $hook priority 0
                ip ecn ect0 numgen inc mod $1 0 ip ecn set ce
                ip6 ecn ect0 numgen inc mod $1 0 ip6 ecn set ce
            }"
    done
    in_b nft -f - <<< "$rules"$'\n}' 2> "$WORK/error" || skip net "nft cannot mark packets: $(cat "$WORK/error")"
}
mark_none() { in_b nft delete table inet marks 2> /dev/null || true; }

cut() { ip -n "$NS_A" link set "path$1" down && ip -n "$NS_B" link set "path$1" down; }
mend() { ip -n "$NS_A" link set "path$1" up && ip -n "$NS_B" link set "path$1" up; }

# Gives the bridge every path: what was path N in B is leftN in M, and a new pair rightN, path N leads on to B.
bridge_in() {
    have python3 || skip net "python3 is not installed"
    local path mac
    ip netns add "$NS_M"
    for ((path = 1; path <= NET_PATHS; path++)); do
        mac=$(in_b cat "/sys/class/net/path$path/address")
        ip -n "$NS_B" link set "path$path" netns "$NS_M" name "left$path"
        ip -n "$NS_M" link add "right$path" type veth peer name "path$path" netns "$NS_B"
        ip -n "$NS_B" link set "path$path" address "$mac"
        ip -n "$NS_B" address add "$(address b "$path")/24" dev "path$path"
        ip -n "$NS_B" address add "$(address6 b "$path")/64" dev "path$path" nodad
        ip -n "$NS_M" link set "left$path" up
        ip -n "$NS_M" link set "right$path" up
        ip -n "$NS_B" link set "path$path" up
        # Frames longer than the MTU would not pass the bridge.
        [[ $NET_KIND == tap ]] || ip -n "$NS_A" link set "path$path" gso_max_segs 1
        ip -n "$NS_B" link set "path$path" gso_max_segs 1
    done
}

bridge() {
    local path pairs=()
    bridge_out
    for ((path = 1; path <= NET_PATHS; path++)); do pairs+=("left$path:right$path"); done
    ip netns exec "$NS_M" tests/interop/bridge.py "$@" "${pairs[@]}" > "$WORK/bridge.out" 2> "$WORK/bridge.err" &
    BRIDGE_PID=$!
    wait_for 10 grep -q '^ready' "$WORK/bridge.out" || die "the bridge did not start: $(cat "$WORK/bridge.err")"
}

bridge_out() {
    [[ -n $BRIDGE_PID ]] || return 0
    kill "$BRIDGE_PID" 2> /dev/null || true
    wait "$BRIDGE_PID" 2> /dev/null || true
    BRIDGE_PID=
}
bridge_dark() { kill -USR1 "$BRIDGE_PID" && wait_for 10 bridge_says dark; }
bridge_light() { kill -USR2 "$BRIDGE_PID" && wait_for 10 bridge_says light; }
bridge_light_at_init() { kill -HUP "$BRIDGE_PID" && wait_for 10 bridge_says waiting; }
bridge_says() { [[ $(tail -n 1 "$WORK/bridge.out") == "$1" ]]; }

# Builds what the network tests run of ours.
# shellcheck disable=SC2034 # for the scripts that source this
build_ours() {
    build_programs
    POLYPATH=$POLYPATH_PROGRAMS/polypath
    INTEROP_PEER=$POLYPATH_PROGRAMS/examples/interop_peer
}

# Whether A received at least $2 bytes on path $1 since this was first asked of the path.
declare -A CARRIED_BEFORE=()
carried() {
    local bytes
    bytes=$(in_a cat "/sys/class/net/path$1/statistics/rx_bytes")
    : "${CARRIED_BEFORE[$1]:=$bytes}"
    ((bytes - CARRIED_BEFORE[$1] >= $2))
}

wait_for() {
    local seconds=$1 deadline
    shift
    deadline=$((SECONDS + seconds))
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}

capture() {
    local interfaces=() path where=$NS_A
    [[ $NET_KIND == tap ]] && where=$NS_B
    for ((path = 1; path <= NET_PATHS; path++)); do
        interfaces+=(-i "path$path")
        # With segmentation offload, several packets would be recorded as one.
        [[ $NET_KIND == tap ]] || ip -n "$NS_A" link set "path$path" gso_max_segs 1
        ip -n "$NS_B" link set "path$path" gso_max_segs 1
    done
    ip netns exec "$where" dumpcap -q "${interfaces[@]}" -s 0 -B 64 -w "$1" 2> "$WORK/dumpcap" &
    CAPTURE_PID=$!
    wait_for 10 test -s "$1" || die "dumpcap did not start: $(cat "$WORK/dumpcap")"
}

capture_stop() {
    [[ -n $CAPTURE_PID ]] || return 0
    kill -TERM "$CAPTURE_PID" 2> /dev/null || true
    wait "$CAPTURE_PID" 2> /dev/null || true
    CAPTURE_PID=
}

# The packets of a capture that tshark objects to. ICMP errors quote packets only in part: a copy that waited in a queue
# until its receiver had gone is answered with one.
objections() {
    local wrong='_ws.malformed || sctp.checksum.status == "Bad" || _ws.expert.severity == "Error"'
    tshark -n -r "$1" -o sctp.checksum:CRC-32c -Y "($wrong) && !icmp && !icmpv6" 2> /dev/null
}

well_formed() {
    local bad total
    total=$(tshark -n -r "$1" -Y sctp 2> /dev/null | wc -l)
    ((total > 0)) || die "tshark found no SCTP packet in the capture"
    editcap -E 0.02 -r "$1" "$WORK/damaged.pcapng" 1-100 2> /dev/null
    [[ -n $(objections "$WORK/damaged.pcapng") ]] || die "self-test: tshark does not object to damaged packets"
    bad=$(objections "$1")
    [[ -z $bad ]] || die "tshark objects to these packets:"$'\n'"$(head -20 <<< "$bad")"
    say "    tshark: $total packets, all well formed"
}

# A probe is a HEARTBEAT with a PAD behind it (RFC 8899, RFC 4820), and nothing else has a PAD.
probed() {
    local pads probes
    pads=$(tshark -n -r "$1" -Y 'sctp.chunk_type == 132' 2> /dev/null | wc -l)
    probes=$(tshark -n -r "$1" -Y 'sctp.chunk_type == 132 && sctp.chunk_type == 4' 2> /dev/null | wc -l)
    ((probes > 0)) || die "no probe for a path MTU is in the capture"
    ((probes == pads)) || die "$pads packets with PAD, but only $probes of them are probes"
    say "    tshark: $probes probes for path MTUs"
}

build_peers() {
    have cc && [[ -e /usr/include/usrsctp.h ]] || skip interop "usrsctp is not installed (Debian: libusrsctp-dev gcc)"
    local target
    target=$(target_dir)
    THEIRS=$target/interop/usrsctp_peer
    mkdir -p "$target/interop"
    # Other tests may run it, or compile it too.
    cc -std=gnu11 -O2 -Wall -Wextra -Werror -DUSRSCTP -o "$THEIRS-$$" tests/interop/peer/{peer,usrsctp_stack}.c \
        -lusrsctp -lpthread
    mv -f "$THEIRS-$$" "$THEIRS"
    build_ours
    OURS=$INTEROP_PEER
}

use_linux() { NET_KIND=tap; }

theirs() {
    rm -f "$WORK"/theirs.{out,err}
    touch "$WORK"/theirs.{out,err}
    if [[ $NET_KIND == tap ]]; then
        ln -sf "$GUEST_FOLDER/theirs.out" "$GUEST_FOLDER/theirs.err" "$WORK/"
        : > "$GUEST_FOLDER/theirs.out"
        : > "$GUEST_FOLDER/theirs.err"
        guest_job theirs "exec /bin/peer $* > /host/theirs.out 2> /host/theirs.err"
    else
        # Not in_a: the process that is killed must be the program.
        ip netns exec "$NS_A" "$THEIRS" "$@" > "$WORK/theirs.out" 2> "$WORK/theirs.err" &
        THEIRS_PID=$!
    fi
}

theirs_end() {
    if [[ $NET_KIND == tap ]]; then guest_wait theirs; else wait "$THEIRS_PID"; fi
}

theirs_kill() {
    if [[ $NET_KIND == tap ]]; then
        guest_kill theirs
    elif [[ -n $THEIRS_PID ]]; then
        kill -KILL "$THEIRS_PID" 2> /dev/null || true
        wait "$THEIRS_PID" 2> /dev/null || true
    fi
}

exchange() {
    exchange_in_part "$@"
    [[ $(grep -h '^messages=' "$WORK"/{ours,theirs}.out | sort -u | wc -l) == 1 ]] || exchange_failed "the sums differ"
}

exchange_in_part() {
    EXCHANGE=$1
    shift
    local our_options=()
    while [[ $1 != -- ]]; do
        our_options+=("$1")
        shift
    done
    shift
    say "  $EXCHANGE"
    rm -f "$WORK"/ours.{out,err}
    touch "$WORK"/ours.{out,err}
    theirs --listen --local "$(addresses a)" "$@"
    wait_for 10 grep -q '^ready' "$WORK/theirs.out" || exchange_failed "the other stack did not start"
    in_b "$OURS" --connect "$(addresses a)" --local "$(addresses b)" "${our_options[@]}" \
        > "$WORK/ours.out" 2> "$WORK/ours.err" || exchange_failed "ours failed"
    theirs_end || exchange_failed "the other stack failed"
}

counted() { number_in ours "$1"; }
counted_theirs() { number_in theirs "$1"; }
number_in() {
    local number
    number=$(tr ' ' '\n' < "$WORK/$1.out" | sed -n "s/^$2=//p")
    [[ $number =~ ^[0-9]+$ ]] || exchange_failed "$1 printed no number $2"
    say "$number"
}

expect_count() { expect_number ours "$@"; }
expect_count_theirs() { expect_number theirs "$@"; }
expect_number() {
    local number condition
    number=$(number_in "$1" "$2")
    say "    $2: $number"
    condition="$number $3"
    ((condition)) || exchange_failed "$2 is $number, not $3"
}

exchange_failed() {
    tail -n 20 "$WORK"/{ours,theirs}.{out,err} >&2 || true
    # Last, so that the end of a log has it.
    say "${EXCHANGE:+$EXCHANGE: }$1" >&2
    exit 1
}
