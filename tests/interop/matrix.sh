#!/usr/bin/env bash
# Our stack against others, feature by feature: the Linux kernel's SCTP (in user-mode Linux) and usrsctp. Each side
# connects and each side sends, over one path and over two. Both sides check every byte that they receive and the order
# within each stream, and print the same sum at the end; everything on the wire must please tshark.
#
#   matrix.sh                     a selection against Linux, for every day; usrsctp has its own scripts
#   matrix.sh all                 every cell; the results go to target/interop/matrix.tsv, a table to matrix.md beside it
#   matrix.sh all linux loss...   the cells of these stacks and features; "webrtc" is tests/webrtc/run.sh
#
# ENCAPSULATION names how SCTP is carried: udp, raw or both ("udp raw", the default for every cell; a selection has some of
# each).
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/interop/lib.sh

export RUST_BACKTRACE=0
SELECTED=quick
if [[ ${1:-} == all ]]; then
    SELECTED=all
    shift
fi
WANTED=("$@")
PORT=5100
# Where the results go; nowhere for a selection.
TABLE=
CELLS=0
FAILED=0
CAPTURES=0

# What a cell sets before transfer: options of both programs, of one, of the sender's or of the receiver's.
BOTH=() OURS_TOO=() THEIRS_TOO=() SENDER_TOO=() RECEIVER_TOO=() ROLES=(--source --sink)
# The addresses: of IPv4, or of IPv6 ("6").
FAMILY=
# How long a program may take to say something, in seconds.
PATIENCE=60
# A command that runs once the sender says that its paths are confirmed or that it holds.
MEANWHILE=

# --- cells -----------------------------------------------------------------------------------------------------------
# Each function is a feature. It is called in a subshell with CONNECTOR, SENDER (each ours or theirs), HOMING (single or
# dual) and CARRIED (udp or raw) set, and fails if the feature does not work.

feature_ordered() { transfer; }
feature_unordered() { BOTH=(--unordered) && transfer; }
feature_streams() { BOTH=(--streams 1000 --messages 3000 --mean-size 200) && transfer; }
feature_long() { BOTH=(--messages 8 --mean-size 700000 --streams 2) && transfer; }
feature_ipv6() { FAMILY=6 BOTH=(--messages 60 --mean-size 50000) && transfer; }
feature_echo() { ROLES=(--ask --echo) && BOTH=(--messages 600) && transfer; }
feature_end-by-receiver() { BOTH=(--ending sink) && transfer; }
feature_end-by-both() { BOTH=(--ending both) && transfer; }
# Aborted when more has been sent than fits a receive buffer, so that the receiver is sure to have begun to read.
ABORTING=(--messages 4000 --abort-after 3000)
feature_abort-by-sender() { BOTH=("${ABORTING[@]}" --ending abort-by-source) && transfer && told_why "$SENDER"; }
feature_abort-by-receiver() { BOTH=("${ABORTING[@]}" --ending abort-by-sink) && transfer && told_why "$RECEIVER"; }
feature_all-paths() { BOTH=(--messages 3000) OURS_TOO=(--cmt) && transfer && used_paths_of_ours 2; }
# The preset for every-day use, with all its mechanisms.
feature_recommended() { OURS_TOO=(--preset recommended) && transfer; }
feature_recommended-loss() {
    losing 0.03 --delay 0.01 && OURS_TOO+=(--preset recommended) BOTH=(--messages 300) && transfer
}
feature_recommended-failover() { OURS_TOO=(--preset recommended) && feature_failover; }
# A short path beside a long one: what waits for the long one is far below what the short one brings meanwhile. usrsctp drops what
# comes when 512 chunks wait, and says nothing. Linux charges the memory of a whole packet for every chunk in it.
feature_recommended-unequal() {
    local sizes=(--messages 24000 --mean-size 350)
    [[ $STACK != linux ]] || sizes=(--messages 6000 --mean-size 1400)
    losing 0.01 --delay 0.001,0.05 --rate 30,10
    SENDER_TOO=(--wait-paths "$(addresses "$(side_of "$RECEIVER")")")
    BOTH=("${sizes[@]}" --receive-buffer 4000000 --local-port 5097)
    OURS_TOO+=(--preset recommended) && transfer
    if [[ $SENDER == ours ]]; then used_paths_of_ours 2; fi
    if [[ $STACK$SENDER == usrsctpours ]]; then expect_count_theirs dropped_at_limit "> 0"; fi
}
feature_nr-sack() {
    BOTH=(--messages 2000 --cmt) OURS_TOO=(--nr-sack all) THEIRS_TOO=(--nr-sack) && transfer
    if [[ $SENDER == ours ]]; then expect_count nr_sacks_received "> 0"; else expect_count nr_sacks_sent "> 0"; fi
}

# Both sides offer all that they have, but I-DATA where they do not understand each other.
feature_extensions() {
    OURS_TOO=(--all-extensions) THEIRS_TOO=(--all-extensions)
    if interleaves; then OURS_TOO+=(--interleave); fi
    transfer
    agreed_on auth ecn asconf reconfig partial_reliability
    if interleaves; then agreed_on i_data; else declined i_data; fi
}

# The peer offers all that it has, we have AUTH switched on only.
feature_declining() {
    OURS_TOO=(--offer-authentication) THEIRS_TOO=(--all-extensions) && transfer
    declined i_data ecn asconf reconfig
    agreed_on auth
}

# What the other stack says that both sides have, or have not.
agreed_on() {
    local name
    for name in "$@"; do says_of "$name" 1 || exchange_failed "$name was not agreed on"; done
}
declined() {
    local name
    for name in "$@"; do says_of "$name" 0 || exchange_failed "$name was agreed on"; done
}
says_of() { grep -q "^agreed .*\<$1=$2" "$WORK/theirs.out"; }

# Messages of all streams alternate, where both sides have I-DATA.
interleaved() {
    OURS_TOO+=(--interleave) THEIRS_TOO+=(--all-extensions) && transfer
    agreed_on i_data
}
feature_interleaved() { BOTH=(--messages 400 --mean-size 20000 --streams 8) && interleaved; }
feature_interleaved-unordered() { BOTH=(--messages 400 --mean-size 20000 --streams 8 --unordered) && interleaved; }

# Everything is authenticated in both directions: nothing else counts for either side.
authenticated() {
    BOTH+=(--authenticate "$1") && transfer
    expect_count auth_sent "> 20"
    expect_count auth_accepted "> 20"
    expect_count auth_refused "== 0"
    # One exchange with Linux counted a chunk, whose type is not known yet.
    if [[ $STACK == linux ]]; then
        expect_count unauthenticated "< 2"
    else
        expect_count unauthenticated "== 0"
    fi
}
feature_auth() { authenticated a-key-of-both; }
feature_auth-without-key() { authenticated none; }

# Each side has a key that the other has not: the association never begins, and nobody is told why.
feature_wrong-key() {
    BOTH=(--refused) OURS_TOO=(--authenticate a-key-of-ours) THEIRS_TOO=(--authenticate another-key)
    local listener=theirs
    [[ $CONNECTOR == theirs ]] && listener=ours
    start $listener
    wait_until $listener ready
    start "$CONNECTOR"
    finish "$CONNECTOR"
    says "$CONNECTOR" refused || exchange_failed "the wrong key was not refused"
    [[ $(cat "$WORK/$listener.out") == ready ]] || exchange_failed "the listener has an association"
    if [[ $listener == theirs ]]; then theirs_kill; else kill -KILL "$OURS_PID" && { wait "$OURS_PID" || true; }; fi
}

# Before a long message on one stream has arrived, short ones on others come in between, where both sides have I-DATA; else none.
LONG_BESIDE_SHORT=(--messages 400 --mean-size 500 --first-size 1000000 --receive-buffer 8000000)
feature_long-beside-short() {
    BOTH=("${LONG_BESIDE_SHORT[@]}") && transfer
    expect_number "$RECEIVER" before_first "== 0"
}
feature_interleaved-long() {
    BOTH=("${LONG_BESIDE_SHORT[@]}") && interleaved
    expect_number "$RECEIVER" before_first "> 100"
}

# Another path becomes the primary one when half of the messages are sent, as the sender wants, or when half have come, as the receiver
# wants (RFC 5061): the data is on one path, then on the other.
feature_primary-by-sender() { primary_changes by-sender; }
feature_primary-by-receiver() { primary_changes by-receiver; }
primary_changes() {
    local path at_first=() direction=tx
    [[ $SENDER == theirs ]] && direction=rx
    for path in 1 2; do at_first[path]=$(bytes_of_ours $path $direction); done
    BOTH=(--messages 6000 --primary "$1" --local-port "$((PORT + 700))")
    SENDER_TOO=(--wait-paths "$(cell_addresses "$(side_of "$RECEIVER")")")
    transfer
    for path in 1 2; do
        (($(bytes_of_ours $path $direction) - at_first[path] > 500000)) || exchange_failed "path $path carried too little"
    done
}
bytes_of_ours() { in_b cat "/sys/class/net/path$1/statistics/$2_bytes"; }

# One in twenty of the ECN-capable packets is marked.
feature_marks() {
    mark_one_in 20
    BOTH=(--messages 4000) OURS_TOO=(--marks) THEIRS_TOO=(--all-extensions) && transfer
    agreed_on ecn
    if [[ $SENDER == ours ]]; then expect_count reductions "> 0"; else expect_count marked_received "> 0"; fi
}

# The sender's streams begin anew in the middle of the transfer, as it wants, or as the receiver wants.
feature_reset-streams() { BOTH+=(--reconfigure reset-outgoing) && transfer && streams_were_reset; }
feature_reset-incoming() { BOTH+=(--reconfigure reset-incoming) && transfer && streams_were_reset; }
streams_were_reset() {
    if [[ $SENDER == ours ]]; then expect_count outgoing_resets "== 1"; else expect_count incoming_resets "== 1"; fi
    expect_count reconfigurations_refused "== 0"
}
# TSNs and the streams of both sides begin anew, as the sender wants.
feature_reset-association() {
    BOTH+=(--reconfigure reset-association) && transfer
    expect_count association_resets "== 1"
    expect_count reconfigurations_refused "== 0"
}
# The sender has twice as many streams for the second half, as it wants, or as the receiver wants.
feature_add-streams() { BOTH+=(--reconfigure add-outgoing) && transfer && streams_were_added; }
feature_add-incoming() { BOTH+=(--reconfigure add-incoming) && transfer && streams_were_added; }
streams_were_added() {
    expect_count additions "== 1"
    expect_count reconfigurations_refused "== 0"
}

# The sender moves from its first address to the second in the middle of the transfer, which the receiver knows of by ASCONF only.
feature_move-addresses() {
    BOTH+=(--move-addresses --local-port "$((PORT + 700))") && transfer
    if [[ $SENDER == ours ]]; then expect_count asconf_sent "> 2"; else expect_count asconf_received "> 1"; fi
    expect_count changes_refused "== 0"
    grep -q '^moved' "$WORK/$SENDER.out" || exchange_failed "the sender did not move"
}

# The last packet of an association may get lost: who sent it has to be there when the other one asks again.
losing() {
    bridge --lose "$@"
    OURS_TOO=(--stay)
    [[ $STACK == linux ]] || THEIRS_TOO=(--stay)
}
feature_loss() { losing 0.03 --delay 0.01 && BOTH=(--messages 300) && transfer; }
feature_interleaved-loss() { losing 0.03 --delay 0.01 && BOTH=(--messages 200 --mean-size 10000 --streams 8) && interleaved; }
# Timeouts of usrsctp grow long where a lost SACK answered many packets.
feature_interleaved-abandoned() {
    PATIENCE=110
    losing 0.05 && BOTH=(--messages 300 --streams 8 --give-up-after 0) && interleaved && gave_up 100 299
}
feature_ipv6-loss() { FAMILY=6 && feature_loss; }
feature_auth-loss() { losing 0.03 --delay 0.01 && BOTH=(--messages 600) && authenticated a-key-of-both; }
feature_damage() {
    bridge --damage 15 && transfer
    [[ $SENDER == ours ]] || expect_count damaged "> 0"
}
feature_drop-reports() {
    bridge --damage 15 && OURS_TOO=(--drop-reports) THEIRS_TOO=(--drop-reports) && transfer
    if [[ $SENDER == ours ]]; then expect_count reports_received "> 0"; else expect_count reports_sent "> 0"; fi
}
feature_limited-retransmissions() { losing 0.05 && BOTH=(--messages 300 --give-up-after 0) && transfer && gave_up 100 299; }
# How many messages are too old after a retransmission timeout is a matter of timing.
feature_lifetime() { losing 0.05 && BOTH=(--messages 300 --lifetime 100) && transfer && gave_up 1 300; }

# One message in four is most important, and one in four least: what does not fit the send buffer is given up.
feature_priorities() {
    losing 0.02 --rate 5 && BOTH=(--messages 1000 --priorities) && transfer
    local arrived
    arrived=$(number_in theirs arrived)
    ((arrived >= 250 && arrived < 1000)) || exchange_failed "$arrived of 1000 messages arrived"
    ((arrived + $(counted abandoned) >= 1000)) || exchange_failed "messages vanished"
}

# Extensions over IPv6.
feature_ipv6-auth() { FAMILY=6 && feature_auth; }
feature_ipv6-extensions() { FAMILY=6 && feature_extensions; }
feature_ipv6-reset-streams() { FAMILY=6 && feature_reset-streams; }
feature_ipv6-move-addresses() { FAMILY=6 && feature_move-addresses; }
feature_ipv6-marks() { FAMILY=6 && feature_marks; }
feature_ipv6-interleaved() { FAMILY=6 && feature_interleaved; }
feature_ipv6-limited-retransmissions() { FAMILY=6 && feature_limited-retransmissions; }
feature_ipv6-restart() { FAMILY=6 && feature_restart; }

# The path that carries the data goes dark in the middle of a transfer, without a word.
feature_failover() {
    bridge --dark busiest --dark-after 300000 --delay 0.005
    SENDER_TOO=(--wait-paths "$("addresses$FAMILY" "$(side_of "$RECEIVER")")")
    BOTH=(--messages 2000 --path-max-retrans 1 --local-port 5098) && transfer
    bridge_says dark || exchange_failed "no path went dark"
}
feature_ipv6-failover() { FAMILY=6 && feature_failover; }

# The sender vanishes after its transfer, comes back with the same addresses and ports, and does it all again.
feature_restart() {
    bridge
    BOTH=(--messages 200 --local-port 5099) SENDER_TOO=(--hold)
    # Once the paths are confirmed, nothing is under way that could meet the sender's next life before its INIT.
    RECEIVER_TOO=(--expect-restart --wait-paths "$(cell_addresses "$(side_of "$SENDER")")")
    MEANWHILE=restart_sender && transfer
    grep -q '^restarted' "$WORK/$RECEIVER.out" || exchange_failed "nobody noticed the restart"
}

# --- steps of cells --------------------------------------------------------------------------------------------------

side_of() { if [[ $1 == theirs ]]; then echo a; else echo b; fi; }
listens() { [[ $1 != "$CONNECTOR" ]]; }
cell_addresses() { if [[ $HOMING == dual ]]; then "addresses$FAMILY" "$1"; else "address$FAMILY" "$1" 1; fi; }

# options_of WHO: the command line of a side.
options_of() {
    local side=b peer=a role=${ROLES[1]}
    OPTIONS=()
    [[ $1 == theirs ]] && side=a peer=b
    [[ $1 == "$SENDER" ]] && role=${ROLES[0]}
    if listens "$1"; then OPTIONS+=(--listen); else OPTIONS+=(--connect "$(cell_addresses $peer)"); fi
    OPTIONS+=("$role" --local "$(cell_addresses $side)" --port "$PORT" "${BOTH[@]}")
    [[ $CARRIED == raw ]] && OPTIONS+=(--raw)
    if [[ $1 == ours ]]; then OPTIONS+=("${OURS_TOO[@]}"); else OPTIONS+=("${THEIRS_TOO[@]}"); fi
    if [[ $1 == "$SENDER" ]]; then OPTIONS+=("${SENDER_TOO[@]}"); else OPTIONS+=("${RECEIVER_TOO[@]}"); fi
}

start() {
    options_of "$1"
    if [[ $1 == theirs ]]; then
        theirs "${OPTIONS[@]}"
        return
    fi
    rm -f "$WORK"/ours.{out,err}
    touch "$WORK"/ours.{out,err}
    # Not in_b: the process that is killed must be the program.
    ip netns exec "$NS_B" "$OURS" "${OPTIONS[@]}" > "$WORK/ours.out" 2> "$WORK/ours.err" &
    OURS_PID=$!
}

finish() {
    if [[ $1 == theirs ]]; then theirs_end; else wait "$OURS_PID"; fi || exchange_failed "$1 failed"
}

says() { grep -q "^$2" "$WORK/$1.out"; }
wait_until() { wait_for $PATIENCE says "$1" "$2" || exchange_failed "$1 did not say $2"; }

transfer() {
    local listener=theirs
    [[ $CONNECTOR == theirs ]] && listener=ours
    start $listener
    wait_until $listener ready
    start "$CONNECTOR"
    [[ -z $MEANWHILE ]] || "$MEANWHILE"
    if stays ours; then wait_until ours end=; else finish ours; fi
    if stays theirs; then
        wait_until theirs end=
        kill -TERM "$THEIRS_PID"
    fi
    finish theirs
    if stays ours; then
        kill -TERM "$OURS_PID"
        finish ours
    fi
    grep -q '^messages=' "$WORK/ours.out" || return 0
    [[ $(grep -h '^messages=' "$WORK"/{ours,theirs}.out | sort -u | wc -l) == 1 ]] || exchange_failed "the sums differ"
}

# Whether a program stays when its association has ended, until it is told.
stays() {
    if [[ $1 == ours ]]; then [[ " ${OURS_TOO[*]} " == *" --stay "* ]]; else [[ " ${THEIRS_TOO[*]} " == *" --stay "* ]]; fi
}

# The Linux kernel cannot give a reason on one-to-one sockets.
told_why() {
    [[ $1 == theirs && $STACK == usrsctp ]] || return 0
    grep -q '^the peer aborted the association: "enough"' "$WORK/ours.out" || exchange_failed "the reason got lost"
}

used_paths_of_ours() {
    local column=3 used
    [[ $SENDER == ours ]] && column=2
    used=$(awk -v column=$column '/^path=/ { split($column, field, "="); if (field[2] > 0) used++ } END { print used + 0 }' \
        "$WORK/ours.out")
    [[ $used == "$1" ]] || exchange_failed "$used paths carried data, not $1"
}

# gave_up LEAST MOST: so many of 300 messages arrived, and none vanished without being given up.
gave_up() {
    local arrived
    arrived=$(number_in "$RECEIVER" arrived)
    ((arrived >= $1 && arrived <= $2)) || exchange_failed "$arrived of 300 messages arrived"
    [[ $SENDER == theirs ]] || ((arrived + $(counted abandoned) >= 300)) || exchange_failed "messages vanished"
}

restart_sender() {
    wait_until "$SENDER" held
    wait_until "$RECEIVER" complete
    bridge_dark
    if [[ $SENDER == theirs ]]; then
        theirs_kill
    else
        kill -KILL "$OURS_PID"
        wait "$OURS_PID" || true
    fi
    # A packet that meets neither the old association nor the new one would be answered with an ABORT, which ends the receiver's.
    bridge_light_at_init
    SENDER_TOO=()
    start "$SENDER"
}

# --- the matrix ------------------------------------------------------------------------------------------------------

wanted() {
    local stacks='' features='' word
    for word in "${WANTED[@]}"; do
        case $word in linux | usrsctp | webrtc) stacks+=" $word " ;; *) features+=" $word " ;; esac
    done
    [[ (-z $stacks || $stacks == *" $1 "*) && (-z $features || -z $2 || $features == *" $2 "*) ]]
}

cell_cleanup() {
    local status=$?
    trap - EXIT
    [[ -z $OURS_PID ]] || kill -KILL "$OURS_PID" 2> /dev/null || true
    [[ $status == 0 ]] || theirs_kill
    bridge_out
    mark_none
    exit "$status"
}

# cell FEATURE CONNECTOR SENDER HOMING: runs one and notes the result.
cell() {
    local feature=$1 status started=$SECONDS result=ok
    CONNECTOR=$2 SENDER=$3 HOMING=$4
    RECEIVER=theirs OURS_PID=
    [[ $SENDER == theirs ]] && RECEIVER=ours
    EXCHANGE="$STACK, $CARRIED, $HOMING-homed, $feature: $CONNECTOR connects, $SENDER sends"
    # Packets of one cell must not meet the association of the next.
    PORT=$((PORT + 1))
    set +e
    (
        set -e
        trap cell_cleanup EXIT
        "feature_$feature" > "$WORK/cell" 2>&1
    )
    status=$?
    set -e
    if [[ $status != 0 ]]; then
        result=failed
        FAILED=$((FAILED + 1))
        cat "$WORK/cell" >&2
    fi
    say "  $(printf '%-8s %s' $result "$EXCHANGE") ($((SECONDS - started)) s)"
    CELLS=$((CELLS + 1))
    [[ -z $TABLE ]] || printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$STACK" "$CARRIED" "$HOMING" "$feature" \
        "$CONNECTOR" "$SENDER" $result >> "$TABLE.tsv"
}

# Every direction of a feature over the homings that it has.
directions() {
    local feature=$1 homing connector sender
    shift
    wanted "$STACK" "$feature" || return 0
    for homing in "$@"; do
        for connector in ours theirs; do
            for sender in ours theirs; do
                # Who restarts is who connects; CMT is what the sender does, and Linux has none.
                [[ ${feature#ipv6-} == restart && $connector != "$sender" ]] && continue
                [[ $feature == all-paths && $sender == theirs ]] && continue
                # What this tests is the sender's, or nobody sends.
                [[ $feature == priorities && $sender == theirs ]] && continue
                [[ $feature == wrong-key && $connector != "$sender" ]] && continue
                # usrsctp takes acknowledgements for old ones, depending on the TSNs of both sides, when its request was granted.
                [[ $feature == reset-association && $STACK$sender == usrsctptheirs ]] && continue
                # In UDP usrsctp sends from where the route leads, also the request to delete that very address, which it must not.
                [[ ${feature#ipv6-} == move-addresses && $STACK$CARRIED$sender == usrsctpudptheirs ]] && continue
                # Over IPv6 itself the system chooses for it in the same way.
                [[ $feature == ipv6-move-addresses && $STACK$sender == usrsctptheirs ]] && continue
                # Over IPv4 itself the data to usrsctp is on the second path from the beginning.
                [[ $feature == primary-* && $STACK$CARRIED$sender == usrsctprawours ]] && continue
                cell "$feature" $connector $sender "$homing"
            done
        done
    done
}

# Linux numbers fragments from 0 behind the first one, where RFC 8260 has 1.
interleaves() { [[ $STACK != linux ]]; }

plain_cells() {
    local feature
    for feature in ordered unordered streams long ipv6 echo end-by-receiver end-by-both abort-by-sender abort-by-receiver \
        extensions declining auth auth-without-key wrong-key long-beside-short ipv6-auth ipv6-extensions ipv6-reset-streams \
        reset-streams reset-incoming reset-association add-streams add-incoming; do
        directions $feature single dual
    done
    directions recommended single dual
    directions all-paths dual
    for feature in move-addresses ipv6-move-addresses primary-by-sender primary-by-receiver; do directions $feature dual; done
    # In UDP usrsctp neither sets the ECN field nor reads it.
    if [[ $STACK$CARRIED != usrsctpudp ]]; then
        directions marks single dual
        # Over IPv6 it does neither, too.
        [[ $STACK == usrsctp ]] || directions ipv6-marks dual
    fi
    [[ $STACK == linux ]] || directions nr-sack dual
    interleaves || return 0
    for feature in interleaved interleaved-unordered interleaved-long ipv6-interleaved; do directions $feature single dual; done
}

bridged_cells() {
    local feature
    for feature in loss ipv6-loss auth-loss limited-retransmissions lifetime priorities restart \
        ipv6-limited-retransmissions ipv6-restart; do
        directions $feature single dual
    done
    if interleaves; then
        for feature in interleaved-loss interleaved-abandoned; do directions $feature single dual; done
    fi
    # Over IPv4 itself usrsctp writes the IP header, with source addresses that it chooses without regard to the route, so
    # that its packets and the answers to them cross the paths: when one goes dark, usrsctp thinks that both have failed.
    [[ $STACK == usrsctp && $CARRIED == raw ]] || directions failover dual
    directions ipv6-failover dual
    directions recommended-loss single dual
    [[ $STACK == usrsctp && $CARRIED == raw ]] || directions recommended-failover dual
    directions recommended-unequal dual
}

# Damaged packets are no matter of tshark.
damaged_cells() {
    directions damage single dual
    [[ $STACK == linux ]] || directions drop-reports single dual
}

quick_plain_cells() {
    cell ordered ours ours single
    cell ordered theirs theirs dual
    cell long ours theirs single
    cell long theirs ours single
    cell ipv6 theirs ours dual
    cell echo theirs ours dual
    cell end-by-both ours theirs single
    cell abort-by-sender theirs theirs single
    cell abort-by-receiver ours ours single
    cell extensions theirs ours single
    cell reset-association ours ours single
    cell add-incoming theirs theirs single
    cell auth ours ours dual
    cell all-paths ours ours dual
    cell marks theirs ours dual
}
quick_bridged_cells() {
    cell loss ours ours dual
    cell ipv6-loss ours ours single
    cell limited-retransmissions ours theirs single
    cell restart theirs theirs single
    cell failover ours ours dual
}
quick_damaged_cells() { cell damage theirs ours single; }

# The cells of $1, recorded, and what tshark says of them.
recorded() {
    have dumpcap && have tshark || {
        required tshark && die "tshark is not installed (POLYPATH_REQUIRE names tshark)"
        "$1"
        return
    }
    local before=$CELLS file
    CAPTURES=$((CAPTURES + 1))
    file=$WORK/capture-$CAPTURES.pcapng
    capture "$file"
    "$1"
    capture_stop
    ((CELLS == before)) || well_formed "$file"
    rm -f "$file"
}

run_stack() {
    local plain=${ENCAPSULATION:-udp raw} bridged=${ENCAPSULATION:-udp raw} prefix=
    [[ $SELECTED == quick ]] && prefix=quick_ plain=${ENCAPSULATION:-udp} bridged=${ENCAPSULATION:-raw}
    for CARRIED in $plain; do recorded ${prefix}plain_cells; done
    bridge_in
    for CARRIED in $bridged; do recorded ${prefix}bridged_cells; done
    for CARRIED in $bridged; do ${prefix}damaged_cells; done
}

# Each stack has a network of its own, in a process of its own.
run_linux() {
    STACK=linux
    use_linux
    guest_build
    build_ours
    OURS=$INTEROP_PEER
    net_up 2
    guest_up
    say "Linux $GUEST_VERSION:"
    run_stack
}

run_usrsctp() {
    STACK=usrsctp
    build_peers
    net_up 2
    say "usrsctp:"
    run_stack
}

report() {
    ((FAILED == 0)) || say "$STACK: $FAILED cells failed"
    ((FAILED == 0))
}

if [[ $SELECTED == quick ]]; then
    run_linux
    report
    exit
fi
TABLE=$(target_dir)/interop/matrix
mkdir -p "$(dirname "$TABLE")"
if [[ -z ${MATRIX_STACK:-} ]]; then
    rm -f "$TABLE.tsv"
    status=0
    for stack in linux usrsctp; do
        wanted $stack '' || continue
        MATRIX_STACK=$stack "$0" all "$@" || status=1
    done
    # It has no features of that kind.
    if wanted webrtc none; then WEBRTC_TABLE=$TABLE.tsv tests/webrtc/run.sh || status=1; fi
    [[ ! -s $TABLE.tsv ]] || tests/interop/table.py "$TABLE.tsv" | tee "$TABLE.md"
    exit $status
fi
"run_$MATRIX_STACK"
report
