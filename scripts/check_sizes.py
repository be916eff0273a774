#!/usr/bin/env python3
"""Keeps files small: lines of non-test code per file, and lines of a test module inside a source file.

Counted are the Rust, Python, shell, C and JavaScript files that git knows or would add. Files of tests (in a `tests`
directory, or named `tests.rs`) have no limit; in other Rust files the block of `#[cfg(test)] mod ...` is counted apart.
Above the aim a file is named; above the limit the check fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CODE_AIM = 500
CODE_LIMIT = 700
TEST_AIM = 150
TEST_LIMIT = 200
SUFFIXES = {".rs", ".py", ".sh", ".c", ".js", ".mjs"}

CFG_TEST = re.compile(r"^(\s*)#\[cfg\(test\)\]\s*$")
INLINE_MODULE = re.compile(r"^\s*(pub(\([^)]*\))? )?mod \w+ \{")


@dataclass(frozen=True)
class Size:
    """Lines of one file."""

    code: int
    tests: int


def measure_rust(text: str) -> Size:
    """Splits a formatted Rust file into code and inline test modules.

    A module ends at the first closing brace that is indented like its attribute; rustfmt guarantees that.
    """
    lines = text.splitlines()
    tests = 0
    index = 0
    while index < len(lines):
        attribute = CFG_TEST.match(lines[index])
        start = index + 1
        while attribute and start < len(lines) and lines[start].lstrip().startswith("#["):
            start += 1
        if not attribute or start >= len(lines) or not INLINE_MODULE.match(lines[start]):
            index += 1
            continue
        closing = attribute.group(1) + "}"
        end = next((at for at in range(start, len(lines)) if lines[at] == closing), len(lines) - 1)
        tests += end - index + 1
        index = end + 1
    return Size(code=len(lines) - tests, tests=tests)


def is_test_file(path: PurePosixPath) -> bool:
    """Whether the whole file is test code."""
    return "tests" in path.parts[:-1] or path.name == "tests.rs"


def judge(path: PurePosixPath, text: str) -> tuple[list[str], list[str]]:
    """Warnings and errors for one file."""
    if is_test_file(path):
        return [], []
    size = measure_rust(text) if path.suffix == ".rs" else Size(len(text.splitlines()), 0)
    warnings: list[str] = []
    errors: list[str] = []
    for what, lines, aim, limit, cure in (
        ("lines of code", size.code, CODE_AIM, CODE_LIMIT, "split it by concern"),
        ("lines of tests", size.tests, TEST_AIM, TEST_LIMIT, f"move them to {path.with_suffix('')}/tests.rs"),
    ):
        if lines > limit:
            errors.append(f"{path}: {lines} {what}, limit {limit}: {cure}")
        elif lines > aim:
            warnings.append(f"{path}: {lines} {what}, aim {aim}")
    return warnings, errors


def listed_files() -> list[PurePosixPath]:
    """The files of the repository that have a size limit."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    paths = (PurePosixPath(name) for name in sorted(set(listing.split("\0"))) if name)
    return [path for path in paths if path.suffix in SUFFIXES and Path(path).is_file()]


def main() -> int:
    files = listed_files()
    failed = False
    for path in files:
        warnings, errors = judge(path, Path(path).read_text(encoding="utf-8"))
        for line in warnings:
            print(f"sizes: note: {line}")
        for line in errors:
            print(f"sizes: {line}", file=sys.stderr)
            failed = True
    if not failed:
        print(f"sizes: {len(files)} files within {CODE_LIMIT} lines of code")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
