#!/usr/bin/env bash
# Makes an archive of the program for Linux, linked statically with musl, in target/dist: it runs on every distribution.
# POLYPATH_STATIC_PROGRAM names a program that is built already, CARGO_PROFILE another profile than `release`.
#
# usage: scripts/make_static.sh
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

target=$(uname -m)-unknown-linux-musl
profile=${CARGO_PROFILE:-release}
program=${POLYPATH_STATIC_PROGRAM:-}
if [[ -z $program ]]; then
    add_target "$target"
    cargo build --profile "$profile" --locked --package polypath-cli --target "$target"
    program=$(target_dir)/$target/${profile/#dev/debug}/polypath
fi

# A dynamically linked program names its linker in its first page.
if head -c 4096 "$program" | grep -aq '/ld-'; then
    die "$program is not linked statically"
fi
dist=$(target_dir)/dist
scripts/make_archive.py "$program" "$target" "$dist"

# What the image is made of.
rm -rf "$dist/image"
install -D -m 755 "$program" "$dist/image/polypath"
install -m 644 LICENSE-APACHE LICENSE-MIT LICENSE-DEJAVU "$dist/image/"
