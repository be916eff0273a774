#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into an environment of its own and runs its tests and notebooks beside the
# program. POLYPATH_PROGRAMS names a folder with a program that is built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh

build_programs
POLYPATH_PROGRAM=$(cd "$POLYPATH_PROGRAMS" && pwd)/polypath
export POLYPATH_PROGRAM

venv=$(target_dir)/python
requirements=tests/python/requirements.txt
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
    say "python: installing into $venv: $(paste -sd ' ' "$requirements")"
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
    cp "$requirements" "$venv/requirements.txt" # says that all of it is there
fi

wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
"$venv/bin/maturin" build --quiet --locked --profile optimized --interpreter "$venv/bin/python" \
    --manifest-path crates/py/Cargo.toml --out "$wheels"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/polypath-*.whl
"$venv/bin/python" -m pytest --quiet -p no:cacheprovider crates/py/tests
