"""EM's movies against the power method, textbook EM and Lloyd's iteration; SVG is sound."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from lessons.em_movie import MOVIE_LEAST_VARIANCE, _kmeans, em_movie, expect, fit_line, maximise
from sklearn.cluster import KMeans as PeerMeans
from sklearn.mixture import GaussianMixture as Peer

import lowdim as ld
from lowdim.text.errors import OptionError, TableError
from tests.conftest import need
from tests.plot.svg_checks import HOSTILE, SVG, inside, parsed, same_twice, texts
from tests.plot.tables import three


@pytest.mark.parametrize("model", ["ppca", "kmeans", "mixture"])
@pytest.mark.slow
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
    one = Peer(3, random_state=0, reg_covar=MOVIE_LEAST_VARIANCE, tol=1e-9, max_iter=500).fit(X)
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


def two_columns():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 2)) * [2.0, 0.6] @ np.array([[0.8, 0.6], [-0.6, 0.8]])


@pytest.mark.slow
def test_the_line_turns_as_the_power_method():
    X = two_columns()
    plot = same_twice(lambda: em_movie(X, 5, names=HOSTILE[:2]))
    (small, large), U = np.linalg.eigh(np.corrcoef(X.T))
    # W_new is proportional to S W: tan(angle) shrinks by the ratio of eigenvalues at every step
    want = np.degrees(np.arctan(np.tan(np.deg2rad(75.0)) * (small / large) ** np.arange(6)))
    lines = plot.data["axis"] / np.linalg.norm(plot.data["axis"], axis=1)[:, None]
    np.testing.assert_allclose(np.degrees(np.arccos(np.abs(lines @ U[:, 1]))), want, atol=1e-5)
    assert len(plot.frames) == 11 and len(plot.figure.axes) == 7  # six half-steps and the objective


def test_every_step_is_textbook_em():
    X = two_columns()
    plot = em_movie(X, 4)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for k in range(4):  # Tipping and Bishop (1999), eqs. 27 and 28, with the sample covariance S
        w, s2 = plot.data["axis"][k][:, None], plot.data["noise"][k]
        S = Z.T @ Z / len(Z)
        M = (w.T @ w).item() + s2
        new = S @ w / (s2 + (w.T @ S @ w).item() / M)
        np.testing.assert_allclose(plot.data["axis"][k + 1], new[:, 0], rtol=1e-9)
        s2_new = 0.5 * np.trace(S - S @ w / M @ new.T)
        assert plot.data["noise"][k + 1] == pytest.approx(s2_new, rel=1e-9)
        C = w @ w.T + s2 * np.eye(2)
        ll = -0.5 * len(Z) * (2 * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S)))
        assert plot.data["objective"][k] == pytest.approx(ll)
    assert (np.diff(plot.data["objective"]) > 0).all()


def test_a_long_movie_arrives_at_the_closed_form():
    X = two_columns()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    closed = ld.PPCA(1).fit(Z)
    frames, values = fit_line(Z, 60)
    assert values[-1] == pytest.approx(closed.objective_, abs=1e-3)
    assert frames[-1].noise == pytest.approx(closed.noise_variance_, rel=1e-3)


@pytest.mark.slow
def test_the_digester_movie_and_its_gaps():
    X = np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")
    plot = em_movie(X[:, [6, 9]], 3, names=["t_lower", "aa_white"])
    inside(plot)
    assert "44 rows with gaps left out." in plot.sentence
    assert any("t_lower" in text for text in texts(plot))


def test_what_cannot_be_a_movie():
    with pytest.raises(OptionError):
        em_movie(np.zeros((5, 3)))
    with pytest.raises(TableError):
        em_movie(np.array([[1.0, np.nan], [2.0, 3.0], [3.0, 4.0]]))
    parsed(em_movie(np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]]), 1))  # a column that never changes
