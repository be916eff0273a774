#!/usr/bin/env python3
"""Makes a trace of a link that behaves as a cellular one: scenarios/traces/lte.csv, unless told otherwise.

Nothing is recorded. The rate is a random walk of its logarithm that is drawn back to a mean, with a new value each 100 ms;
now and then there is a fade, in which it falls to a twentieth for half a second to two. The delay has a new value each
second, and losses are more during fades. Equal arguments give equal files, on every version of Python.
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path

STEP_S = 0.1
MEAN_MBIT_S = 12.0
LOWEST_MBIT_S = 0.05
HIGHEST_MBIT_S = 40.0
# Of the way back to the mean in a step, and of the random part of the logarithm.
RETURN = 0.05
SPREAD = 0.22
FADES_PER_S = 1 / 12
FADED = 0.05


def normal(numbers: random.Random) -> float:
    """About a standard normal number: only random() gives the same on all versions."""
    return sum(numbers.random() for _ in range(12)) - 6.0


def rows(seconds: int, seed: int) -> list[str]:
    numbers = random.Random(seed)
    level = 0.0
    fade_until = -1.0
    faded_before = False
    lines = []
    for step in range(round(seconds / STEP_S)):
        time = step * STEP_S
        level += SPREAD * normal(numbers) - RETURN * level
        if numbers.random() < FADES_PER_S * STEP_S:
            fade_until = time + 0.5 + 1.5 * numbers.random()
        faded = time < fade_until
        rate = MEAN_MBIT_S * math.exp(level) * (FADED if faded else 1.0)
        rate = min(max(rate, LOWEST_MBIT_S), HIGHEST_MBIT_S)
        delay = f"{25 + 15 * numbers.random():.1f}" if step % 10 == 0 else ""
        loss = ("1" if faded else "0.01") if step == 0 or faded != faded_before else ""
        faded_before = faded
        lines.append(f"{time:.1f},{rate:.2f},{delay},{loss}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes a trace of a link that behaves as a cellular one.")
    parser.add_argument("--seconds", type=int, default=60, help="length (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default 1)")
    default = Path(__file__).resolve().parent.parent / "scenarios/traces/lte.csv"
    parser.add_argument("--out", type=Path, default=default, help="file to write")
    arguments = parser.parse_args()
    head = [
        f"# Made by scripts/make_lte_trace.py --seconds {arguments.seconds} --seed {arguments.seed}; not a recording.",
        "time [s],rate [Mbit/s],delay [ms],loss [%]",
    ]
    text = "\n".join([*head, *rows(arguments.seconds, arguments.seed)]) + "\n"
    arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
