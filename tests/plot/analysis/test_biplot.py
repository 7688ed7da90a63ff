"""The biplot against the table it factors."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.text import Text

import lowdim as ld
from lowdim.datasets.oil import oil_flow
from lowdim.text.errors import OptionError
from tests.plot.from_arrays import biplot
from tests.plot.svg_checks import HOSTILE, apart, inside, same_twice


@pytest.mark.parametrize("scaling", ["form", "covariance", "symmetric"])
def test_points_times_arrows_are_the_best_approximation(scaling):
    X = oil_flow(150).X
    model = ld.PCA(4).fit(X)
    plot = biplot(model, model.transform(X), [f"c{j}" for j in range(12)], scaling=scaling)
    U, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(plot.data["point"] @ plot.data["arrow"].T, (U[:, :2] * s[:2]) @ Vt[:2], atol=1e-9)
    arrows, points = plot.data["arrow"], plot.data["point"]
    if scaling == "form":  # row distances are those of the plane
        np.testing.assert_allclose(points.T @ points / 149, np.diag(s[:2] ** 2 / 149), atol=1e-9)
    if scaling == "covariance":  # inner products of arrows are covariances, as far as two axes go
        np.testing.assert_allclose(arrows @ arrows.T, (Vt[:2].T * s[:2] ** 2) @ Vt[:2] / 149, atol=1e-9)
    assert scaling in plot.title


def test_biplot_of_wine_has_legible_names():
    from lowdim.datasets import wine

    _, names, X = wine()
    model = ld.PPCA(2, standardize=True).fit(X)
    plot = same_twice(lambda: biplot(model, model.transform(X), names))
    # an annotation's own extent counts its leader line too, which may cross another name
    named = [t for t in plot.figure.axes[0].texts if t.get_text() in set(names)]
    apart([SimpleNamespace(get_text=t.get_text, get_window_extent=partial(Text.get_window_extent, t)) for t in named])
    assert len(named) >= 12
    assert "axis 1 follows 'flavanoids' most" in plot.sentence


def test_biplot_takes_many_columns_hostile_names_and_no_wrong_scaling():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 200))
    model = ld.PCA(2).fit(X)
    plot = biplot(model, model.transform(X), [HOSTILE[j % 8] + str(j) for j in range(200)])
    assert plot.data["drawn"].sum() == 16 and "16 longest of 200 arrows drawn" in plot.title
    inside(plot)
    with pytest.raises(OptionError, match="'form', 'covariance', 'symmetric'"):
        biplot(model, model.transform(X), ["a"] * 200, scaling="free")
