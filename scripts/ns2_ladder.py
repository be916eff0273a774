#!/usr/bin/env python3
"""Polypath with the rules of ns-2.35 beside ns-2.35 itself (Debian's package ns2), packet by packet.

Prints a table in Markdown; docs/ns2.md explains it. Fails if a run differs that is known to be equal."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent / "ns2"
KIB = 1024
# Differences of time that count: more than the few microseconds by which headers differ, and more than the 0.37 ms by which
# the paths do, since a peer of ours sends its first SACKs over the path that it has confirmed; less than a packet takes.
TOLERANCE_S = 5e-4
# Host a's nodes in the order in which transfer.tcl makes them.
SENDING_NODES = {"2": 1, "6": 2}


@dataclass(frozen=True)
class Sent:
    """A transmission of DATA."""

    at: float
    tsn: int
    path: int
    # Which packet of its path that is, from 0.
    number: int


@dataclass(frozen=True)
class Loss:
    """Which transmission of which TSN is lost, from 1."""

    tsn: int
    transmission: int = 1


@dataclass(frozen=True)
class Case:
    paths: int = 1
    buffer: int = 64 * KIB
    sack_packets: int = 2
    losses: tuple[Loss, ...] = ()
    # When path 2 goes down, after the first DATA.
    down_s: float = 0


@dataclass
class Row:
    """Cases that belong together, and why those differ that do."""

    name: str
    cases: Sequence[Case]
    exact: bool = True
    cause: str = ""
    equal: int = 0
    packets: int = 0
    shares: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)


def single(paths: int, tsns: Iterable[int]) -> list[Case]:
    return [Case(paths, losses=(Loss(tsn),)) for tsn in tsns]


ROWS = [
    Row(
        "1 path, no loss, 8 to 64 KiB, a SACK per packet or two",
        [Case(1, kib * KIB, packets) for kib in (8, 16, 24, 32, 48, 64) for packets in (1, 2)],
    ),
    Row("1 path, one loss, in each position of slow start", single(1, range(2, 101))),
    Row("1 path, one loss, in each position of a full window", single(1, range(150, 194))),
    Row(
        "1 path, two losses, up to 40 packets apart",
        [
            Case(1, losses=(Loss(tsn), Loss(tsn + apart)))
            for tsn in (40, 100, 200)
            for apart in (1, 2, 5, 20, 40)
        ],
    ),
    Row(
        "1 path, a loss and that of its fast retransmission: a timeout",
        [Case(1, losses=(Loss(tsn), Loss(tsn, 2))) for tsn in (5, 20, 40, 90, 150, 250, 300)],
    ),
    Row(
        "1 path, the last packets: a timeout at the end",
        [Case(1, losses=tuple(Loss(361 - n) for n in range(count))) for count in (1, 2, 6)],
    ),
    Row(
        "1 path, a loss before there were three packets behind it",
        [
            *single(1, (1,)),
            Case(1, losses=(Loss(2), Loss(3))),
            Case(1, losses=(Loss(3), Loss(4), Loss(5))),
        ],
        exact=False,
        cause="ns-2 acknowledges TSN 1 at once whenever it comes; of several chunks that are marked at once, it sends those "
        "beyond the first packet with the next SACK",
    ),
    Row("2 paths, no loss, 16 to 128 KiB", [Case(2, kib * KIB) for kib in (16, 32, 64, 128)]),
    Row("2 paths, one loss, each TSN from 10 to 350", single(2, range(10, 351))),
    Row(
        "2 paths, two losses, up to 40 packets apart",
        [
            Case(2, losses=(Loss(tsn), Loss(tsn + apart)))
            for tsn in (40, 100, 200)
            for apart in (1, 2, 5, 20, 40)
        ],
        exact=False,
        cause="2 of 5: of equal thresholds ns-2 takes one at random for a retransmission. 1 of 5: new data begin on the path of the "
        "retransmission, in ns-2 on the one after the last with new data. 2 of 5: one packet leaves a SACK earlier in the flush "
        "after a repair; open",
    ),
    Row(
        "2 paths, a loss and that of its fast retransmission: a timeout",
        [Case(2, losses=(Loss(tsn), Loss(tsn, 2))) for tsn in (20, 40, 90, 150, 250, 300)],
        exact=False,
        cause="1 of 5: the random choice. 4 of 5: the flush after the repair; open",
    ),
    Row(
        "2 paths, path 2 goes down",
        [Case(2, down_s=at / 1000) for at in range(169, 769, 50)],
        exact=False,
        cause="6 of 10: when a timer expires, our sender also sends new data on that path, ns-2 only with the next SACK. 2 of 10: the "
        "random choice. 2 of 10: of the last three packets, one leaves a SACK later; open",
    ),
]


def ns2(case: Case, lost: dict[int, list[int]], folder: Path) -> list[Sent]:
    """Runs ns-2; `lost` has numbers of packets per path."""
    trace = folder / "transfer.tr"
    keys = {
        "agent": "cmt" if case.paths == 2 else "sctp",
        "paths": case.paths,
        "buffer": case.buffer,
        "delayed": int(case.sack_packets == 2),
        "lose1": " ".join(map(str, lost.get(1, []))),
        "lose2": " ".join(map(str, lost.get(2, []))),
        # The first DATA leaves after three round trips.
        "down": 0.7708 + case.down_s if case.down_s else 0,
        "trace": trace,
    }
    words = [f"{key}={value}" for key, value in keys.items()]
    subprocess.run(["ns", HERE / "transfer.tcl", *words], check=True, stdout=subprocess.DEVNULL)
    sent: list[Sent] = []
    numbers = {1: 0, 2: 0}
    for line in trace.read_text().splitlines():
        words = line.split()
        path = SENDING_NODES.get(words[2])
        if words[0] != "+" or path is None:
            continue
        if words[6].endswith("D"):
            sent.append(Sent(float(words[1]), int(words[11]), path, numbers[path]))
        numbers[path] += 1
    return from_first(sent)


def polypath(program: Path, case: Case, lost: dict[int, list[int]], folder: Path) -> list[Sent]:
    """Runs the simulator; numbers are from 0 here, too."""
    scenario = HERE / ("two-paths.toml" if case.paths == 2 else "one-path.toml")
    edits = [
        f"sctp.receive_buffer={case.buffer} B",
        f"sctp.policies.delayed_ack.packets={case.sack_packets}",
    ]
    for path, numbers in lost.items():
        list_ = ", ".join(str(number + 1) for number in numbers)
        edits.append(
            f"network.disjoint.paths.path {path}.bottleneck.forward.lost_packets=[{list_}]"
        )
    if case.down_s:
        # Here after two.
        down = 0.18043 + case.down_s
        edits.append(f'faults=[{{ outage = {{ path = "path 2", from = "{down:.5f} s" }} }}]')
    sets = [word for edit in edits for word in ("--set", edit)]
    logs = folder / "qlog"
    shutil.rmtree(logs, ignore_errors=True)
    command = [program, "sim", scenario, "--qlog", logs, "--json", *sets]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    chunks: list[tuple[float, int, int]] = []
    data_numbers: dict[int, list[int]] = {1: [], 2: []}
    numbers = {1: 0, 2: 0}
    for line in (logs / f"{scenario.stem}-a.sqlog").read_text().split("\n"):
        event = json.loads(line.strip("\x1e") or "{}")
        data = event.get("data")
        if event.get("name") == "sctp:chunk_sent":
            chunks.append((event["time"] / 1000, data["tsn"], data["path_id"] + 1))
        elif event.get("name") == "sctp:packet_sent":
            path = data["path_id"] + 1
            if "DATA" in data["chunks"]:
                data_numbers[path].append(numbers[path])
            numbers[path] += 1
    first = chunks[0][1]
    # One chunk per packet.
    queues = {path: iter(list_) for path, list_ in data_numbers.items()}
    return from_first(
        [Sent(at, (tsn - first) % 2**32 + 1, path, next(queues[path])) for at, tsn, path in chunks]
    )


def from_first(sent: list[Sent]) -> list[Sent]:
    begin = sent[0].at
    return [Sent(it.at - begin, it.tsn, it.path, it.number) for it in sent]


def with_losses(run, case: Case) -> list[Sent]:
    """Runs with one loss more at a time: which packet a TSN is in depends on the losses before."""
    lost: dict[int, list[int]] = {}
    sent = run(case, lost)
    for loss in case.losses:
        of_tsn = [it for it in sent if it.tsn == loss.tsn]
        packet = of_tsn[loss.transmission - 1]
        lost[packet.path] = sorted([*lost.get(packet.path, []), packet.number])
        sent = run(case, lost)
    return sent


def first_difference(a: list[Sent], b: list[Sent]) -> int | None:
    for place, (x, y) in enumerate(zip(a, b)):
        if (x.tsn, x.path) != (y.tsn, y.path) or abs(x.at - y.at) > TOLERANCE_S:
            return place
    return None if len(a) == len(b) else min(len(a), len(b))


def both(case: Case, program: Path) -> tuple[list[Sent], list[Sent]]:
    """What ns-2 sends, and what we do."""
    with tempfile.TemporaryDirectory() as folder:
        return (
            with_losses(lambda case, lost: ns2(case, lost, Path(folder)), case),
            with_losses(lambda case, lost: polypath(program, case, lost, Path(folder)), case),
        )


def measure(row: Row, program: Path, pool: ThreadPoolExecutor, verbose: bool) -> None:
    results = pool.map(lambda case: both(case, program), row.cases)
    for case, (theirs, ours) in zip(row.cases, results):
        place = first_difference(theirs, ours)
        row.packets += len(theirs)
        row.equal += place is None
        row.shares.append(1.0 if place is None else place / len(theirs))
        row.ends.append(abs(ours[-1].at / theirs[-1].at - 1))
        if verbose and place is not None:
            print(f"{case}: packet {place} of {len(theirs)}", file=sys.stderr)
            for x, y in list(zip(theirs, ours))[max(0, place - 2) : place + 4]:
                print(f"  ns-2 {x}\n  ours {y}", file=sys.stderr)


def table(rows: Sequence[Row]) -> str:
    lines = [
        "| runs | equal | packets before the first difference | last packet, largest difference | cause |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        share = sum(row.shares) / len(row.shares)
        cells = [
            row.name,
            f"{row.equal} of {len(row.cases)}",
            "all" if share == 1 else f"{share:.0%}",
            f"{max(row.ends):.2%}",
            row.cause,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="the program polypath")
    parser.add_argument("--verbose", action="store_true", help="show the first difference of each run")
    args = parser.parse_args()
    if shutil.which("ns") is None:
        print("SKIPPED: there is no ns-2 (Debian's package ns2)")
        return 0
    # Both programs run on one processor; a case takes some tenths of a second.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for row in ROWS:
            begin = time.monotonic()
            measure(row, args.program.resolve(), pool, args.verbose)
            seconds = time.monotonic() - begin
            print(f"{row.name}: {len(row.cases)} in {seconds:.0f} s", file=sys.stderr)
    print(table(ROWS))
    unequal = [row.name for row in ROWS if row.exact and row.equal < len(row.cases)]
    for name in unequal:
        print(f"not equal: {name}", file=sys.stderr)
    return 1 if unequal else 0


if __name__ == "__main__":
    sys.exit(main())
