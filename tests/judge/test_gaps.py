"""The gap report against scipy's tests, one pair at a time."""

import numpy as np
from scipy.stats import ttest_ind

from lowdim.judge.gaps import gap_report


def table(seed: int, random: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 4)) + 10.0
    gone = rng.random((300, 4)) < 0.1
    if not random:
        gone[:, 1] = (X[:, 0] > 10.5) & (rng.random(300) < 0.7)
    X[gone] = np.nan
    return X


def test_gaps_that_depend_on_a_column_are_named_with_students_p() -> None:
    X = table(0, random=False)
    report = gap_report(X, ("a", "b", "c", "d"))
    first = report.depends[0]
    seen = ~np.isnan(X)
    missing = np.isnan(X[:, 1])
    truth = ttest_ind(X[missing & seen[:, 0], 0], X[~missing & seen[:, 0], 0], equal_var=True)
    assert (first.column, first.on) == ("b", "a")
    assert np.isclose(first.p, truth.pvalue, rtol=1e-9)
    assert "b is missing more often where a is high" in report.sentence


def test_random_gaps_raise_few_alarms() -> None:
    alarms = sum(bool(gap_report(table(seed, random=True), ("a", "b", "c", "d")).depends) for seed in range(60))
    assert alarms <= 3  # 1 % of 60 tables, three standard errors above


def test_counts() -> None:
    X = np.arange(24.0).reshape(6, 4)
    X[[0, 3], 1] = X[[0, 3], 2] = np.nan
    report = gap_report(X, ("a", "b", "c", "d"))
    assert (report.gaps, report.cells, report.complete_rows) == (4, 24, 4)
    assert report.by_column.tolist() == [0, 2, 2, 0]
    assert report.tested == 0


def test_gaps_that_go_with_an_answer_name_it():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(300), rng.integers(0, 2, 300)])
    names, labels = ("weight", "smokes?"), ((), ("no", "yes"))
    for answer, words in ((0.0, "smokes? is not yes"), (1.0, "smokes? is yes")):
        gone = X.copy()
        gone[(X[:, 1] == answer) & (rng.random(300) < 0.5), 0] = np.nan
        assert gap_report(gone, names, labels).depends[0].where == words
