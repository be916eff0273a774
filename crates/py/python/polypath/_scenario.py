"""One run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Iterator, Optional, Union

from . import _polypath
from ._edits import Edits, edits

Source = Union[str, "os.PathLike[str]", "Scenario"]


class Scenario:
    """A scenario: hosts, paths, traffic and SCTP.

    :param source: path of a file, or the text of one, which has more than one line.
    :param set: changes, as ``{"sctp.receive_buffer": "64 KiB"}``.
    :raises PolypathError: something is unknown or makes no sense; the text says what and where.
    """

    def __init__(self, source: Union[str, "os.PathLike[str]"], set: Edits = None) -> None:
        changes = edits(set)
        if isinstance(source, str) and "\n" in source:
            self._inner = _polypath.Scenario.parse(source, changes)
        else:
            self._inner = _polypath.Scenario.read(os.fspath(source), changes)

    @property
    def title(self) -> str:
        return self._inner.title

    @property
    def seed(self) -> int:
        """The seed of a run for which none is given."""
        return self._inner.seed

    def with_(self, set: Edits) -> "Scenario":
        """The scenario with further changes."""
        other = object.__new__(Scenario)
        other._inner = self._inner.edited(edits(set))
        return other

    def run(self, seed: Optional[int] = None, *, wire: bool = False) -> "Result":
        """Runs it; equal seeds give equal results.

        :param wire: packets have bytes, which are slower and change nothing.
        """
        return Result(json.loads(self._inner.run(seed, wire)))

    def __repr__(self) -> str:
        return f"Scenario({self.title!r})"


class Result(Mapping):
    """What ``polypath sim --json`` prints: a mapping with units in its keys (``_s``, ``_bit_s``, ``_bytes``)."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def goodput_mbit_s(self) -> float:
        """User data delivered per second of the measured time, all flows together."""
        return self["goodput_bit_s"] / 1e6

    @property
    def completed_s(self) -> Optional[float]:
        """When all traffic was delivered, in seconds from the start; ``None`` if not."""
        return self["completed_s"]

    @property
    def series(self) -> dict[str, Any]:
        """Time series, if the scenario has ``record.series``: ``time_s``, and lists of the same length by name and unit."""
        return self._values.get("series") or {}

    def __repr__(self) -> str:
        return f"Result({self['title']!r}, seed {self['seed']}, {self.goodput_mbit_s:.3f} Mbit/s)"


def sim(
    source: Source,
    *,
    seed: Optional[int] = None,
    set: Edits = None,
    series: Optional[str] = None,
    wire: bool = False,
) -> Result:
    """Runs a scenario once.

    :param source: a :class:`Scenario`, the path of a file, or its text.
    :param seed: that of the scenario if it is missing.
    :param set: changes, as ``{"sctp.preset": "cmt"}``.
    :param series: records time series at this interval, as ``"100 ms"``; they are in :attr:`Result.series`.
    """
    scenario = source.with_(set) if isinstance(source, Scenario) else Scenario(source, set)
    if series is not None:
        scenario = scenario.with_({"record.series": series})
    return scenario.run(seed, wire=wire)
