"""Walks along an axis: the decoder's means, and bands that hold what they say."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import lowdim as ld
from lowdim.models.base.calibration import NORMAL_90
from lowdim.plot.access import plot_model
from lowdim.plot.analysis.traverse import traverse
from lowdim.text.errors import OptionError
from lowdim.text.messages import LowdimError
from tests.conftest import need
from tests.plot.from_arrays import on_table, walked
from tests.plot.svg_checks import same_twice, texts
from tests.plot.tables import roll

NAMES = [
    "kappa",
    "chip_rate",
    "bf_cm_ratio",
    "blow_flow",
    "chip_level",
    "t_upper",
    "t_lower",
    "uczaa",
    "white_flow",
    "aa_white",
]


def half_band(plot):
    """Half the width of the band of every column at every step."""
    return (plot.data["upper"] - plot.data["lower"]) / 2


def test_a_walk_is_linear_and_its_band_holds_ninety_percent():
    rng = np.random.default_rng(0)
    W, mu = np.array([[2.0, 1.0, -0.5, 0.0]]), np.array([10.0, 0.0, -3.0, 5.0])
    X = mu + rng.normal(size=(3000, 1)) @ W + 0.5 * rng.normal(size=(3000, 4))
    model = ld.PPCA(1).fit(X)
    plot = same_twice(lambda: walked(model, 0, ["a", "b", "c", "d"], X=X))
    steps = plot.data["step"]
    assert steps.tolist() == [-2, -1, 0, 1, 2]
    want = model.mean_ + np.outer(steps, model.components_[0])
    np.testing.assert_allclose(plot.data["mean"].T, want)
    # one sd along the axis moves a column by its loading; the truth's is W
    np.testing.assert_allclose(np.abs(plot.data["mean"][:, 3] - plot.data["mean"][:, 2]), np.abs(W[0]), atol=0.1)
    assert (half_band(plot) >= NORMAL_90 * np.sqrt(model.noise_variance_)).all()
    at = rng.normal(size=(20_000, 4)) * 0.5 + mu + 2 * W * np.sign(model.components_[0, 0])
    held = np.abs(at - plot.data["mean"][:, 4]) <= half_band(plot)[:, 4]
    assert held.mean(axis=0) == pytest.approx(np.full(4, 0.9), abs=0.03)
    assert plot.sentence.startswith("From -2 to +2 sd along axis 1, 'a' moves most: from ")


def test_steps_are_in_sd_also_for_principal_components_and_own_units():
    X = np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")
    full = X[np.isfinite(X).all(axis=1)]
    for model in (ld.PCA(3, standardize=True).fit(full), ld.PCA(3, standardize=True, whiten=True).fit(full)):
        plot = walked(model, 0, NAMES, X=full, steps=(-1, 0, 1))
        spread = np.sqrt(model.explained_variance_[0] - model.noise_variance_)
        want = model.components_[0] * spread * full.std(axis=0, ddof=1)
        np.testing.assert_allclose(plot.data["mean"][:, 2] - plot.data["mean"][:, 1], want, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            model.inverse_transform(np.eye(3)[:1] * plot.data["position"][2])[0], plot.data["mean"][:, 2]
        )
    with pytest.raises(OptionError, match="from 0 to 2"):
        walked(model, 3, NAMES, X=full)


def test_a_walk_is_the_decoder_s_and_its_band_the_noise(sheet, process):
    names = ["a", "b", "c", "d"]
    for model, noise in (
        (sheet, lambda z: np.full((len(z), 4), sheet.noise_variance_)),
        (process, process.predictive_variance),
    ):
        plot = same_twice(lambda model=model: walked(model, 1, names, X=roll()[0]))
        middle = np.zeros(2) if model is sheet else process.embedding_.mean(axis=0)
        z = np.tile(middle, (5, 1))
        z[:, 1] = plot.data["position"]
        assert np.allclose(plot.data["mean"].T, model.inverse_transform(z), rtol=0, atol=1e-9)
        assert np.allclose(half_band(plot).T, NORMAL_90 * np.sqrt(noise(z)), rtol=1e-6, atol=0)
    assert plot.data["step"] == pytest.approx([-2, -1, 0, 1, 2])
    assert walked(sheet, 0, names, X=roll()[0]).data["position"].max() == 1.0  # where the grid ends


@pytest.mark.filterwarnings("ignore:LD201")
def test_a_walk_of_a_model_without_noise_goes_by_rows():
    X, _ = roll()
    model = ld.Autoencoder(1, hidden=(6,), max_iter=40).fit(X)
    plot = walked(model, 0, ["a", "b", "c", "d"], X=X, unit=[1.0, 2.0, 1.0, 1.0])
    z = model.transform(X)
    assert plot.data["position"].min() >= z.min() and plot.data["position"].max() <= z.max()
    missed = np.abs(X - model.reconstruct(X))
    assert half_band(plot)[:, 0] == pytest.approx(np.quantile(missed, 0.9, axis=0) * [1, 2, 1, 1])
    inner = np.isin(plot.data["step"].round(9), [-1, 0, 1])
    assert plot.data["position"][inner] == pytest.approx(z.mean() + plot.data["step"][inner] * z.std())
    assert "made again within" in plot.sentence and any("errors" in t for t in texts(plot))


def test_a_walk_of_factors_through_a_network():
    X, _ = roll()
    model = ld.NonlinearFactorAnalysis(1, hidden=5, tol=1.0).fit(X)
    plot = walked(model, 0, ["a", "b", "c", "d"], X=X)
    assert np.allclose(plot.data["mean"].T, model.inverse_transform(np.array([[-2.0], [-1], [0], [1], [2]])))
    assert half_band(plot).min() >= NORMAL_90 * np.sqrt(model.noise_variance_) * (1 - 1e-9)


def test_a_walk_needs_a_decoder():
    X, _ = roll(40)
    with pytest.raises(LowdimError, match=r"LD216.*traverse[\s\S]*it has no decoder"):
        traverse(on_table(ld.Isomap(2).fit(X), X))
    with pytest.raises(LowdimError, match=r"LD216.*traverse[\s\S]*it gives rows clusters, not places"):
        traverse(on_table(ld.MixtureOfPPCA(2, n_components=1, n_init=1).fit(X), X))
    with pytest.raises(LowdimError, match=r"LD216.*traverse[\s\S]*its columns are two views"):
        traverse(on_table(ld.CCA(1, views=2).fit(X), X))


def test_answers_walk_by_their_probabilities():
    """One axis of yes/no, levels and labels: the logistic curve of the truth, and ends that are levels."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(1500)
    eta = z[:, None] * [2.0, 1.5, 2.5, 2.0] + rng.logistic(size=(1500, 4))
    words = np.array(["ash", "elm", "oak"])[np.digitize(eta[:, 3], [-1.0, 1.0])]
    frame = pd.DataFrame({"a": eta[:, 0] > 0, "b": eta[:, 1] > 0, "c": np.digitize(eta[:, 2], [-2, 0, 2]), "d": words})
    found = ld.fit_method(frame, "mixed", dims=1)
    plot = same_twice(lambda: plot_model("traverse", found.model, found.table))
    names, mean = plot.data["column"].tolist(), plot.data["mean"]
    assert {"c", "d=ash", "d=elm", "d=oak"} < set(names) and plot.data["step"].tolist() == [-2, -1, 0, 1, 2]
    first = mean[next(k for k, name in enumerate(names) if name.startswith("a"))]
    rising = first if first[-1] > first[0] else first[::-1]
    np.testing.assert_allclose(rising, expit(2.0 * plot.data["step"]), atol=0.06)
    labels = mean[[names.index(f"d={word}") for word in ("ash", "elm", "oak")]]
    np.testing.assert_allclose(labels.sum(axis=0), 1.0)
    assert "the band holds 90% of new cells" in plot.sentence


# from one group to another ------------------------------------------------------------------------------------
def three_groups():
    """Iris as a table with a label column."""
    from sklearn.datasets import load_iris

    data = load_iris(as_frame=True)
    frame = data.frame.assign(kind=data.target_names[data.target]).drop(columns="target")
    return ld.read(frame), data.data.to_numpy(), np.asarray(data.target)


def test_a_walk_between_groups_goes_from_mean_to_mean():
    table, X, target = three_groups()
    model = ld.PPCA(2).fit(X)
    plot = same_twice(lambda: plot_model("between", model, table, "setosa", "virginica"))
    Z = model.transform(X)
    first, last = Z[target == 0].mean(axis=0), Z[target == 2].mean(axis=0)
    want = first + np.linspace(0, 1, 5)[:, None] * (last - first)
    np.testing.assert_allclose(plot.data["position"], want, atol=1e-12)
    np.testing.assert_allclose(plot.data["mean"].T, model.inverse_transform(want), atol=1e-9)
    assert plot.data["rows"].tolist() == [50, 50] and (half_band(plot) > 0).all()
    # a linear decoder takes the mean of places to the mean of the made rows: the measured means, but for noise
    assert plot.data["mean"][:, 4] == pytest.approx(X[target == 2].mean(axis=0), abs=0.15)
    assert plot.sentence.startswith("On the way from 'setosa' to 'virginica', 'petal length (cm)' moves most: from 1.")
    assert "setosa (0) to virginica (1)" in " ".join(texts(plot))


def test_ends_may_be_rows_and_groups_of_a_column_that_is_named():
    table, X, _ = three_groups()
    model = ld.PPCA(2).fit(X)
    plot = plot_model("between", model, table, table.row_names[7], "virginica", shape=(4,))
    np.testing.assert_allclose(plot.data["position"][0], model.transform(X)[7], atol=1e-12)
    assert {"25%", "50%", "75%", "virginica"} <= set(texts(plot)) and plot.data["rows"].tolist() == [1, 50]
    wide = np.where(X[:, 0] > 6, "long", "short")
    plot = plot_model("between", model, table, "short", "long", groups=wide)
    assert plot.data["rows"].tolist() == [int((wide == "short").sum()), int((wide == "long").sum())]
    usual = plot_model("between", model, table)  # the two most common groups
    assert usual.sentence.startswith("On the way from 'setosa' to 'versicolor'")
    for words in (("nothing", "virginica"), ("virginica", "nothing")):
        with pytest.raises(OptionError, match=r"setosa, versicolor, virginica\) or the name of a row"):
            plot_model("between", model, table, *words)
    with pytest.raises(LowdimError, match="LD216"):
        plot_model("between", ld.ClassicalMDS(2).fit(X), table, "setosa", "virginica")
    with pytest.raises(OptionError, match="no column of the table has groups"):
        plot_model("between", model, ld.read(X))


def test_a_model_without_noise_walks_too():
    table, X, target = three_groups()
    model = ld.Autoencoder(2, hidden=()).fit(X)
    plot = plot_model("between", model, table, "setosa", "virginica")
    assert plot.data["mean"][:, 0] == pytest.approx(model.reconstruct(X)[target == 0].mean(axis=0), abs=1e-6)
    assert "90% of the rows' cells are made again within" in plot.sentence
