#!/usr/bin/env python3
"""Compares a software bill of materials with Cargo.lock.

usage: scripts/check_sbom.py SBOM.json

Every component from a registry has a licence and is in Cargo.lock in that version, and the direct dependencies of the program are there.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "polypath-cli"


def faults(sbom: dict[str, Any], locked: list[dict[str, Any]]) -> Iterator[str]:
    versions = {(package["name"], package["version"]) for package in locked}
    components = {(it["name"], it["version"]): it for it in sbom.get("components", [])}
    if sbom.get("metadata", {}).get("component", {}).get("name") not in (PROGRAM, "polypath"):
        yield "the document is not about the program"
    for (name, version), component in sorted(components.items()):
        if (name, version) not in versions:
            yield f"{name} {version} is not in Cargo.lock"
        if not component.get("licenses"):
            yield f"{name} {version} has no licence"
    names = {name for name, _ in components}
    program = next(package for package in locked if package["name"] == PROGRAM)
    development = tomllib.loads((ROOT / "crates/cli/Cargo.toml").read_text(encoding="utf-8"))
    only_tests = set(development["dev-dependencies"]) - set(development["dependencies"])
    for dependency in program["dependencies"]:
        name = dependency.split()[0]
        if name not in names and name not in only_tests:
            yield f"{name} is missing"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    sbom = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    found = list(faults(sbom, locked))
    print("\n".join(found) if found else f"sbom: {len(sbom['components'])} components, all locked and licensed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
