r"""
GTM of the oil flow, and its magnification
==========================================

Lawrence, sections 6.5.4 and 6.5.5, figure 6.10: generative topographic maps of the oil with grids of 10, 20 and 30
nodes a side leave 74, 44 and 11 of 1000 rows with a neighbour of another regime. Dark bands of the magnification are
where the sheet is stretched between groups.
"""

# slow: a sheet of 400 nodes
import numpy as np
from lessons.responsibility import responsibility

import lowdim as ld
from lowdim.datasets import load
from lowdim.plot.access import plot_model

oil = load("oil")
X, regime = oil.X, oil.extra["regime"]


def errors(Z):
    """Rows whose nearest other row has another regime."""
    D = sum((Z[:, j, None] - Z[:, j]) ** 2 for j in range(Z.shape[1]))
    np.fill_diagonal(D, np.inf)
    return int((regime[D.argmin(axis=1)] != regime).sum())


# %%
# **The author's sheets** were saved: 20 bells at random places, weights and noise. Through our formulas they give his
# numbers to the last.
saved = load("author_networks").extra
for number, printed, likelihood in ((1, 74, 1921.7162), (2, 44, 3277.1172), (3, 11, 4761.0930)):
    U, c, wi, w2, b2, beta = (saved[f"oil_dnet{number}_{part}"] for part in ("X_u", "c", "wi", "w2", "b2", "beta"))
    nodes = np.exp(-((U[:, None] - c) ** 2).sum(axis=2) / (2 * wi)) @ w2 + b2
    square = (X**2).sum(axis=1)[:, None] - 2 * X @ nodes.T + (nodes**2).sum(axis=1)
    log_p = -0.5 * beta * square + 6 * np.log(beta / (2 * np.pi)) - np.log(len(U))
    log_row = np.logaddexp.reduce(log_p, axis=1)
    wrong = errors(np.exp(log_p - log_row[:, None]) @ U)
    print(f"his {len(U)} nodes   errors published {printed}   ours {wrong}   log-likelihood {log_row.sum():.4f}")
    assert wrong == printed and abs(log_row.sum() - likelihood) < 1e-3

# %%
# **Our own**, bells on a grid and the sheet begun at the principal axes.
models = {grid: ld.GTM(2, grid=grid).fit(X) for grid in (10, 20)}

# %%
table = ld.read(X)
sheet = plot_model("gtm_sheet", models[10], table, color=regime)

# %%
stretched = plot_model("magnification", models[20], table, color=regime)

# %%
# The row whose posterior is the most spread out: its mean, where the map draws it, stands between places.
posterior = responsibility(models[10], X)

# %%
for grid, printed in ((10, 74), (20, 44)):
    found = errors(models[grid].transform(X))
    print(f"{grid} x {grid} nodes   published {printed}   ours {found}")
    assert found <= printed / 2
