"""Autoencoders: gradients by finite differences, the linear limit, and training that must not run away."""

import numpy as np
import pytest

from lowdim import PCA, Autoencoder, Run, laws, load
from lowdim.models.nonlinear.autoencoder import EncoderDecoder, TrainingRows, _held_out_rows, _loss
from lowdim.models.nonlinear.mlp import ACTIVATIONS, random_layers
from lowdim.text.errors import ModelWarning, TableWarning, VerbError
from lowdim.text.messages import LowdimError
from tests.models.power_cut import resumed
from tests.oracles.differences import by_differences


def arc(n=200, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    return np.column_stack([np.cos(t), np.sin(t), t / 2]) + noise * rng.standard_normal((n, 3)) + [5.0, 0.0, 1.0]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("variational", [False, True])
def test_loss_gradient_by_finite_differences(variational, activation):
    rng = np.random.default_rng(2)
    encoder, decoder = random_layers((4, 5, 4 if variational else 2), rng), random_layers((2, 5, 4), rng)
    nets = EncoderDecoder(encoder, decoder, activation)
    task = TrainingRows(rng.standard_normal((9, 4)), rng.uniform(0.5, 2, 4), rng.uniform(0.5, 2, 9))
    v = nets.vector
    v = (np.append(v, -0.3) if variational else v) + 0.1

    def loss(u):
        return _loss(nets, task, u, np.random.default_rng(3) if variational else None)

    assert loss(v)[1] == pytest.approx(by_differences(lambda u: loss(u)[0], v), abs=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("standardize", [False, True])
def test_linear_is_pca(scale, standardize):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 4)) @ rng.standard_normal((4, 7)) + 0.3 * rng.standard_normal((100, 7)) + 10
    X[:, 2] *= scale
    fit, peer = Autoencoder(3, hidden=(), standardize=standardize).fit(X), PCA(3, standardize=standardize).fit(X)
    Y = (X - X.mean(axis=0)) / (X.std(axis=0, ddof=1) if standardize else 1.0)
    V = np.linalg.svd(Y, full_matrices=False)[2][:3]  # not ours
    B = fit.components_
    assert np.linalg.norm(B.T @ B - V.T @ V, 2) < 1e-8
    assert fit.transform(X) == pytest.approx(peer.transform(X), abs=1e-8 * np.abs(X).max())
    assert fit.reconstruct(X) == pytest.approx(peer.reconstruct(X), rel=1e-9)
    assert fit.objective_ == pytest.approx(peer.explained_variance_ratio_.sum(), abs=1e-10)


@pytest.mark.parametrize("how", [{}, {"batch_size": 16, "learning_rate": 1e-2, "max_iter": 300}])
def test_a_bent_line_needs_one_number(how):
    X, fresh = arc(), arc(seed=1)
    fit, flat = Autoencoder(1, hidden=10, **how).fit(X), PCA(1).fit(X)
    bent, straight = (((model.reconstruct(fresh) - fresh) ** 2).mean() for model in (fit, flat))
    assert bent < 0.1 * straight and bent < 4 * 0.02**2
    z = fit.transform(fresh)
    assert fit.inverse_transform(z) == pytest.approx(fit.reconstruct(fresh))
    assert fit.held_out_ >= 10 and "held-out" in fit.certificate_.text()


def test_the_variational_form_samples():
    X = arc(300)
    with pytest.warns(ModelWarning, match="LD201"):
        fit = Autoencoder(1, hidden=10, variational=True, learning_rate=5e-3, max_iter=120).fit(X)
    drawn_rows = fit.sample(2000)
    assert drawn_rows.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.25)
    assert np.cov(drawn_rows.T) == pytest.approx(np.cov(X.T), abs=0.35)
    post = fit.posterior(X)
    assert (post.std > 0).all() and (post.std < 1).mean() > 0.9 and fit.noise_variance_ < 0.1
    assert post.mean == pytest.approx(fit.transform(X))


@pytest.mark.filterwarnings("ignore::lowdim.text.errors.ModelWarning")  # LD201: forty epochs are enough here
def test_the_variational_score_is_a_bound_on_the_log_density():
    """By brute force: with one code the density of a row is an integral; in any unit, and with a constant column."""
    X = np.column_stack([arc(300), np.full(300, 2.0)])
    fit = Autoencoder(1, hidden=8, variational=True, learning_rate=5e-3, max_iter=40).fit(X)
    z = np.linspace(-9, 9, 6001)[:, None]
    s2 = fit.noise_variance_
    square = ((X[:40, None] - fit.inverse_transform(z)) ** 2).sum(axis=2)
    each = -0.5 * square / s2 - 2 * np.log(2 * np.pi * s2) - 0.5 * z[:, 0] ** 2 - 0.5 * np.log(2 * np.pi)
    exact = np.logaddexp.reduce(each, axis=1) + np.log(z[1, 0] - z[0, 0])
    gap = exact - fit.score_samples(X[:40])
    assert (gap > -0.1).all() and np.median(gap) < 0.3  # sixteen draws are not the whole expectation
    assert fit.score(X[:40]) == pytest.approx(fit.score_samples(X[:40]).mean())
    assert fit.posterior(X[:40]).log_density == pytest.approx(fit.score_samples(X[:40]))
    laws.finite(fit, X)


def test_units_do_not_matter_to_the_network():
    """The same cells in another unit of the whole table: the same codes."""
    X = arc(15)  # too few rows to hold any out: who is, hangs on the bits of the cells
    with pytest.warns(ModelWarning, match="LD201"):
        a, b = (Autoencoder(1, hidden=6, max_iter=20).fit_transform(X * unit) for unit in (1.0, 2.0**40))
    assert a == pytest.approx(b, abs=1e-9)


@pytest.mark.parametrize("variational", [False, True])
def test_a_learning_rate_of_ten_keeps_the_best_epoch(variational):
    X = arc(120)
    X[:, 0] *= 1e6
    model = Autoencoder(1, hidden=5, batch_size=1, learning_rate=10.0, max_iter=4, variational=variational)
    with pytest.warns(ModelWarning) as given:
        model.fit(X)
    assert any("LD480" in str(w.message) for w in given)
    assert model.objective_ == model.history_.max() and np.isfinite(model.reconstruct(X)).all()
    laws.finite(model, X)


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_unscaled_columns_train(scale):
    X = arc()
    X[:, 1] *= scale
    fit = Autoencoder(1, hidden=8, standardize=True).fit(X)
    assert fit.objective_ > 0.95


def test_who_is_held_out_depends_on_cells_alone():
    X = arc(400)
    held = _held_out_rows(X)
    order = np.random.default_rng(5).permutation(400)
    assert (_held_out_rows(X[order]) == held[order]).all() and 20 <= held.sum() <= 60
    assert (_held_out_rows(np.repeat(X, 2, axis=0)) == np.repeat(held, 2)).all()
    assert not _held_out_rows(X[:15]).any()


def test_a_callback_stops_and_ctrl_c_keeps_the_best():
    seen = []
    fit = Autoencoder(1).fit(arc(), run=Run(callback=lambda step: seen.append(step) or len(seen) == 5))
    assert len(seen) == 5 and not fit.converged_ and fit.certificate_.reason == "stopped by the callback"


@pytest.mark.parametrize("how", [{}, {"batch_size": 16}, {"variational": True}])
@pytest.mark.filterwarnings("ignore::lowdim.text.errors.ModelWarning")  # LD201: thirty steps
def test_a_fit_that_died_goes_on_to_the_same_bits(how, tmp_path):
    X, model = arc(120), Autoencoder(1, hidden=5, max_iter=30, **how)
    resumed(model, X, tmp_path / "c", 12)


@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.filterwarnings("ignore::lowdim.text.errors.ModelWarning")
def test_odd_tables_train(variational):
    """Rows that are copies, fewer rows than units, columns of a million and of nothing."""
    wide = arc(60) * [1e6, 1.0, 1e-6]
    wide[:, 2] = 3.0
    how = {"hidden": 40, "variational": variational, "max_iter": 30, "learning_rate": 1e-2}
    for X in (np.repeat(arc(5), 30, axis=0), arc(6), wide, np.repeat(np.eye(3), 4, axis=0)):
        fit = Autoencoder(1, **how).fit(X)
        assert np.isfinite(fit.reconstruct(X)).all() and fit.objective_ == fit.history_.max()
        assert not variational or np.isfinite(fit.score_samples(X)).all()
        laws.finite(fit, X)


def test_files(tmp_path):
    X = arc()
    fit = Autoencoder(1, hidden=(5, 4)).fit(X)
    fit.save(tmp_path / "a.lowdim")
    assert np.array_equal(load(tmp_path / "a.lowdim").transform(X), fit.transform(X))


def test_constant_columns_come_back_as_they_are():
    X = arc(60)
    X[:, 1] = 7.0
    assert Autoencoder(1).fit(X).reconstruct(X)[:, 1] == pytest.approx(7.0, abs=1e-12)
    with pytest.warns(TableWarning, match="LD133"):
        fit = Autoencoder(1).fit(np.ones((20, 3)))
    assert (fit.reconstruct(np.ones((4, 3))) == 1.0).all()


@pytest.mark.filterwarnings("ignore:LD201")
def test_words():
    fit = Autoencoder(1, max_iter=500).fit(arc(50))
    with pytest.raises(LowdimError, match="LD200"):
        Autoencoder(4).fit(arc(50))
    for wrong in ({"hidden": 0}, {"hidden": "rbf"}, {"hidden": ("sigmoid", 5)}, {"activation": "relu"}):
        with pytest.raises(LowdimError, match="LD210"):
            Autoencoder(1, **wrong).fit(arc(50))
    for verb in ("sample", "score_samples", "impute", "posterior"):
        with pytest.raises(VerbError, match="LD240"):
            getattr(fit, verb)
    assert not hasattr(fit, "sample") and hasattr(Autoencoder(1, variational=True), "sample")


def test_every_seed_is_judged_on_the_same_rows():
    X = arc()
    with pytest.warns(ModelWarning, match="LD201"):
        held = {Autoencoder(1, hidden=3, max_iter=3, random_state=s).fit(X).held_out_ for s in range(4)}
    assert len(held) == 1


def test_the_bound_is_in_the_table_s_units():
    X = arc()
    with pytest.warns(ModelWarning, match="LD201"):
        one, two = (Autoencoder(1, hidden=4, variational=True, max_iter=15).fit(k * X) for k in (1, 1024))
    assert two.objective_ + 3 * np.log(1024.0) == pytest.approx(one.objective_, abs=1.0)  # other rows are watched
    assert one.objective_ == pytest.approx(one.score(X), abs=1.5)  # on other rows and other noise


def test_one_grammar_of_layers():
    """An int is a tuple of one; sigmoid units bend as tanh ones do."""
    X = arc(80)
    with pytest.warns(ModelWarning, match="LD201"):
        one, two = (Autoencoder(1, hidden=h, max_iter=15).fit_transform(X) for h in (5, (5,)))
    assert np.array_equal(one, two)
    fit = Autoencoder(1, hidden=10, activation="sigmoid").fit(X)
    assert fit.objective_ > 0.98 and fit.params_.activation == "sigmoid"
