#!/usr/bin/env bash
# Proves that wire, units and proto are no_std + alloc: they and everything they depend on are checked against a
# system root that has only core and alloc. No other target needs to be installed for that.
#
# One exception: crc-fast uses std on x86 to detect processor features. It alone is given the whole system root;
# what it links to is then visible to rustc as an indirect dependency only, so nobody else can name std.
#
# As RUSTC_WRAPPER this file is also the compiler; see `compile`.
set -euo pipefail

NEEDS_STD=(crc_fast)
CRATES=(polypath-units polypath-wire polypath-proto)

compile() {
    local rustc=$1 name
    shift
    case " $* " in
        *" --crate-name ___ "*) exec "$rustc" "$@" ;; # cargo asking about the target
    esac
    for name in "${NEEDS_STD[@]}"; do
        case " $* " in
            *" --crate-name $name "*) exec "$rustc" "$@" ;;
        esac
    done
    case " $* " in
        *" --target "*) exec "$rustc" "$@" --sysroot "$NO_STD_ROOT" -L "dependency=$NO_STD_FULL" ;;
        *) exec "$rustc" "$@" ;; # build scripts and procedural macros run here, with std
    esac
}

check() {
    cargo check --quiet --target "$host" --no-default-features "$@"
}

# The check must be able to fail: a crate that is only `extern crate std;` is refused.
self_test() {
    local folder=$target/no-std/self-test
    mkdir -p "$folder/src"
    printf '[package]\nname = "self-test"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n' > "$folder/Cargo.toml"
    printf '#![no_std]\nextern crate %s;\n' alloc > "$folder/src/lib.rs"
    if ! check --manifest-path "$folder/Cargo.toml"; then
        echo "no_std: self-test: a crate that needs only alloc was refused" >&2
        return 1
    fi
    printf '#![no_std]\nextern crate %s;\n' std > "$folder/src/lib.rs"
    if check --manifest-path "$folder/Cargo.toml" 2> /dev/null; then
        echo "no_std: self-test: a crate that needs std was not refused" >&2
        return 1
    fi
}

main() {
    cd "$(dirname "$0")/.."
    host=$(rustc -vV | sed -n 's/^host: //p')
    target=${CARGO_TARGET_DIR:-$PWD/target}
    NO_STD_FULL=$(rustc --print sysroot)/lib/rustlib/$host/lib
    NO_STD_ROOT=$target/no-std/root
    local lib=$NO_STD_ROOT/lib/rustlib/$host/lib name
    rm -rf "$NO_STD_ROOT"
    mkdir -p "$lib"
    for name in core alloc compiler_builtins rustc_std_workspace_core; do
        ln -s "$NO_STD_FULL/lib$name-"* "$lib/"
    done
    export NO_STD_FULL NO_STD_ROOT
    export RUSTC_WRAPPER=$PWD/scripts/no_std.sh CARGO_TARGET_DIR=$target/no-std/target
    self_test
    check "${CRATES[@]/#/--package=}"
    echo "no_std: ${CRATES[*]} need only core and alloc"
}

if [[ -n ${NO_STD_ROOT:-} ]]; then
    compile "$@"
else
    main
fi
