#!/usr/bin/env python3
"""Preprocessor of mdBook for what is not in docs/.

* Links that leave docs/ lead to the repository.
* Each paper gets a page, below the page about papers: its README, and its statements with their recorded verdicts.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import tomllib
from pathlib import Path
from posixpath import join, normpath
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/polypath/polypath/blob/main/"
# A link with a target relative to its file.
LINK = re.compile(r"\]\((?![a-z]+:|[/#])([^)\s#]+)([^)\s]*)\)")
README = re.compile(r"papers/([^/]+)/README\.md")
ABOVE = "papers.md"


def target(folder: str, link: str) -> str:
    """What a link in a file of the repository's `folder` is in the book."""
    path = normpath(join(folder, link))
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    paper = README.fullmatch(path)
    return page_of(paper[1]) if paper else REPOSITORY + path


def with_links(folder: str, text: str) -> str:
    return LINK.sub(lambda match: f"]({target(folder, match[1])}{match[2]})", text)


def page_of(paper: str) -> str:
    return f"paper-{paper}.md"


def verdict_rows(paper: Path) -> Iterator[str]:
    """The statements of a paper as a table, in the order of its figures."""
    with (paper / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        verdicts = {row["id"]: row["verdict"] for row in csv.DictReader(file)}
    lists = tomllib.loads((paper / "expected.toml").read_text(encoding="utf-8"))
    statements = [it for entries in lists.values() if isinstance(entries, list) for it in entries]
    yield "| statement | verdict |"
    yield "| --- | --- |"
    for it in statements:
        name = it["id"].removeprefix(f"{paper.name}-")
        text = it["statement"].replace("|", "\\|")
        yield f"| `{name}` {text} | {verdicts.get(it['id'], 'not run')} |"


def paper_page(paper: Path) -> str:
    readme = with_links(f"papers/{paper.name}", (paper / "README.md").read_text(encoding="utf-8"))
    intro = (
        f"`polypath reproduce {paper.name}/{paper.name}-…`, with the name of a statement in place of the dots, runs what it needs. "
        f"[Rebuild the figures of papers]({ABOVE}) says what the verdicts mean."
    )
    return "\n".join([readme, "## Statements and verdicts", "", intro, "", *verdict_rows(paper), ""])


def paper_chapters(above: dict[str, Any], papers: Path) -> Iterator[dict[str, Any]]:
    for number, paper in enumerate(sorted(file.parent for file in papers.glob("*/expected.toml")), start=1):
        content = paper_page(paper)
        yield {
            "Chapter": {
                "name": content.removeprefix("# ").partition("\n")[0],
                "content": content,
                "number": [*(above["number"] or []), number],
                "sub_items": [],
                "path": page_of(paper.name),
                "source_path": None,
                "parent_names": [*above["parent_names"], above["name"]],
            }
        }


def rewrite(items: list[Any], papers: Path) -> None:
    for item in items:
        if isinstance(item, dict) and (chapter := item.get("Chapter")):
            chapter["content"] = with_links("docs", chapter["content"])
            rewrite(chapter["sub_items"], papers)
            if chapter["path"] == ABOVE:
                chapter["sub_items"] += paper_chapters(chapter, papers)


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] == "supports":
        return
    _, book = json.load(sys.stdin)
    rewrite(book.get("items") or book.get("sections") or [], ROOT / "papers")
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
