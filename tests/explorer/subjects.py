"""What the tests of the explorer touch: tables with models fitted once, and a run folder with an odd row."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lowdim.cli.about.demo import write_demo
from lowdim.jobs.one_model import fit_method
from lowdim.jobs.table_model import TableModel
from lowdim.jobs.table_model import subject as subject_of
from lowdim.judge.read_table import read
from tests.cli.calls import in_process

DIMS = {"ppca": 3, "fa": 3, "gtm": 2, "pca": 3, "bpca": 3, "robust": 3, "gplvm": 2, "bgplvm": 2}


@cache
def folder() -> Path:
    """A folder that lasts as long as the tests."""
    made = tempfile.mkdtemp(prefix="lowdim-explore-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@cache
def wine() -> Path:
    """The demo table."""
    return write_demo("wine", folder(), 0)[0]


def lognormal() -> Path:
    """Two columns that are told in logarithms, one with zeros, beside two that are not; a few gaps."""
    rng = np.random.default_rng(1)
    z = rng.standard_normal((80, 2))
    X = z @ rng.standard_normal((2, 4)) + 0.3 * rng.standard_normal((80, 4))
    X[:, :2] = np.exp(X[:, :2])
    X[3, 1] = 0.0
    X[rng.random(X.shape) < 0.08] = np.nan
    path = folder() / "logs.csv"
    lines = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in X]
    path.write_text("\n".join(["price,area,east,north", *lines]) + "\n", encoding="utf-8")
    return path


def nearly_exact() -> Path:
    """A closed curve in five columns, with noise of a millionth."""
    t = np.linspace(0.0, 1.0, 40)
    X = np.column_stack([np.sin(2 * np.pi * t), np.cos(2 * np.pi * t), t, t**2, np.sin(4 * np.pi * t)])
    X += 1e-6 * np.random.default_rng(0).standard_normal(X.shape)
    path = folder() / "exact.csv"
    path.write_text(
        "\n".join(["a,b,c,d,e", *(",".join(map(repr, row)) for row in X.tolist())]) + "\n", encoding="utf-8"
    )
    return path


def endless_names() -> Path:
    """Four columns with names of ten thousand letters, right-to-left marks among them."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 1)) @ rng.standard_normal((1, 5)) + 0.3 * rng.standard_normal((40, 5))
    X[4, 1] = np.nan
    names = ["x" * 10_000, "\u202e" + "y z" * 3_000, "w" * 9_999 + "\u2067", "v_" * 5_000, "plain"]
    path = folder() / "endless.csv"
    lines = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in X]
    path.write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
    return path


def subject(path: Path, name: str, **options: Any) -> TableModel:
    """One model of a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit_method(read(path, **options), name, dims=DIMS[name])
    return subject_of(fitted)


@cache
def demo(name: str) -> TableModel:
    return subject(lognormal(), "ppca", log="price,area+0.05") if name == "logs" else subject(wine(), name)


@cache
def answers() -> TableModel:
    """The run of a table of answers: three yes/no, six of five levels, towns, a count and two numbers, with gaps."""
    rng = np.random.default_rng(5)
    eta = rng.standard_normal((90, 2)) @ rng.normal(0.0, 1.8, (2, 13)) + rng.logistic(size=(90, 13))
    parts = [np.where(x > 0.0, "y", "n") for x in eta.T[:3]]
    parts += [(np.digitize(x, [-2.0, -0.5, 0.5, 2.0]) + 1).astype(str) for x in eta.T[3:9]]
    parts.append(np.array(["Aden", "Bern, old", "Cork"])[np.digitize(eta[:, 9], [-1.0, 1.0])])
    parts.append(np.minimum(rng.poisson(np.exp(0.3 * eta[:, 10])), 30).astype(str))
    parts += [np.char.mod("%.3f", 170 + 3 * eta[:, 11]), np.char.mod("%.2f", np.exp(5 + 0.5 * eta[:, 12]))]
    cells = np.where(rng.random(eta.shape) < 0.08, "", np.column_stack(parts))
    frame = pd.DataFrame(cells, columns=[*"abc", *(f"item{k}" for k in range(6)), "town", "visits", "height", "price"])
    frame.to_csv(folder() / "answers.csv", index=False)
    how = ("--encode", "a,b,c,town", "--dims", "2", "--budget", "1s")
    done = in_process("fit", "answers.csv", *how, cwd=folder())
    assert done.code == 0, done.err
    with contextlib.chdir(folder()):
        return subject_of(folder() / "answers.run")


@cache
def complete() -> TableModel:
    """A table without gaps."""
    return subject(nearly_exact(), "pca")


@cache
def left_out() -> TableModel:
    """Rows named by their number, of which the fourth holds nothing and is left out; gaps in the seventh."""
    return subject(_rows("left.csv", [str(k) for k in range(1, 31)], named=False), "ppca")


@cache
def namesakes() -> TableModel:
    """Rows with names, two of them "b": the second and the fifth."""
    return subject(
        _rows("namesakes.csv", ["a", "b", "c", "e", "b", *(f"r{k}" for k in range(25))], named=True), "ppca", id="id"
    )


def _rows(name: str, names: list[str], *, named: bool) -> Path:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((len(names), 3)) @ rng.standard_normal((3, 5)) + 0.3 * rng.standard_normal((len(names), 5))
    if not named:
        X[3], X[6, 1] = np.nan, np.nan
    lines = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in X]
    head = ",".join("pqrst")
    text = [f"id,{head}", *(f"{k},{line}" for k, line in zip(names, lines, strict=True))] if named else [head, *lines]
    (folder() / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    return folder() / name


@cache
def simulated(n: int) -> TableModel:
    """Many rows in three dimensions, a fiftieth of the cells missing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 5)) + 0.5 * rng.standard_normal((n, 5))
    X[rng.random(X.shape) < 0.02] = np.nan
    return subject_of(fit_method(X, "ppca", dims=3))


@cache
def odd_run() -> Path:
    """The run of the demo table with one wrong cell: the magnesium of row 20 ten times too large."""
    rows = wine().read_text(encoding="utf-8").splitlines()
    names, cells = rows[0].split(","), rows[20].split(",")
    j = names.index("magnesium")
    cells[j] = str(10 * float(cells[j] or 100.0))
    (folder() / "odd.csv").write_text("\n".join([*rows[:20], ",".join(cells), *rows[21:]]) + "\n", encoding="utf-8")
    done = in_process("fit", "odd.csv", "--dims", "3", "--budget", "1s", cwd=folder())
    assert done.code == 0, done.err
    return folder() / "odd.run"


@cache
def odd() -> TableModel:
    with contextlib.chdir(folder()):
        return subject_of(odd_run())
