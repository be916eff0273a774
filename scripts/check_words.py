#!/usr/bin/env python3
"""Keeps words out of the prose that a reader stumbles over, and says what to write instead.

    scripts/check_words.py

Looks at Markdown and at doc comments of Rust, of which those of options are the help of the command line. `ALLOWED` has the places where a word is
meant, each with its reason; one that no longer applies is an error, so that the list stays short.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What is not written, as a regular expression that begins and ends at words, and what is.
BANNED = [
    (r"overtak(?:e|es|ing|en)", "reordered, reordering"),
    (r"in vain|for nothing", "spurious, without effect"),
    (r"of what fits", "utilisation, share of the capacity"),
    (r"where (?:it is missing|nothing is said)", "if omitted; default"),
    (r"nobody knows", "is unknown"),
    (r"(?:in|at) (?:the same|one) go", "in the same run, at a time"),
    (r"careful numbers?", "confidence interval"),
    (r"gets? on with", "interoperates with"),
    (r"the letters of", "the options of"),
    (r"who sends|who has nothing|whoever sends", "the sender; the side that sends"),
    (r"quick(?:er)? path", "lowest-RTT path; fastest path"),
    (r"rooms of the house|the house and its rooms", "workspace layout, modules"),
    (r"may come of", "name what happens"),
    (r"waits for nobody|waits for somebody", "head-of-line blocking"),
    (r"who may know whom", "dependencies"),
    (r"the way of a message", "data flow"),
    (r"booked", "reserved, outstanding"),
    (r"who is asked|asks? on", "name the party; keeps probing"),
    (r"does not succeed", "fails"),
    (r"something happened that", "name what happened"),
]
PATTERNS = [(re.compile(rf"\b(?:{banned})\b", re.IGNORECASE), better) for banned, better in BANNED]

# Path, text of the line, and why the word is right there.
ALLOWED: list[tuple[str, str, str]] = []

MARKDOWN = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/*.md", "crates/*/README.md", "papers/*/README.md")
DOC_COMMENT = re.compile(r"^\s*//[/!] ?(.*)")
CODE = re.compile(r"`[^`]*`")


@dataclass(frozen=True)
class Find:
    """A word that is not to be written."""

    path: str
    line: int
    text: str
    word: str
    better: str


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of prose in a file, with their numbers. Code is left out: an empty line stands for it."""
    is_fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if path.suffix == ".rs":
            comment = DOC_COMMENT.match(line)
            if comment is None:
                is_fenced = False
                yield number, ""
                continue
            line = comment.group(1)
        if line.strip().startswith("```"):
            is_fenced = not is_fenced
            line = ""
        yield number, "" if is_fenced or line.startswith("    ") else CODE.sub("", line).strip()


def paragraphs_of(path: Path) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Paragraphs of a file, each with the offsets at which its lines begin, and their numbers."""
    text, begins = "", []
    for number, line in [*lines_of(path), (0, "")]:
        if line:
            begins.append((len(text), number))
            text += line + " "
        elif text:
            yield text, begins
            text, begins = "", []


def finds_in(path: Path, name: str) -> list[Find]:
    """What is wrong in a file."""
    return [
        Find(name, max(number for begin, number in begins if begin <= match.start()), text, match.group(), better)
        for text, begins in paragraphs_of(path)
        for pattern, better in PATTERNS
        for match in pattern.finditer(text)
    ]


def sources(root: Path) -> Iterator[Path]:
    """Files with prose that users read."""
    for pattern in MARKDOWN:
        yield from sorted(root.glob(pattern))
    listed = subprocess.run(["git", "ls-files", "crates/*/src/*.rs"], cwd=root, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if "/tests" not in name:
            yield root / name


def check(root: Path, allowed: list[tuple[str, str, str]]) -> list[str]:
    """Complaints, each a line."""
    finds = [find for path in sources(root) if path.is_file() for find in finds_in(path, path.relative_to(root).as_posix())]
    complaints = []
    used = set()
    for find in finds:
        places = [place for place in allowed if place[0] == find.path and place[1] in find.text]
        used.update(places)
        if not places:
            complaints.append(f"{find.path}:{find.line}: `{find.word}`: write {find.better}")
    complaints += [f"scripts/check_words.py: not needed any more: {path}, {text!r}" for path, text, why in allowed if (path, text, why) not in used]
    return complaints


def main() -> int:
    """Prints what is wrong; fails if anything is."""
    complaints = check(ROOT, ALLOWED)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not complaints:
        print(f"words: none of {len(BANNED)} phrases that are not written")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
