"""The evidence bound over a table that stays where it is."""

import tracemalloc

import numpy as np
import pytest

import lowdim.models.gaussian_process.bound as evidence
from lowdim import Run, as_source, laws
from lowdim.models.gaussian_process.bound import CentredTable, EvidenceBound
from lowdim.models.gaussian_process.psi import VariationalParams
from lowdim.sources.views import Frame, Framed
from tests.models.gaussian_process.tables import holed


def problem(X, q=2, m=6, seed=0):
    rng, n = np.random.default_rng(seed), len(X)
    mu = rng.standard_normal((n, q))
    return VariationalParams(mu, np.full((n, q), 0.3), mu[:m] + 0.1, np.ones(q), 1.0, 10.0)


@pytest.mark.parametrize("gaps", [False, True])
def test_tiles_and_what_is_kept_change_no_digit_that_matters(gaps, monkeypatch):
    X = np.random.default_rng(3).standard_normal((90, 4))
    X = holed(X) if gaps else X
    p, frame = problem(X), Frame(np.zeros(4), np.ones(4), np.ones(4))
    found = []
    for tile, keep in ((90, 2**22), (90, 0), (7, 2**22), (1, 0)):
        monkeypatch.setattr(evidence, "CACHED_PAIRS", keep)
        found.append(
            EvidenceBound("rbf", p, CentredTable(Framed(laws.Relaid(X, tile=tile), frame), gaps, ""), Run())(p.pack())
        )
    value, slope = found[0]
    assert found[1][0] == value and np.array_equal(found[1][1], slope)
    for other, turned in found[2:]:
        assert other == pytest.approx(value, rel=1e-11)
        assert turned == pytest.approx(slope, rel=1e-8, abs=1e-9 * np.abs(slope).max())


def test_the_pairs_of_all_rows_never_exist():
    """60 000 rows x 210 pairs would be 101 MB."""
    X = np.random.default_rng(0).standard_normal((60_000, 3))
    p = problem(X, q=1, m=20)
    surface = EvidenceBound("rbf", p, CentredTable(as_source(X), False, ""), Run(engine="serial"))
    tracemalloc.start()
    surface(p.pack())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6
