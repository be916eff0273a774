#!/usr/bin/env python3
"""Checks the documentation and the site that is made from it.

usage: scripts/check_book.py [BOOK]

* Every page of docs/ is in docs/SUMMARY.md.
* Every message that heads a section of docs/troubleshooting.md is in the sources.
* Relative links of the Markdown files of the project lead to files.
* In BOOK, the built site: links lead to pages and anchors that exist, and no script, style or font comes from elsewhere.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
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
    faults = [*summary_faults(ROOT), *message_faults(page, sources(ROOT)), *markdown_faults(ROOT)]
    for book in arguments:
        faults += book_faults(Path(book).resolve())
    print("\n".join(faults) if faults else "book: pages, messages and links in order")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
