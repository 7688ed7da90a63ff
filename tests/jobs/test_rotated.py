"""`rotate` in the main job: the same fit with turned axes, in words, report, run folder and new rows alike."""

from __future__ import annotations

import numpy as np
import pytest

import lowdim as ld
from lowdim.judge.stability import reported_weights
from lowdim.maths.rotate import rotate
from lowdim.text.messages import OptionError
from tests.cli.conftest import write_csv


def two_traits(n=150, gaps=0.05, seed=0):
    """Two traits of three columns each, mixed by nothing: the principal axes mix them where they are equally strong."""
    rng = np.random.default_rng(seed)
    L = np.zeros((6, 2))
    L[:3, 0], L[3:, 1] = [1.0, 0.9, 0.8], [0.95, 0.9, 0.85]
    X = rng.standard_normal((n, 2)) @ L.T + 0.4 * rng.standard_normal((n, 6))
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@pytest.fixture(scope="module")
def both():
    X = two_traits()
    return X, *(ld.analyse(X, dims=2, budget="1s", robust=False, rotate=turn) for turn in (None, "varimax"))


def test_the_model_is_the_same_but_for_its_axes(both):
    X, plain, turned = both
    assert turned.model.get_covariance() == pytest.approx(plain.model.get_covariance(), rel=1e-9)
    assert turned.model.score_samples(X) == pytest.approx(plain.model.score_samples(X), rel=1e-9)
    assert turned.model.impute(X) == pytest.approx(plain.model.impute(X), rel=1e-8)
    assert np.array_equal(turned.odd.odd, plain.odd.odd)
    R = np.linalg.lstsq(plain.posterior.mean, turned.posterior.mean, rcond=None)[0]
    assert np.allclose(R.T @ R, np.eye(2), rtol=0, atol=1e-9)
    assert plain.posterior.mean @ R == pytest.approx(turned.posterior.mean, abs=1e-9)


def test_axes_are_those_of_varimax_and_words_follow(both):
    _, plain, turned = both
    sd = np.sqrt(np.diag(plain.model.get_covariance()))
    peer = rotate(plain.model.components_.T / sd[:, None], "varimax")
    assert turned.model.components_.T / sd[:, None] == pytest.approx(peer.loadings, abs=1e-8)
    tops = [{c.column for c in card.top} for card in turned.axes]
    assert sorted(map(sorted, tops)) == [["c1", "c2", "c3"], ["c4", "c5", "c6"]]
    assert sum(turned.shares) == pytest.approx(sum(plain.shares), rel=1e-9)
    ratio = turned.model.explained_variance_ratio_
    assert ratio.sum() == pytest.approx(plain.model.explained_variance_ratio_.sum(), rel=1e-9)
    for card in turned.axes:  # intervals are those of the turned loadings
        assert all(c.low <= c.value <= c.high for c in card.top)


def test_stability_is_of_the_turned_axes(both):
    _, plain, turned = both
    assert turned.stability.plane == pytest.approx(plain.stability.plane, abs=1e-6)  # the plane is the same
    assert np.median(turned.stability.axes) < np.median(plain.stability.axes)  # simple structure is better determined
    shown = turned.posterior.mean[turned.stability.shown][:, :2]
    assert np.abs(turned.stability.cloud.mean(axis=0) - shown).max() < 0.5
    assert reported_weights(plain.model, np.eye(6, 2)) == pytest.approx(np.eye(6, 2))


def test_the_run_folder_and_new_rows_have_the_turned_axes(both, tmp_path):
    X, _, turned = both
    path = write_csv(tmp_path / "t.csv", X)
    from lowdim.jobs.run_folder import load_run, save_run

    found = ld.analyse(str(path), dims=2, budget="1s", robust=False, rotate="varimax")
    run = load_run(save_run(found, tmp_path / "t.run"))
    assert run.settings.rotate == "varimax" and run.model.rotation == "varimax"
    assert np.array_equal(run.model.latent_axes(), found.model.latent_axes())
    placed = run.analysis.apply(str(path))
    assert placed.places.z == pytest.approx(found.posterior.mean, abs=1e-10)
    assert run.analysis.axes[0].sentence == found.axes[0].sentence
    assert found.posterior.mean == pytest.approx(turned.posterior.mean, abs=1e-9)


@pytest.mark.slow
def test_the_command_turns_and_says_so(tmp_path, monkeypatch, capsys):
    from lowdim.cli.entry import run

    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "t.csv", two_traits(80))
    flags = ["--dims", "2", "--budget", "1s", "--rotate", "varimax", "--quiet"]
    assert run(["report", "t.csv", *flags]) == 0
    page = (tmp_path / "t.report.html").read_text(encoding="utf-8")
    assert "The axes were turned by varimax" in page and "--rotate varimax" in page
    assert run(["fit", "t.csv", "-m", "pca", "--rotate", "varimax"]) == 2
    assert "main job" in capsys.readouterr().err


def test_a_rotation_that_is_not_known_is_refused():
    with pytest.raises(OptionError, match="rotate='oblimin'"):
        ld.analyse(two_traits(40), rotate="oblimin")
    with pytest.raises(OptionError, match="rotation"):
        ld.PPCA(2, rotation="promax").fit(two_traits(40))


def test_a_stream_is_turned_too():
    X = two_traits(1500, gaps=0.0)
    found = ld.analyse_stream(ld.as_source(X), sample=200, budget=1, dims=2, rotate="varimax")
    tops = [{c.column for c in card.top} for card in found.axes]
    assert sorted(map(sorted, tops)) == [["c1", "c2", "c3"], ["c4", "c5", "c6"]]
