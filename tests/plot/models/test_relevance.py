"""Bars of relevance, kept and switched off."""

import numpy as np
import pytest

from lowdim.plot.models.relevance import relevance as relevance_of
from lowdim.text.errors import OptionError
from tests.plot.from_arrays import Parts, on_table
from tests.plot.svg_checks import parsed, same_twice, texts


def relevance(values, kept):
    """The bars of a model with these relevances."""
    return relevance_of(on_table(Parts(relevance_=np.asarray(values), kept_=np.asarray(kept)), np.zeros((2, 2))))


def test_bars_have_the_height_of_their_relevance():
    values = np.array([0.2, 0.0, 0.9, 1e-7])
    plot = same_twice(lambda: relevance(values, [True, False, True, False]))
    ax = plot.figure.axes[0]
    heights = sorted(p.get_height() for p in ax.patches)
    assert heights == pytest.approx([0.0, 1e-7, 0.2, 0.9])
    assert plot.data["axis"].tolist() == [3, 1, 4, 2] and texts(plot).count("off") == 2
    assert "noise" in relevance([0.1, 0.1], [False, False]).title
    parsed(relevance(np.linspace(0, 1, 60), np.linspace(0, 1, 60) > 0.2))
    with pytest.raises(OptionError, match="LD216"):
        relevance_of(on_table(Parts(), np.zeros((2, 2))))
