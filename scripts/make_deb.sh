#!/usr/bin/env bash
# Makes Debian packages of the program and of the library for C programs in target/dist, and checks what is in them. Needs dpkg-deb and
# nothing else of Debian. POLYPATH_PROGRAMS names a folder with what is built already.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

have dpkg-deb || skip deb "dpkg-deb was not found (Debian's package dpkg)"
version=$(project_version)
architecture=$(dpkg --print-architecture)
dist=$(target_dir)/dist
stage=$dist/deb
rm -rf "$stage"
mkdir -p "$stage/polypath" "$stage/libpolypath-dev/usr/lib"
PREFIX=/usr DESTDIR=$stage/polypath scripts/install_capi.sh > /dev/null
root=$stage/polypath
dev=$stage/libpolypath-dev

# What only those need who build programs in C.
mv "$root/usr/include" "$dev/usr/include"
mv "$root/usr/lib/pkgconfig" "$root/usr/lib/libpolypath.a" "$root/usr/lib/libpolypath.so" "$dev/usr/lib/"

scripts/make_archive.py --extras "$root/usr/bin/polypath" "$root/usr/share"
gzip -9n "$root"/usr/share/man/man1/*.1
install -D -m 644 -t "$root/usr/lib/systemd/system" packaging/systemd/*.service
for name in polypath-receive polypath-meter; do
    install -D -m 644 "packaging/debian/$name.default" "$root/etc/default/$name"
done
install -d -m 755 "$root/etc/polypath"

# The newest symbols of the C library that the programs use.
glibc=$(cat "$root/usr/bin/polypath" "$root"/usr/lib/libpolypath.so.* | grep -ao 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
depends="libc6 (>= ${glibc#GLIBC_}), libgcc-s1"

# package FOLDER CONTROL: fills in the control file and packs the folder.
package() {
    local folder=$1 control=$2 name
    name=$(basename "$folder")
    install -D -m 644 packaging/debian/copyright "$folder/usr/share/doc/$name/copyright"
    gzip -9nc CHANGELOG.md > "$folder/usr/share/doc/$name/changelog.gz"
    chmod -R u=rwX,go=rX "$folder"
    install -d -m 755 "$folder/DEBIAN"
    sed -e "s|@VERSION@|$version|" -e "s|@ARCHITECTURE@|$architecture|" -e "s|@DEPENDS@|$depends|" \
        -e "s|@SIZE@|$(du -sk --exclude=DEBIAN "$folder" | cut -f 1)|" "packaging/debian/$control" > "$folder/DEBIAN/control"
    if [[ -d $folder/etc/default ]]; then
        (cd "$folder" && find etc/default -type f -printf '/%p\n' | sort) > "$folder/DEBIAN/conffiles"
    fi
    (cd "$folder" && find usr etc -type f -exec md5sum {} + 2> /dev/null | sort -k 2) > "$folder/DEBIAN/md5sums" || true
    SOURCE_DATE_EPOCH=$(source_date) dpkg-deb --root-owner-group --build "$folder" "$dist/${name}_${version}_$architecture.deb"
}

package "$root" control.in
package "$dev" control-dev.in

# What is in the package runs, and its units are valid.
deb=$dist/polypath_${version}_$architecture.deb
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
dpkg-deb --extract "$deb" "$unpacked"
[[ $("$unpacked/usr/bin/polypath" --version) == "polypath $version "* ]] || die "$deb: polypath does not run"
for file in usr/lib/polypath/libpolypath_sctp.so usr/share/man/man1/polypath-receive.1.gz usr/share/bash-completion/completions/polypath; do
    [[ -s $unpacked/$file ]] || die "$deb: there is no $file"
done
if have systemd-analyze; then
    mkdir "$unpacked/units"
    for unit in "$unpacked"/usr/lib/systemd/system/*.service; do
        sed "s|/usr/bin/polypath|$unpacked/usr/bin/polypath|" "$unit" > "$unpacked/units/$(basename "$unit")"
    done
    systemd-analyze verify --man=no "$unpacked"/units/*.service
fi
say "packages: $(cd "$dist" && echo ./*.deb)"
