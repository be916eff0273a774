#!/usr/bin/env python3
"""Prints the section of CHANGELOG.md about a version, as the notes of its release.

usage: scripts/release_notes.py VERSION     VERSION may begin with a v

Fails if the version is not that of the crates, or has no section.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def section(changelog: str, version: str) -> str | None:
    heading = re.search(rf"^## \[?{re.escape(version)}\]?(?: .*)?$", changelog, re.MULTILINE)
    if heading is None:
        return None
    rest = changelog[heading.end() :]
    following = re.search(r"^(?:## |\[[^\]]+\]: )", rest, re.MULTILINE)
    return rest[: following.start() if following else None].strip()


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    version = arguments[0].removeprefix("v")
    crates = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    if version != crates:
        print(f"error: the crates have version {crates}, not {version}", file=sys.stderr)
        return 1
    notes = section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if not notes:
        print(f"error: CHANGELOG.md has no section `## [{version}]`; rename `Unreleased`", file=sys.stderr)
        return 1
    print(notes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
