"""Rows rebuilt, walks along an axis, and axes as images, against the singular value decomposition."""

import numpy as np
import pytest

import lowdim as ld
from lowdim.plot.analysis.decode import component_images, rebuilt
from lowdim.plot.pictures import form_of_rows
from lowdim.text.errors import OptionError
from tests.conftest import need
from tests.plot.from_arrays import on_table, reconstruct, walked
from tests.plot.svg_checks import HOSTILE, inside, parsed, same_twice, texts

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


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    return load_digits().data[:200]


def test_reconstructions_are_the_truncated_svd(digits):
    model = ld.PCA(10).fit(digits)
    plot = same_twice(lambda: reconstruct(model, digits, 3, [f"p{j}" for j in range(64)]))
    mean = digits.mean(axis=0)
    _, _, Vt = np.linalg.svd(digits - mean, full_matrices=False)
    sd = digits.std(axis=0, ddof=1)
    sd[sd == 0] = 1.0
    for k, q in enumerate([1, 2, 5, 10]):
        want = mean + (digits[3] - mean) @ Vt[:q].T @ Vt[:q]
        np.testing.assert_allclose(plot.data["rebuilt"][:, k], want, atol=1e-8)
        error = np.sqrt(np.mean(((digits[3] - want) / sd) ** 2))
        assert plot.data["error"][k] == pytest.approx(error)
    np.testing.assert_allclose(plot.data["residual"], digits[3] - want, atol=1e-8)
    assert {"original", "q = 5"} <= set(texts(plot))


def test_a_table_row_with_gaps():
    X = np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")
    X[0, 3:5] = np.nan
    model = ld.PPCA(5, standardize=True).fit(X)
    plot = same_twice(lambda: reconstruct(model, X, 0, NAMES))
    assert plot.data["q"].tolist() == [1, 2, 5]
    assert "3 gaps are not counted." in plot.sentence
    np.testing.assert_allclose(plot.data["rebuilt"][:, -1], model.reconstruct(X[:1])[0])
    seen = np.isfinite(X[0])
    sd = np.nanstd(X, axis=0, ddof=1)
    rms = np.sqrt(np.mean((((X[0] - model.reconstruct(X[:1])[0]) / sd)[seen]) ** 2))
    assert plot.data["error"][-1] == pytest.approx(rms)
    assert "gap" in texts(plot)


def test_curves_wide_rows_and_hostile_names():
    t = np.linspace(0, 6, 90)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) @ np.array([np.sin(t), np.cos(2 * t)]) + 0.1 * rng.normal(size=(40, 90))
    model = ld.PPCA(2).fit(X)
    names = [HOSTILE[j % 8] + str(j) for j in range(90)]
    for plot in (reconstruct(model, X, 0, names), rebuilt(on_table(model, X, names), kept=[1, 2], shape=(90,))):
        inside(plot)
        assert plot.data["error"][1] < plot.data["error"][0]
    inside(walked(model, 1, names, X=X, shape=(90,)))
    with pytest.raises(OptionError, match="90 cells"):
        rebuilt(on_table(model, X, names), shape=(9, 9))


def test_an_empty_row_has_nothing_to_rebuild():
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = ld.PPCA(1).fit(X)
    X[4] = np.nan
    assert "no seen cells" in reconstruct(model, X, 4, ["a", "b", "c"]).sentence


def test_component_images_are_the_axes(digits):
    model = ld.PCA(5).fit(digits)
    plot = same_twice(lambda: component_images(on_table(model, digits), (8, 8), 9))
    _, s, Vt = np.linalg.svd(digits - digits.mean(axis=0), full_matrices=False)
    assert plot.data["axis_image"].shape == (5, 64)  # no more than the model has
    np.testing.assert_allclose(np.abs((plot.data["axis_image"] * Vt[:5]).sum(axis=1)), 1.0)
    np.testing.assert_allclose(plot.data["share"], (s**2 / (s**2).sum())[:5])
    np.testing.assert_allclose(plot.data["mean_image"], digits.mean(axis=0))
    images = [ax.images[0] for ax in plot.figure.axes if ax.images]
    for k, image in enumerate(images[1:]):
        np.testing.assert_allclose(image.get_array(), model.components_[k].reshape(8, 8))
        assert image.get_clim()[0] == -image.get_clim()[1]
    with pytest.raises(OptionError, match="64 cells"):
        component_images(on_table(model, digits), (8, 9), 2)


def test_images_along_an_axis_and_eigenfaces():
    X = np.load(need("olivetti_faces/olivetti64.npz"))["X"][:60].astype(float)
    model = ld.PCA(4).fit(X)
    faces = component_images(on_table(model, X), (64, 64), 4)
    inside(faces)
    assert len(faces.svg()) < 250_000
    walk = walked(model, 0, [f"p{j}" for j in range(4096)], X=X, steps=(-2, 0, 2), shape=(64, 64))
    parsed(walk)
    assert {"-2 sd", "0 sd", "+2 sd"} <= set(texts(walk))
    assert walk.data["mean"].shape == (4096, 3)


def test_a_grid_of_rows_misses_the_eigenvalues_left_out(digits):
    """[Zabaras2017], minimum-error form: J is the sum of the discarded eigenvalues; rows are the truncated SVD."""
    model = ld.PCA(20).fit(digits)
    plot = rebuilt(on_table(model, digits), shown=[3, 50], kept=[1, 10, 20], shape=(8, 8))
    inside(plot)
    centred = digits - digits.mean(axis=0)
    U, s, Vt = np.linalg.svd(centred, full_matrices=False)
    values = s**2 / len(digits)
    assert plot.data["error"] == pytest.approx([values[k:].sum() for k in (1, 10, 20)])
    for k, q in enumerate((1, 10, 20)):
        want = digits.mean(axis=0) + (U[:, :q] * s[:q]) @ Vt[:q]
        np.testing.assert_allclose(plot.data["rebuilt"][:, k], want[[3, 50]], atol=1e-8)
    with pytest.raises(OptionError, match=r"LD210.*kept"):
        rebuilt(on_table(model, digits), kept=[21])
    with pytest.raises(OptionError, match=r"LD210[\s\S]*0 to 20"):  # none is left out in silence
        rebuilt(on_table(model, digits), kept=[2, 21])


def stick(n=30):
    """A folding ruler: four joints in the plane, three bars of length 1 whose angles change from row to row."""
    turn = np.cumsum(np.random.default_rng(0).uniform(0.2, 1.2, (n, 3)), axis=1)
    steps = np.stack([np.cos(turn), np.sin(turn)], axis=2)
    at = np.concatenate([np.zeros((n, 1, 2)), np.cumsum(steps, axis=1)], axis=1) + np.linspace(0, 2, n)[:, None, None]
    names = [f"{joint}_{axis}" for joint in ("hand", "elbow", "shoulder", "hip") for axis in "XY"]
    return names, at.reshape(n, 8)


def test_a_skeleton_joins_the_points_that_keep_their_distance(tmp_path):
    names, X = stick()
    form = form_of_rows("skeleton", names, X)
    assert sorted(map(tuple, form.lines.tolist())) == [(0, 1), (1, 2), (2, 3)]
    at = form.at(X)
    assert np.linalg.norm(at[:, form.lines[:, 0]] - at[:, form.lines[:, 1]], axis=2) == pytest.approx(1.0)
    (tmp_path / "joined.csv").write_text("a,b\nhand,hip\nelbow,hip\n")
    assert form_of_rows("skeleton", names, X, tmp_path / "joined.csv").lines.tolist() == [[0, 3], [1, 3]]
    with pytest.raises(OptionError, match="LD216"):
        form_of_rows("skeleton", [f"c{j}" for j in range(8)], X)
    model = ld.PPCA(3).fit(X)
    grid = rebuilt(on_table(model, X, names), shown=[2], shape="skeleton")
    for plot in (grid, walked(model, 0, names, X=X, shape="skeleton")):
        inside(plot)
    bones = grid.figure.axes[0].collections[0].get_segments()
    assert np.linalg.norm(np.diff(bones, axis=1)[:, 0], axis=1) == pytest.approx(1.0)  # the original has bars of 1
