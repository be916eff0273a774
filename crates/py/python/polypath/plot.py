"""Pictures of studies in one style, with matplotlib."""

from __future__ import annotations

import math
from typing import Any, Optional

from ._study import Results

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito), and markers beside them.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = "osD^vP*"
# Two-sided 95 % quantiles of Student's t by degrees of freedom, from 1.
T_95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]


def curves(
    results: Results,
    measure: str,
    x: str,
    *,
    by: str = "variant",
    scale: float = 1.0,
    unit: str = "",
    ax: Optional[Any] = None,
) -> Any:
    """Means of a measure over an axis with 95 % intervals, a curve per variant.

    :param measure: a measure of the study, or a column of ``results.runs``.
    :param x: an axis of the study, or a column.
    :param scale: what values are multiplied by.
    :param ax: where to draw; a new figure if it is missing.
    :returns: the axes of matplotlib.
    """
    import matplotlib.pyplot
    import pyarrow

    table = pyarrow.table(results.runs)
    names = _column(table, by, [""])
    places = _column(table, x, ["at.", "axis.", ""])
    values = _column(table, measure, ["measure.", ""])
    groups: dict[Any, dict[Any, list[float]]] = {}
    for name, place, value in zip(names, places, values):
        if value is not None:
            groups.setdefault(name, {}).setdefault(place, []).append(value * scale)
    if ax is None:
        _, ax = matplotlib.pyplot.subplots(layout="constrained")
    for number, (name, points) in enumerate(groups.items()):
        at = [_number(place) for place in points]
        means, halves = zip(*(_interval(samples) for samples in points.values()))
        style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        ax.errorbar(at, means, yerr=halves, label=str(name), capsize=3, markersize=4, linewidth=1.2, **style)
    ax.set_xlabel(x)
    ax.set_ylabel(f"{measure} [{unit}]" if unit else measure)
    ax.grid(True, alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    if len(groups) > 1:
        ax.legend(frameon=False)
    return ax


def _column(table: Any, name: str, prefixes: list[str]) -> list[Any]:
    for prefix in prefixes:
        if prefix + name in table.column_names:
            return table[prefix + name].to_pylist()
    short = [column for column in table.column_names if not column.startswith("result.")]
    raise KeyError(f"there is no column {name!r}; there are {', '.join(short)}, and those of results (result.…)")


def _number(value: Any) -> Any:
    """``"10 Mbit/s"`` is at 10, and what has no number at its name."""
    if isinstance(value, str):
        try:
            return float(value.split()[0])
        except (ValueError, IndexError):
            return value
    return value


def _interval(samples: list[float]) -> tuple[float, float]:
    """Mean and half of the 95 % interval; none of a single sample."""
    count = len(samples)
    mean = math.fsum(samples) / count
    if count < 2:
        return mean, 0.0
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in samples) / (count - 1))
    t = T_95[count - 2] if count - 2 < len(T_95) else 1.96 + 2.4 / (count - 1)
    return mean, t * deviation / math.sqrt(count)
