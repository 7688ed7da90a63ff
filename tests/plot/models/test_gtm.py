"""The sheet of a GTM and its stretch: every number is the model's own, by its public verbs or by hand."""

import numpy as np
import pytest
from sklearn import decomposition as peers

import lowdim as ld
from lowdim.plot.models.gtm import gtm_sheet, lattice, magnification
from lowdim.table.column import Column
from lowdim.text.messages import LowdimError
from tests.plot.from_arrays import on_table
from tests.plot.svg_checks import HOSTILE, parsed, same_twice, texts
from tests.plot.tables import roll


def coloured(model, X, kind, names=None, unit=None):
    """The model on a table with a label column."""
    subject = on_table(model, X, names, unit=unit)
    subject.table.labels["kind"] = kind
    labels, codes = np.unique(kind, return_inverse=True)
    subject.table.columns.append(Column("kind", "label", codes.astype(float), 1, labels=tuple(labels.tolist())))
    return subject


def test_the_sheet_goes_through_the_nodes_of_the_model(sheet):
    X, kind = roll()
    plot = same_twice(lambda: gtm_sheet(coloured(sheet, X, kind, HOSTILE[:4], [2.0, 1, 10.0, 1]), columns=(0, 2)))
    assert plot.data["node"] == pytest.approx(sheet.nodes_[:, [0, 2]] * [2, 10])
    assert plot.data["row"] == pytest.approx(X[:, [0, 2]] * [2, 10]) and "8 x 8 nodes" in plot.title
    assert {"low", "mid", "high", "the sheet, and its nodes"} <= set(texts(plot))
    left = 1 - ((X - sheet.reconstruct(X)) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
    assert f"holds {100 * left:.0f}% of the variation" in plot.sentence


def test_without_columns_the_plane_is_that_of_the_principal_axes(sheet):
    X, _ = roll(gaps=0.1)
    plot = gtm_sheet(on_table(sheet, X))
    peer = peers.PCA(2).fit(sheet.impute(X))
    for part, cells in (("node", sheet.nodes_), ("row", sheet.impute(X))):
        assert np.abs(plot.data[part]) == pytest.approx(np.abs(peer.transform(cells)), abs=1e-8)
    assert f"shows {100 * peer.explained_variance_ratio_.sum():.0f}% of it" in plot.sentence
    assert plot.data["has_gaps"].tolist() == np.isnan(X).any(axis=1).tolist() and "hollow: row with gaps" in texts(plot)


def test_a_drawn_sample_gets_a_regular_grid(sampled):
    X, kind = roll(gaps=0.1)
    plot = same_twice(lambda: gtm_sheet(coloured(sampled, X, kind)))
    assert "15 x 15 latent points" in plot.title and len(plot.data["node"]) == 225
    assert plot.data["node_place"].min() == -2.0 and plot.data["node_place"].max() == 2.0
    parsed(magnification(on_table(sampled, X)))


def test_the_stretch_is_that_of_small_steps(sheet):
    X, kind = roll()
    plot = same_twice(lambda: magnification(coloured(sheet, X, kind)))
    z, h = plot.data["place"], 1e-5
    J = np.stack(
        [(sheet.inverse_transform(z + h * e) - sheet.inverse_transform(z - h * e)) / (2 * h) for e in np.eye(2)], axis=2
    )
    by_hand = np.sqrt(np.linalg.det(J.transpose(0, 2, 1) @ J))
    assert plot.data["stretch"] == pytest.approx(by_hand, rel=1e-5)
    assert plot.data["log10_stretch"] == pytest.approx(np.log10(by_hand / np.median(by_hand)), abs=1e-5)
    assert plot.data["row"] == pytest.approx(sheet.transform(X))
    assert f"between {10 ** plot.data['log10_stretch'].min():.3g} and " in plot.sentence


def test_with_one_axis_it_is_a_curve():
    X, _ = roll()
    model = ld.GTM(1, grid=12, basis=4).fit(X)
    shown = magnification(on_table(model, X))
    assert shown.data["stretch"].shape == (12,) and parsed(shown) is not None
    assert gtm_sheet(on_table(model, X)).title.startswith("A sheet of 12 nodes")


def test_a_drawn_sample_on_one_axis_is_no_grid():
    X, _ = roll(60)
    model = ld.DensityNetwork(1, n_samples=15, hidden=3, tol=0.05).fit(X)
    assert not lattice(on_table(model, X), "gtm_sheet").of_model
    assert lattice(on_table(ld.GTM(1, grid=7).fit(X), X), "gtm_sheet").of_model


def test_a_sheet_of_one_column_is_refused():
    X = roll(40)[0][:, :1]
    with pytest.raises(LowdimError, match="LD216"):
        gtm_sheet(on_table(ld.GTM(1, grid=4, basis=3).fit(X), X))
