"""Labels as one number each, and the dimensions of a table of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.judge.label_scores import quantified


def labels(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Four columns of words of two to four values that one trait drives."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)

    def words(names: list[str], cuts: list[float], slope: float) -> np.ndarray:
        return np.array(names)[np.digitize(slope * z + 0.6 * rng.logistic(size=n), cuts)]

    return pd.DataFrame(
        {
            "cap": words(["bell", "flat", "knob"], [0.0, 1.5], 1.5),
            "odour": words(["none", "foul"], [0.0], 2.0),
            "ring": words(["one", "two", "many", "no ring"], [-1.0, 0.0, 1.0], 1.5),
            "habitat": words(["wood", "path", "grass"], [-0.5, 1.0], 1.0),
        }
    )


def test_scores_are_the_first_axis_of_correspondence_analysis():
    """Against the definition: the first axis of the table of zeros and ones, each divided by the root of its share."""
    frame = labels()
    X = quantified(ld.read(frame)).values
    ones = np.column_stack([frame[c] == v for c in frame for v in sorted(frame[c].unique())]).astype(float)
    share = ones.mean(axis=0)
    axis = np.linalg.svd((ones - share) / np.sqrt(share), full_matrices=False)[0][:, 0]
    for j, name in enumerate(frame):
        mean = {v: axis[frame[name] == v].mean() for v in frame[name].unique()}
        theirs = frame[name].map(mean).to_numpy()
        assert abs(np.corrcoef(theirs, X[:, j])[0, 1]) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.slow
def test_a_table_of_words_has_the_dimensions_of_its_trait():
    """Its zeros and ones, counted one by one, seem to have many: those of one label tell each other."""
    table = ld.read(labels().mask(np.random.default_rng(1).random((400, 4)) < 0.1))
    assert [m.code for m in table.messages].count("LD198") == 1 and table.d == 4
    found = ld.analyse(table, budget="1s")
    assert found.dims == 1 and ld.choose_dimension(table.in_ones().X).q >= 5
    assert [c.column for c in found.fills.labels] == ["cap", "odour", "ring", "habitat"]
    assert "labels filled" in found.sentences[2] and found.sentences[1].startswith("Axis 1 is ")
    right = {check.name: check for check in found.trust}["predicts hidden cells"]
    assert right.holds and "hidden labels were right" in right.evidence


def test_numbers_stay_as_they_are():
    X = np.random.default_rng(0).standard_normal((30, 3))
    assert np.array_equal(quantified(ld.read(X)).values, X)
