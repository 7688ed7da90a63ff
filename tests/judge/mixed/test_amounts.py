"""Amounts as judges of rows see them: beside what the others of a row say, on a map, in a main job."""

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim import MixedFactorAnalysis
from lowdim.judge.maps.table_map import table_map
from lowdim.judge.mixed.given_others import given_others
from lowdim.judge.mixed.mixed_cells import columns_of
from lowdim.judge.mixed.row_pulls import leanings, row_pulls
from lowdim.models.mixed.predictions import amount_below, amount_interval
from tests.models.mixed.simulated import amounts_table
from tests.models.mixed.test_amounts import KINDS

NAMES = [f"c{k + 1}" for k in range(7)]
X, FULL, WEIGHTS = amounts_table(5, 400, q=2)


@pytest.fixture(scope="module")
def model():
    return MixedFactorAnalysis(2, likelihoods=KINDS).fit(pd.DataFrame(X, columns=NAMES))


def test_a_cell_beside_the_others_is_what_it_is_without_itself(model):
    told = given_others(model, pd.DataFrame(X, columns=NAMES))
    rows = np.arange(0, 400, 16)
    for j in (4, 5, 6):
        hidden = X[rows].copy()
        hidden[:, j] = np.nan
        own = next(part for part in model.amount_cells(pd.DataFrame(hidden, columns=NAMES)) if part.column == j)
        x = np.where(np.isnan(X[rows, j]), 0.0, X[rows, j])
        upto = amount_below(model.params_.columns, own, x)
        p = 2.0 * np.minimum(upto, np.where(x > 0, 1.0 - upto, 1.0))
        seen = told.seen[rows, j]
        assert np.abs(told.p[rows, j] - np.minimum(p, 1.0))[seen].max() < 0.1
        assert (told.p[rows, j][~seen] == 1.0).all()
        # the widest interval that holds a value has its tail
        for i in np.flatnonzero(seen):
            one = own._replace(zero=own.zero[[i]], mean=own.mean[[i]], var=own.var[[i]])
            held = []
            for tail in np.linspace(0.001, 0.499, 499):
                low, high = amount_interval(model.params_.columns, one, tail)
                held.append(bool(low[0] <= x[i] <= high[0]))
            most = 0.001 * (1 + np.flatnonzero(held).max(initial=-1))
            assert abs(min(told.tail[rows[i], j], 0.499) - most) < 0.05


def test_as_many_cells_are_surprising_as_should_be_where_they_are_drawn_from_the_model(model):
    drawn = model.sample(1500, random_state=1)
    told = given_others(model, pd.DataFrame(drawn, columns=NAMES))
    for j in (4, 5, 6):
        assert 0.01 < (told.p[:, j] < 0.05).mean() < 0.06  # a zero has a whole tail or none
        high = (told.surprise[:, j] > 0) & (told.p[:, j] < 0.1)
        assert abs(high.mean() - 0.05) < 0.02  # above there is no atom
        assert 0.5 < (told.excess[:, j]).var() / told.spread2[:, j].mean() < 1.6
        assert abs(told.excess[:, j].mean()) < 0.2
    assert abs(told.off.mean()) < 0.25 and 0.7 < told.off.std() < 1.4


def test_an_interval_ends_at_zero_and_an_axis_has_one_line_a_column(model):
    held = table_map(model, tuple(c.name for c in columns_of(model)))
    told = held.in_own_units(held.cells.in_rows(X), np.full(7, 1.6449))
    zero = np.column_stack([model.probabilities(pd.DataFrame(X, columns=NAMES))[f"c{j}"][:, 0] for j in (5, 6, 7)])
    low, high = told.lower[:, 4:], told.upper[:, 4:]
    assert np.abs(zero[(low == 0) != (zero >= 0.05)] - 0.05).max(initial=0.0) < 1e-4
    assert (low <= high).all() and (low >= 0).all()
    drawn = np.array(model.impute(pd.DataFrame(X, columns=NAMES), draws=40))[:, :, 4:]
    gap, least = np.isnan(X[:, 4:]), np.maximum(zero, 0.9)  # zeros are within as a whole
    assert ((drawn >= low) & (drawn <= high))[:, gap].mean() == pytest.approx(least[gap].mean(), abs=0.02)
    lines = leanings(model)
    assert lines.shape == (7, 2) and held.cells.loadings.shape == (7, 2)
    moved = row_pulls(model, pd.DataFrame(X, columns=NAMES)).resampled(np.random.default_rng(0))
    assert np.abs(moved.leanings).max() < 5 and moved.leanings.shape == (7, 2)


def test_a_main_job_fills_amounts():
    levels = np.digitize(FULL[:, :2], [-1.0, 0.0, 1.0])
    frame = pd.DataFrame(np.column_stack([X[:, 2:], levels]), columns=["v0", "v1", "v2", "v3", "v4", "mood", "sleep"])
    found = lowdim.analyse(frame, dims=2)
    assert isinstance(found.model, MixedFactorAnalysis)
    assert found.model.likelihoods_[:5] == ("real", "real", "amount", "amount", "amount")
    assert len(found.sentences) and np.isfinite(found.map.cells.loadings).all()
