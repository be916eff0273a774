#!/usr/bin/env python3
"""Refuses a crate that imports upward.

Reads `cargo metadata --no-deps --format-version 1` (from cargo, or from the file given as argument) and compares every
dependency between crates of the workspace with ARROWS. What a crate may reach through its arrows it may also name
itself; anything else fails, also a crate that ARROWS does not know. `polypath-testkit` may be a dev-dependency of any
crate and nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

TESTKIT = "polypath-testkit"

# Crate -> the crates directly below it, also of crates still to come; docs/architecture.md has those that exist, with the
# reasons.
ARROWS: dict[str, tuple[str, ...]] = {
    "polypath-units": (),
    "polypath-wire": (),
    "polypath-proto": ("polypath-wire", "polypath-units"),
    "polypath-workload": ("polypath-units",),
    "polypath-netsim": ("polypath-units",),
    "polypath-sim": ("polypath-proto", "polypath-netsim", "polypath-workload"),
    "polypath-lab": ("polypath-sim",),
    "polypath": ("polypath-proto",),
    "polypath-transfer": ("polypath",),
    "polypath-meter": ("polypath", "polypath-workload"),
    "polypath-emulate": ("polypath-sim",),
    "polypath-cli": ("polypath-lab", "polypath-transfer", "polypath-meter", "polypath-emulate"),
    "polypath-py": ("polypath-lab", "polypath"),
    TESTKIT: ("polypath-proto",),
}


def below(crate: str) -> set[str]:
    """Every crate that `crate` may name: its arrows, followed to the bottom."""
    reached: set[str] = set()
    pending = list(ARROWS[crate])
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending.extend(ARROWS[name])
    return reached


def problem(crate: str, dependency: str, kind: str | None) -> str | None:
    """What is wrong with one arrow of the workspace, or None. `kind` is None (normal), "dev" or "build"."""
    if dependency == TESTKIT:
        if kind == "dev":
            return None
        return f"{crate} depends on {TESTKIT}: make it a dev-dependency"
    if dependency in below(crate):
        return None
    direction = "upward" if crate in below(dependency) else "sideways"
    label = f"{kind}-dependency" if kind else "dependency"
    return f"{crate} -> {dependency} ({label}) points {direction}: allowed are {sorted(below(crate)) or 'none'}"


def check(metadata: dict[str, Any]) -> list[str]:
    """All problems of a workspace, from cargo's metadata."""
    packages = sorted(metadata["packages"], key=lambda package: package["name"])
    ours = {package["name"] for package in packages}
    problems = [f"{name} is not in ARROWS: say where it stands" for name in sorted(ours - ARROWS.keys())]
    for package in packages:
        if package["name"] not in ARROWS:
            continue
        for dependency in package["dependencies"]:
            name = dependency["name"]
            if name not in ours or name not in ARROWS:
                continue
            found = problem(package["name"], name, dependency["kind"])
            if found:
                problems.append(found)
    return problems


def main(arguments: list[str]) -> int:
    if arguments:
        with open(arguments[0], encoding="utf-8") as file:
            text = file.read()
    else:
        command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    metadata = json.loads(text)
    problems = check(metadata)
    for line in problems:
        print(f"layers: {line}", file=sys.stderr)
    if not problems:
        print(f"layers: {len(metadata['packages'])} crates, every arrow points downward")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
