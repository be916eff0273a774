"""Changes of scenarios as the program's ``--set`` takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Union

Value = Union[bool, int, float, str, list, dict]
Edits = Union[Mapping[str, Value], Iterable[str], None]


def edits(changes: Edits) -> list[str]:
    """``{"sctp.preset": "cmt"}`` and ``["sctp.preset=cmt"]`` mean the same."""
    if changes is None:
        return []
    if isinstance(changes, Mapping):
        return [f"{key}={_toml(value)}" for key, value in changes.items()]
    if isinstance(changes, str):
        raise TypeError("changes are a dictionary or a list of 'key=value', not a single string")
    return list(changes)


def _toml(value: Value, inside: bool = False) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A string that stands alone needs no quotes, and is a quantity or a name.
        return _quoted(value) if inside else value
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item, True) for item in value) + "]"
    if isinstance(value, Mapping):
        pairs = (f"{_quoted(key)} = {_toml(item, True)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    return repr(value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
