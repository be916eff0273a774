#!/usr/bin/env python3
"""Preprocessor of mdBook: links that leave docs/ lead to the repository, since the book has only docs/."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

REPOSITORY = "https://github.com/polypath/polypath/blob/main/"
OUTSIDE = re.compile(r"\]\(\.\./([^)\s]*)\)")


def rewrite(items: list[Any]) -> None:
    for item in items:
        if isinstance(item, dict) and (chapter := item.get("Chapter")):
            chapter["content"] = OUTSIDE.sub(lambda match: f"]({REPOSITORY}{match[1]})", chapter["content"])
            rewrite(chapter["sub_items"])


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] == "supports":
        return
    _, book = json.load(sys.stdin)
    rewrite(book.get("items") or book.get("sections") or [])
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
