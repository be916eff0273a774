#!/usr/bin/env python3
"""The rules of the house that no compiler lint knows.

* names: in `polypath-proto`, identifiers with `cmt` live in `mechanism/` and `config/`: multipath is the data model, and
  CMT a preset.
* types: in `polypath-proto`, no two structs, enums, traits or type aliases outside of tests have the same name.
* attributes: wire, units and proto say `#![no_std]`; wire, units, proto, qlog, workload, netsim and sim forbid unsafe code.
* testkit: `polypath_testkit` is named in `tests/`, `benches/` and `examples/` only.
* rooms: what docs/architecture.md names exists (`room/file` of `polypath-proto`, folders of the project, crates), and
  every crate and every folder of `polypath-proto` is in it.
* lints: every crate takes the lints of the workspace, and every clippy.toml repeats the limits of the root's, because
  a crate's own file replaces it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Iterator

NO_STD = ("wire", "units", "proto")
NO_UNSAFE = ("wire", "units", "proto", "datachannel", "qlog", "workload", "netsim", "sim")

COMMENT_OR_STRING = re.compile(
    r"""
      //[^\n]*                      # line comment
    | /\*.*?\*/                     # block comment
    | b?'(?:\\.|[^'\\\n])'          # character
    | (?<![\w'])b?r(\#*)".*?"\1      # raw string
    | b?"(?:\\.|[^"\\])*"           # string
    """,
    re.VERBOSE | re.DOTALL,
)
CMT_IDENTIFIER = re.compile(r"\b\w*cmt\w*\b", re.IGNORECASE)


def blank_text(source: str) -> str:
    """The source with comments and string literals emptied, line numbers kept."""
    return COMMENT_OR_STRING.sub(lambda match: "\n" * match.group().count("\n"), source)


def foreign_names(source: str) -> Iterator[tuple[int, str]]:
    """Line and identifier of every `cmt` name."""
    for number, line in enumerate(blank_text(source).splitlines(), start=1):
        for match in CMT_IDENTIFIER.finditer(line):
            yield number, match.group()


def check_names(root: Path) -> Iterator[str]:
    source = root / "crates/proto/src"
    for path in sorted(source.rglob("*.rs")):
        place = path.relative_to(source).parts
        if place[0] in ("mechanism", "config"):
            continue
        for number, name in foreign_names(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(root)}:{number}: `{name}` belongs into mechanism/ or config/"


TYPE = re.compile(r"^(?:pub(?:\([a-z ]+\))? )?(?:struct|enum|trait|type) (\w+)")


def check_types(root: Path) -> Iterator[str]:
    source = root / "crates/proto/src"
    first: dict[str, str] = {}
    for path in sorted(source.rglob("*.rs")):
        place = path.relative_to(source)
        if "tests" in place.parts or place.name in ("tests.rs", "testing.rs"):
            continue
        for number, line in enumerate(blank_text(path.read_text(encoding="utf-8")).splitlines(), start=1):
            if match := TYPE.match(line):
                here = f"{path.relative_to(root)}:{number}"
                other = first.setdefault(match[1], here)
                if other != here:
                    yield f"{here}: `{match[1]}` is the name of a type in {other}, too"


def check_attributes(root: Path) -> Iterator[str]:
    for attribute, crates in (("#![no_std]", NO_STD), ("#![forbid(unsafe_code)]", NO_UNSAFE)):
        for crate in crates:
            path = root / f"crates/{crate}/src/lib.rs"
            if path.exists() and attribute not in path.read_text(encoding="utf-8").splitlines():
                yield f"{path.relative_to(root)}: `{attribute}` is missing"


def check_testkit(root: Path) -> Iterator[str]:
    for path in sorted(root.glob("crates/*/src/**/*.rs")):
        if path.relative_to(root).parts[1] == "testkit":
            continue
        for number, line in enumerate(blank_text(path.read_text(encoding="utf-8")).splitlines(), start=1):
            if "polypath_testkit" in line:
                yield f"{path.relative_to(root)}:{number}: polypath_testkit is for tests/ only"


ROOM = re.compile(r"`([a-z0-9_.-]+/[a-z0-9_./-]*)`|\((\w+/\w+)[,)]|, (\w+/\w+)\)")


def rooms_named(text: str) -> Iterator[tuple[int, str]]:
    """Line and path of everything that looks like a room or a file in one."""
    for number, line in enumerate(text.splitlines(), start=1):
        for match in ROOM.finditer(line):
            yield number, next(group for group in match.groups() if group)


def check_rooms(root: Path) -> Iterator[str]:
    page = root / "docs/architecture.md"
    text = page.read_text(encoding="utf-8")
    source = root / "crates/proto/src"
    for number, room in rooms_named(text):
        places = (root / room, source / room, source / f"{room}.rs", *root.glob(f"crates/*/{room}"))
        if not any(place.exists() for place in places):
            yield f"{page.relative_to(root)}:{number}: there is no `{room}`"
    for folder in sorted(path for path in source.iterdir() if path.is_dir()):
        if f"`{folder.name}/`" not in text:
            yield f"{page.relative_to(root)}: `{folder.name}/` of polypath-proto is missing"
    for crate in sorted(path.parent for path in root.glob("crates/*/Cargo.toml")):
        if not re.search(rf"^  {re.escape(crate.name)} ", text, re.MULTILINE):
            yield f"{page.relative_to(root)}: the crate {crate.name} is missing"


def limits(path: Path) -> dict[str, int]:
    """The numeric settings of a clippy.toml."""
    settings = tomllib.loads(path.read_text(encoding="utf-8"))
    return {key: value for key, value in settings.items() if isinstance(value, int)}


def check_lints(root: Path) -> Iterator[str]:
    wanted = limits(root / "clippy.toml")
    for manifest in sorted(root.glob("crates/*/Cargo.toml")):
        lints = tomllib.loads(manifest.read_text(encoding="utf-8")).get("lints", {})
        if lints.get("workspace") is not True:
            yield f"{manifest.relative_to(root)}: `[lints] workspace = true` is missing"
        own = manifest.with_name("clippy.toml")
        if own.exists() and limits(own) != wanted:
            yield f"{own.relative_to(root)}: its limits {limits(own)} differ from the root's {wanted}"


CHECKS = {
    "names": check_names,
    "types": check_types,
    "attributes": check_attributes,
    "testkit": check_testkit,
    "rooms": check_rooms,
    "lints": check_lints,
}


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    failed = False
    for name, check in CHECKS.items():
        for line in check(root):
            print(f"{name}: {line}", file=sys.stderr)
            failed = True
    if not failed:
        print(f"house: {', '.join(CHECKS)} in order")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
