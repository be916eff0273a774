"""What policies and presets there are."""

from __future__ import annotations

from dataclasses import dataclass

from . import _polypath


@dataclass(frozen=True)
class Policy:
    """A key below ``sctp.policies``."""

    key: str
    meaning: str
    source: str
    """RFC, draft or paper, with section."""
    kind: str
    """``choice``, ``choice with a parameter`` or ``quantity``."""
    values: dict[str, str]
    """Each value as it stands in a file, with its meaning; of a quantity an example, with its unit and bounds."""


def policies() -> dict[str, Policy]:
    """All policies by key."""
    entries = (Policy(**{**entry, "values": dict(entry["values"])}) for entry in _polypath.policies())
    return {entry.key: entry for entry in entries}


def presets() -> dict[str, str]:
    """Names of presets with what they are for."""
    return dict(_polypath.presets())
