"""The variation that first axes hold, beside the eigenvalues of correlation matrices."""

import numpy as np
import pytest
from lessons.cumulative import cumulative

import lowdim as ld
from lowdim.datasets import load_demo
from tests.plot.svg_checks import same_twice, texts


def test_shares_are_those_of_the_eigenvalues():
    first, second = load_demo("pump", hidden=0.0).truth, load_demo("gaussian", hidden=0.0).truth
    plot = same_twice(lambda: cumulative(ld.read(first), tables=[ld.read(second)], names=["pump", "noise"]))
    for k, X in enumerate((first, second)):
        values = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
        assert plot.data["share"][: len(values), k] == pytest.approx(np.cumsum(values) / len(values))
        assert plot.data["needed"][k] == np.argmax(np.cumsum(values) >= 0.9 * len(values)) + 1
    assert {"pump", "noise"} <= set(texts(plot)) and np.isnan(plot.data["share"][8:, 0]).all()


def test_a_table_with_gaps_counts_the_pairs_that_are_seen():
    whole, gaps = load_demo("pump", hidden=0.0).X, load_demo("pump").X
    one, other = cumulative(ld.read(whole)), cumulative(ld.read(gaps))
    assert one.data["share"][:, 0] == pytest.approx(other.data["share"][:, 0], abs=0.02)


def test_a_table_in_its_own_units_is_ruled_by_its_large_column():
    X = np.random.default_rng(0).standard_normal((40, 3)) * [100.0, 1.0, 1.0]
    first, second = ld.read(X, scale="none"), ld.read(X[::-1, ::-1], scale="none")
    share = cumulative(first, tables=[second]).data["share"]
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    for k in range(2):
        assert share[:, k] == pytest.approx(np.cumsum(values) / values.sum())
