"""How rows pull at the parameters: slopes against differences, one step against refits."""

import numpy as np
import pytest

from lowdim import MixedFactorAnalysis
from lowdim.judge.axes import matched
from lowdim.judge.mixed.given_others import cells_at
from lowdim.judge.mixed.row_pulls import leanings, leanings_of, moved_positions, row_pulls, row_scores
from lowdim.models.mixed import variational_em as steps
from lowdim.models.mixed.variational_em import beliefs_of_rows
from tests.models.mixed.simulated import mixed_table
from tests.models.mixed.test_variational_em import fitted


@pytest.mark.parametrize(("name", "at"), [("W", 3), ("W", 13), ("mu", 1), ("b", 0), ("t", 2), ("t", 5), ("psi", 0)])
def test_slopes_are_those_of_each_rows_bound(name, at, monkeypatch):
    monkeypatch.setattr(steps, "STILL", 1e-10)
    model, _, sites, _ = fitted(2, n=40)
    params, e = model.params_, 1e-4
    sizes = {part: getattr(params, part).size for part in ("W", "mu", "b", "t", "psi")}
    where = list(sizes).index(name)
    column = sum(list(sizes.values())[:where]) + at
    value = getattr(params, name).copy()

    def bounds(step):
        new = value.copy()
        new.flat[at] = new.flat[at] * np.exp(step) if name == "psi" else new.flat[at] + step
        return beliefs_of_rows(params._replace(**{name: new}), sites).bound

    slope = (bounds(e) - bounds(-e)) / (2 * e)
    assert np.allclose(row_scores(params, sites)[:, column], slope, atol=2e-5)


@pytest.mark.slow
def test_resampled_maps_scatter_as_refits_do():
    """The spread of loadings over resamplings, one step each, beside that of full fits to rows drawn again."""
    truth = mixed_table(4, n=300, q=2, gaps=0.05, sizes=(0, 6, 5, 0, 0))
    how = {"likelihoods": truth.kinds, "tol": 1e-4}
    model = MixedFactorAnalysis(2, **how).fit(truth.X)
    pulls, lean = row_pulls(model, truth.X), leanings(model)
    drawn = [matched(lean, pulls.resampled(np.random.default_rng(b)).leanings, ()) for b in range(200)]
    refits = []
    for b in range(20):
        weight = np.random.default_rng([1, b]).multinomial(300, np.full(300, 1 / 300)).astype(float)
        again = MixedFactorAnalysis(2, **how).fit(truth.X, sample_weight=weight)
        refits.append(matched(lean, leanings(again), ()))
    ratio = np.std(drawn, axis=0) / np.std(refits, axis=0)
    assert 0.75 < np.median(ratio) < 1.4


def test_a_row_is_missed_as_a_fit_without_it_misses_it():
    truth = mixed_table(5, n=60, q=1, gaps=0.0, sizes=(0, 5, 3, 0, 0))
    how = {"likelihoods": truth.kinds, "tol": 1e-8, "alpha": 0.3}
    model = MixedFactorAnalysis(1, **how).fit(truth.X)
    pulls = row_pulls(model, truth.X)
    i = int(np.argmax(pulls.turns[:, 0]))
    without = MixedFactorAnalysis(1, **how).fit(np.delete(truth.X, i, axis=0))
    step = pulls.without(i).leanings - leanings(model)
    real = matched(leanings(model), leanings(without), ()) - leanings(model)
    cosine = (step * real).sum() / np.linalg.norm(step) / np.linalg.norm(real)
    assert cosine > 0.8 and 0.5 < np.linalg.norm(step) / np.linalg.norm(real) < 2


def test_labels_lean_as_their_log_odds_do():
    """d log odds / dz at z = 0 against differences of the model's own probabilities."""
    truth = mixed_table(6, n=200, q=2, gaps=0.0, sizes=(1, 1, 1, 0, 2))
    model = MixedFactorAnalysis(2, likelihoods=truth.kinds, tol=1e-3).fit(truth.X)
    params = model.params_._replace(V=np.zeros_like(model.params_.V))
    vars(model)["params_"] = params
    e, lean = 1e-3, leanings_of(params)
    assert lean.shape == (1 + 1 + 1 + 3 + 3, 2)
    for k in range(2):
        step = np.zeros((2, 2))
        step[:, k] = e, -e
        share = cells_at(model, step).shares[3]
        odds = np.log(share / (1 - share))
        slope = (odds[0] - odds[1]) / (2 * e) / 1.7
        assert np.allclose(lean[3:6, k], slope[np.argsort(params.columns.levels[3])], atol=2e-3)


def test_places_move_as_the_posterior_does():
    truth = mixed_table(7, n=150, q=2, gaps=0.1, sizes=(1, 5, 4, 0, 0))
    model = MixedFactorAnalysis(2, likelihoods=truth.kinds, tol=1e-3).fit(truth.X)
    there = [row_pulls(model, truth.X).resampled(np.random.default_rng(b)) for b in range(5)]
    here, places = moved_positions(model, truth.X, np.arange(40), there)
    assert np.allclose(here, model.transform(truth.X)[:40])
    for other, z in zip(there, places, strict=True):
        again = MixedFactorAnalysis(2)
        vars(again).update(vars(model) | {"params_": other.params})
        full = again.transform(truth.X)[:40]
        assert np.abs(full - z).mean() < 0.25 * np.abs(full - here @ other.turn).mean() + 1e-3
