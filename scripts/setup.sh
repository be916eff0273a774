#!/usr/bin/env bash
# Installs what a make target needs beyond rustup and Python 3.11, and says what it installs. What is there
# already is left alone, so a second run does nothing.
#
# usage: scripts/setup.sh GROUP...
#   rust      the toolchain of rust-toolchain.toml, a C linker
#   lint      cargo-deny, shellcheck
#   test      tshark, scapy and matplotlib (in target/venv), iproute2, nftables, conntrack, Chromium and the compiler for programs in C
#   python    what the tests of the Python package import, in target/python
#   interop   libusrsctp-dev, user-mode-linux, busybox-static, iperf3, lksctp-tools, libsctp-dev, valgrind and the compiler for programs
#             in C
#   fuzz      cargo-fuzz, a C++ compiler
#   docs      mdbook
#   release   cargo-cyclonedx
#   semver    cargo-semver-checks
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

CARGO_DENY=0.20.2
CARGO_FUZZ=0.13.2
MDBOOK=0.5.4
CARGO_CYCLONEDX=0.5.9
CARGO_SEMVER_CHECKS=0.49.0
APT_UPDATED=

as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

# Installs Debian packages: apt_install REASON PACKAGE...
apt_install() {
    local reason=$1
    shift
    if ! have apt-get; then
        say "setup: $reason: not found, and there is no apt-get here; please install what Debian calls: $*"
        return 1
    fi
    if [[ $(id -u) != 0 ]] && ! have sudo; then
        say "setup: $reason: not found; please run as root: apt-get install $*"
        return 1
    fi
    say "setup: installing with apt-get ($reason): $*"
    if [[ -z $APT_UPDATED ]]; then
        as_root apt-get -qq update
        APT_UPDATED=yes
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" > /dev/null
}

# What a test needs and would skip without: its absence is an error only if POLYPATH_REQUIRE names it.
optional() {
    local name=$1
    shift
    "$@" && return
    required "$name" && die "POLYPATH_REQUIRE names $name, but it could not be set up"
    say "setup: going on without; tests that need it will say SKIPPED"
}

# Builds a cargo subcommand into cargo's own bin directory, unless it is there in that version or a newer one:
# cargo_tool NAME VERSION [OPTION...]
cargo_tool() {
    local name=$1 version=$2 found
    shift 2
    found=$(cargo "$name" --version 2> /dev/null | awk '{ print $NF }') || found=
    if [[ -n $found && $(printf '%s\n' "$version" "$found" | sort --version-sort | head -n 1) == "$version" ]]; then
        return
    fi
    say "setup: building cargo-$name $version into ${CARGO_HOME:-$HOME/.cargo}/bin (once, some minutes)"
    # Unoptimized: built once and run for seconds.
    env -u CARGO_TARGET_DIR cargo install --quiet --locked --debug "$@" "cargo-$name@$version"
}

python_check() {
    have python3 || die "python3 was not found: please install Python 3.11 or newer"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
        || die "python3 is $(python3 --version), but 3.11 or newer is needed"
}

rust() {
    have cargo || die "cargo was not found: please install rustup, see https://rustup.rs"
    have cc || apt_install "C linker" gcc libc6-dev || die "a C linker (cc) is needed"
    if cargo clippy --version > /dev/null 2>&1 && cargo fmt --version > /dev/null 2>&1; then
        return
    fi
    have rustup || die "cargo lacks clippy or rustfmt: please install them, or use rustup"
    local channel
    channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
    say "setup: installing Rust $channel with clippy and rustfmt through rustup"
    rustup toolchain install "$channel" --profile minimal --component clippy,rustfmt
}

lint() {
    python_check
    cargo_tool deny "$CARGO_DENY" --no-default-features
    have shellcheck || apt_install "checks of shell scripts" shellcheck || say "setup: going on without shellcheck"
}

dissectors() {
    if ! have tshark; then
        apt_install "tshark, the packet dissector" tshark || return
    fi
    local venv
    venv=$(target_dir)/venv
    if cmp -s tests/requirements.txt "$venv/requirements.txt"; then
        return
    fi
    say "setup: installing into $venv: $(paste -sd ' ' tests/requirements.txt)"
    if ! python3 -m venv --clear "$venv" > /dev/null 2>&1; then
        apt_install "Python's venv" python3-venv && python3 -m venv --clear "$venv" || return
    fi
    "$venv/bin/python" -m pip install --quiet --requirement tests/requirements.txt || return
    cp tests/requirements.txt "$venv/requirements.txt" # says that all of it is there
}

network_tools() {
    local packages=()
    have ip && have tc || packages+=(iproute2)
    have nft || packages+=(nftables)
    have conntrack || packages+=(conntrack)
    [[ ${#packages[@]} == 0 ]] || apt_install "network namespaces, traffic shaping and address translation" "${packages[@]}"
}

browser() {
    have chromium || have chromium-browser || have google-chrome || apt_install "Chromium, to open reports" chromium
}

usrsctp() {
    local packages=()
    have cc || packages+=(gcc libc6-dev)
    [[ -e /usr/include/usrsctp.h ]] || packages+=(libusrsctp-dev)
    [[ ${#packages[@]} == 0 ]] || apt_install "usrsctp, another SCTP stack" "${packages[@]}"
}

# The kernel of the guest with Linux's SCTP, and what runs in it beside our program.
linux_guest() {
    local packages=()
    [[ -e /usr/include/linux/sctp.h ]] || packages+=(linux-libc-dev)
    have linux.uml || packages+=(user-mode-linux)
    [[ -x /bin/busybox ]] && ! ldd /bin/busybox > /dev/null 2>&1 || packages+=(busybox-static)
    [[ ${#packages[@]} == 0 ]] || apt_install "user-mode Linux, for the SCTP of its kernel" "${packages[@]}"
}

# Programs with SCTP sockets that know nothing of this project.
socket_programs() {
    local packages=()
    have iperf3 || packages+=(iperf3)
    have sctp_test || packages+=(lksctp-tools)
    [[ -e /usr/include/netinet/sctp.h ]] || packages+=(libsctp-dev)
    have pkg-config || packages+=(pkg-config)
    have valgrind || packages+=(valgrind)
    [[ ${#packages[@]} == 0 ]] || apt_install "programs with SCTP sockets" "${packages[@]}"
}

other_stacks() { usrsctp && linux_guest && socket_programs; }

tests() {
    python_check
    optional tshark dissectors
    optional net network_tools
    optional browser browser
}

python() {
    python_check
    local venv requirements=tests/python/requirements.txt
    venv=$(target_dir)/python
    cmp -s "$requirements" "$venv/requirements.txt" && return
    say "setup: installing into $venv: $(paste -sd ' ' "$requirements")"
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
    cp "$requirements" "$venv/requirements.txt" # says that all of it is there
}

fuzz() {
    have c++ || apt_install "C++ compiler for libFuzzer" g++ || die "a C++ compiler is needed"
    cargo_tool fuzz "$CARGO_FUZZ"
}

docs() {
    have mdbook && return
    say "setup: building mdbook $MDBOOK into ${CARGO_HOME:-$HOME/.cargo}/bin (once, some minutes)"
    # Without its server, which is most of what there is to compile.
    env -u CARGO_TARGET_DIR cargo install --quiet --locked --debug --no-default-features --features search "mdbook@$MDBOOK"
}

release() {
    python_check
    cargo_tool cyclonedx "$CARGO_CYCLONEDX"
}

semver() {
    rust
    cargo_tool semver-checks "$CARGO_SEMVER_CHECKS"
}

[[ $# -gt 0 ]] || die "usage: scripts/setup.sh rust|lint|test|python|interop|fuzz|docs|release|semver ..."
for group in "$@"; do
    case $group in
        rust) rust ;;
        lint) lint ;;
        test) tests ;;
        python) python ;;
        interop) optional interop other_stacks ;;
        fuzz) fuzz ;;
        docs) docs ;;
        release) release ;;
        semver) semver ;;
        *) die "scripts/setup.sh knows rust, lint, test, python, interop, fuzz, docs, release and semver, not $group" ;;
    esac
done
