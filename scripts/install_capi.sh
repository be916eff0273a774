#!/usr/bin/env bash
# Installs the sockets API for C programs: library, header, polypath.pc, and the program `polypath`, which starts the service.
# PREFIX (/usr/local) is where it will be used, DESTDIR the folder in front of it in which packages are made. POLYPATH_PROGRAMS names a
# folder with what is built already.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}$prefix
[[ $prefix == /* ]] || die "PREFIX must be an absolute path, and is '$prefix'"

programs=${POLYPATH_PROGRAMS:-}
if [[ -z $programs ]]; then
    cargo build --release --locked --package polypath-cli --package polypath-capi
    programs=$(target_dir)/release
fi
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
soname=libpolypath.so.0

install -d "$root/bin" "$root/lib/polypath" "$root/lib/pkgconfig" "$root/include/polypath/netinet"
install -m 755 "$programs/polypath" "$root/bin/polypath"
install -m 755 "$programs/libpolypath_sctp.so" "$root/lib/libpolypath.so.$version"
install -m 644 "$programs/libpolypath_sctp.a" "$root/lib/libpolypath.a"
ln -sf "libpolypath.so.$version" "$root/lib/$soname"
ln -sf "$soname" "$root/lib/libpolypath.so"
# The same library, where `polypath with` looks for it.
ln -sf "../$soname" "$root/lib/polypath/libpolypath_sctp.so"
install -m 644 crates/capi/include/netinet/sctp.h "$root/include/polypath/netinet/sctp.h"
install -m 644 crates/capi/include/usrsctp.h "$root/include/polypath/usrsctp.h"
# In /usr, the other name is that of Debian's libusrsctp-dev.
names=(polypath usrsctp)
[[ $prefix != /usr ]] || names=(polypath)
for name in "${names[@]}"; do
    sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "crates/capi/$name.pc.in" > "$root/lib/pkgconfig/$name.pc"
done
say "installed in $root: cc \$(pkg-config --cflags --libs polypath) ..."
