"""Nonlinear factor analysis: bent lines, gaps, encoders, verbs and odd tables."""

import os
import signal
import warnings

import numpy as np
import pytest

from lowdim import PPCA, FactorAnalysis, NonlinearFactorAnalysis, Run, laws, load
from lowdim.models.nonlinear import nonlinear_fa
from lowdim.models.nonlinear.nonlinear_fa import Network, _cell_rows
from lowdim.models.nonlinear.nonlinear_fa_bound import encode
from lowdim.sources.arrays import as_source
from lowdim.text.errors import ModelWarning
from lowdim.text.messages import LowdimError
from tests.models.nonlinear.tables import long_arc
from tests.models.power_cut import resumed


def bow(n=120, noise=0.1, gaps=0.0, seed=0):
    """A bent line with Gaussian places along it."""
    rng = np.random.default_rng(seed)
    t = rng.standard_normal(n)
    X = np.column_stack([t, t**2 / 2, np.sin(2 * t), t]) + noise * rng.standard_normal((n, 4)) + [5.0, 0.0, 1.0, 0.0]
    return (np.where(rng.random(X.shape) * [1, 1, 1, 9] < gaps, np.nan, X) if gaps else X), t


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_a_bow_is_found(gaps):
    X, t = bow(gaps=gaps)
    fit = NonlinearFactorAnalysis(1, hidden=8, tol=0.02).fit(X)
    Z = fit.transform(X)[:, 0]
    assert abs(np.corrcoef(Z, t)[0, 1]) > 0.97
    assert fit.noise_variance_ == pytest.approx(0.01, rel=0.7)
    fresh = bow(seed=9, gaps=gaps)[0]
    with pytest.warns(ModelWarning, match="LD204"):  # the line follows one column alone
        line = FactorAnalysis(1).fit(X)
    assert fit.score(fresh) > line.score(fresh)  # a bound above the line's own density
    assert fit.fresh_bound_ == pytest.approx(fit.objective_, abs=0.1 * abs(fit.objective_) + 20)
    assert fit.score_samples(X).sum() == pytest.approx(fit.objective_, rel=1e-9)
    filled, sd = fit.impute(X, return_std=True)
    truth, hidden = bow()[0], np.isnan(X)
    assert not gaps or (np.abs(filled - truth)[hidden] < 3 * sd[hidden]).mean() > 0.85


def test_the_bound_is_below_the_log_density():
    """By brute force: the density of a row is an integral over one factor."""
    X = bow(60)[0]
    fit = NonlinearFactorAnalysis(1, hidden=6, tol=0.05).fit(X)
    z = np.linspace(-8, 8, 20001)[:, None]
    Y, s2 = fit.inverse_transform(z), fit.noise_variance_
    square = ((X[:10, None] - Y) ** 2).sum(axis=2)
    each = -0.5 * square / s2 - 2 * np.log(2 * np.pi * s2) - 0.5 * z[:, 0] ** 2 - 0.5 * np.log(2 * np.pi)
    exact = np.logaddexp.reduce(each, axis=1) + np.log(z[1, 0] - z[0, 0])
    gap = exact - fit.score_samples(X[:10])
    assert (gap > -0.05).all() and np.median(gap) < 0.3  # three points are not the whole integral


def test_samples_and_files(tmp_path):
    X = bow()[0]
    fit = NonlinearFactorAnalysis(1, hidden=8, tol=0.05).fit(X)
    drawn_rows = fit.sample(3000)
    assert drawn_rows.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.4)
    fit.save(tmp_path / "n.lowdim")
    assert np.array_equal(load(tmp_path / "n.lowdim").transform(X), fit.transform(X))
    post = fit.posterior(np.full((1, 4), np.nan))
    assert post.mean[0, 0] == 0.0 and post.std[0, 0] == 1.0 and post.log_density[0] == 0.0
    assert "fresh samples" in fit.certificate_.text()


def test_bad_tables_and_words():
    equal = np.repeat(np.eye(2), 4, axis=0)
    with pytest.warns(ModelWarning, match="LD202"):
        fit = NonlinearFactorAnalysis(1, hidden=8, weight_prior=0.0, tol=1e-4).fit(equal)
    assert np.isfinite(fit.transform(equal)).all()
    X = bow()[0]
    X[:, 0] *= 1e6
    assert np.isfinite(NonlinearFactorAnalysis(1, hidden=4, standardize=True, tol=0.1).fit(X).score_samples(X)).all()
    with pytest.raises(LowdimError, match="1, 2, 3, 4 or 5"):
        NonlinearFactorAnalysis(6).fit(X)
    with pytest.raises(LowdimError, match="LD200"):
        NonlinearFactorAnalysis(2).fit(X[:, :1])


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_an_encoder_tells_the_places(gaps):
    X, t = bow(gaps=gaps)
    fit = NonlinearFactorAnalysis(1, hidden=8, tol=0.02, amortized=True).fit(X)
    assert abs(np.corrcoef(fit.transform(X)[:, 0], t)[0, 1]) > 0.97
    free = fit.params_._replace(encoder=())
    block = fit.frame_.inward(as_source(X).sample(len(X)))
    searched = fit._posterior(free, block).log_density.sum()
    told = fit._posterior(fit.params_, block).log_density.sum()
    assert searched - 0.5 * len(X) < told <= searched + 0.05 * len(X)  # the search has the better bound of each row
    holed = np.where(np.arange(4) == 1, np.nan, X[:5])
    assert np.isfinite(fit.transform(holed)).all()
    post = fit.posterior(np.full((1, 4), np.nan))
    assert post.mean[0, 0] == 0.0 and post.std[0, 0] == 1.0 and post.log_density[0] == 0.0


def test_rows_with_gaps_are_searched_where_an_encoder_would_guess():
    """An encoder fills new rows with 30 % gaps twice as badly as a search does; complete rows are its own."""
    X, new = bow(gaps=0.3)[0], bow(seed=9)[0]
    fit = NonlinearFactorAnalysis(1, hidden=8, tol=0.02, amortized=True).fit(X)
    free = fit.params_._replace(encoder=())
    gap = np.random.default_rng(5).random(new.shape) < 0.3
    gap[gap.all(axis=1)] = False
    block = fit.frame_.inward(as_source(np.where(gap, np.nan, new)).sample(len(new)))
    told, searched = (fit._posterior(params, block) for params in (fit.params_, free))
    holed = gap.any(axis=1)
    assert np.allclose(told.mean[holed], searched.mean[holed], atol=1e-8)
    assert not np.allclose(told.mean[~holed], searched.mean[~holed], atol=1e-4)
    rows, encoder = _cell_rows(fit.params_, block), Network(fit.params_.encoder, fit.params_.activation)
    guessed = encode(fit.params_.net, encoder, fit.params_.psi, rows)[1] - rows.counts * np.log(fit.params_.size)
    assert (told.log_density - guessed)[holed].mean() > 1.0  # nats a row


@pytest.mark.parametrize("amortized", [False, True])
@pytest.mark.filterwarnings("ignore::lowdim.text.errors.ModelWarning")  # LD201: thirty steps
def test_a_fit_that_died_goes_on_to_the_same_bits(amortized, tmp_path):
    X = bow(60, gaps=0.2)[0]
    model = NonlinearFactorAnalysis(1, hidden=5, max_iter=30, tol=1e-5, amortized=amortized)
    whole, again = resumed(model, X, tmp_path / "c", 12)
    assert again.calibration_ == whole.calibration_ != 1.0


def test_a_callback_keeps_the_best_so_far():
    seen = []
    fit = NonlinearFactorAnalysis(1, hidden=5).fit(
        bow()[0], run=Run(callback=lambda step: seen.append(step.objective) or len(seen) == 9)
    )
    assert fit.certificate_.reason == "stopped by the callback" and len(seen) == 9
    assert fit.history_.max() == fit.history_[-1] and not fit.converged_


@pytest.mark.filterwarnings("ignore::lowdim.text.errors.ModelWarning")
def test_duplicate_rows_and_fewer_rows_than_units():
    for X in (np.repeat(bow(4)[0], 20, axis=0), bow(6)[0], bow()[0] * [1e6, 1.0, 1.0, 1.0]):
        fit = NonlinearFactorAnalysis(1, hidden=30, max_iter=60).fit(X)
        assert np.isfinite(fit.score_samples(X)).all()
        laws.finite(fit, X)


def test_ctrl_c_keeps_the_best():
    seen = []

    def callback(step):
        seen.append(step)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(ModelWarning, match="LD211"):
        fit = NonlinearFactorAnalysis(1, hidden=5).fit(bow()[0], run=Run(callback=callback))
    assert fit.certificate_.reason == "interrupted" and len(seen) == 4 and np.isfinite(fit.objective_)


def test_one_grammar_of_layers():
    """An int is a tuple of one; two layers and sigmoid units find the bow as one layer of tanh does."""
    X, t = bow()
    with pytest.warns(ModelWarning, match="LD201"):
        one, two = (NonlinearFactorAnalysis(1, hidden=h, max_iter=9).fit_transform(X) for h in (5, (5,)))
    assert np.array_equal(one, two)
    deep = NonlinearFactorAnalysis(1, hidden=(6, 4), activation="sigmoid", tol=0.02).fit(X)
    assert abs(np.corrcoef(deep.transform(X)[:, 0], t)[0, 1]) > 0.97 and len(deep.params_.layers) == 3
    for wrong in ({"hidden": ()}, {"hidden": "rbf"}, {"activation": "relu"}):
        with pytest.raises(LowdimError, match="LD210"):
            NonlinearFactorAnalysis(1, **wrong).fit(X)


@pytest.mark.slow
def test_drawn_fills_are_as_wide_as_their_intervals():
    X = long_arc(150, gaps=0.15)
    X = X[~np.isnan(X).all(axis=1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = NonlinearFactorAnalysis(1, hidden=5, tol=0.02).fit(X)
    _, sd = model.impute(X, return_std=True)
    drawn = np.array(model.impute(X, draws=60))
    gap = np.isnan(X)
    assert drawn.std(axis=0)[gap].mean() / sd[gap].mean() == pytest.approx(1.0, abs=0.25)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:LD201")  # stopped early: what is asked is seen long before
@pytest.mark.parametrize("q", [4, 5])
def test_more_than_three_factors(q):
    """Bent columns of q factors: places are told better, and the bound is above the likelihood, of any plane."""
    rng = np.random.default_rng(q)
    z = rng.standard_normal((160, q))
    W = rng.standard_normal((q, 12)) / np.sqrt(q)
    X = 2.0 * np.tanh(1.5 * z @ W) + 0.05 * rng.standard_normal((160, 12))
    fit = NonlinearFactorAnalysis(q, hidden=12, max_iter=100).fit(X)
    flat = PPCA(q).fit(X)

    def left(Z):
        A = np.column_stack([np.ones(160), Z])
        return ((z - A @ np.linalg.lstsq(A, z, rcond=None)[0]) ** 2).sum()

    assert left(fit.transform(X)) < left(flat.transform(X))
    assert fit.fresh_bound_ > flat.objective_ + 3 * 160
    assert fit.score_samples(X).sum() == pytest.approx(fit.objective_, rel=0.02)  # each row found anew


def test_a_table_wider_than_long_is_climbed_in_its_own_axes():
    """What the climb reports, less the weights' prior, is the bound of the cells themselves."""
    rng = np.random.default_rng(4)
    t = rng.standard_normal((40, 1))
    X = np.hstack([t, t**2]) @ rng.standard_normal((2, 90)) + 0.5 * rng.standard_normal((40, 90))
    fit = NonlinearFactorAnalysis(1, hidden=4, tol=0.02, weight_prior=1.0).fit(X)
    assert fit.converged_ and fit.params_.layers[-1][0].shape == (4, 90)
    weights = sum(float((W**2).sum()) for W, b in fit.params_.layers)
    assert fit.objective_ == pytest.approx(fit.history_[-1] + 0.5 * weights, abs=4.0)  # rows placed anew gain a little
    assert fit.score(X) > PPCA(1).fit(X).score(X)


@pytest.mark.slow
def test_a_long_table_begins_with_a_sample(monkeypatch):
    X, climbs, climb = bow(400)[0], [], nonlinear_fa.climb

    def counted(f, v, *args, **how):
        climbs.append(len(v))
        return climb(f, v, *args, **how)

    whole = NonlinearFactorAnalysis(1, hidden=8, tol=0.02).fit(X)
    monkeypatch.setattr(nonlinear_fa, "climb", counted)
    monkeypatch.setattr(nonlinear_fa, "SAMPLE_ROWS", 100)
    begun = NonlinearFactorAnalysis(1, hidden=8, tol=0.02).fit(X)
    weights = climbs[0]  # of the first regression
    assert climbs == [weights, weights + 1 + 200, weights + 1 + 800]
    assert begun.converged_ and begun.objective_ > whole.objective_ - 0.1 * len(X)


@pytest.mark.slow
def test_defaults_converge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5)) @ rng.standard_normal((5, 20)) + 0.5 * rng.standard_normal((1000, 20))
    assert NonlinearFactorAnalysis().fit(X).converged_
