"""Two network namespaces whose links the kernel shapes (tc tbf), for scripts/bench_emulated.py."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from emulated import PROBE, BenchError, Runs, program, usrsctp_commands

# Mbit/s of the links, bytes of a message, and what the links carry of messages of that length in UDP at most: with 70
# bytes of headers each, those of Ethernet included.
RATES = (100, 50)
MESSAGE = 1400
CEILING = sum(RATES) * MESSAGE / (MESSAGE + 70)
SECONDS = 10


class Bed:
    """Hosts a and b with a link for each rate; gone when it is left."""

    def __init__(self, rates: tuple[int, ...]) -> None:
        self.rates = rates
        self.names = {side: f"polypath-shaped-{os.getpid()}-{side}" for side in "ab"}

    def __enter__(self) -> Bed:
        try:
            for name in self.names.values():
                self.call("netns", "add", name)
                self.call("-n", name, "link", "set", "lo", "up")
                # A path is a pair of addresses: replies leave where they must.
                for key in ("all", "default"):
                    self.inside(name, "sysctl", "-qw", f"net.ipv4.conf.{key}.rp_filter=0")
            for number, rate in enumerate(self.rates, start=1):
                self.join(number, rate)
        except BaseException:
            self.leave()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.leave()

    def join(self, number: int, rate: int) -> None:
        a, b = self.names.values()
        device = f"path{number}"
        self.call("-n", a, "link", "add", device, "type", "veth", "peer", "name", device, "netns", b)
        for last, name in enumerate((a, b), start=1):
            self.call("-n", name, "address", "add", f"10.{number}.1.{last}/24", "dev", device)
            self.call("-n", name, "link", "set", device, "up")
            bucket = ["rate", f"{rate}mbit", "burst", "16kb", "limit", "150kb"]
            self.inside(name, "tc", "qdisc", "replace", "dev", device, "root", "tbf", *bucket)

    def leave(self) -> None:
        for name in self.names.values():
            found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            for pid in found.stdout.split():
                subprocess.run(["kill", "-KILL", pid], check=False)
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    @staticmethod
    def call(*arguments: str) -> None:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")

    def inside(self, name: str, *command: str) -> None:
        self.call("netns", "exec", name, *command)

    def run(self, server: str, client: str) -> tuple[str, str]:
        """What both print, each a command of the shell; the server's is ended when the client has ended."""
        def start(side: str, command: str) -> subprocess.Popen[str]:
            inside = ["ip", "netns", "exec", self.names[side], "sh", "-c", command]
            return subprocess.Popen(inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        serving = start("b", server)
        sending = start("a", client)
        try:
            said, errors = sending.communicate(timeout=120)
            if sending.returncode != 0:
                raise BenchError(f"{client}: {errors[-1000:]}")
            heard, _ = serving.communicate(timeout=60)
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"not over in time: {client}") from error
        finally:
            for process in (serving, sending):
                process.kill()
                process.wait()
        return heard, said


def ours(bed: Bed, options: str) -> float:
    with tempfile.TemporaryDirectory() as work:
        listening = Path(work, "listening")
        wait = f"for i in $(seq 600); do grep -qs ^listening '{listening}' && break; sleep 0.05; done"
        server = f"'{program()}' meter server -B 10.1.1.2,10.2.1.2 {options} --one-off 2> '{listening}' > /dev/null"
        load = f"-O 2 -t {SECONDS} -i 0 -l {MESSAGE} --json"
        client = f"{wait}; '{program()}' meter client 10.1.1.2,10.2.1.2 -B 10.1.1.1,10.2.1.1 {options} {load}"
        _, said = bed.run(server, client)
    return float(json.loads(said)["end"]["sum_received"]["bits_per_second"])


def theirs(bed: Bed, peer: Path, buffers: int) -> float:
    with tempfile.TemporaryDirectory() as work:
        ends = "10.1.1.1,10.2.1.1", "10.1.1.2,10.2.1.2"
        server, client = usrsctp_commands(peer, ends, SECONDS, buffers, Path(work, "output"))
        heard, _ = bed.run(server, client)
    return float(json.loads(heard)["goodput_bit_s"])


def kernel_mptcp(bed: Bed, congestion: str) -> float:
    limits = "ip mptcp limits set subflows 2 add_addr_accepted 2"
    use = f"MPTCP=1 CONGESTION={congestion} {PROBE}"
    size = sum(RATES) * 1_000_000 // 8 * SECONDS
    server = f"{limits}; ip mptcp endpoint flush; ip mptcp endpoint add 10.2.1.2 dev path2 signal; {use} sink 10.1.1.2"
    _, said = bed.run(server, f"{limits}; {use} pour 10.1.1.1 10.1.1.2 {size}")
    return float(json.loads(said)["bit_s"])


def shaped(peer: Path | None, rounds: int, only: str) -> tuple[list[dict[str, object]], bool]:
    """Everybody over 100 + 50 Mbit/s, in turn; whether ours reaches what it should."""
    kinds = {
        "Polypath, default buffers (32 MiB)": (lambda bed: ours(bed, ""), 0.99),
        "Polypath, 256 KiB": (lambda bed: ours(bed, "-w 256K"), None),
        "Polypath, 64 KiB": (lambda bed: ours(bed, "-w 64K"), 0.97),
    }
    if peer:
        sizes = {"8 MiB": 8 << 20, "1 MiB": 1 << 20, "default buffers (256/128 KiB)": 0, "64 KiB": 64 << 10}
        for name, size in sizes.items():
            kinds[f"usrsctp CMT, {name}"] = (lambda bed, size=size: theirs(bed, peer, size), None)
    if Path("/proc/sys/net/mptcp/enabled").exists():
        for congestion in ("cubic", "bbr"):
            kinds[f"kernel MPTCP, {congestion}"] = (lambda bed, how=congestion: kernel_mptcp(bed, how), None)
    kinds = {name: kind for name, kind in kinds.items() if only in name}
    found = {name: Runs() for name in kinds}
    for _ in range(rounds):
        for name, (measure, _) in kinds.items():
            # Nobody learns from those before.
            try:
                with Bed(RATES) as bed:
                    found[name].add(measure(bed))
            except BenchError as error:
                print(f"  {name}: {error}", file=sys.stderr)
    rows, is_good = [], True
    print(f"{'100 + 50 Mbit/s':>42}  median   range")
    for name, (_, demanded) in kinds.items():
        runs = found[name]
        if not runs.values:
            print(f"{name:>42}  nothing")
            is_good = is_good and demanded is None
            continue
        low, high = min(runs.values), max(runs.values)
        part = statistics.median(runs.values) / 1e6 / CEILING
        is_met = demanded is None or part >= demanded
        is_good = is_good and is_met
        verdict = "" if is_met else f"  below {demanded:.0%}"
        print(f"{name:>42}  {runs.median / 1e6:6.1f}   {low / 1e6:.1f} to {high / 1e6:.1f}  {part:.1%} of {CEILING:.1f}{verdict}")
        rows.append({"name": name, "bit_s": runs.values, "part": part})
    return rows, is_good
