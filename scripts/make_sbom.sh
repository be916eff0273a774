#!/usr/bin/env bash
# Writes the software bill of materials of the program to target/dist: every crate with version, licence and checksum (CycloneDX).
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

version=$(project_version)
dist=$(target_dir)/dist
name=polypath-$version.cdx
mkdir -p "$dist"
# Written beside each manifest of the workspace; what is shipped is the program.
trap 'find crates -maxdepth 2 -name "$name.json" -delete' EXIT
SOURCE_DATE_EPOCH=$(source_date) cargo cyclonedx --quiet --manifest-path crates/cli/Cargo.toml --format json --spec-version 1.5 \
    --target all --override-filename "$name"
# The same content wherever the source lies.
sed "s|file://$PWD/|file:///polypath/|g" "crates/cli/$name.json" > "$dist/$name.json"
python3 scripts/check_sbom.py "$dist/$name.json"
