"""The benchmark script for networks, with small programs in place of the measured ones."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import bench
import bench_net


class BenchNet(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, body: str) -> Path:
        path = self.folder / "program"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def test_a_transfer_is_told_by_its_receiver(self) -> None:
        program = self.program(
            """case "$1" in serve) echo ready; echo '{"goodput_bit_s": 8e9, "bytes": 1e9}';; send) echo '{}';; esac"""
        )
        self.assertEqual(bench_net.ours(program, bench_net.Load(1400), 1).goodput, 8e9)

    def test_sharing_is_told_by_whoever_receives(self) -> None:
        program = self.program(
            """test "$1" = hub && echo ready
            case "$1 $*" in
            "hub "*"--sender spokes"*) echo '{"jain": 0.5, "goodput_bit_s": 5}';;
            "spokes "*"--sender hub"*) echo '{"jain": 0.9, "goodput_bit_s": 9}';;
            esac"""
        )
        down = bench_net.measure_sharing("jain_1000", program, 2, 1)
        self.assertEqual({name: result.runs for name, result in down.items()}, {"jain_1000": [0.9] * 2, "jain_1000_goodput": [9] * 2})
        up = bench_net.measure_sharing("jain_1000_upload", program, 1, 1)
        self.assertEqual(up["jain_1000_upload"].runs, [0.5])

    def test_failures_are_named(self) -> None:
        for body in ("exit 3", "echo steady", 'test "$1" = hub && echo ready || exit 3'):
            with self.assertRaises(bench.BenchError):
                bench_net.sharing(self.program(body), "hub", 1)


if __name__ == "__main__":
    unittest.main()
