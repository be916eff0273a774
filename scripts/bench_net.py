#!/usr/bin/env python3
"""Measures associations between two processes over UDP on the loopback interface, prints a table and writes
target/bench-net.json in the format of scripts/bench.py.

`udp_loopback_*` is one association, or with `_x8` eight at a time with one endpoint, and with `_shards_2` that on two
threads per process, which takes four idle cores. Each gives goodput in bit/s of wall time, and `NAME_cpu` the same work in bit/s per CPU second of both processes
together: on a machine that others use, too, only that one means something, and ratios. Where usrsctp is installed, its
runs (scripts/usrsctp_rate.c) alternate with ours. Checksums are on; both sides have buffers of 8 MB.

`jain_1000` is how 1,000 associations share one endpoint that sends on all of them as much as goes: Jain's index of the
bytes that arrived on each within the seconds of a run, after two to settle. `jain_1000_upload` is the other direction,
where 1,000 endpoints send to one. `NAME_goodput` is what all got together. Default configuration, messages of 1,400 B.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from bench import NOT_RUN, ROOT, BenchError, Result, number_from, report

ADDRESS = "127.0.0.1"
UDP_PORTS = (29_898, 29_899)


@dataclass(frozen=True)
class Load:
    """What one benchmark transfers."""

    size: int
    associations: int = 1
    shards: int = 1


LOADS = {
    "udp_loopback_1400": Load(1400),
    "udp_loopback_16k": Load(16 << 10),
    "udp_loopback_1400_x8": Load(1400, associations=8),
    "udp_loopback_1400_x8_shards_2": Load(1400, associations=8, shards=2),
}
# Who sends: the endpoint that has all associations, or those at their other ends.
SHARING = {"jain_1000": "hub", "jain_1000_upload": "spokes"}
CROWD = 1000
LONGEST_S = 60
# Of a run; both programs are ended then.
LIMIT_S = LONGEST_S + 60
HEADER = Path("/usr/include/usrsctp.h")


@dataclass
class Run:
    """What one transfer gave."""

    goodput: float
    per_cpu_s: float


def start(command: list[str]) -> subprocess.Popen[str]:
    """Starts a program whose output is read."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)


def end(process: subprocess.Popen[str], what: str) -> tuple[str, float]:
    """Waits for a program; returns what it printed and the CPU seconds that it took."""
    assert process.stdout and process.stderr
    text, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchError(f"{what} failed:\n{errors.strip()}")
    return text, usage.ru_utime + usage.ru_stime


@dataclass
class Ended:
    """What two programs printed, and the CPU seconds that they took together."""

    first: str
    second: str
    cpu_s: float


def run_both(first: list[str], second: list[str]) -> Ended:
    """Runs two programs to their end: the second starts when the first one says that it is ready."""
    processes = [start(first)]
    is_late = threading.Event()

    def give_up() -> None:
        is_late.set()
        for process in processes:
            process.kill()

    timer = threading.Timer(LIMIT_S, give_up)
    timer.start()
    try:
        listener = processes[0]
        assert listener.stdout
        if listener.stdout.readline().strip() != "ready":
            raise BenchError(f"{' '.join(first)} did not start")
        processes.append(start(second))
        printed, cpu_s = end(processes[1], " ".join(second))
        printed_first, cpu_s_first = end(listener, " ".join(first))
    except BenchError as error:
        if is_late.is_set():
            raise BenchError(f"not over after {LIMIT_S} s: {' '.join(second)}") from error
        raise
    finally:
        timer.cancel()
        for process in processes:
            if process.returncode is None:
                process.kill()
                process.wait()
    return Ended(printed_first, printed, cpu_s + cpu_s_first)


def transfer(serve: list[str], send: list[str]) -> Run:
    """One transfer: starts the receiver, then the sender."""
    ended = run_both(serve, send)
    goodput = number_from(ended.first, "goodput_bit_s", "the receiver")
    bits = 8 * number_from(ended.first, "bytes", "the receiver")
    return Run(goodput, bits / ended.cpu_s)


def ours(program: Path, load: Load, seconds: int) -> Run:
    """One run of ours."""
    common = ["--local", ADDRESS, "--udp", str(UDP_PORTS[1])]
    common += ["--associations", str(load.associations), "--shards", str(load.shards)]
    send = [str(program), "send", *common, "--to", ADDRESS, "--size", str(load.size), "--seconds", str(seconds)]
    return transfer([str(program), "serve", *common], send)


def theirs(program: Path, size: int, seconds: int) -> Run:
    """One run of usrsctp."""
    near, far = (str(port) for port in UDP_PORTS)
    send = [str(program), "send", ADDRESS, near, far, str(size), str(seconds)]
    return transfer([str(program), "serve", ADDRESS, far], send)


def measure(names: list[str], programs: tuple[Path, Path | None], rounds: int, seconds: int) -> dict[str, Result]:
    """Every benchmark, in turn with the peer's."""
    results: dict[str, Result] = {}
    for name in names:
        print(f"bench: {name} ...", flush=True)
        runs, peer_runs = [], []
        for _ in range(rounds):
            load = LOADS[name]
            runs.append(ours(programs[0], load, seconds))
            # Its program has one association.
            if programs[1] and load.associations == 1:
                peer_runs.append(theirs(programs[1], load.size, seconds))
        for suffix, unit, key in (("", "bit/s", "goodput"), ("_cpu", "bit/s per CPU second", "per_cpu_s")):
            result = Result(unit, [getattr(run, key) for run in runs])
            peer = [getattr(run, key) for run in peer_runs]
            result.beside["usrsctp"] = statistics.median(peer) if peer else NOT_RUN
            results[name + suffix] = result
    return results


def sharing(program: Path, sender: str, seconds: int) -> tuple[float, float]:
    """Jain's index of the associations of one endpoint, and their goodput together."""
    common = ["--udp", str(UDP_PORTS[1]), "--associations", str(CROWD), "--sender", sender, "--seconds", str(seconds)]
    hub = [str(program), "hub", "--local", ADDRESS, *common]
    ended = run_both(hub, [str(program), "spokes", "--local", ADDRESS, "--to", ADDRESS, *common])
    text = ended.second if sender == "hub" else ended.first
    return number_from(text, "jain", "the receiver"), number_from(text, "goodput_bit_s", "the receiver")


def measure_sharing(name: str, program: Path, rounds: int, seconds: int) -> dict[str, Result]:
    """Many associations of one endpoint that all send, or all receive, as much as goes."""
    print(f"bench: {name} ...", flush=True)
    runs = [sharing(program, SHARING[name], seconds) for _ in range(rounds)]
    return {
        name: Result("Jain's index", [index for index, _ in runs]),
        f"{name}_goodput": Result("bit/s", [goodput for _, goodput in runs]),
    }


def allow_sockets() -> None:
    """Lets the programs have a socket for every association."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def build(profile: str) -> tuple[Path, Path | None]:
    """Builds the programs; returns the folder of ours, and usrsctp's, None where that is not installed."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    target = target if target.is_absolute() else ROOT / target
    command = ["cargo", "build", "--profile", profile, "--locked", "--package", "polypath"]
    command += ["--example", "rate", "--example", "fairness"]
    subprocess.run(command, cwd=ROOT, check=True)
    peer = None
    if shutil.which("cc") and HEADER.exists():
        peer = target / "interop/usrsctp_rate"
        peer.parent.mkdir(parents=True, exist_ok=True)
        source = str(ROOT / "scripts/usrsctp_rate.c")
        subprocess.run(["cc", "-std=gnu11", "-O2", "-o", str(peer), source, "-lusrsctp", "-lpthread"], check=True)
    return target / profile / "examples", peer


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures associations over UDP on the loopback interface.")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each benchmark (default 5)")
    parser.add_argument("--seconds", type=int, default=5, help="how long each run sends (default 5)")
    parser.add_argument("--profile", default="release", help="cargo profile (default release)")
    parser.add_argument("--only", action="append", choices=[*LOADS, *SHARING], help="run this benchmark only; may be repeated")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or not 1 <= arguments.seconds <= LONGEST_S:
        parser.error(f"--rounds must be at least 1, and --seconds from 1 to {LONGEST_S}")
    try:
        folder, peer = build(arguments.profile)
        allow_sockets()
        names = arguments.only or [*LOADS, *SHARING]
        sizes = [name for name in names if name in LOADS]
        results = measure(sizes, (folder / "rate", peer), arguments.rounds, arguments.seconds)
        for name in names:
            if name in SHARING:
                results |= measure_sharing(name, folder / "fairness", arguments.rounds, arguments.seconds)
    except (BenchError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    report(results, ROOT / "target/bench-net.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
