#!/usr/bin/env python3
"""Transfers of the kernel and of Polypath over emulated links, in real time. Needs root, `ip` and an optimised build.

    bench_emulated.py grid [--quick]      two paths of 10 to 100 Mbit/s and 0 to 200 ms: does a second path ever hurt?
    bench_emulated.py fairness            a kernel TCP flow against an association with two paths at one bottleneck

The grid demands that the preset `recommended` over both paths reaches 95 % of its better single path, and shows kernel
MPTCP beside it where there is one. Fairness shows the shares of the bottleneck (section 2.2 of the simulation model of
CMT-SCTP: resource pooling leaves the flow of a single path its half, independent windows leave it a third). What the
emulation could not keep up with is marked as such. Results are in target/bench-emulated-grid.json and
target/bench-emulated-fairness.json too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "tests/interop/emulation_probe.py"
# Mbit/s and ms one way, of both paths.
GRID = [
    ((10, 0), (10, 0)), ((10, 10), (10, 10)), ((10, 0), (10, 100)), ((10, 10), (10, 200)),
    ((10, 10), (50, 10)), ((10, 100), (50, 10)), ((10, 10), (100, 10)), ((10, 200), (100, 10)),
    ((50, 10), (50, 10)), ((50, 0), (100, 50)), ((100, 10), (100, 10)), ((100, 200), (100, 0)),
]
QUICK = [GRID[1], GRID[3], GRID[5], GRID[8]]
DEMANDED = 0.95
SECONDS = 10
HEADER = 'title = "Benchmark"\n[run]\nduration = "1 h"\n'


class BenchError(Exception):
    """A benchmark could not be run."""


@dataclass
class Transfer:
    """What one transfer reached."""

    bit_s: float
    behind: float = 0.0
    median_late_s: float | None = None


@dataclass
class Cell:
    """A pair of paths."""

    paths: tuple[tuple[int, int], tuple[int, int]]
    singles: list[Transfer] = field(default_factory=list)
    both: Transfer | None = None
    mptcp: Transfer | None = None

    def ratio(self) -> float:
        assert self.both is not None
        return self.both.bit_s / max(single.bit_s for single in self.singles)


def program() -> Path:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    given = os.environ.get("POLYPATH")
    return Path(given) if given else target / "optimized/polypath"


def queue(rate: int, delay: int) -> str:
    """A bandwidth-delay product of the round trip, and at least 50 packets."""
    packets = max(50, rate * 1_000_000 * 2 * delay // 1000 // 8 // 1500)
    return f"{{ drop-tail = {{ packets = {packets} }} }}"


def link(rate: int, delay: int) -> str:
    return f'{{ rate = "{rate} Mbit/s", delay = "{delay} ms", queue = {queue(rate, delay)} }}'


def emulate(scenario: str, programs: list[str]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Result of the emulation, and the last JSON that a program printed."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario)
        file.flush()
        command = [program(), "emulate", file.name, "--json", "--allow-behind", "100 %", "--duration", "10 min"]
        for one in programs:
            command += ["--exec", one]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(done.stderr[-2000:])
    said = [line.split(": ", 1)[1] for line in done.stderr.splitlines() if ": {" in line]
    return json.loads(done.stdout), json.loads(said[-1]) if said else None


def judged(result: dict[str, Any], bit_s: float) -> Transfer:
    timing = result["timing"]
    return Transfer(bit_s, timing["behind_share"], timing["deliveries"]["p50_s"])


def transfer(scenario: str, numbers: list[int], size: int) -> Transfer:
    """A file from a to b over these paths, with the preset `recommended`."""
    ours = program()
    local = ",".join(f"10.{number}.1.1" for number in numbers)
    remote = ",".join(f"10.{number}.1.2" for number in numbers)
    with tempfile.TemporaryDirectory() as work:
        file, listening = Path(work, "file"), Path(work, "listening")
        Path(work, "out").mkdir()
        file.write_bytes(os.urandom(size))
        receive = f"'{ours}' receive --listen {remote} --out '{work}/out' --once 2> '{listening}'"
        send = f"'{ours}' send '{file}' --from {local} --to {remote} --json 2> /dev/null | tr -d '\\n'"
        wait = f"for i in $(seq 600); do grep -qs ^listening '{listening}' && break; sleep 0.05; done"
        result, summary = emulate(scenario, [f"b={receive}", f"a={wait}; {send}"])
    if not summary or not summary["complete"]:
        raise BenchError(f"the transfer failed: {summary}")
    return judged(result, summary["goodput_bit_s"])


def mptcp(scenario: str, size: int) -> Transfer | None:
    """The same with the kernel's MPTCP, which gets the second address of the receiver announced."""
    if not Path("/proc/sys/net/mptcp/enabled").exists():
        return None
    limits = "ip mptcp limits set subflows 2 add_addr_accepted 2"
    sink = f"{limits}; ip mptcp endpoint add 10.2.1.2 dev path2 signal; MPTCP=1 {PROBE} sink 10.1.1.2 &"
    result, said = emulate(scenario, [f"b={sink}", f"a={limits}; MPTCP=1 {PROBE} pour 10.1.1.1 10.1.1.2 {size}"])
    return judged(result, said["bit_s"]) if said else None


def cell(paths: tuple[tuple[int, int], tuple[int, int]]) -> Cell:
    scenario = HEADER + "[hosts.a]\nexternal = true\n[hosts.b]\nexternal = true\n"
    for number, (rate, delay) in enumerate(paths, start=1):
        scenario += f'[[network.disjoint.paths]]\nname = "{number}"\nbottleneck = {link(rate, delay)}\n'
    made = Cell(paths)
    for number, (rate, _) in enumerate(paths, start=1):
        made.singles.append(transfer(scenario, [number], rate * 1_000_000 // 8 * SECONDS))
    size = sum(rate for rate, _ in paths) * 1_000_000 // 8 * SECONDS
    made.both = transfer(scenario, [1, 2], size)
    made.mptcp = mptcp(scenario, size)
    return made


def grid(quick: bool) -> tuple[list[Any], bool]:
    print(f"{'paths':>32}  {'first':>7} {'second':>7} {'both':>7} {'MPTCP':>7}  both / best")
    cells = []
    for paths in QUICK if quick else GRID:
        made = cell(paths)
        cells.append(made)
        assert made.both is not None
        name = " + ".join(f"{rate} Mbit/s {delay} ms" for rate, delay in paths)
        rates = [single.bit_s for single in made.singles] + [made.both.bit_s]
        shown = " ".join(f"{rate / 1e6:7.2f}" for rate in rates)
        beside = f"{made.mptcp.bit_s / 1e6:7.2f}" if made.mptcp else "      -"
        behind = max(one.behind for one in [*made.singles, made.both])
        remark = f"  behind for {100 * behind:.1f} %: not to be believed" if behind > 0.01 else ""
        verdict = "" if made.ratio() >= DEMANDED else f"  below {DEMANDED}"
        print(f"{name:>32}  {shown} {beside}  {made.ratio():.2f}{verdict}{remark}", flush=True)
    return [asdict(made) for made in cells], all(made.ratio() >= DEMANDED for made in cells)


def fairness() -> tuple[list[Any], bool]:
    scenario = HEADER + f'[[network.shared.routes]]\nname = "core"\nbottleneck = {link(10, 20)}\n'
    access = 'access = { rate = "1 Gbit/s", delay = "1 ms" }'
    for pair, count in (("sctp", 2), ("tcp", 1)):
        paths = ", ".join(f'{{ name = "{number}", route = "core", {access} }}' for number in range(1, count + 1))
        scenario += f'[[network.shared.pairs]]\nname = "{pair}"\nexternal = true\npaths = [{paths}]\n'
    rows = []
    for preset in ("cmt", "cmt-rp-v2", "recommended"):
        rows.append(against_tcp(scenario, preset))
        shares = {name: rate / 1e6 for name, rate in rows[-1]["bit_s"].items()}
        print(f"{preset:>12}: SCTP {shares['sctp']:.2f} Mbit/s, TCP {shares['tcp']:.2f} Mbit/s, "
              f"TCP's share {rows[-1]['share_tcp']:.2f}, behind for {100 * rows[-1]['behind']:.1f} % of the time", flush=True)
    return rows, True


def against_tcp(scenario: str, preset: str) -> dict[str, Any]:
    """Both from a to b, for three times as long as one transfer; what passed the last link of each counts."""
    ours, seconds = program(), 3 * SECONDS
    with tempfile.TemporaryDirectory() as work:
        file, listening = Path(work, "file"), Path(work, "listening")
        Path(work, "out").mkdir()
        with open(file, "wb") as sparse:
            sparse.truncate(10_000_000 // 8 * (seconds + 30))
        receive = f"'{ours}' receive --preset {preset} --listen 10.0.1.2,10.0.2.2 --out '{work}/out' --once 2> '{listening}' &"
        send = f"'{ours}' send --preset {preset} '{file}' --from 10.0.1.1,10.0.2.1 --to 10.0.1.2,10.0.2.2 > /dev/null 2>&1 &"
        wait = f"for i in $(seq 600); do grep -qs ^listening '{listening}' && break; sleep 0.05; done"
        result, _ = emulate(scenario, [
            f"sctp/b={receive}", f"tcp/b={PROBE} sink 10.0.3.2 &", f"sctp/a={wait}; {send}",
            f"tcp/a={wait}; {PROBE} hose 10.0.3.1 10.0.3.2 {seconds}",
        ])
    rates = {}
    for pair in ("sctp", "tcp"):
        last = [one for one in result["links"] if one["to"] == f"{pair}/b"]
        rates[pair] = 8 * sum(one["delivered_bytes"] for one in last) / result["duration_s"]
    share = rates["tcp"] / max(1.0, sum(rates.values()))
    return {"preset": preset, "bit_s": rates, "share_tcp": share, "behind": result["timing"]["behind_share"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["grid", "fairness"])
    parser.add_argument("--quick", action="store_true", help="some cells of the grid only")
    arguments = parser.parse_args()
    try:
        rows, is_good = grid(arguments.quick) if arguments.what == "grid" else fairness()
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    out = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / f"bench-emulated-{arguments.what}.json"
    out.write_text(json.dumps({arguments.what: rows}, indent=1) + "\n", encoding="utf-8")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
