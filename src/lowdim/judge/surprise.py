"""Every cell of a table beside what the others of its row say."""
from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.data.block import Array, Block
from lowdim.engine.fold import Run, walk
from lowdim.judge.odd import gaussian, surprises
from lowdim.math.gaussian import posterior
from lowdim.models.linear import LinearGaussian


def all_surprises(model: LinearGaussian, X: Any) -> Array:
    """(value - expected from the other cells of the row) / sd for every cell; 0 at gaps."""
    W, mu, psi = gaussian(model)

    def one(raw: Block) -> Array:
        block = model.frame_.inward(raw)
        shift, sd = surprises(posterior(block.x, block.mask, W, mu, psi), block.mask, W, psi)
        return shift / sd

    return np.concatenate([rows for _, rows in walk(one, model._source(X), Run())])
