#!/usr/bin/env python3
"""Measures one association between two processes over UDP on the loopback interface, prints a table and writes
target/bench-net.json in the format of scripts/bench.py.

Each benchmark gives goodput in bit/s of wall time, and `NAME_cpu` the same work in bit/s per CPU second of both processes
together: on a machine that others use, too, only that one means something, and ratios. Where usrsctp is installed, its
runs (scripts/usrsctp_rate.c) alternate with ours. Checksums are on; both sides have buffers of 8 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from bench import NOT_RUN, ROOT, BenchError, Result, number_from, table

ADDRESS = "127.0.0.1"
UDP_PORTS = (29_898, 29_899)
SIZES = {"udp_loopback_1400": 1400, "udp_loopback_16k": 16 << 10}
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


def transfer(serve: list[str], send: list[str]) -> Run:
    """One transfer: starts the receiver, then the sender."""
    processes = [start(serve)]
    is_late = threading.Event()

    def give_up() -> None:
        is_late.set()
        for process in processes:
            process.kill()

    timer = threading.Timer(LIMIT_S, give_up)
    timer.start()
    try:
        receiver = processes[0]
        assert receiver.stdout
        if receiver.stdout.readline().strip() != "ready":
            raise BenchError(f"{' '.join(serve)} did not start")
        processes.append(start(send))
        _, sending = end(processes[1], " ".join(send))
        text, receiving = end(receiver, " ".join(serve))
    except BenchError as error:
        if is_late.is_set():
            raise BenchError(f"not over after {LIMIT_S} s: {' '.join(send)}") from error
        raise
    finally:
        timer.cancel()
        for process in processes:
            if process.returncode is None:
                process.kill()
                process.wait()
    goodput = number_from(text, "goodput_bit_s", "the receiver")
    bits = 8 * number_from(text, "bytes", "the receiver")
    return Run(goodput, bits / (sending + receiving))


def ours(program: Path, size: int, seconds: int) -> Run:
    """One run of ours."""
    common = ["--local", ADDRESS, "--udp", str(UDP_PORTS[1])]
    send = [str(program), "send", *common, "--to", ADDRESS, "--size", str(size), "--seconds", str(seconds)]
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
            runs.append(ours(programs[0], SIZES[name], seconds))
            if programs[1]:
                peer_runs.append(theirs(programs[1], SIZES[name], seconds))
        for suffix, unit, key in (("", "bit/s", "goodput"), ("_cpu", "bit/s per CPU second", "per_cpu_s")):
            result = Result(unit, [getattr(run, key) for run in runs])
            peer = [getattr(run, key) for run in peer_runs]
            result.beside["usrsctp"] = statistics.median(peer) if peer else NOT_RUN
            results[name + suffix] = result
    return results


def build(profile: str) -> tuple[Path, Path | None]:
    """Builds both programs; None for usrsctp where it is not installed."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    target = target if target.is_absolute() else ROOT / target
    command = ["cargo", "build", "--profile", profile, "--locked", "--package", "polypath", "--example", "rate"]
    subprocess.run(command, cwd=ROOT, check=True)
    peer = None
    if shutil.which("cc") and HEADER.exists():
        peer = target / "interop/usrsctp_rate"
        peer.parent.mkdir(parents=True, exist_ok=True)
        source = str(ROOT / "scripts/usrsctp_rate.c")
        subprocess.run(["cc", "-std=gnu11", "-O2", "-o", str(peer), source, "-lusrsctp", "-lpthread"], check=True)
    return target / profile / "examples/rate", peer


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures associations over UDP on the loopback interface.")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each benchmark (default 5)")
    parser.add_argument("--seconds", type=int, default=5, help="how long each run sends (default 5)")
    parser.add_argument("--profile", default="release", help="cargo profile (default release)")
    parser.add_argument("--only", action="append", choices=sorted(SIZES), help="run this benchmark only; may be repeated")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or not 1 <= arguments.seconds <= LONGEST_S:
        parser.error(f"--rounds must be at least 1, and --seconds from 1 to {LONGEST_S}")
    try:
        programs = build(arguments.profile)
        results = measure(arguments.only or list(SIZES), programs, arguments.rounds, arguments.seconds)
    except (BenchError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    file = ROOT / "target/bench-net.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({name: result.as_json() for name, result in results.items()}, indent=2) + "\n")
    print(table(results))
    print(f"bench: written to {file.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
