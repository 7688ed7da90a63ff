"""The objective step by step, and EM's movie against the power method and textbook EM."""

import numpy as np
import pytest

import lowdim as ld
from lowdim.plot.models.em_movie import em_movie
from lowdim.plot.models.trace import across, run_em, trace
from lowdim.sources.source import Block
from lowdim.text.messages import OptionError, TableError
from tests.conftest import need
from tests.plot.look import HOSTILE, inside, parsed, same_twice, texts


def test_a_rising_history():
    X = np.random.default_rng(0).normal(size=(80, 6))
    X[::5, 2] = np.nan
    model = ld.PPCA(2).fit(X)
    plot = same_twice(lambda: trace(model.history_))
    assert (plot.data["objective"] == model.history_).all() and not len(plot.data["fall"])
    assert plot.sentence.startswith(f"The log-likelihood rose at each of {len(model.history_) - 1} steps, from ")


def test_a_fall_is_named_and_rounding_is_not():
    plot = trace([-10.0, -5.0, -6.0, -4.0])
    assert plot.data["fall"].tolist() == [3]
    assert plot.sentence == "The log-likelihood fell at step 3 of 4; it never should."
    assert not len(trace([-1e6, -5e5, -5e5 - 1e-10]).data["fall"])


@pytest.mark.parametrize("history", [[-3.0], [-3.0, -3.0], [], np.array([-2e300, 1e300])])
def test_short_and_huge_histories(history):
    parsed(trace(history, "bound $L$ <"))


def test_restarts_draw_the_best_in_full():
    plot = trace([[-9.0, -5.0], [-8.0, -4.0, -3.0]])
    assert plot.data["objective"].tolist() == [-8.0, -4.0, -3.0] and plot.data["last_of_run"].tolist() == [-5.0, -3.0]
    assert "2 starts" in plot.title


def two_columns():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 2)) * [2.0, 0.6] @ np.array([[0.8, 0.6], [-0.6, 0.8]])


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
    for expanded in (False, True):
        frames, values = run_em(Block(Z), across(Z), 60, expanded=expanded)
        assert values[-1] == pytest.approx(closed.objective_, abs=1e-3)
        assert frames[-1].params.psi[0] == pytest.approx(closed.noise_variance_, rel=1e-3)


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
