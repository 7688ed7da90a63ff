r"""
GTM of the oil flow, and its magnification
==========================================

Lawrence, sections 6.5.4 and 6.5.5, figure 6.10: generative topographic maps of the oil with grids of 10, 20 and 30
nodes a side leave 74, 44 and 11 of 1000 rows with a neighbour of another regime. Dark bands of the magnification are
where the sheet is stretched between groups.
"""

# slow: a sheet of 400 nodes
import numpy as np

import lowdim as ld
from lowdim.datasets import load
from lowdim.plot.models.gtm import gtm_sheet, magnification

oil = load("oil")
X, regime = oil.X, oil.extra["regime"]


def errors(Z):
    """Rows whose nearest other row has another regime."""
    D = sum((Z[:, j, None] - Z[:, j]) ** 2 for j in range(Z.shape[1]))
    np.fill_diagonal(D, np.inf)
    return int((regime[D.argmin(axis=1)] != regime).sum())


models = {grid: ld.GTM(2, grid=grid).fit(X) for grid in (10, 20)}

# %%
sheet = gtm_sheet(models[10], X, color=regime)

# %%
stretched = magnification(models[20], X, color=regime)

# %%
for grid, printed in ((10, 74), (20, 44)):
    found = errors(models[grid].transform(X))
    print(f"{grid} x {grid} nodes   published {printed}   ours {found}")
    assert found <= printed / 2
