#!/usr/bin/env python3
"""Prints the results of matrix.sh as a table in Markdown.

Usage: table.py RESULTS.tsv
"""

from __future__ import annotations

import sys

DIRECTIONS = [("ours", "ours"), ("ours", "theirs"), ("theirs", "ours"), ("theirs", "theirs")]
HEADINGS = ["we connect, we send", "we connect, it sends", "it connects, we send", "it connects, it sends"]


def main() -> None:
    rows: dict[tuple[str, str, str, str], dict[tuple[str, str], str]] = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            stack, carried, homing, feature, connector, sender, result = line.rstrip("\n").split("\t")
            rows.setdefault((stack, carried, homing, feature), {})[connector, sender] = result
    print("| peer | carried in | paths | feature | " + " | ".join(HEADINGS) + " |")
    print("| " + " | ".join(["---"] * 8) + " |")
    for (stack, carried, homing, feature), results in rows.items():
        cells = [results.get(direction, "") for direction in DIRECTIONS]
        paths = {"single": "1", "dual": "2"}[homing]
        print("| " + " | ".join([stack, carried, paths, feature, *cells]) + " |")
    flat = [result for results in rows.values() for result in results.values()]
    counts = ", ".join(f"{flat.count(name)} {name}" for name in ("ok", "declined", "failed"))
    print(f"\n{len(flat)} cells: {counts}.")


if __name__ == "__main__":
    main()
