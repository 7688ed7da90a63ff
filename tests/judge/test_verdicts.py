"""The five sentences and the trust strip, word by word."""

from types import SimpleNamespace as Made

import numpy as np
import pytest

from lowdim.judge.dimensions.jury import DimensionRow, Judge, Jury
from lowdim.judge.dimensions.text import sentence
from lowdim.judge.rows.odd_rows import judge_rows
from lowdim.judge.verdicts import because, dimension_sentence, odd_sentence
from lowdim.models.linear.ppca import ProbabilisticPCA


def analysis(votes: tuple[int, ...], columns: int, asked: int | str = "auto") -> Made:
    q = sorted(votes)[(len(votes) - 1) // 2]
    rows = (DimensionRow(0, 0.0, None, None, 1.0, None, None),)
    judges = tuple(Judge(str(i), v, "") for i, v in enumerate(votes))
    found = Jury(q, "", rows, judges, (), np.zeros(0), np.zeros(0), None, (), columns)
    dims = q if asked == "auto" else asked
    return Made(
        dims=dims,
        jury=found._replace(sentence=sentence(found, 1.0)),
        settings=Made(dims=asked),
        axes=[Made(share=0.3), Made(share=0.2)],
    )


@pytest.mark.parametrize(
    ("votes", "columns", "want"),
    [
        ((1, 1, 1), 5, "Your table behaves as if it had 1 dimension."),
        ((5, 5, 5, 4), 10, "Your table behaves as if it had 5 dimensions (one judge says 4)."),
        (
            (9, 9, 9, 4),
            10,
            "Your table behaves as if it had 9 dimensions (as many as 10 columns allow; one judge says 4): "
            "the table has no low-dimensional summary; a map of 2 axes shows 50% of the variation.",
        ),
        ((2, 2, 2), 3, "Your table behaves as if it had 2 dimensions (as many as 3 columns allow)."),
        ((1, 2, 3), 6, "Your table behaves as if it had between 1 and 3 dimensions; the map uses 2."),
        (
            (1, 2, 5, 5, 5),
            6,
            "Your table behaves as if it had between 1 and 5 dimensions (5 is as many as 6 columns "
            "allow); the map uses 5: the table has no low-dimensional summary; a map of 2 axes "
            "shows 50% of the variation.",
        ),
        ((0, 0, 0, 1), 6, "No shared structure found: the columns vary each for itself (one judge says 1)."),
    ],
)
def test_the_first_sentence(votes, columns, want):
    assert dimension_sentence(analysis(votes, columns)) == want


def test_what_was_asked_for():
    assert dimension_sentence(analysis((5, 5, 5), 9, asked=1)) == "You asked for 1 dimension; the judges say 5."


def test_no_odd_rows_says_how_many_chance_makes():
    """40 rows of noise at a level of 0.95: two of them below p = 0.05 are what chance makes."""
    X = np.random.default_rng(3).standard_normal((40, 4))
    found = judge_rows(ProbabilisticPCA(1).fit(X), X)
    assert not found.rows
    assert odd_sentence(found).endswith("p < 0.05; about 2 expected by chance).")
    assert odd_sentence(found).startswith("No odd rows at a 5% false discovery rate (")


def test_spreads_are_named():
    row = Made(column="BodyWgt", value=6654.0, expected=2983.2, sd=571.3, p_hidden=0.4, p_Q=1e-9)
    assert because(row) == "BodyWgt is 6654; the rest of the row says 2980, sd 570"
