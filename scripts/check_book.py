#!/usr/bin/env python3
"""Checks the documentation and the site that is made from it.

usage: scripts/check_book.py [BOOK]

* Every page of docs/ is in docs/SUMMARY.md.
* Every message that heads a section of docs/troubleshooting.md is in the sources.
* The groups of docs/threats.md are numbered from 1 on without a gap, each row says in a known way how complete its defence is, each test
  that it names exists (a test function of the crates, or a file), and each figure has the command that gives it.
* Each statement of docs/standards.md about an RFC or a draft has tests in docs/standards-tests.md, each of which is a single test function of
  the crates, unless there is nothing to show ("no"). Names of types, fields and functions in its part about the sockets API are in the sources.
* Relative links of the Markdown files of the project lead to files.
* In BOOK, the built site: links lead to pages and anchors that exist, and no script, style or font comes from elsewhere.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path
from typing import Iterator
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
MESSAGE = re.compile(r"^### `(.+)`$", re.MULTILINE)
# A string that goes on in the next line.
CONTINUED = re.compile(r"\\\n\s*")
SHORTEST = 6


def summary_faults(root: Path) -> Iterator[str]:
    listed = set(LINK.findall((root / "docs/SUMMARY.md").read_text(encoding="utf-8")))
    for page in sorted(path.name for path in (root / "docs").glob("*.md")):
        if page != "SUMMARY.md" and page not in listed:
            yield f"docs/{page} is not in docs/SUMMARY.md"


def message_faults(page: str, sources: str) -> Iterator[str]:
    for message in MESSAGE.findall(page):
        fragments = [part.strip() for part in message.split("…")]
        for fragment in fragments:
            if len(fragment) >= SHORTEST and fragment not in sources:
                yield f"docs/troubleshooting.md: no source has the message part {fragment!r}"
        if all(len(fragment) < SHORTEST for fragment in fragments):
            yield f"docs/troubleshooting.md: {message!r} says too little to be looked for"


TEST_NAME = re.compile(r"`([a-z0-9_-]+(?:_[a-z0-9_]+|\.rs|\.sh))`")
TEST_FUNCTION = re.compile(
    r"#\[(?:tokio::)?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*|//[^\n]*\s*)*(?:pub )?(?:async )?fn (\w+)"
)
STATES = ("complete", "missing", "absent")
NUMBERS = re.compile(r"\d+(?:, \d+)*")
COMMAND = re.compile(r"`[^`]+ [^`]+`")


def rows(page: str) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of the rows of tables, without their heads."""
    for number, line in enumerate(page.splitlines(), start=1):
        if line.startswith("|") and not line.startswith(("| #", "| figure", "| ---")):
            yield number, [cell.strip() for cell in line.strip()[1:-1].split("|")]


def tests(root: Path) -> set[str]:
    """Names of test functions and of files that tests may be in."""
    found = {path.name for folder in ("crates", "fuzz", "tests") for path in (root / folder).rglob("*.*s*")}
    for path in root.glob("crates/**/*.rs"):
        found.update(TEST_FUNCTION.findall(path.read_text(encoding="utf-8")))
    return found


def row_faults(cells: list[str], known: set[str]) -> Iterator[str]:
    """What is wrong with a threat: number, threat, defence, tests and state."""
    _, threat, defence, named, state = cells
    yield from (f"there is no test `{name}`" for name in TEST_NAME.findall(f"{named} {state}") if name not in known)
    if state not in STATES and not re.fullmatch(r"partly: .+", state):
        yield f"{threat!r} is neither {', '.join(STATES)} nor `partly:` with what is missing, but {state!r}"
    if state == "complete" and not (defence and TEST_NAME.search(named)):
        yield f"{threat!r} cannot be complete without a defence and a test"


def threat_faults(page: str, known: set[str]) -> Iterator[str]:
    last = 0
    threats, _, figures = page.partition("\n## Figures\n")
    for number, cells in rows(threats):
        place = f"docs/threats.md:{number}"
        if len(cells) != 5 or not NUMBERS.fullmatch(cells[0]):
            yield f"{place}: a row has a number, a threat, a defence, tests and a state"
            continue
        yield from (f"{place}: {fault}" for fault in row_faults(cells, known))
        for group in map(int, cells[0].split(", ")):
            if group not in (last, last + 1):
                yield f"{place}: group {group} follows group {last}"
            last = group
    before = threats.count("\n") + 2
    for number, cells in rows(figures):
        if len(cells) != 3 or not COMMAND.search(cells[-1]):
            yield f"docs/threats.md:{before + number}: a figure has a value and the command that gives it"
        for name in TEST_NAME.findall(cells[-1]):
            if name not in known:
                yield f"docs/threats.md:{before + number}: there is no test `{name}`"


QUOTED = re.compile(r"`([^`]+)`")
# A name of the crates, perhaps with a type or modules before it: what stands for `Association::set_primary` or `policies.rto`.
CODE_NAME = re.compile(r"(?:\w+(?:::|\.))*\w+")
# Functions and types, fields, and variants.
DEFINED = re.compile(r"\b(?:fn|struct|enum|trait|mod)\s+(\w+)|^\s+(?:pub )?(\w+):|^\s+([A-Z]\w*)(?=[,({ ])", re.MULTILINE)
API = "\n## The sockets API\n"


def tables(page: str) -> Iterator[list[tuple[int, list[str]]]]:
    """Line and cells of the rows of each table, its head first."""
    table: list[tuple[int, list[str]]] = []
    for number, line in enumerate([*page.splitlines(), ""], start=1):
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
            if cells[0] != "---":
                table.append((number, cells))
        elif table:
            yield table
            table = []


def evidence_faults(support: str, named: str, places: Counter[str]) -> Iterator[str]:
    """What is wrong with the tests of a statement."""
    names = QUOTED.findall(named)
    if not names and support != "no":
        yield "no test shows the statement"
    for name in names:
        if places[name] != 1:
            yield f"{places[name]} tests have the name `{name}`"


def standard_faults(page: str, evidence: str, places: Counter[str], code: str) -> Iterator[str]:
    statements, _, api = page.partition(API)
    stated, shown = ([row for table in tables(text) for row in table] for text in (statements, evidence))
    for (number, cells), (line, tests_of) in zip_longest(stated, shown, fillvalue=(0, [""])):
        if cells[0] != tests_of[0]:
            yield f"docs/standards-tests.md:{line}: {tests_of[0]!r} stands for {cells[0]!r} (docs/standards.md:{number})"
            break
        if len(cells) != 2 or len(tests_of) != 2:
            yield f"docs/standards.md:{number}: a row says what it is about and what is supported, and in standards-tests.md its tests"
        elif tests_of[1] != "tests":
            yield from (f"docs/standards-tests.md:{line}: {fault}" for fault in evidence_faults(cells[1], tests_of[1], places))
    defined = {name for names in DEFINED.findall(code) for name in names} | {"polypath"}
    for quoted in QUOTED.findall(api):
        name = CODE_NAME.fullmatch(quoted)
        if name and not set(name[0].replace("::", ".").split(".")) <= defined:
            yield f"docs/standards.md: no source defines `{quoted}`"


def test_places(root: Path) -> Counter[str]:
    """How many test functions of the crates have each name."""
    found: Counter[str] = Counter()
    for path in root.glob("crates/**/*.rs"):
        found.update(TEST_FUNCTION.findall(path.read_text(encoding="utf-8")))
    return found


def sources(root: Path) -> str:
    files = sorted(root.glob("crates/*/src/**/*.rs"))
    return "\n".join(CONTINUED.sub("", file.read_text(encoding="utf-8")) for file in files)


def markdown_faults(root: Path) -> Iterator[str]:
    files = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("papers/*/*.md")]
    for file in sorted(files):
        for link in LINK.findall(CODE.sub("", file.read_text(encoding="utf-8"))):
            parts = urlsplit(link)
            if parts.scheme or not parts.path:
                continue
            if not (file.parent / unquote(parts.path)).exists():
                yield f"{file.relative_to(root)}: the link to {link} leads nowhere"


class Page(HTMLParser):
    """Anchors, links and resources of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.resources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value for key, value in attrs if value}
        self.anchors.update(values[key] for key in ("id", "name") if key in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in ("script", "img", "iframe") and "src" in values:
            self.resources.append(values["src"])
        if tag == "link" and "href" in values:
            self.resources.append(values["href"])


def book_faults(book: Path) -> Iterator[str]:
    pages: dict[Path, Page] = {}
    for file in sorted(book.glob("**/*.html")):
        pages[file] = Page()
        pages[file].feed(file.read_text(encoding="utf-8"))
    if not pages:
        yield f"{book}: there is no page"
    for file, page in pages.items():
        name = file.relative_to(book)
        if name.name == "404.html":
            continue
        yield from (f"{name}: {link} comes from elsewhere" for link in page.resources if urlsplit(link).netloc)
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            goal = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not goal.exists():
                yield f"{name}: the link to {link} leads nowhere"
            elif parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].anchors:
                yield f"{name}: {link} names an anchor that is not there"


def main(arguments: list[str]) -> int:
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    threats = (ROOT / "docs/threats.md").read_text(encoding="utf-8")
    standards = (ROOT / "docs/standards.md").read_text(encoding="utf-8")
    code = sources(ROOT)
    faults = [*summary_faults(ROOT), *message_faults(page, code), *markdown_faults(ROOT)]
    evidence = (ROOT / "docs/standards-tests.md").read_text(encoding="utf-8")
    faults += standard_faults(standards, evidence, test_places(ROOT), code)
    faults += threat_faults(threats, tests(ROOT))
    for book in arguments:
        faults += book_faults(Path(book).resolve())
    print("\n".join(faults) if faults else "book: pages, messages, statements, threats and links in order")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
