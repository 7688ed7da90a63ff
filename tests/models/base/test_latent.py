"""The public verbs of latent models."""

import numpy as np
import pytest

import lowdim
from lowdim.sources.source import Source
from lowdim.text.errors import OptionError


def tall(seed: int = 0, n: int = 60, d: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + rng.standard_normal((n, d))


def test_out_must_fit_what_is_written() -> None:
    X = tall()
    model = lowdim.PPCA(2).fit(X)
    for out in (np.zeros((60, 2), dtype=int), np.zeros((80, 2)), np.zeros((60, 4))):
        with pytest.raises(OptionError, match="LD210"):
            model.transform(X, out=out)


def test_filling_a_table_in_place_keeps_its_standard_deviations() -> None:
    X = tall()
    X[3, 1] = np.nan
    model = lowdim.PPCA(2).fit(X)
    _, plain = model.impute(X, return_std=True)
    _, std = model.impute(X, return_std=True, out=X)
    assert std[3, 1] == plain[3, 1] > 0
    assert not np.isnan(X).any()


def test_cells_are_predicted_and_decoded_in_the_table_s_units() -> None:
    X = tall() * [1.0, 1e3, 1e-3, 1.0, 1.0] + 7.0
    X[3, 1] = np.nan
    model = lowdim.PPCA(2, standardize=True).fit(X)
    cells = model.predict_cells(X)
    filled, std = model.impute(X, return_std=True)
    assert cells.mean[3, 1] == filled[3, 1]
    assert np.sqrt(cells.var + cells.noise)[3, 1] == pytest.approx(std[3, 1], rel=1e-12)
    assert np.allclose(cells.mean, model.reconstruct(X), rtol=1e-12)
    Z = model.transform(X)
    assert np.array_equal(model.decode(Z).mean, model.inverse_transform(Z))
    assert np.allclose(model.decode(Z).noise, cells.noise, rtol=1e-12)
    empty = model.posterior(np.full((1, 5), np.nan))
    assert np.allclose(model.prior().mean, empty.mean) and np.allclose(model.prior().std, empty.std)
    assert model.arrange(X).d == 5 and model.cost(60, 5).passes >= model.n_iter_


def test_fills_and_their_doubt_take_one_walk(monkeypatch):
    """Every posterior is computed once, and every block is read once."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 3)) @ rng.standard_normal((3, 40))
    X[rng.random(X.shape) < 0.1] = np.nan
    model = lowdim.PPCA(2).fit(X)
    rows, read = [], []
    posterior, block = type(model)._posterior, Source.block
    monkeypatch.setattr(type(model), "_posterior", lambda self, p, b: (rows.append(len(b.x)), posterior(self, p, b))[1])
    monkeypatch.setattr(Source, "block", lambda self, i: (read.append(i), block(self, i))[1])
    filled, std = model.impute(X, return_std=True)
    assert sum(rows) == len(X) and sorted(read) == sorted(set(read))
    assert np.array_equal(filled, model.impute(X)) and ((std > 0) == np.isnan(X)).all()


def test_options_without_a_name_are_refused_with_the_names_there_are() -> None:
    with pytest.raises(OptionError, match="no option without a name beside n_components") as refused:
        lowdim.PPCA(2, True)
    assert isinstance(refused.value, TypeError) and "standardize=..." in str(refused.value)
