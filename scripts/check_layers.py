#!/usr/bin/env python3
"""Refuses crates, and modules of a crate, that depend upward.

Crates: reads `cargo metadata --no-deps --format-version 1` (from cargo, or from the file given as argument) and compares
every dependency between crates of the workspace with ARROWS. What a crate may reach through its arrows it may also name
itself; anything else fails, also a crate that ARROWS does not know. `polypath-testkit` may be a dev-dependency of any
crate and nothing else.

Modules: reads the paths in the sources of each crate (`module_uses.py`). In a crate with an entry in LAYERS, a module may
name those of lower layers, and none of its own layer except as SIDEWAYS says; a module that LAYERS does not know fails.
In all other crates the dependencies between modules must have no circle.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from module_uses import Crate, Use, circles

TESTKIT = "polypath-testkit"

# Crate -> the crates directly below it; docs/architecture.md gives the reasons.
ARROWS: dict[str, tuple[str, ...]] = {
    "polypath-units": (),
    "polypath-wire": (),
    "polypath-proto": ("polypath-wire", "polypath-units"),
    "polypath-qlog": ("polypath-proto",),
    "polypath-workload": ("polypath-units",),
    "polypath-netsim": ("polypath-units",),
    "polypath-sim": ("polypath-proto", "polypath-netsim", "polypath-workload"),
    "polypath-lab": ("polypath-sim",),
    "polypath": ("polypath-proto",),
    "polypath-meter": ("polypath", "polypath-workload"),
    "polypath-transfer": ("polypath",),
    "polypath-datachannel": ("polypath",),
    "polypath-sockets": ("polypath",),
    "polypath-capi": ("polypath-sockets",),
    "polypath-emulate": ("polypath-sim",),
    "polypath-cli": ("polypath-lab", "polypath-meter", "polypath-transfer", "polypath-emulate", "polypath-qlog", "polypath-sockets"),
    "polypath-py": ("polypath-lab",),
    "polypath-examples": ("polypath-lab", "polypath"),
    TESTKIT: ("polypath-proto",),
}

# Crate -> its modules in layers, from the bottom to the top.
Layers = tuple[tuple[str, ...], ...]
LAYERS: dict[str, Layers] = {
    "polypath-proto": (
        ("ids", "error"),
        ("stats",),
        ("config", "event"),
        ("event_kinds",),
        ("message", "probe"),
        ("io",),
        ("types",),
        ("congestion",),
        ("mechanism",),
        ("extension",),
        ("paths", "receive"),
        ("transmit",),
        ("association",),
        ("endpoint",),
    ),
    "polypath-sim": (
        ("document", "error", "frame", "handmade"),
        ("scenario",),
        ("wiring",),
        ("load", "place", "map", "probe"),
        ("app",),
        ("background", "host"),
        ("meter",),
        ("result",),
        ("simulation",),
        ("live",),
    ),
    "polypath-lab": (
        ("stats",),
        ("study",),
        ("journal",),
        ("results",),
        ("run", "verdict", "figure"),
        ("paper", "random", "sampling"),
        ("reproduce",),
        ("report",),
    ),
    "polypath": (
        ("carriers", "error", "idle", "keys", "lock", "lower_layer", "message", "stats", "tap", "text"),
        ("log", "device", "peer"),
        ("probe", "route", "address", "wildcard"),
        ("clock", "socket"),
        ("accept", "places"),
        ("state",),
        ("association", "driver"),
        ("endpoint", "events"),
        ("builder", "port", "rebind", "sctp_stream", "stream", "system"),
    ),
    "polypath-meter": (
        ("calendar", "clock", "ensure", "gate", "payload", "processor", "text"),
        ("document", "traffic"),
        ("event", "flow", "labels", "requirements"),
        ("flow_spec",),
        ("proposal",),
        ("buffers", "config", "control", "tally"),
        ("limits", "plan", "results", "snapshot"),
        ("error", "start"),
        ("channel", "sender"),
        ("session",),
        ("client", "server"),
    ),
    "polypath-transfer": (
        ("frame", "limits", "name", "pace", "promise", "quota", "sink"),
        ("config", "destination", "ledger", "report", "source", "wait"),
        ("batch", "error", "event", "part"),
        ("reader", "small", "writer"),
        ("receiver", "sender"),
        ("inbox", "retry"),
    ),
}

# Crate -> dependencies within one layer, as pairs of the module that names and the one that it names.
SIDEWAYS: dict[str, set[tuple[str, str]]] = {}


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


def may_name(module: str, layers: Layers, sideways: set[tuple[str, str]]) -> set[str]:
    """The modules that `module` may name."""
    allowed = {target for source, target in sideways if source == module}
    for layer in layers:
        if module in layer:
            break
        allowed.update(layer)
    return allowed


def place(use: Use) -> str:
    """Where a module names another, as the user can open it."""
    return f"{os.path.relpath(use.file)}:{use.line}"


def use_problem(use: Use, layers: Layers, sideways: set[tuple[str, str]]) -> str | None:
    """What is wrong with a module that names another, or None."""
    allowed = may_name(use.source, layers, sideways)
    if use.target in allowed:
        return None
    height = {module: number for number, layer in enumerate(layers) for module in layer}
    direction = "sideways" if height[use.source] == height[use.target] else "upward"
    permitted = ", ".join(sorted(allowed)) or "no other module"
    return f"{place(use)}: {use.source} -> {use.target} points {direction}: {use.source} may name {permitted}"


def check_layers_of(name: str, crate: Crate, layers: Layers, sideways: set[tuple[str, str]]) -> list[str]:
    """All problems of the modules of a crate with layers."""
    listed = {module for layer in layers for module in layer}
    problems = [
        f"{name}: its module {module} is not in LAYERS: say where it stands"
        for module in sorted(crate.modules - listed)
    ]
    problems += [
        f"{name}: LAYERS has a module {module}, which does not exist"
        for module in sorted(listed - crate.modules)
    ]
    problems += [
        f"{place(use)}: {use.source} names `{use.target}`, which the crate's root does not re-export: name its module"
        for use in crate.unknown
    ]
    known = [use for use in crate.uses if use.source in listed and use.target in listed]
    found = (use_problem(use, layers, sideways) for use in known)
    return list(dict.fromkeys([*problems, *(problem for problem in found if problem)]))


def check_circles(crate: Crate) -> list[str]:
    """The circles between modules of a crate, each with a place for every dependency of it."""
    problems = []
    for circle in circles(crate.arrows()):
        ways = []
        for source, target in zip(circle, [*circle[1:], circle[0]]):
            use = next(use for use in crate.uses if (use.source, use.target) == (source, target))
            ways.append(f"{source} -> {target} ({place(use)})")
        problems.append(f"a circle of modules: {', '.join(ways)}; one of these must go")
    return problems


def check_modules(metadata: dict[str, Any]) -> tuple[list[str], int]:
    """All problems of the modules of a workspace, and the number of modules that were looked at."""
    problems: list[str] = []
    count = 0
    for package in sorted(metadata["packages"], key=lambda package: package["name"]):
        name = package["name"]
        crate = Crate(Path(package["manifest_path"]).parent / "src")
        count += len(crate.modules)
        if name in LAYERS:
            problems += check_layers_of(name, crate, LAYERS[name], SIDEWAYS.get(name, set()))
        problems += check_circles(crate)
    return problems, count


def main(arguments: list[str]) -> int:
    if arguments:
        with open(arguments[0], encoding="utf-8") as file:
            text = file.read()
    else:
        command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    metadata = json.loads(text)
    found, modules = check_modules(metadata)
    problems = check(metadata) + found
    for line in problems:
        print(f"layers: {line}", file=sys.stderr)
    if not problems:
        print(f"layers: {len(metadata['packages'])} crates and {modules} modules, every arrow points downward")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
