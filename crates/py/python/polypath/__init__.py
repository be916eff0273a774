"""Simulations and studies of multipath SCTP.

A scenario is one run, a study many; both are the TOML files of the program ``polypath`` (docs/scenarios.md, docs/studies.md), or
text of that form. Results are those of the program, byte for byte.

>>> import polypath
>>> result = polypath.sim("scenario.toml", seed=7, set={"sctp.preset": "cmt"})
>>> result.goodput_mbit_s
>>> study = polypath.Study("studies/asymmetry.toml", quick=True)
>>> results = study.run("out")        # an Arrow table: pyarrow.table(results), polars.DataFrame(results.runs), …
"""

from __future__ import annotations

from ._polypath import PolypathError, Table, __version__
from ._reference import Policy, policies, presets
from ._scenario import Result, Scenario, sim
from ._study import Results, Study
from ._verdicts import statements

__all__ = [
    "Policy",
    "PolypathError",
    "Result",
    "Results",
    "Scenario",
    "Study",
    "Table",
    "__version__",
    "policies",
    "presets",
    "sim",
    "statements",
]
