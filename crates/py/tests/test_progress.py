"""How progress is shown."""

from __future__ import annotations

import sys
import types

import pytest

from polypath import _progress
from polypath._progress import Shown, words


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0, 10, 5.0), "0 of 10 runs"),
        ((5, 10, 0.5), "5 of 10 runs"),
        ((5, 10, 61.0), "5 of 10 runs, 1:01 left"),
        ((1, 101, 60.0), "1 of 101 runs, 1:40:00 left"),
        ((10, 10, 61.0), "10 of 10 runs"),
    ],
)
def test_words(arguments: tuple[int, int, float], expected: str) -> None:
    assert words(*arguments) == expected


def test_a_bar_is_for_terminals(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "_notebook", lambda: None)
    with Shown(None) as tell:
        assert tell is None, "nobody looks at a file"
    with Shown(False) as tell:
        assert tell is None
    with Shown(True, "units") as tell:
        assert tell is not None
        tell(0, 4)
        tell(2, 4)
    text = capsys.readouterr().err
    assert f"\r[{'#' * 15}{'.' * 15}] 2 of 4 units" in text and text.endswith("\n")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Shown(None) as tell:
        assert tell is not None
        tell(0, 0)
    assert "0 of 0 runs" in capsys.readouterr().err


def test_a_notebook_has_one_bar_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []

    class Handle:
        def update(self, content: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(content)

    def display(content: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw and display_id and not shown
        shown.append(content)
        return Handle()

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=1)  # type: ignore[attr-defined]
    ipython.display = types.SimpleNamespace(display=display)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    with Shown(None) as tell:
        assert tell is not None
        tell(0, 2)
        tell(1, 2)
    assert [content["text/plain"] for content in shown] == ["0 of 2 runs", "1 of 2 runs"]
    assert 'value="1" max="2"' in shown[1]["text/html"]
