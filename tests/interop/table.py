#!/usr/bin/env python3
"""Prints the results of matrix.sh as tables in Markdown: every cell, then a summary by feature.

Usage: table.py RESULTS.tsv
"""

from __future__ import annotations

import sys

DIRECTIONS = [("ours", "ours"), ("ours", "theirs"), ("theirs", "ours"), ("theirs", "theirs")]
HEADINGS = ["we connect, we send", "we connect, it sends", "it connects, we send", "it connects, it sends"]
PATHS = {"single": "1 path", "dual": "2 paths"}

# Connector and sender of a test that has no such directions.
NONE = ("-", "-")

Row = tuple[str, str, str, str]
Rows = dict[Row, dict[tuple[str, str], str]]


def read(name: str) -> Rows:
    """The results by stack, encapsulation, homing and feature, and then by direction."""
    rows: Rows = {}
    with open(name, encoding="utf-8") as file:
        for line in file:
            stack, carried, homing, feature, connector, sender, result = line.rstrip("\n").split("\t")
            rows.setdefault((stack, carried, homing, feature), {})[connector, sender] = result
    return rows


def line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def print_cells(rows: Rows) -> None:
    print(line(["peer", "carried in", "paths", "feature", *HEADINGS]))
    print(line(["---"] * 8))
    for (stack, carried, homing, feature), results in rows.items():
        cells = [results.get(direction, "") for direction in DIRECTIONS]
        print(line([stack, carried, PATHS[homing], feature, *cells]))


def print_summary(rows: Rows) -> None:
    columns = list(dict.fromkeys(row[:3] for row in rows))
    print(line(["feature", *(f"{stack}, {carried}, {PATHS[homing]}" for stack, carried, homing in columns)]))
    print(line(["---"] * (len(columns) + 1)))
    for feature in dict.fromkeys(row[3] for row in rows):
        print(line([feature, *(counted(rows.get((*column, feature), {})) for column in columns)]))


def print_tests(rows: Rows) -> None:
    """The stacks of WebRTC, which have tests of their own."""
    print(line(["peer", "carried in", "test", "result"]))
    print(line(["---"] * 4))
    for (stack, carried, _, feature), results in rows.items():
        print(line([stack, carried, feature, results[NONE]]))


def counted(results: dict[tuple[str, str], str]) -> str:
    found = list(results.values())
    return ", ".join(f"{found.count(name)} {name}" for name in dict.fromkeys(found))


def main() -> None:
    rows = read(sys.argv[1])
    tests = {row: results for row, results in rows.items() if NONE in results}
    cells = {row: results for row, results in rows.items() if NONE not in results}
    if cells:
        print_cells(cells)
        print()
        print_summary(cells)
    if tests:
        print()
        print_tests(tests)
    flat = [result for results in rows.values() for result in results.values()]
    counts = ", ".join(f"{flat.count(name)} {name}" for name in ("ok", "failed"))
    print(f"\n{len(flat)} cells: {counts}.")


if __name__ == "__main__":
    main()
