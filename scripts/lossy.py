"""Paths that lose packets, beside the kernel's TCP and MPTCP, for scripts/bench_emulated.py."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from emulated import HEADER, PROBE, BenchError, Emulated, Runs, addresses, emulate, program, wait_until

# Mbit/s, ms one way, and how many of the packets are lost in each direction.
Lossy = tuple[int, int, str]
PROFILES: dict[str, tuple[Lossy, ...]] = {
    "lte + starlink": ((40, 35, "0 %"), (100, 50, "1 %")),
    "loss 0.5 %": ((50, 20, "0.5 %"), (50, 20, "0.5 %")),
    "fibre + lte": ((300, 8, "0 %"), (30, 40, "0.5 %")),
    "one path, loss 0.01 %": ((100, 25, "0.01 %"),),
}
QUEUE = 1000
SECONDS = 20
QUICK_SECONDS = 6
# Emulations behind the clock for more than this are marked.
BEHIND = 0.01


@dataclass
class Row:
    """A sender over some paths of a profile: its goodput, and round-trip times of datagrams beside it, on each path."""

    profile: str
    sender: str
    paths: list[int]
    goodput: Runs = field(default_factory=Runs)
    # By path: median and 99th percentile in seconds, and the part that came to no answer.
    beside: dict[int, tuple[float | None, float | None, float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.profile}: {self.sender}, {' + '.join(f'path {number}' for number in self.paths)}"


def scenario(paths: tuple[Lossy, ...]) -> str:
    """Two external hosts, and these paths between them."""
    text = HEADER + "[hosts.a]\nexternal = true\n[hosts.b]\nexternal = true\n"
    for number, (rate, delay, loss) in enumerate(paths, start=1):
        text += f'[[network.disjoint.paths]]\nname = "{number}"\n[network.disjoint.paths.bottleneck]\n'
        text += f'rate = "{rate} Mbit/s"\ndelay = "{delay} ms"\nqueue = {{ drop-tail = {{ packets = {QUEUE} }} }}\n'
        text += f'loss = {{ forward = "{loss}", backward = "{loss}" }}\n'
    return text


def loads(numbers: list[int], seconds: int) -> list[str]:
    """A datagram every 20 ms over each path, and who answers them."""
    echo = [f"b={PROBE} echo 10.{number}.1.2 &" for number in numbers]
    return echo + [f"a={PROBE} load 10.{number}.1.1 10.{number}.1.2 {seconds}" for number in numbers]


def ours(paths: tuple[Lossy, ...], numbers: list[int], seconds: int, options: str) -> tuple[float, Emulated]:
    with tempfile.TemporaryDirectory() as work:
        listening, result = Path(work, "listening"), Path(work, "result")
        to = addresses(numbers, 2)
        server = f"'{program()}' meter server -B {to} --one-off 2> '{listening}' > /dev/null"
        client = (f"{wait_until(listening)}; '{program()}' meter client {to} -B {addresses(numbers, 1)} {options} "
                  f"-t {seconds} -i 0 --json > '{result}'")
        done = emulate(scenario(paths), [f"b={server}", f"a={client}", *loads(numbers, seconds)])
        return float(json.loads(result.read_text(encoding="utf-8"))["end"]["sum_received"]["bits_per_second"]), done


def kernel(paths: tuple[Lossy, ...], numbers: list[int], seconds: int, congestion: str) -> tuple[float, Emulated]:
    """TCP over one path, MPTCP over two, whose receiver announces its second address."""
    first, use = numbers[0], f"CONGESTION={congestion} {PROBE}"
    server, client = f"{use} take 10.{first}.1.2 {seconds}", f"{use} hose 10.{first}.1.1 10.{first}.1.2 {seconds + 5}"
    if len(numbers) > 1:
        limits = "export MPTCP=1; ip mptcp limits set subflows 2 add_addr_accepted 2"
        server = f"{limits}; ip mptcp endpoint add 10.2.1.2 dev path2 signal; {server}"
        client = f"{limits}; {client}"
    done = emulate(scenario(paths), [f"b={server}", f"a={client}", *loads(numbers, seconds)])
    if "bit_s" not in done.said.get("b", {}):
        raise BenchError(f"the receiver told nothing: {done.said}")
    return done.said["b"]["bit_s"], done


def rows_of(profile: str) -> dict[str, tuple[list[int], Callable[..., tuple[float, Emulated]], str]]:
    """What is measured of a profile: paths, how, and with which options or congestion control."""
    paths = list(range(1, len(PROFILES[profile]) + 1))
    rows: dict[str, tuple[list[int], Callable[..., tuple[float, Emulated]], str]] = {}
    for number in paths:
        rows[f"Polypath, path {number}"] = ([number], ours, "")
    if len(paths) > 1:
        rows["Polypath, both"] = (paths, ours, "")
        rows["Polypath, both, BBR"] = (paths, ours, "-C bbr")
    has_mptcp = Path("/proc/sys/net/mptcp/enabled").exists()
    for congestion in ("bbr", "cubic"):
        if len(paths) == 1:
            rows[f"TCP, {congestion.upper()}"] = (paths, kernel, congestion)
        elif has_mptcp:
            rows[f"MPTCP, {congestion.upper()}"] = (paths, kernel, congestion)
    return rows


def lossy(quick: bool, only: str, senders: str) -> tuple[list[dict[str, object]], bool]:
    seconds = QUICK_SECONDS if quick else SECONDS
    print(f"goodput in Mbit/s over {seconds} s, queues of {QUEUE} packets; beside it a datagram of 100 bytes every 20 ms on each path:")
    print("round-trip times in ms, median / 99th percentile, and how many came to no answer")
    found: list[Row] = []
    for profile, paths in PROFILES.items():
        if only and only not in profile:
            continue
        print(f"{profile}: " + ", ".join(f"{rate} Mbit/s {delay} ms {loss} lost" for rate, delay, loss in paths))
        for sender, (numbers, measure, how) in rows_of(profile).items():
            if senders not in sender:
                continue
            row = Row(profile, sender, numbers)
            try:
                goodput, done = measure(paths, numbers, seconds, how)
            except BenchError as error:
                print(f"  {sender}: {str(error).strip().rpartition(chr(10))[2]}", file=sys.stderr)
                continue
            row.goodput.add(goodput, done.behind)
            row.beside = {number: latency(done, number) for number in numbers}
            print(f"{sender:>24}  {goodput / 1e6:7.2f}   {', '.join(map(words, row.beside.values()))}{late(done.behind)}", flush=True)
            found.append(row)
    return [asdict(row) for row in found], bool(found)


def latency(done: Emulated, number: int) -> tuple[float | None, float | None, float]:
    """What the datagrams beside say of a path."""
    told = done.said.get("a", {}).get(f"load 10.{number}.1.1")
    if not told or not told["sent"]:
        return None, None, 1.0
    return told["p50_s"], told["p99_s"], 1 - told["answered"] / told["sent"]


def words(beside: tuple[float | None, float | None, float]) -> str:
    median, high, lost = beside
    if median is None or high is None:
        return "no answer"
    return f"{1e3 * median:.0f} / {1e3 * high:.0f} ({lost:.1%} lost)"


def late(share: float) -> str:
    return f"  behind for {100 * share:.1f} %: not to be believed" if share > BEHIND else ""
