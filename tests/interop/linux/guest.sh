# shellcheck shell=bash
# A guest with the SCTP of the Linux kernel, in user-mode Linux (an ordinary process). Sourced by lib.sh.
#
#   guest_build               makes the guest's file system in target/interop; skips where something is missing
#   guest_up                  boots it; its interfaces are the taps path1, path2... in namespace B
#   guest_job NAME COMMAND    runs a shell command in the guest; guest_wait NAME gives its status, guest_kill NAME
#                             ends it. What it writes to /host is in $GUEST_FOLDER
#   guest_down                ends the guest

GUEST_UML=$(command -v linux.uml || true)
GUEST_BUSYBOX=/bin/busybox
GUEST_FOLDER=
GUEST_PID=
GUEST_IMAGE=
GUEST_PRELOAD=
GUEST_VERSION=

guest_build() {
    [[ -n $GUEST_UML && -d /usr/lib/uml/modules ]] || skip interop "user-mode Linux is not installed (Debian: user-mode-linux)"
    have cc || skip interop "no C compiler is installed (Debian: gcc libc6-dev)"
    [[ -e /usr/include/linux/sctp.h ]] || skip interop "linux/sctp.h is not installed (Debian: linux-libc-dev)"
    [[ -x $GUEST_BUSYBOX ]] && ! ldd "$GUEST_BUSYBOX" > /dev/null 2>&1 ||
        skip interop "no static busybox is installed (Debian: busybox-static)"
    [[ -c /dev/net/tun ]] || skip interop "/dev/net/tun is not there, which the guest's interfaces need"
    local folder modules file
    folder=$(target_dir)/interop/linux
    GUEST_IMAGE=$folder/image.gz
    modules=$(find /usr/lib/uml/modules -mindepth 1 -maxdepth 1 | sort | tail -n 1)
    # shellcheck disable=SC2034 # for the scripts that source this
    GUEST_VERSION=$(basename "$modules")
    rm -rf "$folder/root"
    mkdir -p "$folder/root"/{bin,modules}
    cc -std=gnu11 -O2 -Wall -Wextra -Werror -static -o "$folder/root/bin/peer" tests/interop/peer/{peer,linux_stack}.c
    GUEST_PRELOAD=$folder/registers.so
    cc -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -o "$GUEST_PRELOAD" tests/interop/linux/registers.c
    cp "$GUEST_BUSYBOX" "$folder/root/bin/busybox"
    cp tests/interop/linux/init "$folder/root/init"
    # Dependencies first; hmac signs the cookies.
    for file in $(guest_modules "$modules" sctp.ko hmac.ko md5.ko); do
        cp "$modules/$file" "$folder/root/modules/"
        echo "/modules/$(basename "$file")" >> "$folder/root/modules/order"
    done
    (cd "$folder/root" && find . | "$GUEST_BUSYBOX" cpio -o -H newc 2> /dev/null) | gzip -1 > "$GUEST_IMAGE"
}

# guest_modules FOLDER MODULE...: the files of the modules and of all that they depend on, in the order of loading.
guest_modules() {
    local folder=$1 module
    shift
    for module in "$@"; do
        awk -F ': *' -v name="/$module" \
            'substr($1, length($1) - length(name) + 1) == name { n = split($2, needs, " ")
             for (i = n; i > 0; i--) print needs[i]; print $1 }' "$folder/modules.dep"
    done | awk '!seen[$0]++'
}

guest_up() {
    local path interfaces=() memory
    GUEST_FOLDER=$WORK/guest
    mkdir "$GUEST_FOLDER"
    for ((path = 1; path <= NET_PATHS; path++)); do
        interfaces+=("eth$((path - 1))=tuntap,path$path,02:77:00:00:00:0$path")
    done
    # The guest's memory is a file.
    memory=/dev/shm
    [[ -w $memory ]] && (($(df -Pm "$memory" | awk 'NR == 2 { print $4 }') > 200)) || memory=$WORK
    TMPDIR=$memory setsid ip netns exec "$NS_B" env LD_PRELOAD="$GUEST_PRELOAD" "$GUEST_UML" mem=192M initrd="$GUEST_IMAGE" umid="polypath-$$" \
        uml_dir="$WORK/" con=null con0=null,fd:1 quiet panic=1 "${interfaces[@]}" \
        paths="$NET_PATHS" host="$GUEST_FOLDER" > "$WORK/kernel" 2>&1 < /dev/null &
    GUEST_PID=$!
    wait_for 60 guest_is_up_or_dead || true
    [[ -s $GUEST_FOLDER/ready ]] ||
        skip interop "user-mode Linux does not run here: $(guest_complaint)"
    [[ -z $(grep '^init:' "$GUEST_FOLDER/console") ]] || die "the guest is not in order: $(cat "$GUEST_FOLDER/console")"
}

# Why it ended: the line before its panic, which is followed by a trace of calls.
guest_complaint() {
    local complaint
    complaint=$(grep -m 1 -B 1 'Kernel panic' "$WORK/kernel" || tail -n 3 "$WORK/kernel")
    tr '\n' ' ' <<< "$complaint"
}

guest_is_up_or_dead() { [[ -s $GUEST_FOLDER/ready ]] || ! kill -0 "$GUEST_PID" 2> /dev/null; }

guest_job() {
    rm -f "$GUEST_FOLDER/$1".{rc,pid,run}
    echo "$2" > "$GUEST_FOLDER/$1.new"
    mv "$GUEST_FOLDER/$1.new" "$GUEST_FOLDER/$1.job"
}

guest_wait() {
    wait_for 150 test -s "$GUEST_FOLDER/$1.rc" || return 1
    return "$(cat "$GUEST_FOLDER/$1.rc")"
}

guest_kill() {
    [[ ! -s $GUEST_FOLDER/$1.rc ]] || return 0
    # The guest may not have taken it up yet, or only just.
    ! mv "$GUEST_FOLDER/$1.job" "$GUEST_FOLDER/$1.withdrawn" 2> /dev/null || return 0
    [[ -e $GUEST_FOLDER/$1.run ]] && wait_for 10 test -s "$GUEST_FOLDER/$1.pid" || return 0
    guest_job "kill-$1" "kill -9 $(cat "$GUEST_FOLDER/$1.pid")"
    guest_wait "kill-$1" || true
    guest_wait "$1" || true
}

guest_down() {
    [[ -n $GUEST_PID ]] || return 0
    # Its own process group: only this machine.
    kill -TERM -- -"$GUEST_PID" 2> /dev/null || true
    wait_for 2 guest_gone || kill -KILL -- -"$GUEST_PID" 2> /dev/null || true
    wait "$GUEST_PID" 2> /dev/null || true
    GUEST_PID=
}
guest_gone() { ! kill -0 -- -"$GUEST_PID" 2> /dev/null; }
