"""What the counting of instructions makes of a profile."""

from __future__ import annotations

import sys
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import instructions

PROFILE = """\
events: Ir

ob=/x/polypath
fl=/src/a.rs
fn=outer
0x100 1 7
0x104 1 3
cfn=inner
calls=2 0x200
0x104 1 500
0x108 2 1

ob=/lib/libc.so
fn=malloc
0x100 0 20
"""


class Instructions(unittest.TestCase):
    def test_calls_do_not_count_for_the_caller(self) -> None:
        counts = instructions.instructions(PROFILE.splitlines())
        program = "/x/polypath"
        own = {(program, "outer", "0x100"): 7, (program, "outer", "0x104"): 3, (program, "outer", "0x108"): 1}
        self.assertEqual(counts, {**own, ("/lib/libc.so", "malloc", "0x100"): 20})

    def test_the_innermost_file_of_a_part_decides(self) -> None:
        std = ("next", "/rustc/1/library/core/src/slice/iter.rs:3")
        small = ("since", "/home/x/crates/units/src/instant.rs:9")
        sender = ("next", "/home/x/crates/proto/src/transmit/fill.rs:1")
        host = ("pump", "/home/x/crates/sim/src/host.rs:1")
        foreign = ("f", "/home/x/.cargo/registry/src/index/crates/wire/src/lib.rs:1")
        self.assertEqual(instructions.part_of("pump", [std, small, foreign, sender, host]), "sender: queue, choice of the path, packets")
        self.assertEqual(instructions.part_of("pump", [std, host]), "hosts and run loop")
        self.assertEqual(instructions.part_of("_int_malloc", []), "allocation, copies by the C library")
        self.assertEqual(instructions.part_of("main", [std]), "other")

    def test_columns_are_scenarios_and_the_dearest_part_comes_first(self) -> None:
        table = instructions.table({"a": Counter({"wire": 25.0, "other": 75.0}), "b": Counter({"wire": 1000.0})})
        rows = ["|  | a | b |", "| --- | --- | --- |", "| all | 100 | 1,000 |", "| wire | 25 (25 %) | 1,000 (100 %) |"]
        self.assertEqual(table.splitlines(), [*rows, "| other | 75 (75 %) | 0 (0 %) |"])


if __name__ == "__main__":
    unittest.main()
