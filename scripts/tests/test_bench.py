"""The benchmark script, with small programs in place of the measured ones."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import bench


class Bench(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name: str, body: str) -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def test_in_memory_beside_a_peer(self) -> None:
        ours = self.program("ours", """echo '{"goodput_bit_s": 14e9}'""")
        peer = self.program("peer", 'test "$*" = "-s 1400 -t 3 -b 1048576 -B 1048576" && echo "sec=3.0 Gbps=3.270 x=1"')
        result = bench.in_memory(ours, 3, str(peer))
        self.assertEqual(
            result.as_json(),
            {"value": 14e9, "unit": "bit/s per CPU second", "runs": [14e9] * 3, "beside": {"usrsctp": 3.27e9}},
        )

    def test_results_are_written_and_printed(self) -> None:
        file = self.folder / "target/bench.json"
        printed = io.StringIO()
        with mock.patch.object(bench, "ROOT", self.folder), contextlib.redirect_stdout(printed):
            bench.report({"x": bench.Result("packets/s", [1.0, 3000.0, 2000.0])}, file)
        written = {"x": {"value": 2000.0, "unit": "packets/s", "runs": [1.0, 3000.0, 2000.0], "beside": {}}}
        self.assertEqual(json.loads(file.read_text()), written)
        self.assertIn("2 k", printed.getvalue())
        self.assertIn("bench: written to target/bench.json", printed.getvalue())

    def test_in_memory_alone(self) -> None:
        ours = self.program("ours", """echo '{"goodput_bit_s": 1}'""")
        self.assertEqual(bench.in_memory(ours, 1, None).beside, {"usrsctp": "not run"})

    def test_in_memory_with_and_without_checksum(self) -> None:
        ours = self.program(
            "ours",
            """case "$*" in '--json --no-crc') echo '{"goodput_bit_s": 3}';; --json) echo '{"goodput_bit_s": 2}';; esac""",
        )
        result = bench.in_memory_no_crc(ours, 2)
        self.assertEqual((result.runs, result.beside), ([3.0, 3.0], {"CRC32c": 2.0}))

    def test_window_cost_is_a_ratio_of_costs(self) -> None:
        # 16 MB: 100 packets in 2 s, so 20 ms each; 64 KB: 100 packets in 1 s.
        program = self.program(
            "polypath",
            """case "$*" in *'16 MB'*) echo '{"data_packets": 100, "wall_s": 2}';;
            *) echo '{"data_packets": 100, "wall_s": 1}';; esac""",
        )
        self.assertEqual(bench.sim_window_cost(program, 2).runs, [2.0, 2.0])
        self.assertEqual(bench.sim_1hop(program, 2).runs, [100.0, 100.0])
        self.assertEqual(bench.sim_3hop_red(program, 2).runs, [100.0, 100.0])

    def test_studies_on_one_thread_and_on_two(self) -> None:
        program = self.program(
            "polypath",
            """case "$*" in *'--jobs 1 --json') echo '{"wall_s": 21.0}';; *'--jobs 2 --json') echo '{"wall_s": 10.5}';; esac""",
        )
        self.assertEqual(bench.study_two_jobs(program, 2).runs, [2.0, 2.0])

    def test_overhead_is_what_a_study_takes_beside_its_runs(self) -> None:
        # 2 runs of 1 ms and 3 ms in 5 ms: each costs half a millisecond more.
        program = self.program(
            "polypath",
            """case "$2" in
            run) grep -q '"10000 us", "10020 us"\\]' "$3" && echo '{"wall_s": 0.005}';;
            export) mkdir "$5" && printf 'run,wall_s\\r\\na,0.001\\r\\nb,0.003\\r\\n' > "$5/execution.csv";;
            esac""",
        )
        result = bench.study_overhead(program, 1, values=2)
        self.assertAlmostEqual(result.value, 0.5)
        self.assertAlmostEqual(result.beside["the run"], 2.0)

    def test_idle_association_beside_the_client(self) -> None:
        ours = self.program(
            "idle",
            """test "$*" = "--json --associations 10000 --paths 2" && echo '{"server_bytes": 3.5e3, "client_bytes": 4e3}'""",
        )
        result = bench.idle_association_bytes(ours, 2, 2)
        self.assertEqual(
            result.as_json(),
            {"value": 3.5e3, "unit": "bytes of heap", "runs": [3.5e3] * 2, "beside": {"client": 4e3}},
        )

    def test_setups_alone_and_among_others(self) -> None:
        ours = self.program(
            "setups",
            """case "$*" in *"--living 0") echo '{"setups_per_cpu_s": 3e5}';; *) echo '{"setups_per_cpu_s": 2e5}';; esac""",
        )
        result = bench.setups_per_cpu_s(ours, 3)
        self.assertEqual((result.runs, result.beside), ([3e5] * 3, {"among 10,000": 2e5}))

    def test_failures_are_named(self) -> None:
        for body in ("exit 3", "echo no json", """echo '{"goodput_bit_s": 0}'""", "echo '[]'"):
            with self.assertRaises(bench.BenchError):
                bench.in_memory(self.program("ours", body), 1, None)
        with self.assertRaises(bench.BenchError):
            bench.peer_goodput("Mbps=1")
        with self.assertRaises(bench.BenchError):
            bench.output_of([str(self.folder / "missing")])

    def test_table_has_every_value(self) -> None:
        results = {"a": bench.Result("unit", [1e9, 3e9, 2e9], {"peer": 5e6}), "b": bench.Result("unit", [1.05])}
        text = bench.table(results)
        for part in ("2 G", "1 G", "3 G", "peer: 5 M", "1.05"):
            self.assertIn(part, text)
        self.assertEqual(json.loads(json.dumps(results["b"].as_json()))["value"], 1.05)


if __name__ == "__main__":
    unittest.main()
