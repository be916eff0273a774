#!/usr/bin/env python3
"""Runs the benchmarks, prints a table and writes target/bench.json.

    {"<name>": {"value": number, "unit": text, "runs": [number, ...], "beside": {"<peer>": number}}}

`value` is the median of `runs`. `beside` has what another program gave on the same work in the same go, its runs
alternating with ours: POLYPATH_BENCH_USRSCTP names an executable that takes `-s SIZE -t SECONDS -b SNDBUF -B RCVBUF`,
sends in memory between two usrsctp endpoints and prints `Gbps=NUMBER` per CPU second. Without it `beside` says
"not run".
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PEER_VARIABLE = "POLYPATH_BENCH_USRSCTP"
PEER_ARGUMENTS = ["-s", "1400", "-t", "3", "-b", "1048576", "-B", "1048576"]
NOT_RUN = "not run"
SCENARIO = "scenarios/two-100mbit.toml"
SCENARIO_RED = "scenarios/red-cmt.toml"
STUDY = "studies/lte-and-satellite.toml"
# Many points and short runs: what a laboratory costs beside its simulator.
SHORT_RUNS = """
title = "many short runs"
[[axes]]
name = "delay"
keys = ["network.disjoint.paths.p2.bottleneck.delay"]
values = [{delays}]
[[axes]]
name = "rate"
keys = ["network.disjoint.paths.p2.bottleneck.rate"]
values = [{rates}]
[[variants]]
name = "cmt"
[[variants]]
name = "rp"
set = {{ "sctp.preset" = "cmt-rp-v2" }}
[[measures]]
name = "completed"
result = "completed_s"
unit = "s"
[inline]
title = "short"
run = {{ duration = "300 ms" }}
[[inline.network.disjoint.paths]]
name = "p1"
bottleneck = {{ rate = "10 Mbit/s", delay = "10 ms" }}
[[inline.network.disjoint.paths]]
name = "p2"
bottleneck = {{ rate = "10 Mbit/s", delay = "10 ms", loss = {{ forward = "1 %" }} }}
[[inline.traffic]]
name = "bulk"
source = {{ file = "20 kB" }}
message_size = "1452 B"
"""


class BenchError(Exception):
    """A benchmark could not be run, or printed something unexpected."""


@dataclass
class Result:
    """One line of the table."""

    unit: str
    runs: list[float] = field(default_factory=list)
    beside: dict[str, float | str] = field(default_factory=dict)

    @property
    def value(self) -> float:
        return statistics.median(self.runs)

    def as_json(self) -> dict[str, Any]:
        return {"value": self.value, "unit": self.unit, "runs": self.runs, "beside": self.beside}


def output_of(command: list[str]) -> str:
    """What a program prints; fails with its error text."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise BenchError(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.stdout


def number_from(text: str, key: str, command: str) -> float:
    """A number from a JSON object that a program printed."""
    try:
        value = json.loads(text)[key]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise BenchError(f"{command} printed no JSON with the key {key!r}") from error
    if not isinstance(value, (int, float)) or value <= 0:
        raise BenchError(f"{command}: {key} is {value!r}")
    return float(value)


def peer_goodput(text: str) -> float:
    """Bit/s per CPU second from the peer's line of results."""
    match = re.search(r"\bGbps=([0-9.]+)", text)
    if not match:
        raise BenchError(f"the program in {PEER_VARIABLE} printed no Gbps=NUMBER")
    return float(match.group(1)) * 1e9


def in_memory(example: Path, rounds: int, peer: str | None) -> Result:
    """Goodput of 1,400 B messages between two endpoints in one thread, with checksum, per CPU second."""
    result = Result("bit/s per CPU second")
    peer_runs: list[float] = []
    for _ in range(rounds):
        text = output_of([str(example), "--json"])
        result.runs.append(number_from(text, "goodput_bit_s", "bench_in_memory"))
        if peer:
            peer_runs.append(peer_goodput(output_of([peer, *PEER_ARGUMENTS])))
    result.beside["usrsctp"] = statistics.median(peer_runs) if peer_runs else NOT_RUN
    return result


def in_memory_no_crc(example: Path, rounds: int) -> Result:
    """The same with a checksum of zero (RFC 9653), beside that with CRC32c; the runs alternate."""
    result = Result("bit/s per CPU second")
    checked: list[float] = []
    for _ in range(rounds):
        for runs, options in ((checked, []), (result.runs, ["--no-crc"])):
            text = output_of([str(example), "--json", *options])
            runs.append(number_from(text, "goodput_bit_s", "bench_in_memory"))
    result.beside["CRC32c"] = statistics.median(checked)
    return result


def in_memory_all_on(example: Path, rounds: int) -> Result:
    """The same over two paths with every mechanism for unequal paths on, beside plain CMT; the runs alternate."""
    result = Result("bit/s per CPU second")
    plain: list[float] = []
    for _ in range(rounds):
        for runs, options in (
            (plain, ["--preset", "cmt"]),
            (result.runs, ["--preset", "dreibholz-asymmetric", "--pf"]),
        ):
            text = output_of([str(example), "--json", "--paths", "2", *options])
            runs.append(number_from(text, "goodput_bit_s", "bench_in_memory"))
    result.beside["cmt"] = statistics.median(plain)
    return result


def sack_1e5_gaps(example: Path, rounds: int) -> Result:
    """Cost of a data packet and its SACK with as many gaps as a window admits, relative to that with 400 gaps, which
    fill a SACK too; the runs alternate."""
    result = Result("cost with 29,900 gaps / cost with 400 gaps")
    for _ in range(rounds):
        few, many = (
            number_from(output_of([str(example), "--json", "--gaps", gaps]), "ns_per_packet", "bench_sack")
            for gaps in ("400", "29900")
        )
        result.runs.append(many / few)
    return result


def idle_association_bytes(example: Path, rounds: int, paths: int) -> Result:
    """Heap that an association with nothing to do costs an endpoint with 10,000 of them, tables included."""
    result = Result("bytes of heap")
    client: list[float] = []
    command = [str(example), "--json", "--associations", "10000", "--paths", str(paths)]
    for _ in range(rounds):
        text = output_of(command)
        result.runs.append(number_from(text, "server_bytes", "bench_idle"))
        client.append(number_from(text, "client_bytes", "bench_idle"))
    result.beside["client"] = statistics.median(client)
    return result


def setups_per_cpu_s(example: Path, rounds: int) -> Result:
    """Handshakes with cookie and graceful shutdowns, both sides in one thread, beside the same while the endpoint has
    10,000 other associations; the runs alternate."""
    result = Result("associations begun and ended per CPU second")
    crowded: list[float] = []
    for _ in range(rounds):
        for runs, living in ((result.runs, "0"), (crowded, "10000")):
            text = output_of([str(example), "--json", "--setups", "100000", "--living", living])
            runs.append(number_from(text, "setups_per_cpu_s", "bench_setups"))
    result.beside["among 10,000"] = statistics.median(crowded)
    return result


def simulate(program: Path, *settings: str, scenario: str = SCENARIO) -> float:
    """Data packets per second of wall time in one run of a scenario."""
    command = [str(program), "sim", scenario, "--json"]
    for setting in settings:
        command += ["--set", setting]
    text = output_of(command)
    return number_from(text, "data_packets", "polypath sim") / number_from(text, "wall_s", "polypath sim")


def sim_1hop(program: Path, rounds: int) -> Result:
    """Speed of the simulator on two paths of one hop."""
    return Result("data packets/s of wall time", [simulate(program) for _ in range(rounds)])


def sim_3hop_red(program: Path, rounds: int) -> Result:
    """Speed of the simulator on two paths of three hops, the middle one with random early detection."""
    runs = [simulate(program, scenario=SCENARIO_RED) for _ in range(rounds)]
    return Result("data packets/s of wall time", runs)


def sim_window_cost(program: Path, rounds: int) -> Result:
    """Cost of a data packet with a window of 16 MB, relative to that with 64 KB; the runs alternate."""
    result = Result("cost with 16 MB / cost with 64 KB")
    for _ in range(rounds):
        narrow = simulate(program, *window("64 KB"))
        wide = simulate(program, *window("16 MB"))
        result.runs.append(narrow / wide)
    return result


def window(size: str) -> list[str]:
    """Settings that give both sides buffers of that size."""
    return [f'sctp.receive_buffer="{size}"', f'sctp.send_buffer="{size}"']


def study_time(program: Path, study: str | Path, out: Path, jobs: int) -> float:
    """Seconds that a study takes, tables included."""
    command = [str(program), "study", "run", str(study), "--out", str(out), "--jobs", str(jobs), "--json"]
    return number_from(output_of(command), "wall_s", "polypath study run")


def study_two_jobs(program: Path, rounds: int) -> Result:
    """A study on one thread, relative to two; the runs alternate, and each begins with nothing."""
    result = Result("time on one thread / time on two")
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            one, two = (study_time(program, STUDY, Path(folder) / str(jobs), jobs) for jobs in (1, 2))
        result.runs.append(one / two)
    return result


def study_overhead(program: Path, rounds: int, values: int = 50) -> Result:
    """What a run costs in a study of many short ones beside simulating it: resolving, writing down, tables."""
    result = Result("ms for each run beside the run")
    mean_run = []
    delays = ", ".join(f'"{10_000 + 20 * n} us"' for n in range(values))
    rates = ", ".join(f'"{5_000 + 50 * n} kbit/s"' for n in range(values))
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            study, out, tables = (Path(folder) / name for name in ("short.toml", "out", "tables"))
            study.write_text(SHORT_RUNS.format(delays=delays, rates=rates))
            whole = study_time(program, study, out, 1)
            output_of([str(program), "study", "export", str(out), "--csv", str(tables)])
            with (tables / "execution.csv").open(newline="") as file:
                runs = [float(row["wall_s"]) for row in csv.DictReader(file)]
        if not runs:
            raise BenchError("polypath study run made no runs")
        result.runs.append((whole - sum(runs)) / len(runs) * 1e3)
        mean_run.append(statistics.mean(runs) * 1e3)
    result.beside["the run"] = statistics.median(mean_run)
    return result


def table(results: dict[str, Result]) -> str:
    """The results for people."""
    rows = [("benchmark", "median", "lowest", "highest", "unit", "beside")]
    for name, result in results.items():
        beside = ", ".join(
            f"{peer}: {value if isinstance(value, str) else pretty(value)}" for peer, value in result.beside.items()
        )
        rows.append((name, pretty(result.value), pretty(min(result.runs)), pretty(max(result.runs)), result.unit, beside))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def pretty(value: float) -> str:
    """Four digits, with a prefix from a thousand on."""
    for limit, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.4g} {prefix}"
    return f"{value:.4g}"


def report(results: dict[str, Result], file: Path) -> None:
    """Writes the results to a file and prints them."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({name: result.as_json() for name, result in results.items()}, indent=2) + "\n")
    print(table(results))
    print(f"bench: written to {file.relative_to(ROOT)}")


def build() -> tuple[Path, Path]:
    """Builds the programs that are measured; returns the folder of the examples and the command-line program."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    target = target if target.is_absolute() else ROOT / target
    examples = ["--package", "polypath-testkit"]
    for name in ("bench_in_memory", "bench_sack", "bench_idle", "bench_setups"):
        examples += ["--example", name]
    for selection in (examples, ["--package", "polypath-cli"]):
        subprocess.run(["cargo", "build", "--release", "--locked", *selection], cwd=ROOT, check=True)
    return target / "release/examples", target / "release/polypath"


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the benchmarks and writes target/bench.json.")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each benchmark (default 5)")
    parser.add_argument("--only", action="append", metavar="NAME", help="run this benchmark only; may be repeated")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    peer = os.environ.get(PEER_VARIABLE) or None
    try:
        examples, program = build()
        example = examples / "bench_in_memory"
        benchmarks: dict[str, Callable[[], Result]] = {
            "in_memory_1400_crc": lambda: in_memory(example, arguments.rounds, peer),
            "in_memory_1400_no_crc": lambda: in_memory_no_crc(example, arguments.rounds),
            "in_memory_all_on": lambda: in_memory_all_on(example, arguments.rounds),
            "sack_1e5_gaps": lambda: sack_1e5_gaps(examples / "bench_sack", arguments.rounds),
            "idle_association_bytes": lambda: idle_association_bytes(examples / "bench_idle", arguments.rounds, 1),
            "idle_association_bytes_2_paths": lambda: idle_association_bytes(
                examples / "bench_idle", arguments.rounds, 2
            ),
            "setups_per_cpu_s": lambda: setups_per_cpu_s(examples / "bench_setups", arguments.rounds),
            "sim_1hop": lambda: sim_1hop(program, arguments.rounds),
            "sim_3hop_red": lambda: sim_3hop_red(program, arguments.rounds),
            "sim_window_cost": lambda: sim_window_cost(program, arguments.rounds),
            "study_two_jobs": lambda: study_two_jobs(program, arguments.rounds),
            "study_overhead": lambda: study_overhead(program, arguments.rounds),
        }
        unknown = set(arguments.only or []) - benchmarks.keys()
        if unknown:
            parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(benchmarks)}")
        results = {}
        for name, run in benchmarks.items():
            if not arguments.only or name in arguments.only:
                print(f"bench: {name} ...", flush=True)
                results[name] = run()
    except (BenchError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    report(results, ROOT / "target/bench.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
