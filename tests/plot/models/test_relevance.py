"""Bars of relevance, kept and switched off."""

import numpy as np
import pytest

from lowdim.plot.models.relevance import relevance
from lowdim.text.kinds import OptionError
from tests.plot.svg_checks import parsed, same_twice, texts


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
