"""Every code of the catalogue: which file or command brings it about, and that its fix works there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from lowdim.text.messages import catalogue
from tests.cli.conftest import small_table, write_csv

FULL = np.where(np.isnan(small_table()), 0.5, small_table())
FIT = ("fit", "t.csv", "--dims", "2", "--budget", "1s", "-o", "t.run")


FOLDER = Path(__file__).parents[1] / "table" / "bad_tables"


def apart() -> np.ndarray:
    """Two columns that no row has both of."""
    X = FULL.copy()
    X[:30, 0], X[30:, 1] = np.nan, np.nan
    return X


def flat(rank: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, rank)) @ rng.standard_normal((rank, 6))


def coarse() -> np.ndarray:
    X = FULL.copy()
    X[:, 0] = 1e15 + np.round(4 * X[:, 0])
    return X


def few() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 8))
    return np.where(rng.random(X.shape) < 0.6, np.nan, X)


class Case(NamedTuple):
    """A table and a command that bring a code about, and the same after its fix; None: words to read, no repair."""

    table: Callable[[], np.ndarray]
    call: tuple[str, ...]
    fixed: Callable[[], np.ndarray] | None
    call_fixed: tuple[str, ...] = FIT


CASES = {
    "LD153": Case(coarse, FIT, lambda: coarse() - np.r_[1e15, 0, 0, 0, 0, 0]),
    "LD154": Case(
        lambda: FULL * [1e-6, 1, 1, 1e8, 1, 1],
        (*FIT, "--scale", "none"),
        lambda: FULL * [1e-6, 1, 1, 1e8, 1, 1],
        (*FIT, "--scale", "unit"),
    ),
    "LD155": Case(lambda: FULL * 1e-310, FIT, lambda: FULL),
    "LD162": Case(apart, FIT, None),
    "LD200": Case(lambda: FULL, (*FIT[:3], "9", *FIT[4:]), lambda: FULL),
    "LD202": Case(lambda: flat(2), FIT, lambda: flat(2), (*FIT[:3], "1", *FIT[4:])),
    "LD210": Case(lambda: FULL, (*FIT, "--scale", "pareto"), lambda: FULL, (*FIT, "--scale", "unit")),
    "LD212": Case(few, (*FIT[:3], "6", *FIT[4:]), few, (*FIT[:3], "1", *FIT[4:])),
    "LD215": Case(
        lambda: FULL,
        ("plot", "map", "t.csv", "--dims", "0", "--budget", "1s"),
        lambda: FULL,
        ("plot", "map", "t.csv", "--dims", "2", "--budget", "1s"),
    ),
    "LD216": Case(
        lambda: FULL,
        ("plot", "component_images", "t.csv", "--dims", "2", "--budget", "1s"),
        lambda: FULL,
        ("plot", "loadings", "t.csv", "--dims", "2", "--budget", "1s"),
    ),
}


# brought about below, or in the file that is named
ELSEWHERE = {
    "LD001": "below",
    "LD004": "../sources/dask/test_dask.py",
    "LD220": "below",
    "LD221": "below",
    "LD222": "below",
    "LD304": "test_entry.py",
    "LD305": "below",
    "LD306": "run/test_runs.py",
    "LD307": "below",
    "LD308": "table/test_odd.py",
    "LD173": "test_entry.py",
    "LD201": "table/test_fit.py",
}


# what only a program, a model of another kind or a damaged model file brings about; tested with the models
PROGRAMS = {
    "LD101",
    "LD105",
    "LD131",
    "LD133",
    "LD156",
    "LD163",
    "LD203",
    "LD204",
    "LD205",
    "LD206",
    "LD207",
    "LD208",
    "LD209",
    "LD211",
    "LD213",
    "LD214",
    "LD217",
    "LD218",
    "LD231",
    "LD240",
    "LD300",
    "LD301",
    "LD302",
    "LD303",
}


def of_tables() -> set[str]:
    """The codes that the bad tables bring about."""
    said = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.golden"))
    return set(re.findall(r"^(LD\d{3}) (?:error|changed|note)  ", said, re.M))


def test_every_code_is_brought_about_by_a_file_or_needs_a_program():
    """A code that is new needs a bad table, a case here, or a reason why no file can cause it."""
    known = of_tables() | set(CASES) | set(ELSEWHERE) | PROGRAMS
    codes = {key[:5] for key in catalogue()}
    assert known <= codes
    tests = Path(__file__).parents[1]
    named = set(re.findall(r"LD\d{3}", "".join(p.read_text(encoding="utf-8") for p in tests.rglob("test_*.py"))))
    assert codes - known <= named, sorted(codes - known - named)


@pytest.mark.slow
@pytest.mark.parametrize("code", CASES)
def test_a_fit_says_it_and_its_fix_works(lowdim, no_drawing, code):
    case = CASES[code]
    write_csv(lowdim.folder / "t.csv", case.table())
    said = lowdim(*case.call, "--json", "--quiet")
    before = {m["code"]: m for m in json.loads(said.out)["messages"]}
    assert code in before and before[code]["fix"], said.err
    if case.fixed is None:
        return
    write_csv(lowdim.folder / "t.csv", case.fixed())
    after = lowdim(*case.call_fixed, "--json", "--quiet")
    assert after.code == 0 and code not in {m["code"] for m in json.loads(after.out)["messages"]}, after.err
