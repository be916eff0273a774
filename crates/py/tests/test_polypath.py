"""The Python package, as a user has it."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pandas
import polars
import polypath
import pyarrow
import pyarrow.parquet
import pytest

ROOT = Path(__file__).resolve().parents[3]
STUDY = ROOT / "studies/asymmetry.toml"
# What makes a study quick enough for a test.
SHORT = {"run.duration": "3 s"}

TWO_PATHS = """
title = "Two paths"

[run]
duration = "5 s"

[[network.disjoint.paths]]
name = "left"
bottleneck = { rate = "20 Mbit/s", delay = "10 ms" }

[[network.disjoint.paths]]
name = "right"
bottleneck = { rate = "10 Mbit/s", delay = "20 ms", loss = { forward = "1 %" } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[record]
series = "1 s"
"""


def program() -> str:
    """The program, which tests that compare need."""
    found = os.environ.get("POLYPATH_PROGRAM") or shutil.which("polypath")
    if found is None:
        pytest.fail("no program polypath: set POLYPATH_PROGRAM to it")
    return found


def test_a_run_is_that_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "two-paths.toml"
    file.write_text(TWO_PATHS)
    command = [program(), "sim", str(file), "--seed", "7", "--json"]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    ours = dict(polypath.sim(file, seed=7))
    for result in (theirs, ours):
        result.pop("wall_s")
    assert ours == theirs
    result = polypath.sim(TWO_PATHS, seed=7)
    assert 15 < result.goodput_mbit_s < 30
    assert result.series["time_s"] == [1, 2, 3, 4, 5] and len(result.series["goodput_bit_s"]) == 5
    finer = polypath.sim(TWO_PATHS, seed=7, series="500 ms")
    assert finer.series["time_s"][:3] == [0.5, 1, 1.5] and finer["trace_hash"] == result["trace_hash"]


def test_changes_and_seeds() -> None:
    scenario = polypath.Scenario(TWO_PATHS, set={"sctp.preset": "rfc9260"})
    assert scenario.title == "Two paths"
    one_path = scenario.run()
    assert one_path.goodput_mbit_s < 20
    assert scenario.run()["trace_hash"] == one_path["trace_hash"], "equal seeds, equal runs"
    assert scenario.run(seed=9)["trace_hash"] != one_path["trace_hash"]
    other = scenario.with_({"sctp.preset": "cmt"}).run()
    assert other["trace_hash"] != one_path["trace_hash"]
    assert other["trace_hash"] == polypath.sim(TWO_PATHS)["trace_hash"], "cmt is the default"
    down = {"faults": [{"outage": {"path": "left", "from": "0 s"}}]}
    assert polypath.sim(TWO_PATHS, set=down).goodput_mbit_s < 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: polypath.sim("no-such-file.toml"), "no-such-file.toml"),
        (lambda: polypath.sim(TWO_PATHS, set={"sctp.presett": "cmt"}), "presett"),
        (lambda: polypath.sim(TWO_PATHS, set={"run.duration": "5 parsecs"}), "parsecs"),
        (lambda: polypath.sim("title = 1\n"), "title"),
        (lambda: polypath.Study(STUDY, runs=0), "at least 1"),
        (lambda: polypath.Results("nowhere").runs, "nowhere"),
        (lambda: polypath.Table(str(STUDY)), "asymmetry.toml"),
    ],
)
def test_errors_name_what_is_wrong(call, message: str) -> None:
    with pytest.raises(polypath.PolypathError, match=message):
        call()


def test_policies_and_presets() -> None:
    policies = polypath.policies()
    assert policies["path_order"].kind == "choice"
    assert "primary" in policies["path_order"].values
    assert "RFC" in policies["rto.min"].source
    assert "recommended" in polypath.presets()


def local(out: Path) -> polypath.Results:
    return polypath.Study(STUDY, quick=True, set=SHORT).run(out)


def test_a_study_is_that_of_the_program(tmp_path: Path) -> None:
    edits = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    theirs = tmp_path / "theirs"
    command = [program(), "study", "run", str(STUDY), "--quick", "--out", str(theirs), *edits]
    subprocess.run(command, check=True, capture_output=True)
    told: list[tuple[int, int]] = []
    study = polypath.Study(STUDY, quick=True, set=SHORT)
    results = study.run(tmp_path / "ours", jobs=2, progress=lambda *runs: told.append(runs))
    assert (theirs / "runs.parquet").read_bytes() == (tmp_path / "ours/runs.parquet").read_bytes()
    table = pyarrow.table(results.runs)
    assert told[-1] == (len(table), len(table))
    assert {"at.rate", "variant", "measure.goodput"} <= set(table.column_names)
    assert study.variants == ["one-path", "cmt", "recommended"]
    again: list[tuple[int, int]] = []
    study.run(tmp_path / "ours", progress=lambda *runs: again.append(runs))
    assert again[-1] == (0, 0), "nothing is run twice"


def test_tables_go_everywhere(tmp_path: Path) -> None:
    results = local(tmp_path)
    arrow = pyarrow.table(results)
    assert arrow.equals(pyarrow.parquet.read_table(tmp_path / "runs.parquet").cast(arrow.schema))
    assert results.polars().height == len(results.pandas()) == len(arrow)
    assert isinstance(results.pandas(), pandas.DataFrame)
    assert isinstance(results.polars(), polars.DataFrame)


def test_an_interruption_stops_and_loses_nothing(tmp_path: Path) -> None:
    code = f"""
import polypath, sys
study = polypath.Study({str(STUDY)!r}, set={{"run.duration": "60 s"}}, runs=200)
study.run({str(tmp_path / "out")!r}, progress=lambda over, expected: print(over, flush=True))
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    while int(child.stdout.readline() or b"1") == 0:
        pass
    child.send_signal(2)
    _, errors = child.communicate(timeout=120)
    assert b"KeyboardInterrupt" in errors, errors.decode()
    assert (tmp_path / "out/journal").is_dir()


def test_a_figure(tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from polypath import plot

    results = local(tmp_path)
    axes = plot.curves(results, "goodput", "rate", unit="Mbit/s")
    assert len(axes.containers) == 3
    axes.figure.savefig(tmp_path / "goodput.png")
    assert (tmp_path / "goodput.png").stat().st_size > 5000
    with pytest.raises(KeyError, match="goodput"):
        plot.curves(results, "throughput", "rate")


def test_means_have_intervals() -> None:
    from polypath.plot import _interval

    mean, half = _interval([1.0, 2.0, 3.0])
    assert (mean, round(half, 3)) == (2.0, 2.484)
    assert _interval([5.0]) == (5.0, 0.0)
    assert math.isclose(_interval([0.0, 1.0] * 50)[1], 0.0997, abs_tol=1e-3)


def test_statements_of_a_paper(tmp_path: Path) -> None:
    command = [program(), "reproduce", "sarwar/2", "--quick", "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    rows = pandas.DataFrame(polypath.statements(tmp_path / "sarwar"))
    assert set(rows["verdict"]) <= {"holds", "differs", "undecided", "not run"}
    assert (rows["verdict"] == "holds").sum() > 0


def test_a_cluster_gives_the_same_bytes_though_a_worker_dies(tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    local(tmp_path / "local")
    study = polypath.Study(STUDY, quick=True, set=SHORT)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster, Client(cluster) as client:
        pids = client.run(os.getpid)
        killed: list[int] = []

        def kill_one(over: int, _: int) -> None:
            if over == 1 and not killed:
                victim = next(iter(pids.values()))
                os.kill(victim, 9)
                killed.append(victim)

        study.run(tmp_path / "cluster", client=client, units=6, progress=kill_one)
        deadline = time.monotonic() + 60
        while len(client.scheduler_info()["workers"]) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
    assert killed
    runs = [(tmp_path / name / "runs.parquet").read_bytes() for name in ("local", "cluster")]
    assert runs[0] == runs[1]
