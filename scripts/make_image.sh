#!/usr/bin/env bash
# Builds the container image from the static program (target/dist/image, made if it is missing) with podman or docker, and runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

# Before the program is built, which takes minutes.
engine=
for candidate in podman docker; do
    if have "$candidate" && "$candidate" info > /dev/null 2>&1; then
        engine=$candidate
        break
    fi
done
[[ -n $engine ]] || skip image "neither podman nor a running docker was found: install podman (Debian's package podman), or start docker"
dist=$(target_dir)/dist
[[ -x $dist/image/polypath ]] || scripts/make_static.sh
version=$(project_version)
"$engine" build --file packaging/Containerfile --tag "polypath:$version" "$dist/image"
[[ $("$engine" run --rm "polypath:$version" --version) == "polypath $version "* ]] || die "the image does not run"
"$engine" save "polypath:$version" | gzip -9n > "$dist/polypath-$version-$(uname -m)-image.tar.gz"
say "image: polypath:$version"
