"""What a reader of the nonlinear family found: each of these once failed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lowdim
from lowdim.plot.analysis.traverse import walk_axis
from lowdim.plot.models.bottleneck import bottleneck
from lowdim.plot.models.gtm import gtm_sheet, lattice
from lowdim.text.messages import LowdimError, ModelWarning


def arc(n: int = 120, gaps: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 4, n)
    X = np.column_stack([np.cos(t), np.sin(t), t]) + 0.05 * rng.standard_normal((n, 3))
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@pytest.mark.parametrize(
    "how", [{"hidden": 6}, {"hidden": 6, "weight_prior": "auto"}, {"hidden": "rbf", "n_samples": ("grid", 8)}]
)
def test_a_density_network_does_not_care_for_units(how: dict[str, Any]) -> None:
    X = arc()
    one, two = (lowdim.DensityNetwork(1, max_iter=40, tol=1e-9, **how) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        mine, huge = one.fit(X).score(X), two.fit(4096.0 * X).score(4096.0 * X)
    assert huge + 3 * np.log(4096.0) == pytest.approx(mine, abs=0.05) and mine > 0.0
    assert two.weight_prior_ == pytest.approx(one.weight_prior_, rel=0.05)


def test_bells_on_a_grid_are_the_gtm_in_any_unit() -> None:
    X = 100.0 * arc()
    net = lowdim.DensityNetwork(1, hidden="rbf", n_samples=("grid", 8), tol=1e-3).fit(X)
    assert net.score(X) == pytest.approx(lowdim.GTM(1, grid=8, tol=1e-3).fit(X).score(X), abs=0.05)


def test_labels_of_own_draws_lie_on_the_shared_nodes() -> None:
    X = arc(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = lowdim.DensityNetwork(1, n_samples=("importance", 20), hidden=4, max_iter=10).fit(X)
    labels = np.where(X[:, 2] > 2, "late", "early")
    shares = model.responsibilities(X)
    found = model.label_map(X, labels)
    assert found.rows == pytest.approx(shares.sum(axis=0))
    late = found.share[:, list(found.labels).index("late")] * found.rows
    assert late == pytest.approx(shares[labels == "late"].sum(axis=0))


def test_every_seed_of_an_autoencoder_is_judged_on_the_same_rows() -> None:
    X = arc(200)
    with pytest.warns(ModelWarning, match="LD201"):
        held = {lowdim.Autoencoder(1, hidden=(3,), max_iter=3, random_state=s).fit(X).held_out_ for s in range(4)}
    assert len(held) == 1


def test_the_bound_of_an_autoencoder_is_in_the_table_s_units() -> None:
    X = arc(200)
    with pytest.warns(ModelWarning, match="LD201"):
        one, two = (lowdim.Autoencoder(1, hidden=(4,), variational=True, max_iter=15).fit(k * X) for k in (1, 1024))
    assert two.objective_ + 3 * np.log(1024.0) == pytest.approx(one.objective_, abs=1.0)  # other rows are watched
    assert one.objective_ == pytest.approx(one.score(X), abs=1.5)  # on other rows and other noise


@pytest.mark.parametrize(
    "model",
    [lowdim.NonlinearFactorAnalysis(1, hidden=5, tol=2.0), lowdim.GTM(1, grid=20, tol=0.5)],
    ids=["nlfa", "gtm"],
)
def test_drawn_fills_are_as_wide_as_their_intervals_say(model: Any) -> None:
    X = arc(150, gaps=0.15)
    X = X[~np.isnan(X).all(axis=1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = model.fit(X)
        _, sd = model.impute(X, return_std=True)
        drawn = np.array(model.impute(X, draws=60))
    gap = np.isnan(X)
    assert drawn.std(axis=0)[gap].mean() / sd[gap].mean() == pytest.approx(1.0, abs=0.25)


def test_edges_end_in_messages() -> None:
    X = arc(40)
    for f, code in (
        (lambda: lowdim.GTM(1, weight_prior=np.inf).fit(X), "LD210"),
        (lambda: lowdim.GPLVM(3).fit(X[:2]), "LD200"),
        (lambda: lowdim.GTM(2, grid=4, basis=3).fit(X).magnification(np.zeros((2, 3))), "LD220"),
        (lambda: gtm_sheet(lowdim.GTM(1, grid=4, basis=3).fit(X[:, :1]), X[:, :1]), "LD494"),
        (lambda: walk_axis(lowdim.Autoencoder(1, hidden=()).fit(X), 0, np.arange(3.0)), "LD494"),
    ):
        with pytest.raises(LowdimError, match=code):
            f()
    wide = np.random.default_rng(0).standard_normal((6, 8))
    assert bottleneck(wide, seeds=1).name == "bottleneck"
    found = lowdim.best_of(lowdim.DensityNetwork(1, n_samples=9, hidden=2, tol=5.0, random_state=np.int64(1)), X, 3)
    assert [int(s) for s in found.seeds if s is not None] == [1, 2, 3]


def test_a_drawn_sample_on_one_axis_is_no_grid() -> None:
    model = lowdim.DensityNetwork(1, n_samples=15, hidden=3, tol=5.0).fit(arc(60))
    assert not lattice(model, "gtm_sheet").own and lattice(lowdim.GTM(1, grid=7).fit(arc(60)), "gtm_sheet").own


def test_gtm_in_three_dimensions_by_its_name() -> None:
    from lowdim.registry import METHODS

    assert METHODS["gtm"].make(3).get_params()["n_components"] == 3
