"""--stream: files larger than memory from the command line."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lowdim.jobs.run_folder import load_run
from lowdim.judge.outliers.law import false_discovery
from tests.cli.calls import child, in_process
from tests.cli.conftest import small_table, write_csv


@pytest.fixture
def cells(tmp_path):
    """900 rows with a column of labels."""
    X = small_table(900, 5)
    columns = {f"x{j + 1}": pa.array(X[:, j], from_pandas=True) for j in range(5)}
    pq.write_table(pa.table({**columns, "site": pa.array(["a", "b", "c"] * 300)}), tmp_path / "cells.parquet")
    return X


def left(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_report_says_what_comes_from_where(lowdim, cells, no_drawing, tmp_path):
    said = lowdim("report", "cells.parquet", "--stream", "--sample", "200", "--budget", "1s")
    assert said.code == 0 and "LD119" in said.err and "site" in said.err
    assert "200 of 900 rows x 5" in said.err
    assert "  6. The model is fitted to all 900 rows; " in said.out
    assert "come from 200 rows drawn at random." in said.out
    run = load_run(tmp_path / "cells.run")
    assert run.facts["table"]["rows"] == 900 and run.facts["table"]["drawn"] == 200
    assert run.options == {"sample": 200, "stream": True} and run.table.n == 200
    again = lowdim("report", "cells.run", "--json")  # the same numbers, drawn again
    assert again.code == 0 and json.loads(again.out)["sentences"] == list(run.sentences)


def test_the_verbs_of_a_run_know_a_streamed_one(lowdim, cells, tmp_path):
    said = lowdim("fit", "cells.parquet", "--stream", "--sample", "150", "--dims", "2", "--budget", "1s")
    assert said.code == 0 and said.out.startswith("PPCA · 900 x 5, of which 150 rows drawn")
    row = load_run(tmp_path / "cells.run").table.row_names[3]
    card = lowdim("explain", "cells.run", "--row", row)
    assert card.code == 0 and card.out.startswith(f"Row {row} is ") and "LD119" not in card.err
    assert "there is no row 'nobody'" in lowdim("explain", "cells.run", "--row", "nobody").err
    assert lowdim("odd", "cells.run").code == 0 and "900 x 5" in lowdim("runs").out
    assert lowdim("plot", "scree", "cells.run").code == 0
    placed = lowdim("apply", "cells.run", "cells.parquet")
    assert placed.code == 0 and placed.out.startswith("900 rows placed.")


@pytest.mark.parametrize("ending", ["parquet", "csv", "npy", "zarr"])
def test_fill_and_apply_write_every_format(lowdim, cells, tmp_path, ending):
    if ending == "zarr":
        pytest.importorskip("zarr")
    gaps = int(np.isnan(cells).sum())
    said = lowdim(
        "fill", "cells.parquet", "--stream", "-o", f"full.{ending}", "--intervals", "--sample", "150", "--quiet"
    )
    assert said.code == 0 and said.out.startswith(f"{gaps:,} gaps filled by a model of all 900 rows with ")
    assert "150 rows drawn at random" in said.out and "90% intervals contain" in said.out and said.err == ""
    for word in ("", ".lower", ".upper", ".mask"):
        assert (tmp_path / f"full{word}.{ending}").exists()
    if ending == "csv":
        full = np.loadtxt(tmp_path / "full.csv", delimiter=",", skiprows=1)
        assert np.isfinite(full).all() and (full[~np.isnan(cells)] == cells[~np.isnan(cells)]).all()
        lowdim("fit", "cells.parquet", "--stream", "--sample", "100", "--dims", "1", "--budget", "1s")
        full[7] = full.mean(axis=0) + np.array([1e3, -1e3, 1e3, -1e3, 1e3])
        np.savetxt(tmp_path / "new.csv", full, delimiter=",", header="x1,x2,x3,x4,x5", comments="")
        placed = lowdim("apply", "cells.run", "new.csv", "--stream", "--json")
        told = json.loads(placed.out)
        assert placed.code == 0 and told["placed"] == 900 and told["gaps"] == 0 and told["odd_level"] == 0.95
        made = pq.read_table(told["wrote"][0])
        laws = ["seen", "p", "D2", "D2_p", "T2", "T2_p", "Q", "Q_p"]
        assert made.column_names == ["axis1", "axis1_sd", *laws, "log_density"]
        assert made.num_rows == 900 and told["outside"] == int(false_discovery(made["p"].to_numpy(), 0.05).sum()) > 0
        with_gaps = lowdim("apply", "cells.run", "cells.parquet", "--stream", "-o", "again.parquet")
        assert "of them with gaps. A stream places rows and fills no gaps." in with_gaps.out


def test_json(lowdim, cells):
    said = lowdim("fill", "cells.parquet", "--stream", "-o", "full.csv", "--sample", "100", "--json")
    told = json.loads(said.out)
    assert said.code == 0 and told["drawn"] == 100 and told["wrote"] == ["full.csv"] and told["left"] == {}
    assert "LD119" in [m["code"] for m in told["messages"]] and sum(told["gaps"].values()) == np.isnan(cells).sum()


@pytest.mark.parametrize(
    "flags",
    [
        ["--log", "x1"],
        ["--encode", "site"],
        ["--sheet", "1"],
        ["--na", "-9"],
        ["--label", "site"],
        ["--transpose"],
        ["--no-header"],
        ["--strict"],
        ["--inf", "missing"],
        ["--below-limit", "half"],
    ],
)
def test_what_a_stream_cannot_honour_is_refused_by_name(lowdim, cells, flags):
    for verb in (["report"], ["fit"], ["fill", "-o", "f.csv"]):
        said = lowdim(*verb, "cells.parquet", "--stream", *flags)
        assert said.code == 2 and f"LD175 error  {flags[0]} is not possible with --stream" in said.err
        assert f"leave {flags[0]} out, or" in said.err
    assert left(lowdim.folder) == ["cells.parquet"]


def test_other_refusals(lowdim, cells, tmp_path):
    said = lowdim("fill", "cells.parquet", "--stream", "-o", "f.csv", "--multiple", "3")
    assert said.code == 2 and "--multiple is not possible with --stream" in said.err
    assert lowdim("fill", "cells.parquet", "--stream", "-o", "f.xlsx").code == 2
    assert lowdim("fit", "cells.parquet", "--checkpoint", "c").code == 2
    write_csv(tmp_path / "t.csv", np.abs(small_table()) + 0.1)
    assert lowdim("fit", "t.csv", "--log", "x1", "--budget", "1s", "--dims", "1").code == 0
    said = lowdim("apply", "t.run", "t.csv", "--stream")
    assert said.code == 2 and "--log is not possible with --stream" in said.err and "the run t.run" in said.err
    assert lowdim("apply", "t.run", "cells.parquet", "--stream", "--drop", "x1").code == 2


@pytest.mark.parametrize("verb", ["report", "fit", "fill"])
@pytest.mark.slow
def test_over_memory_the_fix_is_the_same_command_with_stream_and_works(lowdim, no_drawing, tmp_path, verb):
    write_csv(tmp_path / "big file.csv", small_table(3_000, 6))
    more = ["-o", "full.csv"] if verb == "fill" else ["--dims", "2", "--budget", "1s"]
    said = lowdim(verb, "big file.csv", "--memory", "500kB", *more)
    assert said.code == 6 and "LD170 error" in said.err
    fix = next(line for line in said.err.splitlines() if line.startswith("  fix "))
    assert fix.endswith("--stream") and "'big file.csv'" in fix and "--memory" not in fix  # a stream needs more as well
    pasted = shlex.split(fix.split("time:  ")[1])
    assert pasted[0] == "lowdim" and lowdim(*pasted[1:]).code == 0


def test_a_limit_that_a_stream_keeps_stays_in_the_fix(lowdim, tmp_path):
    X = np.tile(small_table(2_000, 6), (150, 1))
    pq.write_table(pa.table({f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(6)}), tmp_path / "b.parquet")
    said = lowdim("fit", "b.parquet", "--memory", "40MB", "--dims", "2")
    fix = next(line for line in said.err.splitlines() if line.startswith("  fix "))
    assert said.code == 6 and fix.endswith(("--dims 2 --stream",))


def test_a_limit_too_low_for_anything_is_refused_by_a_stream_too(lowdim, cells):
    said = lowdim("fit", "cells.parquet", "--stream", "--memory", "100kB")
    assert said.code == 6 and "LD170" in said.err and left(lowdim.folder) == ["cells.parquet"]


# Ctrl-C in the third tile that is written, or while the model is fitted to all rows
WRITING = """
import os, signal
from lowdim.sources.files.sinks import {sink} as s
old, times = s.rows, [0]
def rows(self, *args):
    times[0] += 1
    if times[0] == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return old(self, *args)
s.rows = rows
from lowdim.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["fill", "apply"])
def test_ctrl_c_leaves_nothing_half_written(tmp_path, verb):
    X = small_table(17_000, 5)  # three tiles
    write_csv(tmp_path / "t.csv", X)
    (tmp_path / "out.npy").write_text("an older file")
    if verb == "apply":
        done = in_process("fit", "t.csv", "--stream", "--sample", "100", "--dims", "1", "--budget", "1s", cwd=tmp_path)
        assert done.code == 0, done.err
    call = ["fill", "t.csv"] if verb == "fill" else ["apply", "t.run", "t.csv"]
    before = left(tmp_path)
    more = ["--sample", "100"] if verb == "fill" else []
    said = child(*call, "--stream", "-o", "out.npy", *more, cwd=tmp_path, code=WRITING.format(sink="NpySink"))
    assert said.code == 130 and said.out == "" and "Traceback" not in said.err, said.err
    assert left(tmp_path) == before and (tmp_path / "out.npy").read_text() == "an older file"


FITTING = """
import os, signal
import lowdim.jobs.stream as s
real = s.ProbabilisticPCA.fit
def fit(self, X, *args, **how):
    if how.get("run") is not None:
        os.kill(os.getpid(), signal.SIGINT)
    return real(self, X, *args, **how)
s.ProbabilisticPCA.fit = fit
from lowdim.cli import main
main()
"""


@pytest.mark.slow
def test_ctrl_c_during_the_fit_to_all_rows(tmp_path):
    write_csv(tmp_path / "t.csv", small_table(800, 5))
    call = ("fit", "t.csv", "--stream", "--sample", "100", "--budget", "1s", "--checkpoint", "c")
    said = child(*call, cwd=tmp_path, code=FITTING)
    assert said.code == 130 and said.out == "" and "marked as not finished" in said.err
    told = json.loads((tmp_path / "t.run" / "run.json").read_text())
    assert told["finished"] is False and told["table"]["options"] == {"sample": 100, "stream": True}
    assert in_process(*call, cwd=tmp_path).code == 0 and load_run(tmp_path / "t.run").facts["finished"] is True
