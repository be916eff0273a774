#!/usr/bin/env bash
# Runs the tests and notebooks of the Python package beside the program. POLYPATH_PROGRAMS names a folder with a program and a
# library that are built already.
#
# usage: tests/python/run.sh [wheel]
#
# Without an argument the package is a folder with its files and the library that the workspace built. With `wheel` it is built and
# installed as users have it; maturin then compiles what the package needs once more, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh

[[ $# == 0 || "$*" == wheel ]] || die "usage: tests/python/run.sh [wheel]"
scripts/setup.sh python
build_programs
POLYPATH_PROGRAM=$(cd "$POLYPATH_PROGRAMS" && pwd)/polypath
export POLYPATH_PROGRAM

venv=$(target_dir)/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ $* == wheel ]]; then
    "$venv/bin/maturin" build --quiet --locked --profile optimized --interpreter "$venv/bin/python" \
        --manifest-path crates/py/Cargo.toml --out "$work"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$work"/polypath-*.whl
else
    # An installed wheel would not be what is tested.
    "$venv/bin/python" -m pip uninstall --quiet --disable-pip-version-check --yes polypath 2> /dev/null
    cp -r crates/py/python/polypath "$work/polypath"
    cp "$POLYPATH_PROGRAMS/lib_polypath.so" "$work/polypath/_polypath.abi3.so"
    export PYTHONPATH=$work
fi
"$venv/bin/python" -m pytest --quiet -p no:cacheprovider crates/py/tests
