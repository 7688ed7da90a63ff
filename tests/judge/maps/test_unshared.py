"""Where no column predicts another along a straight line: what is said instead."""

import numpy as np
import pytest
from scipy import stats

import lowdim as ld
from lowdim.datasets import load_demo
from lowdim.jobs.analysis import Analysis, Settings
from lowdim.jobs.run_folder import load_run, save_run
from lowdim.judge.maps.unshared import curves, unshared


def test_curves_are_correlations_of_normal_scores():
    """Beside scipy's ranks and correlation; gaps count neither way."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    X[:, 2] = X[:, 0] ** 2 + 0.5 * rng.standard_normal(150)
    X[::10, 2] = np.nan
    (found,) = curves(X, ["a", "b", "c"])
    assert (found.column, found.follows) == ("c", "a")
    u, v = (
        stats.norm.ppf((stats.rankdata(x[~np.isnan(x)]) - 0.375) / ((~np.isnan(x)).sum() + 0.25)) for x in X.T[[0, 2]]
    )
    square, seen = u**2 - 1.0, ~np.isnan(X[:, 2])
    theirs = (square[seen] * v).sum() ** 2 / (square[seen] ** 2).sum() / (v**2).sum()
    assert found.share == pytest.approx(theirs, rel=1e-6)


def test_noise_has_no_curves_and_no_peaks():
    """One table in a hundred may show a curve by chance."""
    some = 0
    for seed in range(100):
        X = np.random.default_rng(seed).standard_normal((120, 6))
        some += bool(curves(X, list("abcdef")))
    assert some <= 4  # 1 expected; more than 4 has probability 0.004
    for seed, draw in enumerate(("standard_normal", "standard_exponential", "random")):
        x = getattr(np.random.default_rng(seed), draw)((200, 4))
        assert not unshared(ld.read(x)).peaks


def test_three_groups_in_two_of_seven_columns_are_found():
    """Morrison's example: the map of largest variances shows them, and so does a run that is opened again."""
    table = load_demo("clusters")
    truth = np.repeat([0, 1, 2], 60)
    found = ld.analyse(table.X, budget="1s")
    assert found.jury.needed == 0 and found.dims == 2 and found.by_variance
    assert len(found.groups.sizes) == 3 and set(found.groups.columns) == {"c1", "c2"}
    right = sum(np.bincount(truth[found.groups.label == k]).max() for k in range(3))
    assert right >= 170  # of 180, a tenth of whose cells are missing
    assert found.said["dimensions"].endswith("in their own units (principal components).")
    assert "The rows fall into 3 groups" in found.said["groups"]
    plain = np.linalg.svd(np.nan_to_num(table.X - np.nanmean(table.X, axis=0)), full_matrices=False)[2][:2]
    W = np.asarray(found.model.components_)
    angle = np.linalg.svd(plain @ np.linalg.qr(W.T)[0], compute_uv=False)
    assert angle.min() > 0.98  # the plane of the principal components, whatever the units of the others


def test_columns_as_they_are_make_a_map_of_their_variances(tmp_path):
    """Noise of unlike variances: with scale none the map is of the two widest columns, and says so."""
    X = np.random.default_rng(3).standard_normal((150, 5)) * [1, 9, 1, 5, 1]
    found = Analysis(ld.read(X, scale="none"), Settings(budget=1.0))
    assert found.dims == 2 and found.by_variance and "principal components" in found.said["dimensions"]
    assert {found.axes[k].top[0].column for k in (0, 1)} == {"c2", "c4"}
    plain = ld.analyse(X, budget="1s")
    assert plain.dims == 0 and plain.said["dimensions"].endswith("no columns of several peaks were found either.")


def test_a_run_has_what_was_found(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 4))
    x[:, 3] += np.where(rng.random(200) < 0.5, 8.0, 0.0)
    np.savetxt(tmp_path / "t.csv", x, delimiter=",")
    made = ld.analyse(tmp_path / "t.csv", budget="1s")
    again = load_run(save_run(made, tmp_path / "t.run")).analysis
    assert again.unshared == made.unshared and again.by_variance == made.by_variance
    assert made.unshared.peaks == ("c4",) and "c4 has several peaks." in made.said["dimensions"]
