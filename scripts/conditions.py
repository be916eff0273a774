"""A file over two paths under conditions that networks really have, for scripts/bench_emulated.py."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from emulated import HEADER, PROBE, BenchError, addresses, emulate, program, wait_until

MEGA = 1_000_000
SIZE = 20 * MEGA
# A transfer that takes longer has failed; in seconds.
PATIENCE = 60
# When what changes changes, in seconds after the emulation began. Transfers begin in its first second.
CHANGE = 2.0

# Senders, by the name of their column: paths, and the kernel's congestion control or none for ours.
COLUMNS: dict[str, tuple[list[int], str]] = {
    "TCP CUBIC p1": ([1], "cubic"),
    "TCP BBR p1": ([1], "bbr"),
    "MPTCP BBR": ([1, 2], "bbr"),
    "MPTCP CUBIC": ([1, 2], "cubic"),
    "ours p1": ([1], ""),
    "ours both": ([1, 2], ""),
}


@dataclass
class Condition:
    """What is done to the packets: keys of both bottlenecks, those of one, and what changes."""

    name: str
    both: str = ""
    paths: dict[int, str] = field(default_factory=dict)
    changes: str = ""
    size: int = SIZE
    # Path 1 alone cannot finish.
    needs_both: bool = False

    def scenario(self) -> str:
        text = HEADER + "[hosts.a]\nexternal = true\n[hosts.b]\nexternal = true\n"
        keys = {"rate": '"40 Mbit/s"', "delay": '"10 ms"'}, {"rate": '"20 Mbit/s"', "delay": '"25 ms"'}
        for number, of_path in enumerate(keys, start=1):
            of_path["queue"] = '{ drop-tail = { bytes = "100 kB" } }'
            for line in (self.both + "\n" + self.paths.get(number, "")).splitlines():
                key, is_key, value = line.partition(" = ")
                if is_key:
                    of_path[key] = value
            text += f'[[network.disjoint.paths]]\nname = "{number}"\n[network.disjoint.paths.bottleneck]\n'
            text += "".join(f"{key} = {value}\n" for key, value in of_path.items())
        return text + self.changes


def outage(path: int, until: float | None = None, way: str = "both") -> str:
    end = f', until = "{until} s"' if until else ""
    return f'[[faults]]\noutage = {{ path = "{path}", from = "{CHANGE} s"{end}, way = "{way}" }}\n'


def flapping(path: int, milliseconds: int) -> str:
    times = f'down = "{milliseconds} ms", up = "{milliseconds} ms"'
    return f'[[faults]]\nflapping = {{ path = "{path}", from = "{CHANGE} s", {times} }}\n'


def mtu(path: int) -> str:
    return f'[[steps]]\npath = "{path}"\nat = "{CHANGE} s"\nmtu = "1300 B"\n'


def lost(share: str) -> str:
    return f'loss = {{ forward = "{share}", backward = "{share}" }}'


CONDITIONS = [
    Condition("clean"),
    Condition("reordering: 20 % come 10 ms late", 'reordering = { probability = "20 %", extra_delay = "10 ms" }'),
    Condition("reordering: 1 % come 20 ms late", 'reordering = { probability = "1 %", extra_delay = "20 ms" }'),
    Condition("duplication 10 %", 'duplication = "10 %"'),
    Condition("bit errors: 1 % of full packets", 'bit_errors = { rate = "8.4e-7", damaged = "delivered" }'),
    Condition("loss 1 %", lost("1 %")),
    Condition("loss 5 %, 10 MB", lost("5 %"), size=10 * MEGA),
    Condition("loss 30 %, 0.5 MB", lost("30 %"), size=MEGA // 2),
    Condition("loss of 30 % of the acknowledgements", 'loss = { forward = "0 %", backward = "30 %" }'),
    Condition("jitter 0 to 30 ms, in order", 'jitter = { extra = { uniform = { from = "0 s", to = "30 ms" } } }'),
    Condition("both paths silent for 3 s", changes=outage(1, CHANGE + 3) + outage(2, CHANGE + 3)),
    Condition("path 1 dies", changes=outage(1), needs_both=True),
    Condition("path 1 dies towards the receiver", changes=outage(1, way="forward"), needs_both=True),
    Condition("path 1 dies towards the sender", changes=outage(1, way="backward"), needs_both=True),
    Condition("path 1 flaps, 1 s each", changes=flapping(1, 1000)),
    Condition("both flap, 1 s each", changes=flapping(1, 1000) + flapping(2, 1000)),
    Condition("both flap, 200 ms each, 5 MB", changes=flapping(1, 200) + flapping(2, 200), size=5 * MEGA),
    Condition("MTU 1300, larger packets vanish, both paths", changes=mtu(1) + mtu(2)),
    Condition("the same, path 1 only", changes=mtu(1)),
    Condition("path 2: 2 Mbit/s, queue of 1 MB", paths={2: 'rate = "2 Mbit/s"\nqueue = { drop-tail = { bytes = "1 MB" } }'}),
    Condition("path 2: 1 Mbit/s, 300 ms, loss 5 %", paths={2: 'rate = "1 Mbit/s"\ndelay = "300 ms"\n' + lost("5 %")}),
]
QUICK = [CONDITIONS[0], CONDITIONS[1], CONDITIONS[5], CONDITIONS[11]]
# What the emulation does not have: conditions of real networks that no row stands for.
NOT_EXPRESSED = [
    "late packets by a random time: what is reordered is late by a constant",
    "damage that the checksum of UDP does not see: bits flip in the packet, and the system drops it",
    "routers that fragment, and ICMP: larger packets vanish",
    "address translators that rebind, and clocks that jump",
]


def ours(condition: Condition, numbers: list[int]) -> float:
    """Seconds from the first INIT to the acknowledged end; the receiver compares the content with its hash."""
    with tempfile.TemporaryDirectory() as work:
        file, listening = Path(work, "file"), Path(work, "listening")
        Path(work, "out").mkdir()
        file.write_bytes(os.urandom(condition.size))
        to = addresses(numbers, 2)
        receive = f"'{program()}' receive --listen {to} --out '{work}/out' --once 2> '{listening}'"
        send = f"'{program()}' send '{file}' --from {addresses(numbers, 1)} --to {to} --retry-for 0 --json 2> /dev/null | tr -d '\\n'"
        done = emulate(condition.scenario(), [f"b={receive}", f"a={wait_until(listening)}; {send}"], may_fail=True, minutes=PATIENCE / 60)
    summary = done.said.get("a")
    if not summary or not summary["complete"]:
        raise BenchError("not finished")
    return 8 * condition.size / summary["goodput_bit_s"]


def kernel(condition: Condition, numbers: list[int], congestion: str) -> float:
    """Seconds from the connection to the end that the receiver has seen."""
    use = f"CONGESTION={congestion} PATIENCE={PATIENCE} {PROBE}"
    server, client = f"{use} sink 10.1.1.2", f"{use} pour 10.1.1.1 10.1.1.2 {condition.size}"
    if len(numbers) > 1:
        limits = "export MPTCP=1; ip mptcp limits set subflows 2 add_addr_accepted 2"
        server = f"{limits}; ip mptcp endpoint add 10.2.1.2 dev path2 signal; {server}"
        client = f"{limits}; {client}"
    done = emulate(condition.scenario(), [f"b={server}", f"a={client}"], may_fail=True, minutes=PATIENCE / 60)
    if "bit_s" not in done.said.get("a", {}):
        raise BenchError("not finished")
    return 8 * condition.size / done.said["a"]["bit_s"]


@dataclass
class Row:
    """Seconds of each column; nothing where the transfer did not finish."""

    name: str
    size: int
    seconds: dict[str, float | None] = field(default_factory=dict)


def conditions(quick: bool, only: str, senders: str) -> tuple[list[dict[str, object]], bool]:
    columns = {name: how for name, how in COLUMNS.items() if senders in name}
    if not Path("/proc/sys/net/mptcp/enabled").exists():
        columns = {name: how for name, how in columns.items() if not name.startswith("MPTCP")}
    print("paths of 40 Mbit/s 10 ms and 20 Mbit/s 25 ms, queues of 100 kB; 20 MB unless said; seconds (Mbit/s)")
    print(f"{'':>44}  " + "  ".join(f"{name:>12}" for name in columns))
    rows = []
    for condition in (one for one in (QUICK if quick else CONDITIONS) if only in one.name):
        row = Row(condition.name, condition.size)
        start = time.monotonic()
        for name, (numbers, congestion) in columns.items():
            if condition.needs_both and len(numbers) == 1:
                row.seconds[name] = None
                continue
            try:
                took = kernel(condition, numbers, congestion) if congestion else ours(condition, numbers)
            except BenchError:
                took = None
            row.seconds[name] = took
        cells = [cell(took, condition.size) for took in row.seconds.values()]
        print(f"{condition.name:>44}  " + "  ".join(f"{text:>12}" for text in cells), flush=True)
        print(f"  {condition.name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
        rows.append(row)
    print("not expressed: " + "; ".join(NOT_EXPRESSED))
    return [asdict(row) for row in rows], bool(rows)


def cell(took: float | None, size: int) -> str:
    return "not finished" if took is None else f"{took:.2f} ({8 * size / took / 1e6:.1f})"
