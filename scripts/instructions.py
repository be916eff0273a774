#!/usr/bin/env python3
"""Counts the instructions that the simulator takes per data packet, and says which part of the code takes them.

    scripts/instructions.py scenarios/two-100mbit.toml scenarios/red-cmt.toml
    scripts/instructions.py --program target/profiling/polypath --set 'sctp.preset="recommended"' scenarios/two-100mbit.toml

Without --program it builds the program with the profile `profiling`: that of a release, with line numbers. Each scenario runs for
two durations under valgrind's callgrind; the difference is divided by that of the data packets, so that start and end do not
count. An instruction belongs to the part of the innermost function from a file of that part, inlined functions included (needs
`valgrind` and, from binutils, `addr2line`).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Parts by the beginning of a path below crates/, the first that fits. Files that are in none serve whoever calls them.
PARTS = [
    ("trace hash", r"netsim/src/trace_hash|sim/src/frame"),
    ("links, queues, routers, events", r"netsim/"),
    ("source and sink of messages", r"sim/src/app|workload/"),
    ("hosts and run loop", r"sim/|cli/|lab/"),
    ("wire", r"wire/"),
    ("receiver: TSNs, reassembly, SACKs", r"proto/src/receive"),
    (
        "sender: SACK processing, congestion control",
        r"proto/src/(transmit/(acknowledge|sack|recovery|loss|t3|spurious|outstanding)|congestion|mechanism/(cuc|sfr|t3))",
    ),
    ("sender: queue, choice of the path, packets", r"proto/src/(transmit|mechanism)"),
    ("association: timers", r"proto/src/association/timers"),
    ("association: dispatch, paths, events", r"proto/src/(association|endpoint|paths)"),
]
LIBRARIES = [
    ("checksum", r"^crc_fast"),
    ("trace hash", r"^<?twox_hash"),
    ("allocation, copies by the C library", r"malloc|free|calloc|realloc|memcpy|memmove|memset|unlink_chunk|sbrk"),
]

Address = tuple[str, str, str]
Frame = tuple[str, str]


def instructions(lines: Iterable[str]) -> Counter[Address]:
    """Instructions by object, function and address, of a file of callgrind with uncompressed names and one position."""
    counts: Counter[Address] = Counter()
    function = program = ""
    is_call = False
    for line in lines:
        if line.startswith("0x"):
            # What follows the head of a call is what the callee took, which is counted there.
            if not is_call:
                address, *_, count = line.split()
                counts[program, function, address] += int(count)
            is_call = False
        elif line.startswith("calls="):
            is_call = True
        elif line.startswith("fn="):
            function = line[3:].strip()
        elif line.startswith("ob="):
            program = line[3:].strip()
    return counts


def part_of(function: str, frames: Iterable[Frame]) -> str:
    """The part that an instruction belongs to, by the frames at its address, the innermost first."""
    for _, place in frames:
        below = re.search(r"/crates/([^:]*)", place) if "/registry/" not in place else None
        for part, paths in PARTS if below else []:
            if re.match(paths, below[1]):
                return part
    for part, names in LIBRARIES:
        if re.search(names, function):
            return part
    return "other"


def frames_of(program: Path, addresses: list[str]) -> dict[str, list[Frame]]:
    """Function and place of each address of the program, and of the functions that this one is inlined into."""
    command = ["addr2line", "-e", str(program), "-a", "-i", "-f", "-C"]
    out = subprocess.run(command, input="\n".join(addresses), capture_output=True, text=True, check=True).stdout
    frames: dict[str, list[Frame]] = {}
    lines = iter(out.splitlines())
    current: list[Frame] = []
    for line in lines:
        if line.startswith("0x"):
            current = frames[hex(int(line, 16))] = []
        else:
            current.append((line, next(lines, "")))
    return frames


def run(program: Path, scenario: str, duration: int, changes: list[str], out: Path) -> int:
    """Runs a scenario under callgrind; gives its data packets."""
    tool = ["valgrind", "--quiet", "--tool=callgrind", "--dump-instr=yes", "--compress-strings=no", "--compress-pos=no"]
    sets = [f'run.duration="{duration} s"', f'run.measure_from="{duration // 2} s"', *changes]
    command = [*tool, f"--callgrind-out-file={out}", str(program), "sim", scenario, "--json"]
    for change in sets:
        command += ["--set", change]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{scenario} failed under valgrind:\n{done.stderr}")
    return int(json.loads(done.stdout)["data_packets"])


def measure(program: Path, scenario: str, durations: list[int], changes: list[str]) -> Counter[str]:
    """Instructions per data packet, by part."""
    with tempfile.TemporaryDirectory() as folder:
        counts, packets = [], []
        for duration in durations:
            out = Path(folder) / str(duration)
            packets.append(run(program, scenario, duration, changes, out))
            with out.open(encoding="utf-8", errors="replace") as lines:
                counts.append(instructions(lines))
    counts[1].subtract(counts[0])
    own = [address for name, _, address in counts[1] if Path(name).resolve() == program.resolve()]
    frames = frames_of(program, own)
    parts: Counter[str] = Counter()
    for (name, function, address), count in counts[1].items():
        known = frames.get(hex(int(address, 16)), []) if Path(name).resolve() == program.resolve() else []
        parts[part_of(function, known)] += count
    return Counter({part: count / (packets[1] - packets[0]) for part, count in parts.items()})


def table(measured: dict[str, Counter[str]]) -> str:
    """Instructions and shares by part, a column per scenario, the dearest part first."""
    total = {scenario: sum(parts.values()) for scenario, parts in measured.items()}
    all_parts: Counter[str] = sum(measured.values(), Counter())
    rows = [["", *measured], ["---"] * (len(measured) + 1)]
    rows.append(["all", *(f"{total[scenario]:,.0f}" for scenario in measured)])
    for part, _ in all_parts.most_common():
        shares = (f"{parts[part]:,.0f} ({100 * parts[part] / total[scenario]:.0f} %)" for scenario, parts in measured.items())
        rows.append([part, *shares])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def build() -> Path:
    command = ["cargo", "build", "--profile", "profiling", "--locked", "--package", "polypath-cli", "--message-format=json"]
    out = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    programs = (json.loads(line).get("executable") for line in out.splitlines())
    return next(Path(program) for program in programs if program and Path(program).name == "polypath")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="+", help="scenario files that run for at least as long")
    parser.add_argument("--program", type=Path, help="a program with line numbers, in place of building one")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--durations", type=int, nargs=2, default=[4, 8], metavar="S", help="virtual seconds (default: 4 8)")
    arguments = parser.parse_args()
    program = arguments.program or build()
    measured = {
        scenario: measure(program, scenario, arguments.durations, arguments.changes) for scenario in arguments.scenarios
    }
    print(table(measured))


if __name__ == "__main__":
    main()
