"""Many runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, Union

from . import _polypath
from ._edits import Edits, edits
from ._polypath import PolypathError, Table
from ._progress import Progress, Shown


class Study:
    """A study: a scenario, what is varied, how often it runs and what is measured.

    :param source: path of a file, or the text of one, which has more than one line.
    :param folder: where text looks for the scenario that it names; the working directory if it is missing.
    :param quick: only what the study's table ``quick`` leaves.
    :param set: changes of the scenario.
    :param runs: runs of each configuration, in place of what the study says.
    :raises PolypathError: something is unknown or makes no sense.
    """

    def __init__(
        self,
        source: Union[str, "os.PathLike[str]"],
        *,
        folder: Union[str, "os.PathLike[str]"] = ".",
        quick: bool = False,
        set: Edits = None,
        runs: Optional[int] = None,
    ) -> None:
        changes = edits(set)
        if isinstance(source, str) and "\n" in source:
            base = str(Path(folder).resolve())
            self._made_from = ("parse", (source, base, quick, changes, runs))
        else:
            path = str(Path(source).resolve())
            self._made_from = ("read", (path, quick, changes, runs))
        self._inner = _make(self._made_from)

    @property
    def title(self) -> str:
        return self._inner.title

    @property
    def axes(self) -> list[str]:
        return self._inner.names[0]

    @property
    def variants(self) -> list[str]:
        return self._inner.names[1]

    @property
    def measures(self) -> list[str]:
        return self._inner.names[2]

    def run(
        self,
        out: Union[str, "os.PathLike[str]"],
        *,
        jobs: Optional[int] = None,
        progress: Progress = None,
        client: Any = None,
        units: Optional[int] = None,
        retries: int = 3,
    ) -> "Results":
        """Runs what is missing in the folder ``out``; runs that are there are not repeated.

        :param jobs: threads; as many as there are processors if it is missing.
        :param progress: a bar on a terminal or in a notebook if it is missing; ``True`` for one anywhere, ``False`` for none, or a
            function of the runs that are finished and those to be made.
        :param client: a ``dask.distributed.Client``; its workers make ``units`` parts, each with one thread, in the same folder,
            which all of them must see. A part whose worker dies is begun again up to ``retries`` times; its runs that were over
            count once.
        :raises PolypathError: runs could not be made or written down.
        :raises KeyboardInterrupt: by Ctrl-C; the runs that are over stay.
        """
        out = Path(out)
        if client is not None:
            if jobs is not None:
                raise ValueError("with a client each part has one thread; leave `jobs` out")
            self._on_cluster(out, client, units, retries, progress)
        else:
            with Shown(progress) as tell:
                self._inner.run(str(out), jobs, None, tell)
        return Results(out)

    def _on_cluster(
        self, out: Path, client: Any, units: Optional[int], retries: int, progress: Progress
    ) -> None:
        from distributed import as_completed

        count = units or 4 * max(1, sum(client.nthreads().values()))
        names = [f"{number}/{count}" for number in range(1, count + 1)]
        out = out.resolve()
        futures = client.map(
            _unit, names, made_from=self._made_from, out=str(out), retries=retries, pure=False
        )
        with Shown(progress, "units") as tell:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if tell is not None:
                    tell(done, count)
        _polypath.gather(str(out))

    def __repr__(self) -> str:
        return f"Study({self.title!r})"


class Results:
    """The folder with the results of a study."""

    def __init__(self, folder: Union[str, "os.PathLike[str]"]) -> None:
        self.folder = Path(folder)

    @property
    def runs(self) -> Table:
        """A row per run: ``variant``, ``replication``, ``seed``, ``status``, the place on each axis (``axis.NAME`` as it is
        written, ``at.NAME`` as a number), each measure (``measure.NAME``) and all results (``result.…``). An Arrow table without
        a copy: ``pyarrow.table`` and ``polars.DataFrame`` take it."""
        return self._table("runs")

    @property
    def series(self) -> Table:
        """Samples over time, if the study keeps them."""
        return self._table("series")

    def pandas(self) -> Any:
        """``runs`` as a data frame of pandas; needs pyarrow."""
        import pyarrow

        return pyarrow.table(self.runs).to_pandas()

    def polars(self) -> Any:
        """``runs`` as a data frame of polars."""
        import polars

        return polars.DataFrame(self.runs)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.runs.__arrow_c_stream__(requested_schema)

    def _table(self, name: str) -> Table:
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            raise PolypathError(f"there is no {path}: the study has not been run to its end, or keeps no such table")
        return Table(str(path))

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r})"


def _make(made_from: tuple[str, tuple]) -> Any:
    how, arguments = made_from
    return getattr(_polypath.Study, how)(*arguments)


def _unit(name: str, *, made_from: tuple[str, tuple], out: str) -> dict[str, Any]:
    """Makes a part of a study; runs on a worker."""
    return json.loads(_make(made_from).run(out, 1, name, None))
