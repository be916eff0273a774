"""Statements of papers, and what became of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Union


def statements(report: Union[str, "os.PathLike[str]"]) -> list[dict[str, Any]]:
    """The statements of a paper with verdicts, measured values and intervals, as rows for a data frame.

    :param report: the folder of a paper that ``polypath reproduce`` has written, or its ``report.json``.
    """
    path = Path(report)
    if path.is_dir():
        path = _report(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    return [_flat(statement) for statement in content["statements"]]


def _report(folder: Path) -> Path:
    """That of the whole paper, or else the only one, which is of one figure."""
    whole = folder / "report.json"
    others = sorted(folder.glob("report-*.json"))
    if not whole.exists() and len(others) == 1:
        return others[0]
    if not whole.exists() and others:
        names = ", ".join(other.name for other in others)
        raise FileNotFoundError(f"{folder} has no report of the whole paper; name one of {names}")
    return whole


def _flat(value: dict[str, Any], before: str = "") -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            row |= _flat(item, f"{before}{key}.")
        else:
            row[before + key] = item
    return row
