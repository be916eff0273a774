"""What scripts/bench_emulated.py rests on, without a network."""

from __future__ import annotations

import math
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import bench_emulated
import conditions
import emulated
import lossy
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


class Scenarios(unittest.TestCase):
    def test_profiles_lose_in_both_directions(self) -> None:
        for paths in lossy.PROFILES.values():
            found = tomllib.loads(lossy.scenario(paths))["network"]["disjoint"]["paths"]
            for (rate, delay, loss), path in zip(paths, found, strict=True):
                link = path["bottleneck"]
                self.assertEqual((link["rate"], link["delay"]), (f"{rate} Mbit/s", f"{delay} ms"))
                self.assertEqual(link["loss"], {"forward": loss, "backward": loss})
                self.assertEqual(link["queue"], {"drop-tail": {"packets": 1000}})

    def test_each_profile_is_measured_alone_and_together(self) -> None:
        rows = lossy.rows_of("lte + starlink")
        self.assertEqual([paths for paths, _, _ in rows.values()][:4], [[1], [2], [1, 2], [1, 2]])
        self.assertIn("TCP, CUBIC", lossy.rows_of("one path, loss 0.01 %"))

    def test_latency_is_that_of_its_path(self) -> None:
        said = {"a": {"load 10.2.1.1": {"sent": 50, "answered": 49, "p50_s": 0.1, "p99_s": 0.25}, "bit_s": 1.0}}
        done = emulated.Emulated({}, said)
        median, high, lost = lossy.latency(done, 2)
        self.assertEqual((median, high), (0.1, 0.25))
        self.assertAlmostEqual(lost, 0.02)
        self.assertEqual(lossy.latency(done, 1), (None, None, 1.0))
        self.assertEqual(lossy.words(lossy.latency(done, 2)), "100 / 250 (2.0% lost)")
        self.assertEqual(lossy.words((None, None, 1.0)), "no answer")

    def test_conditions_change_what_they_name(self) -> None:
        found = {one.name: tomllib.loads(one.scenario()) for one in conditions.CONDITIONS}
        self.assertEqual(len(found), len(conditions.CONDITIONS))
        clean = found["clean"]["network"]["disjoint"]["paths"]
        self.assertEqual([path["bottleneck"]["delay"] for path in clean], ["10 ms", "25 ms"])
        for name, document in found.items():
            changed = document["network"]["disjoint"]["paths"] != clean or "faults" in document or "steps" in document
            self.assertEqual(changed, name != "clean", name)
        thin = found["path 2: 1 Mbit/s, 300 ms, loss 5 %"]["network"]["disjoint"]["paths"]
        self.assertEqual(thin[0], clean[0])
        self.assertEqual((thin[1]["bottleneck"]["rate"], thin[1]["bottleneck"]["delay"]), ("1 Mbit/s", "300 ms"))

    def test_a_cell_has_seconds_and_a_rate(self) -> None:
        self.assertEqual(conditions.cell(4.0, 20_000_000), "4.00 (40.0)")
        self.assertEqual(conditions.cell(None, 1), "not finished")


if __name__ == "__main__":
    unittest.main()
