"""Squares, relevance, clusters and movies: areas and ellipses are exact, EM is textbook, SVG is sound."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from sklearn.cluster import KMeans as PeerMeans
from sklearn.mixture import GaussianMixture as Peer

import lowdim as ld
from lowdim.plot.analysis.hinton import GROUND, hinton
from lowdim.plot.gallery import GALLERY
from lowdim.plot.models.em_movie import FLOOR, _kmeans, em_movie, expect, maximise
from lowdim.plot.models.mixture import as_full, mixed, mixture, parts_of
from lowdim.plot.models.relevance import relevance
from lowdim.text.messages import OptionError, TableError
from tests.plot.look import HOSTILE, SVG, parsed, same_twice, svg_of, texts


def bishop(seed=0):
    """300 x 10, sd 1 in three directions and 0.5 in seven: the table of Bishop's figure 12.14, by its description."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    return rng.standard_normal((300, 10)) * np.r_[np.ones(3), np.full(7, 0.5)] @ Q


def three(seed=0):
    rng = np.random.default_rng(seed)
    parts = (
        rng.standard_normal((150, 2)) @ [[1.5, 0.9], [0.0, 0.4]],
        0.6 * rng.standard_normal((90, 2)) + [3, -2],
        rng.standard_normal((60, 2)) @ [[0.3, 0.0], [0.5, 1.0]] + [4, 2],
    )
    return np.concatenate(parts)


# squares --------------------------------------------------------------------------------------------------
def test_areas_are_exactly_proportional():
    W = np.random.default_rng(0).standard_normal((8, 5))
    plot = same_twice(lambda: hinton(W, HOSTILE))
    ax = plot.figure.axes[0]
    boxes = [p for p in ax.patches if isinstance(p, Rectangle)]
    assert len(boxes) == 40
    for box in boxes:
        c, r = (round(box.get_x() + box.get_width() / 2), round(box.get_y() + box.get_height() / 2))
        assert box.get_width() * box.get_height() == pytest.approx(0.81 * abs(W[r, c]) / np.abs(W).max(), rel=1e-9)
        assert box.get_facecolor()[:3] == ((1, 1, 1) if W[r, c] > 0 else (0, 0, 0))
        assert box.get_linewidth() == 0 or box.get_edgecolor()[3] == 0
    assert ax.get_facecolor()[:3] == pytest.approx([int(GROUND[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    assert ax.get_aspect() == 1.0


def test_the_pointer_is_told_every_value():
    W = np.array([[1.25, 0.0], [-0.5, 2.0]])
    root = parsed(hinton(W, ["a<b", "c"]))
    said = [t.text for g in root.iter(f"{SVG}g") for t in g.findall(f"{SVG}title")]
    assert sorted(said) == ["a<b, axis 1: 1.25", "c, axis 1: -0.5", "c, axis 2: 2"]


def test_maximum_likelihood_beside_bayes():
    """Bishop's figure: maximum likelihood uses all nine columns, the Bayesian model three, and the rest are empty."""
    X = bishop()
    ml, bayes = ld.PPCA(9).fit(X), ld.BayesianPCA(9).fit(X)
    kept = np.zeros((10, 9))
    kept[:, : len(bayes.components_)] = bayes.components_.T
    plot = hinton(ml.components_.T, [f"x{j}" for j in range(10)], other=kept, labels=("ML", "Bayes"))
    assert plot.title == "ML uses 9 axes, Bayes 3"
    assert [t for t in texts(plot) if "off" in t].count("off") == 6
    shown = relevance(bayes.relevance_, bayes.kept_)
    assert shown.title == "3 of 9 axes kept" and shown.data["kept"].sum() == 3


def test_squares_of_nothing_of_much_and_of_the_wrong_shape():
    parsed(hinton(np.zeros((3, 2)), HOSTILE[:3]))
    parsed(hinton(np.zeros((3, 0)), HOSTILE[:3]))
    big = hinton(np.random.default_rng(0).normal(size=(200, 30)), [f"column {j}" for j in range(200)])
    assert "24 of 200 columns drawn" in big.title and len(svg_of(big)) < 700_000
    for how in ({"other": np.ones((3, 2))}, {"other": np.ones(2)}):
        with pytest.raises(OptionError):
            hinton(np.ones((2, 2)), ["a", "b"], **how)
    with pytest.raises(OptionError):
        hinton(np.ones((2, 2)), ["a"])


# relevance ------------------------------------------------------------------------------------------------
def test_bars_have_the_height_of_their_relevance():
    values = np.array([0.2, 0.0, 0.9, 1e-7])
    plot = same_twice(lambda: relevance(values, [True, False, True, False]))
    ax = plot.figure.axes[0]
    heights = sorted(p.get_height() for p in ax.patches)
    assert heights == pytest.approx([0.0, 1e-7, 0.2, 0.9])
    assert plot.data["axis"].tolist() == [3, 1, 4, 2] and texts(plot).count("off") == 2
    assert relevance(values).data["kept"].tolist() == [True, True, False, False]
    assert "noise" in relevance([0.1, 0.1], [False, False]).title
    parsed(relevance(np.linspace(0, 1, 60)))
    for bad in ([], [np.nan], [-1.0]):
        with pytest.raises(OptionError):
            relevance(bad)
    with pytest.raises(OptionError):
        relevance([1.0, 2.0], [True])


# clusters -------------------------------------------------------------------------------------------------
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


# movies ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", ["ppca", "kmeans", "mixture"])
def test_movies_are_sound(model):
    X = three()
    X[5, 1] = np.nan
    plot = same_twice(lambda: em_movie(X[::5], 1, model=model, names=HOSTILE[:2]))
    assert len(plot.frames) == 3 and (np.diff(plot.data["objective"]) >= 0).all()
    assert "1 row with gaps left out." in plot.sentence
    film = plot.animated(0.5)
    root = ET.fromstring(film)
    assert root.get("role") == "img" and len(root.findall(f"{SVG}g")) == 3
    assert "<script" not in film and "prefers-reduced-motion" in film and film == plot.animated(0.5)
    ids = re.findall(r'\bid="([^"]*)"', film)
    assert len(ids) == len(set(ids))
    assert not re.search(r'(?:href|src)="(?!#)', film)


def test_the_movie_of_k_means_is_lloyd_s():
    X = three()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    plot = em_movie(X, 2, model="kmeans", n_clusters=4, random_state=2)
    centres = plot.data["centre"].reshape(3, 4, 2)
    for k in range(2):
        label = ((Z[:, None] - centres[k]) ** 2).sum(axis=2).argmin(axis=1)
        want = np.array([Z[label == j].mean(axis=0) for j in range(4)])
        assert centres[k + 1] == pytest.approx(want, rel=1e-10)
    end = PeerMeans(4, init=centres[0], n_init=1, tol=0.0).fit(Z)
    moments, values = _kmeans(Z, end.n_iter_, 4, 2)
    assert moments[-1].mu == pytest.approx(end.cluster_centers_, rel=1e-9)
    assert -values[-1] == pytest.approx(end.inertia_, rel=1e-10)


def test_the_movie_of_gaussians_is_textbook_em():
    """One step of ours from the peer's state is the peer's next state."""
    X = three()
    one = Peer(3, random_state=0, reg_covar=FLOOR, tol=1e-9, max_iter=500).fit(X)
    shares, value = expect(X, one.weights_, one.means_, one.covariances_)
    assert shares == pytest.approx(one.predict_proba(X), abs=1e-9)
    assert value == pytest.approx(one.score(X) * len(X), rel=1e-12)
    w, mu, S = maximise(X, shares)
    assert w == pytest.approx(one.weights_, rel=1e-4) and mu == pytest.approx(one.means_, rel=1e-3)
    np.testing.assert_allclose(S, one.covariances_, rtol=1e-2, atol=1e-3)


def test_what_cannot_be_filmed(tmp_path):
    for how in ({"model": "svm"}, {"steps": 0}):
        with pytest.raises(OptionError):
            em_movie(three(), **{"steps": 2, **how})
    with pytest.raises(OptionError):
        em_movie(np.zeros((5, 3)))
    with pytest.raises(TableError):
        em_movie(three()[:3], 2, model="kmeans", n_clusters=4)
    plot = em_movie(three(), 1, model="kmeans")
    with pytest.raises(OptionError):
        plot.save_animated(tmp_path / "film.gif")
    assert plot.save_animated(tmp_path / "film.svg").read_text() == plot.animated()


def test_bound_plots(tmp_path):
    path = tmp_path / "t.csv"
    X = bishop()[:80, :5]
    path.write_text("a,b,c,d,e\n" + "\n".join(",".join(f"{v:.5f}" for v in row) for row in X))
    found = ld.analyse(ld.read(path), dims=2, budget="1s")
    assert {"hinton", "relevance", "mixture", "em_movie"} <= GALLERY.keys()
    with pytest.raises(OptionError, match="LD216"):
        found.plot.draw("relevance")
    with pytest.raises(OptionError, match="LD216"):
        found.plot.draw("mixture")
    parsed(found.plot.draw("mixture", model=ld.KMeans(2).fit(found.table.X)))
    parsed(found.plot.draw("em_movie", steps=1, model="kmeans"))
    parsed(found.plot.draw("hinton"))
