"""The model of docs/new_model.md is built as it stands there, agrees with a slow oracle and obeys the laws."""

from __future__ import annotations

import importlib.util
import re
import sys

import numpy as np
import pytest

import lowdim
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def row_levels(tmp_path_factory):
    page = (ROOT / "docs" / "new_model.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    path = tmp_path_factory.mktemp("models") / "row_levels.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("row_levels", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["row_levels"] = module  # what is folded is named by its module
    spec.loader.exec_module(module)
    yield module.RowLevels
    del sys.modules["row_levels"]


def levels(n: int = 60, d: int = 5, gaps: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = np.arange(d) * 10.0 + 2.0 * rng.standard_normal((n, 1)) + 0.5 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_it_agrees_with_the_density_written_out(row_levels, gaps):
    X = levels(gaps=gaps)
    model = row_levels(max_iter=5000).fit(X)
    C = model.noise_variance_ * np.eye(5) + model.level_variance_

    def log_density(row):
        s = np.isfinite(row)
        r = (row - model.mean_)[s]
        return -0.5 * (r @ np.linalg.solve(C[np.ix_(s, s)], r) + np.linalg.slogdet(2 * np.pi * C[np.ix_(s, s)])[1])

    by_hand = np.array([log_density(row) for row in X])
    assert model.score_samples(X) == pytest.approx(by_hand, abs=1e-10)
    assert model.objective_ == pytest.approx(by_hand.sum(), abs=1e-8)
    assert model.level_variance_ == pytest.approx(4.0, rel=0.4) and model.noise_variance_ == pytest.approx(
        0.25, rel=0.2
    )


@pytest.mark.slow
def test_it_obeys_the_laws(row_levels):
    assert set(lowdim.laws.check(row_levels(), levels(), verbose=False)) == {"save_and_load"}
    assert set(lowdim.laws.check(row_levels(), levels(gaps=0.15), verbose=False)) == {"save_and_load"}
