#!/usr/bin/env python3
"""Transfers in real time, beside those of others on the same paths. Needs root, iproute2 and an optimised build.

    bench_emulated.py grid [--quick]      two emulated paths of 10 to 100 Mbit/s and 0 to 200 ms: does a second path ever hurt?
    bench_emulated.py shaped              links of 100 and 50 Mbit/s that the kernel shapes, with large and small buffers
    bench_emulated.py fairness [--quick]  a kernel TCP flow against an association with two paths at one bottleneck
    bench_emulated.py failover [--quick]  one of two emulated paths goes silent: the longest time without a delivery
    bench_emulated.py lossy [--quick]     paths that lose packets, beside kernel TCP and MPTCP, and what others on them wait for
    bench_emulated.py conditions [--quick]  a file while packets are reordered, doubled, damaged and lost, and paths fail

The grid demands that the preset `recommended` over both paths reaches 95 % of its better single path; kernel MPTCP and
usrsctp's CMT, with its own buffers and with 8 MiB, stand beside it where they are there. Cells near the demand are
measured three times. Fairness is section 2.2 of the simulation model of CMT-SCTP: independent windows take as much as two
flows, resource pooling as much as one, which is measured, too (`rfc9260`: one path), since the kernel's TCP and SCTP need not
take the same; the mean of several runs is shown with its 95 % interval. What the emulation could not keep up with is marked
as such. Everything is in target/bench-emulated-WHAT.json too.

POLYPATH names the program; `--only TEXT` takes the rows whose name has that text, `--senders TEXT` those of
`lossy` and `conditions`.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conditions import conditions
from emulated import (
    HEADER, PROBE, BenchError, Growth, Runs, addresses, disjoint, emulate, kernel, link, mptcp, program, target, transfer,
    usrsctp, usrsctp_transfer, wait_until,
)
from lossy import lossy
from shaped import shaped

Paths = tuple[tuple[int, int], tuple[int, int]]
# Mbit/s and ms one way, of both paths.
GRID: list[Paths] = [
    ((10, 0), (10, 0)), ((10, 10), (10, 10)), ((10, 0), (10, 100)), ((10, 10), (10, 200)),
    ((10, 10), (50, 10)), ((10, 100), (50, 10)), ((10, 10), (100, 10)), ((10, 200), (100, 10)),
    ((50, 10), (50, 10)), ((50, 0), (100, 50)), ((100, 10), (100, 10)), ((100, 200), (100, 0)),
]
QUICK = [GRID[1], GRID[3], GRID[5], GRID[8]]
DEMANDED = 0.95
# Below this, a cell is measured three times.
NEAR = 1.05
SECONDS = 10
LARGE = 8 << 20
# What passes for keeping up with the clock.
BEHIND = 0.01


@dataclass
class Cell:
    """A pair of paths."""

    paths: Paths
    singles: list[Runs] = field(default_factory=lambda: [Runs(), Runs()])
    both: Runs = field(default_factory=Runs)
    beside: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " + ".join(f"{rate} Mbit/s {delay} ms" for rate, delay in self.paths)

    def ratio(self) -> float:
        return self.both.median / max(single.median for single in self.singles)

    def measure(self) -> None:
        scenario = disjoint(self.paths)
        for number, ((rate, _), single) in enumerate(zip(self.paths, self.singles), start=1):
            single.add(*transfer(scenario, [number], rate * 1_000_000 // 8 * SECONDS))
        self.both.add(*transfer(scenario, [1, 2], self.size()))

    def size(self) -> int:
        return sum(rate for rate, _ in self.paths) * 1_000_000 // 8 * SECONDS

    def measure_others(self, peer: Path | None) -> None:
        scenario = disjoint(self.paths)

        def kernel_mptcp() -> float | None:
            poured = mptcp(scenario, self.size())
            return poured.said["a"]["bit_s"] if poured and "a" in poured.said else None

        def usrsctp_with(buffers: int) -> float | None:
            if not peer:
                return None
            return usrsctp_transfer(peer, scenario, [1, 2], SECONDS, buffers).said["b"]["goodput_bit_s"]

        others = {"MPTCP": kernel_mptcp, "usrsctp": lambda: usrsctp_with(0), "usrsctp 8 MiB": lambda: usrsctp_with(LARGE)}
        for name, measure in others.items():
            try:
                goodput = measure()
            except BenchError as error:
                print(f"  {self.name}, {name}: {error}", file=sys.stderr)
                continue
            if goodput is not None:
                self.beside[name] = goodput


def grid(quick: bool, only: str) -> tuple[list[Any], bool]:
    peer = usrsctp()
    others = ["MPTCP", "usrsctp", "usrsctp 8 MiB"]
    heads = " ".join(f"{name:>{max(7, len(name))}}" for name in ["first", "second", "both", *others])
    print(f"{'paths':>33}  {heads}  both / best")
    cells = [cell for cell in map(Cell, QUICK if quick else GRID) if only in cell.name]
    for cell in cells:
        cell.measure()
        if cell.ratio() < NEAR:
            cell.measure()
            cell.measure()
        cell.measure_others(peer)
        rates = [f"{runs.median / 1e6:7.2f}" for runs in (*cell.singles, cell.both)]
        for name in others:
            rate = f"{cell.beside[name] / 1e6:.2f}" if name in cell.beside else "-"
            rates.append(rate.rjust(max(7, len(name))))
        verdict = "" if cell.ratio() >= DEMANDED else f"  below {DEMANDED}"
        ratios = [both / max(one, two) for both, one, two in zip(cell.both.values, *(single.values for single in cell.singles))]
        spread = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
        remark = behind(max(runs.behind for runs in (*cell.singles, cell.both)))
        print(f"{cell.name:>33}  {' '.join(rates)}  {cell.ratio():.2f}{spread}{verdict}{remark}", flush=True)
    return [asdict(cell) for cell in cells], all(cell.ratio() >= DEMANDED for cell in cells)


def behind(share: float) -> str:
    return f"  behind for {100 * share:.1f} %: not to be believed" if share > BEHIND else ""


@dataclass
class Contest:
    """An association against a TCP flow."""

    preset: str
    tcp: str
    share: Runs = field(default_factory=Runs)
    use: Runs = field(default_factory=Runs)

    def expected(self, one: float) -> tuple[float, float] | None:
        """The share of the association, and its tolerance, where one over a single path has `one`, beside a TCP that losses slow."""
        if self.preset in (SINGLE, "recommended") or self.tcp == "bbr":
            return None
        return (2 * one / (1 + one), 0.07) if self.preset == "cmt" else (one, 0.10)


# The preset that uses one path.
SINGLE = "rfc9260"
BOTTLENECK = (10, 20)


def fairness(quick: bool, only: str, parallel: int) -> tuple[list[Any], bool]:
    scenario = HEADER + f'[[network.shared.routes]]\nname = "core"\nbottleneck = {link(*BOTTLENECK)}\n'
    access = 'access = { rate = "1 Gbit/s", delay = "1 ms" }'
    for pair, count in (("sctp", 2), ("tcp", 1)):
        paths = ", ".join(f'{{ name = "{number}", route = "core", {access} }}' for number in range(1, count + 1))
        scenario += f'[[network.shared.pairs]]\nname = "{pair}"\nexternal = true\npaths = [{paths}]\n'
    contests = [Contest(preset, "reno") for preset in (SINGLE, "cmt", "cmt-rp-v1", "cmt-rp-v2", "lia", "olia", "recommended")]
    contests += [Contest(preset, tcp) for tcp in ("cubic", "bbr") for preset in (SINGLE, "cmt", "cmt-rp-v2")]
    contests = [contest for contest in contests if only in f"{contest.preset} {contest.tcp}"]
    runs, seconds = (2, 20) if quick else (8, 40)
    work = [contest for _ in range(runs) for contest in contests]
    with ThreadPoolExecutor(parallel) as pool:
        results = pool.map(lambda contest: against_tcp(scenario, contest, seconds), work)
        for contest, (share, use, late) in zip(work, results):
            contest.share.add(share, late)
            contest.use.add(use)
    is_good = True
    print(f"share of SCTP at {BOTTLENECK[0]} Mbit/s, {BOTTLENECK[1]} ms, {runs} runs of {seconds} s: mean with its 95 % interval")
    singles = {contest.tcp: contest.share.mean for contest in contests if contest.preset == SINGLE}
    for contest in contests:
        one = singles.get(contest.tcp)
        mean, expected, verdict = contest.share.mean, None if one is None else contest.expected(one), ""
        if expected:
            is_met = abs(mean - expected[0]) <= expected[1]
            is_good = is_good and is_met
            verdict = f"  {'within' if is_met else 'not within'} {expected[0]:.2f} +- {expected[1]:.2f}"
        print(f"{contest.preset:>12} against {contest.tcp:<5} {mean:.3f} +- {contest.share.half_width():.3f}, "
              f"{contest.use.mean:.0%} used{verdict}{behind(contest.share.behind)}")
    return [asdict(contest) for contest in contests], is_good


def against_tcp(scenario: str, contest: Contest, seconds: int) -> tuple[float, float, float]:
    """Both from a to b; what passed the last link of each counts. The share of SCTP, and what of the bottleneck both used."""
    ours = program()
    with tempfile.TemporaryDirectory() as work:
        file, listening = Path(work, "file"), Path(work, "listening")
        Path(work, "out").mkdir()
        with open(file, "wb") as sparse:
            sparse.truncate(BOTTLENECK[0] * 1_000_000 // 8 * (seconds + 30))
        preset = f"--preset {contest.preset}"
        receive = f"'{ours}' receive {preset} --listen 10.0.1.2,10.0.2.2 --out '{work}/out' --once 2> '{listening}' &"
        send = f"'{ours}' send {preset} '{file}' --from 10.0.1.1,10.0.2.1 --to 10.0.1.2,10.0.2.2 > /dev/null 2>&1 &"
        wait = wait_until(listening)
        done = emulate(scenario, [
            f"sctp/b={receive}", f"tcp/b={PROBE} sink 10.0.3.2 &", f"sctp/a={wait}; {send}",
            f"tcp/a={wait}; CONGESTION={contest.tcp} {PROBE} hose 10.0.3.1 10.0.3.2 {seconds}",
        ])
    passed = {}
    for pair in ("sctp", "tcp"):
        last = [one for one in done.result["links"] if one["to"] == f"{pair}/b"]
        passed[pair] = 8 * sum(one["delivered_bytes"] for one in last)
    total = max(1, sum(passed.values()))
    return passed["sctp"] / total, total / done.result["duration_s"] / BOTTLENECK[0] / 1e6, done.behind


@dataclass
class Failover:
    """Who goes on after a path went silent, and how soon: the longest time without a delivery, in seconds."""

    name: str
    stall: Callable[[float], tuple[float, float]]
    found: Runs = field(default_factory=Runs)


# Seconds after the emulation began at which path 1 goes silent: at other places of the window each time.
CUTS = (10.4, 10.7, 11.1)
FAILOVER: Paths = ((10, 20), (10, 20))


def failover(quick: bool, only: str, parallel: int) -> tuple[list[Any], bool]:
    rows = []
    for least in ("1 s", "200 ms"):
        for preset in ("recommended", "cmt-pf", "cmt", "rfc9260"):
            policies = f"--preset {preset} --set 'policies.rto.min={least}'"
            rows.append(Failover(f"{preset}, RTO.Min {least}", lambda cut, how=policies: stall_of_ours(cut, how)))
    peer = usrsctp()
    if peer:
        rows.append(Failover("usrsctp CMT", lambda cut: stall_of_usrsctp(peer, cut)))
    if Path("/proc/sys/net/mptcp/enabled").exists():
        rows.append(Failover("kernel MPTCP", stall_of_mptcp))
    rows = [row for row in rows if only in row.name]
    work = [(row, cut) for cut in (CUTS[:1] if quick else CUTS) for row in rows]
    with ThreadPoolExecutor(parallel) as pool:
        for (row, cut), found in zip(work, pool.map(lambda one: tried(one[0].stall, one[1]), work)):
            if isinstance(found, str):
                print(f"  {row.name}, cut at {cut} s: {found}", file=sys.stderr)
            else:
                row.found.add(*found)
    print("one of two paths of 10 Mbit/s and 20 ms goes silent: the longest time without a delivery")
    for row in rows:
        runs = row.found
        if not runs.values:
            print(f"{row.name:>28}  nothing")
            continue
        print(f"{row.name:>28}  {min(runs.values):.2f} to {max(runs.values):.2f} s{behind(runs.behind)}")
    return [{"name": row.name, "stall_s": row.found.values} for row in rows], True


def tried(stall: Callable[[float], tuple[float, float]], cut: float) -> tuple[float, float] | str:
    """What came out, or why nothing did: the others are worth having."""
    try:
        return stall(cut)
    except BenchError as error:
        return str(error).strip().rpartition("\n")[2]


def with_outage(cut: float) -> str:
    return disjoint(FAILOVER) + f'[[faults]]\noutage = {{ path = "1", from = "{cut} s" }}\n'


def stall_of_ours(cut: float, policies: str) -> tuple[float, float]:
    """A file that is half as long again as what both carry until the cut."""
    ours, size = program(), 36_000_000
    with tempfile.TemporaryDirectory() as work:
        file, listening, out = Path(work, "file"), Path(work, "listening"), Path(work, "out")
        out.mkdir()
        with open(file, "wb") as sparse:
            sparse.truncate(size)
        to = addresses([1, 2], 2)
        receive = f"'{ours}' receive {policies} --listen {to} --out '{out}' --once 2> '{listening}'"
        send = f"'{ours}' send {policies} '{file}' --from {addresses([1, 2], 1)} --to {to} > /dev/null 2>&1"
        growth = Growth(out)
        growth.start()
        try:
            done = emulate(with_outage(cut), [f"b={receive}", f"a={wait_until(listening)}; {send}"])
        finally:
            longest, _ = growth.stop()
    return longest, done.behind


def stall_of_usrsctp(peer: Path, cut: float) -> tuple[float, float]:
    done = usrsctp_transfer(peer, with_outage(cut), [1, 2], 20, LARGE)
    return done.said["b"]["longest_gap_s"], done.behind


def stall_of_mptcp(cut: float) -> tuple[float, float]:
    done = mptcp(with_outage(cut), 36_000_000, "watch")
    if not done or "b" not in done.said:
        raise BenchError("MPTCP told nothing")
    return done.said["b"]["longest_gap_s"], done.behind


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["grid", "shaped", "fairness", "failover", "lossy", "conditions"])
    parser.add_argument("--quick", action="store_true", help="some cells, few runs")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name has this text")
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="emulations at a time, of fairness and failover")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each row of shaped (default 5)")
    parser.add_argument("--senders", default="", metavar="TEXT", help="rows of lossy, columns of conditions whose name has this text")
    arguments = parser.parse_args()
    quick, only, parallel = arguments.quick, arguments.only, arguments.parallel
    kinds: dict[str, Callable[[], tuple[list[Any], bool]]] = {
        "grid": lambda: grid(quick, only),
        "shaped": lambda: shaped(usrsctp(), 1 if quick else arguments.rounds, only),
        "fairness": lambda: fairness(quick, only, parallel),
        "failover": lambda: failover(quick, only, parallel),
        "lossy": lambda: lossy(quick, only, arguments.senders),
        "conditions": lambda: conditions(quick, only, arguments.senders),
    }
    # So that namespaces go, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(kernel(), flush=True)
    try:
        rows, is_good = kinds[arguments.what]()
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    out = target() / f"bench-emulated-{arguments.what}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({arguments.what: rows}, indent=1) + "\n", encoding="utf-8")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
