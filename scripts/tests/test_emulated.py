"""What scripts/bench_emulated.py rests on, without a network."""

from __future__ import annotations

import math
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import bench_emulated
import emulated
import shaped


class Statistics(unittest.TestCase):
    def test_intervals_are_those_of_student(self) -> None:
        runs = emulated.Runs()
        runs.add(1.0)
        self.assertEqual(runs.half_width(), math.inf)
        runs.add(3.0, behind=0.5)
        # Two runs: a standard error of 1.
        self.assertAlmostEqual(runs.half_width(), 12.706)
        self.assertEqual((runs.mean, runs.median, runs.behind), (2.0, 2.0, 0.5))

    def test_a_cell_is_judged_by_its_better_path(self) -> None:
        cell = bench_emulated.Cell(((10, 0), (20, 5)))
        for runs, value in zip((*cell.singles, cell.both), (8.0, 16.0, 12.0)):
            runs.add(value)
        self.assertEqual(cell.ratio(), 0.75)
        self.assertEqual(cell.name, "10 Mbit/s 0 ms + 20 Mbit/s 5 ms")

    def test_shares_are_those_of_one_flow_and_of_two(self) -> None:
        def expected(preset: str, tcp: str, one: float) -> float | None:
            found = bench_emulated.Contest(preset, tcp).expected(one)
            return found and found[0]

        self.assertAlmostEqual(expected("cmt", "reno", 0.5) or 0, 2 / 3)
        self.assertAlmostEqual(expected("cmt", "cubic", 0.25) or 0, 0.4)
        self.assertEqual(expected("lia", "reno", 0.5), 0.5)
        self.assertEqual([expected("rfc9260", "reno", 0.5), expected("cmt", "bbr", 0.5)], [None, None])


class Files(unittest.TestCase):
    def test_the_size_of_what_is_received_is_seen(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            growth = emulated.Growth(Path(folder))
            self.assertEqual(growth.size(), 0)
            Path(folder, "part").write_bytes(bytes(7))
            self.assertEqual(growth.size(), 7)

    def test_scenarios_have_queues_of_the_round_trip(self) -> None:
        self.assertEqual(emulated.packets(10, 0), 50)
        self.assertEqual(emulated.packets(100, 50), 833)
        self.assertIn("packets = 833", emulated.disjoint(((100, 50),)))
        self.assertIn('outage = { path = "1", from = "10.4 s" }', bench_emulated.with_outage(10.4))

    def test_the_ceiling_counts_all_headers(self) -> None:
        self.assertAlmostEqual(shaped.CEILING, 142.857, places=3)


if __name__ == "__main__":
    unittest.main()
