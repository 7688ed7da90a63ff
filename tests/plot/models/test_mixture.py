"""Clusters over two columns: ellipses are those of the covariance, colours are mixed by share."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as Peer

import lowdim as ld
from lowdim.plot.models.mixture import as_full, mixed, mixture, parts_of
from lowdim.text.kinds import OptionError
from tests.plot.svg_checks import HOSTILE, parsed, same_twice, svg_of
from tests.plot.tables import three


def test_ellipses_are_those_of_the_covariance():
    X = np.column_stack([three(), np.zeros(300)])[:, [0, 2, 1]]
    S = np.array([[[2.0, 0.0, 0.6], [0.0, 1.0, 0.0], [0.6, 0.0, 0.5]]])
    plot = mixture(X, X.mean(axis=0)[None], np.ones((300, 1)), covariances=S, columns=(0, 2), names=HOSTILE[:3])
    rings = [line.get_xydata() for line in plot.figure.axes[0].lines if len(line.get_xydata()) == 73]
    inner = np.linalg.inv(S[0][np.ix_([0, 2], [0, 2])])
    for ring, sd in zip(rings, (1.0, 2.0), strict=True):
        off = ring - X.mean(axis=0)[[0, 2]]
        assert np.einsum("ij,jk,ik->i", off, inner, off) == pytest.approx(sd**2)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_the_mixtures_of_the_library_are_drawn(kind):
    X = three()
    X[5, 0] = np.nan
    model = ld.GaussianMixture(3, covariance_type=kind).fit(X)
    parts = parts_of(model, X)
    assert parts["covariances"].shape == (3, 2, 2)
    make = same_twice if kind == "full" else lambda make: make()
    plot = make(lambda: mixture(X, **parts, names=HOSTILE[:2]))
    assert "1 row with gaps left out" in plot.sentence and plot.data["membership"].shape == (299, 3)
    peer = Peer(3, covariance_type=kind, random_state=0).fit(three())
    full = as_full(kind, peer.covariances_, 3, 2)
    want = np.linalg.inv(peer.precisions_) if kind in ("full", "tied") else None
    if want is not None:
        assert full == pytest.approx(np.broadcast_to(want, (3, 2, 2)))


def test_local_axes_and_hard_clusters():
    X = np.column_stack([three(), 0.1 * np.ones(300) * np.arange(300) % 3])
    parts = parts_of(ld.MixtureOfPPCA(3, 1).fit(X), X)
    assert len(parts["axes"]) == 3 and parts["covariances"].shape == (3, 3, 3)
    parsed(mixture(X, **parts))
    parts = parts_of(ld.KMeans(3).fit(X), X)
    plot = mixture(X, **parts)
    assert "0 of 300 rows drawn lie between clusters" in plot.sentence
    assert parts_of(ld.PPCA(1).fit(X), X) is None


def test_colours_are_mixed_by_share():
    colour = mixed(np.array([[1.0, 0.0], [0.0, 1.0], [0.25, 0.75]]))
    assert colour[2] == pytest.approx(0.25 * colour[0] + 0.75 * colour[1])


def test_what_cannot_be_drawn_as_clusters():
    X = three()
    for how in ({"columns": (0, 0)}, {"columns": (0, 2)}, {"shares": np.ones((300, 3))}):
        with pytest.raises(OptionError):
            mixture(X, **{"means": np.zeros((2, 2)), "shares": np.ones((300, 2)), **how})
    many = np.tile(X, (20, 1))
    plot = mixture(many, np.zeros((1, 2)), np.ones((6000, 1)))
    assert "3,000 of 6,000 rows drawn" in plot.title and len(svg_of(plot)) < 700_000


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_every_kind_of_mixture_can_be_drawn(kind):
    X = load_iris().data
    fit = ld.Mixture(kind, 3, n_init=2).fit(X)
    parts = parts_of(fit, X)
    assert parts is not None and parts["covariances"].shape == (3, 4, 4)
    assert mixture(X, **parts).sentence
