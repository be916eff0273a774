"""Programs across emulated and shaped links, for scripts/bench_emulated.py: transfers of Polypath, of the kernel's TCP and
MPTCP, and of usrsctp."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "tests/interop/emulation_probe.py"
HEADER = 'title = "Benchmark"\n[run]\nduration = "1 h"\n'
# SCTP in UDP (RFC 6951).
UDP_PORT = 9899
# Two-sided 95 % of Student's t, by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 11: 2.201, 15: 2.131}


class BenchError(Exception):
    """A benchmark could not be run."""


@dataclass
class Runs:
    """What runs of one kind gave, in bit/s or as a share, and how far the emulation was behind at worst."""

    values: list[float] = field(default_factory=list)
    behind: float = 0.0

    def add(self, value: float, behind: float = 0.0) -> None:
        self.values.append(value)
        self.behind = max(self.behind, behind)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def mean(self) -> float:
        return statistics.mean(self.values)

    def half_width(self) -> float:
        """Of the 95 % interval of the mean."""
        count = len(self.values)
        if count < 2:
            return math.inf
        return STUDENT.get(count - 1, 2.0) * statistics.stdev(self.values) / math.sqrt(count)


def target() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def program() -> Path:
    given = os.environ.get("POLYPATH")
    return Path(given) if given else target() / "optimized/polypath"


def usrsctp() -> Path | None:
    """The program for usrsctp, where that is installed."""
    if not (shutil.which("cc") and Path("/usr/include/usrsctp.h").exists()):
        return None
    built = target() / "interop/usrsctp_rate"
    built.parent.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-std=gnu11", "-O2", "-o", str(built), str(ROOT / "scripts/usrsctp_rate.c"), "-lusrsctp", "-lpthread"]
    subprocess.run(command, check=True)
    return built


@dataclass
class Emulated:
    """What an emulation reported, and the JSON that programs on each host printed, in one object."""

    result: dict[str, Any]
    said: dict[str, dict[str, Any]]

    @property
    def behind(self) -> float:
        return float(self.result["timing"]["behind_share"])


def emulate(scenario: str, programs: list[str], may_fail: bool = False, minutes: float = 4) -> Emulated:
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario)
        file.flush()
        command = [str(program()), "emulate", file.name, "--json", "--allow-behind", "100 %", "--duration", f"{60 * minutes:.0f} s"]
        for one in programs:
            command += ["--exec", one]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and not (may_fail and done.stdout):
        raise BenchError(done.stderr[-2000:])
    said: dict[str, dict[str, Any]] = {}
    for line in done.stderr.splitlines():
        host, _, text = line.partition(": ")
        if text.startswith("{"):
            said.setdefault(host, {}).update(json.loads(text))
    return Emulated(json.loads(done.stdout), said)


def wait_until(listening: Path) -> str:
    """A command that waits until a server has said that it listens."""
    return f"for i in $(seq 600); do grep -qsE '^(listening|ready)' '{listening}' && break; sleep 0.05; done"


def packets(rate: int, delay: int) -> int:
    """A bandwidth-delay product of the round trip, and at least 50 packets."""
    return max(50, rate * 1_000_000 * 2 * delay // 1000 // 8 // 1500)


def link(rate: int, delay: int) -> str:
    queue = f"{{ drop-tail = {{ packets = {packets(rate, delay)} }} }}"
    return f'{{ rate = "{rate} Mbit/s", delay = "{delay} ms", queue = {queue} }}'


def disjoint(paths: tuple[tuple[int, int], ...]) -> str:
    """Two external hosts and these paths, each of Mbit/s and ms one way."""
    text = HEADER + "[hosts.a]\nexternal = true\n[hosts.b]\nexternal = true\n"
    for number, (rate, delay) in enumerate(paths, start=1):
        text += f'[[network.disjoint.paths]]\nname = "{number}"\nbottleneck = {link(rate, delay)}\n'
    return text


def addresses(numbers: list[int], side: int) -> str:
    return ",".join(f"10.{number}.1.{side}" for number in numbers)


def transfer(scenario: str, numbers: list[int], size: int, policies: str = "--preset recommended") -> tuple[float, float]:
    """A file from a to b over these paths: its rate, and how far the emulation was behind."""
    ours = program()
    with tempfile.TemporaryDirectory() as work:
        file, listening = Path(work, "file"), Path(work, "listening")
        Path(work, "out").mkdir()
        file.write_bytes(os.urandom(size))
        to = addresses(numbers, 2)
        receive = f"'{ours}' receive {policies} --listen {to} --out '{work}/out' --once 2> '{listening}'"
        send = f"'{ours}' send {policies} '{file}' --from {addresses(numbers, 1)} --to {to} --json 2> /dev/null | tr -d '\\n'"
        done = emulate(scenario, [f"b={receive}", f"a={wait_until(listening)}; {send}"])
    summary = done.said.get("a")
    if not summary or not summary["complete"]:
        raise BenchError(f"the transfer failed: {summary}")
    return summary["goodput_bit_s"], done.behind


def mptcp(scenario: str, size: int, sink: str = "sink") -> Emulated | None:
    """The same with the kernel's MPTCP, which gets the second address of the receiver announced."""
    if not Path("/proc/sys/net/mptcp/enabled").exists():
        return None
    limits = "ip mptcp limits set subflows 2 add_addr_accepted 2"
    server = f"{limits}; ip mptcp endpoint add 10.2.1.2 dev path2 signal; MPTCP=1 {PROBE} {sink} 10.1.1.2"
    client = f"{limits}; MPTCP=1 {PROBE} pour 10.1.1.1 10.1.1.2 {size}"
    return emulate(scenario, [f"b={server}", f"a={client}"])


def usrsctp_commands(peer: Path, ends: tuple[str, str], seconds: int, buffers: int, output: Path) -> tuple[str, str]:
    """The commands of the receiver and of the sender. Its buffers are its own where `buffers` is 0."""
    local, remote = ends
    serve = f"'{peer}' -b {buffers} serve {remote} {UDP_PORT} > '{output}'; tail -n 1 '{output}'"
    send = f"'{peer}' -b {buffers} -t {remote} send {local} {UDP_PORT} {UDP_PORT} 1400 {seconds} > /dev/null"
    return serve, f"{wait_until(output)}; {send}"


def usrsctp_transfer(peer: Path, scenario: str, numbers: list[int], seconds: int, buffers: int) -> Emulated:
    """usrsctp's CMT from a to b for so long; what its receiver says is that of b."""
    ends = addresses(numbers, 1), addresses(numbers, 2)
    with tempfile.TemporaryDirectory() as work:
        serve, send = usrsctp_commands(peer, ends, seconds, buffers, Path(work, "output"))
        done = emulate(scenario, [f"b={serve}", f"a={send}"], may_fail=True)
    if "goodput_bit_s" not in done.said.get("b", {}):
        raise BenchError(f"usrsctp told nothing: {done.said}")
    return done


class Growth(threading.Thread):
    """Watches the file that a receiver writes, and notes the longest time in which it did not grow."""

    STEP = 0.004

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.ended = folder, threading.Event()
        self.longest, self.at = 0.0, 0.0

    def run(self) -> None:
        size, begin, last = 0, 0.0, 0.0
        while not self.ended.is_set():
            now, total = time.monotonic(), self.size()
            if total != size:
                if size and now - last > self.longest:
                    self.longest, self.at = now - last, last - begin
                begin, last, size = begin or now, now, total
            time.sleep(self.STEP)

    def size(self) -> int:
        try:
            return max((entry.stat().st_size for entry in os.scandir(self.folder)), default=0)
        except FileNotFoundError:
            return 0  # it has got its name in between

    def stop(self) -> tuple[float, float]:
        self.ended.set()
        self.join()
        return self.longest, self.at


def kernel() -> str:
    version = Path("/proc/sys/kernel/osrelease").read_text(encoding="utf-8").strip()
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return f"Linux {version}, {os.cpu_count()} x {found[1] if found else 'processor'}"
