"""Clusters over two columns: ellipses are those of the covariance, colours are mixed by share."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as Peer

import lowdim as ld
from lowdim.plot.models.mixture import as_full, mixed, mixture, parts_of
from lowdim.text.errors import OptionError
from tests.plot.from_arrays import Parts, on_table
from tests.plot.svg_checks import HOSTILE, parsed, same_twice, svg_of
from tests.plot.tables import three


def clusters(means, covariances):
    """A mixture of equal weights with these means and covariances, of which every row has a share."""
    K = len(means)
    return Parts(
        means_=means,
        weights_=np.full(K, 1 / K),
        covariances_=covariances,
        get_params=lambda deep: {},
        predict_proba=lambda X: np.full((len(X), K), 1 / K),
    )


def test_ellipses_are_those_of_the_covariance():
    X = np.column_stack([three(), np.zeros(300)])[:, [0, 2, 1]]
    S = np.array([[[2.0, 0.0, 0.6], [0.0, 1.0, 0.0], [0.6, 0.0, 0.5]]])
    plot = mixture(on_table(clusters(X.mean(axis=0)[None], S), X, HOSTILE[:3]), (0, 2))
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
    assert parts.covariances.shape == (3, 2, 2)
    make = same_twice if kind == "full" else lambda make: make()
    plot = make(lambda: mixture(on_table(model, X, HOSTILE[:2])))
    assert "1 row with gaps left out" in plot.sentence and plot.data["membership"].shape == (299, 3)
    peer = Peer(3, covariance_type=kind, random_state=0).fit(three())
    full = as_full(kind, peer.covariances_, 3, 2)
    want = np.linalg.inv(peer.precisions_) if kind in ("full", "tied") else None
    if want is not None:
        assert full == pytest.approx(np.broadcast_to(want, (3, 2, 2)))


def test_local_axes_and_hard_clusters():
    X = np.column_stack([three(), 0.1 * np.ones(300) * np.arange(300) % 3])
    model = ld.MixtureOfPPCA(3, 1).fit(X)
    parts = parts_of(model, X)
    assert len(parts.axes) == 3 and parts.covariances.shape == (3, 3, 3)
    parsed(mixture(on_table(model, X)))
    plot = mixture(on_table(ld.KMeans(3).fit(X), X))
    assert "0 of 300 rows drawn lie between clusters" in plot.sentence
    assert parts_of(ld.PPCA(1).fit(X), X) is None


def test_colours_are_mixed_by_share():
    colour = mixed(np.array([[1.0, 0.0], [0.0, 1.0], [0.25, 0.75]]))
    assert colour[2] == pytest.approx(0.25 * colour[0] + 0.75 * colour[1])


def test_what_cannot_be_drawn_as_clusters():
    X = three()
    model = ld.KMeans(2).fit(X)
    for columns in ((0, 0), (0, 2)):
        with pytest.raises(OptionError):
            mixture(on_table(model, X), columns)
    plot = mixture(on_table(model, np.tile(X, (20, 1))))
    assert "3,000 of 6,000 rows drawn" in plot.title and len(svg_of(plot)) < 700_000


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_every_kind_of_mixture_can_be_drawn(kind):
    X = load_iris().data
    fit = ld.Mixture(kind, 3, n_init=2).fit(X)
    parts = parts_of(fit, X)
    assert parts is not None and parts.covariances.shape == (3, 4, 4)
    assert mixture(on_table(fit, X)).sentence
