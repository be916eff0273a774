#!/usr/bin/env python3
"""Makes the traces of studies/lte-and-satellite.toml: scenarios/traces/lte-uplink.csv and satellite.csv.

Nothing is recorded: both are made up after what measurements report, with round numbers.

* LTE uplink: the rate is a random walk of its logarithm around 6 Mbit/s, with a new value each 100 ms; now and then a fade of
  half a second to three leaves a tenth of it. What makes such a link slow to answer is its long queue, which the scenario has.
* Satellite in low orbit, as Starlink's: every 15 s the terminal is given another satellite or other times to send, so rate
  and delay jump (from 20 to 60 ms one way, with what varies inside the 15 s), and for some 100 ms nothing passes. About once in
  50 s something stands in the way for half a second to two. One packet in 2000 is lost at any time.

Equal arguments give equal files, on every version of Python.
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path

STEP_S = 0.1

LTE_MBIT_S = (0.2, 6.0, 15.0)  # least, middle, most
LTE_RETURN = 0.05  # of the way back to the middle in a step
LTE_SPREAD = 0.18  # of the random part of the logarithm
LTE_FADES_PER_S = 1 / 20
LTE_FADED = 0.1

SLOT_S = 15.0
SATELLITE_MBIT_S = (6.0, 16.0)  # of a slot
SATELLITE_RIPPLE = 0.15
SATELLITE_DELAY_MS = (24.0, 52.0)  # of a slot
SATELLITE_DELAY_RIPPLE_MS = 4.0
SATELLITE_LOSS = "0.05"
GAP_S = (0.05, 0.15)  # at the begin of a slot
BLOCKED_S = (0.5, 2.0)
BLOCKED_PER_S = 1 / 50


def normal(numbers: random.Random) -> float:
    """About a standard normal number: only random() gives the same on all versions."""
    return sum(numbers.random() for _ in range(12)) - 6.0


def between(numbers: random.Random, ends: tuple[float, float]) -> float:
    return ends[0] + (ends[1] - ends[0]) * numbers.random()


def lte_rows(seconds: int, seed: int) -> list[str]:
    numbers = random.Random(seed)
    level = 0.0
    fade_until = -1.0
    lines = ["time [s],rate [Mbit/s]"]
    least, middle, most = LTE_MBIT_S
    for step in range(round(seconds / STEP_S)):
        time = step * STEP_S
        level += LTE_SPREAD * normal(numbers) - LTE_RETURN * level
        if numbers.random() < LTE_FADES_PER_S * STEP_S:
            fade_until = time + between(numbers, (0.5, 3.0))
        rate = middle * math.exp(level) * (LTE_FADED if time < fade_until else 1.0)
        lines.append(f"{time:.1f},{min(max(rate, least), most):.2f}")
    return lines


def satellite_rows(seconds: int, seed: int) -> list[str]:
    numbers = random.Random(seed)
    # What is lost, and from when on; a later entry for the same time decides.
    losses: dict[str, str] = {}
    for slot in range(math.ceil(seconds / SLOT_S)):
        losses[f"{slot * SLOT_S:.3f}"] = "100"
        losses[f"{slot * SLOT_S + between(numbers, GAP_S):.3f}"] = SATELLITE_LOSS
    rows: dict[str, list[str]] = {time: ["", "", loss] for time, loss in losses.items()}
    rate, delay = 0.0, 0.0
    blocked_until = -1.0
    for step in range(round(seconds / STEP_S)):
        time = step * STEP_S
        if step % round(SLOT_S / STEP_S) == 0:
            rate = between(numbers, SATELLITE_MBIT_S)
            delay = between(numbers, SATELLITE_DELAY_MS)
        row = rows.setdefault(f"{time:.3f}", ["", "", ""])
        row[0] = f"{rate * (1 + SATELLITE_RIPPLE * (2 * numbers.random() - 1)):.2f}"
        row[1] = f"{delay + SATELLITE_DELAY_RIPPLE_MS * (2 * numbers.random() - 1):.1f}"
        if numbers.random() < BLOCKED_PER_S * STEP_S and time > blocked_until:
            blocked_until = time + round(between(numbers, BLOCKED_S), 1)
            row[2] = "100"
            if blocked_until < seconds:
                rows.setdefault(f"{blocked_until:.3f}", ["", "", ""])[2] = SATELLITE_LOSS
    in_order = sorted(rows.items(), key=lambda row: float(row[0]))
    return ["time [s],rate [Mbit/s],delay [ms],loss [%]", *(",".join([time, *row]) for time, row in in_order)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes traces of an LTE uplink and of a link over satellites.")
    parser.add_argument("--seconds", type=int, default=120, help="length; whole slots of 15 s repeat best (default 120)")
    parser.add_argument("--seed", type=int, default=2, help="seed of the random numbers (default 2)")
    default = Path(__file__).resolve().parent.parent / "scenarios/traces"
    parser.add_argument("--out", type=Path, default=default, help="folder for the files")
    arguments = parser.parse_args()
    call = f"scripts/make_uplink_traces.py --seconds {arguments.seconds} --seed {arguments.seed}"
    for name, rows in [("lte-uplink", lte_rows), ("satellite", satellite_rows)]:
        text = "\n".join([f"# Made by {call}; not a recording.", *rows(arguments.seconds, arguments.seed)]) + "\n"
        (arguments.out / f"{name}.csv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
