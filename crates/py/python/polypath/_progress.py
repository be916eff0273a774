"""Progress of runs, shown where somebody looks: on a terminal, or in a notebook."""

from __future__ import annotations

import html
import sys
import time
from typing import Any, Callable, Optional, Union

Tell = Callable[[int, int], None]
Progress = Union[None, bool, Tell]

#: Characters of the bar.
WIDTH = 30


class Shown:
    """Shows progress while its block runs.

    :param progress: ``None`` for a bar on a terminal or in a notebook, ``True`` for one anywhere, ``False`` for none, or a
        function of the runs that are finished and those to be made.
    :param what: the plural of what is counted.
    """

    def __init__(self, progress: Progress, what: str = "runs") -> None:
        self._what = what
        self._bar: Any = None
        self._tell: Optional[Tell] = None
        if callable(progress):
            self._tell = progress
        elif progress is not False:
            self._bar = _bar(is_wanted=progress is True)
            if self._bar is not None:
                self._tell = self._show

    def __enter__(self) -> Optional[Tell]:
        self._begin = time.monotonic()
        return self._tell

    def _show(self, done: int, expected: int) -> None:
        self._bar.show(done, expected, words(done, expected, time.monotonic() - self._begin, self._what))

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.end()


def words(done: int, expected: int, passed_s: float, what: str = "runs") -> str:
    """Progress in words, with the time left at the rate until now once that says something."""
    text = f"{done} of {expected} {what}"
    if not 0 < done < expected or passed_s < 1:
        return text
    left = round(passed_s * (expected - done) / done)
    minutes, seconds = divmod(left, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"{text}, {clock} left"


def _bar(is_wanted: bool) -> Any:
    display = _notebook()
    if display is not None:
        return _InNotebook(display)
    return _OnTerminal() if is_wanted or sys.stderr.isatty() else None


def _notebook() -> Any:
    """The module that displays things, if this is a notebook: it has loaded IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display

    return display


class _OnTerminal:
    def __init__(self) -> None:
        self._longest = 0

    def show(self, done: int, expected: int, text: str) -> None:
        filled = WIDTH * done // expected if expected else 0
        line = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {text}"
        self._longest = max(self._longest, len(line))
        print(f"\r{line:<{self._longest}}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._longest:
            print(file=sys.stderr)


class _InNotebook:
    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, done: int, expected: int, text: str) -> None:
        bar = f'<progress value="{done}" max="{max(expected, 1)}"></progress> {html.escape(text)}'
        # The text stands where no HTML does.
        content = {"text/html": bar, "text/plain": text}
        if self._handle is None:
            self._handle = self._display.display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)

    def end(self) -> None:
        pass
