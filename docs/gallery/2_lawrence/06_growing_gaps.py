r"""
Oil with 0 to 50 % of its cells missing
=======================================

Lawrence, section 2.12.4.1, figure 2.4: the map of probabilistic PCA as more and more cells are removed at random. The
text shows panels and prints no number; the loss here is the share of the complete map's variance that the map with
gaps does not have after the best turn, as a mean over five masks.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import load

oil = load("oil")
X, regime = oil.X[:100], oil.extra["regime"][:100]
shares = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def holes(share, seed):
    rng = np.random.default_rng(seed)
    gone = rng.random(X.shape) < share
    gone[np.arange(len(X)), rng.integers(X.shape[1], size=len(X))] = False
    return np.where(gone, np.nan, X)


complete = ld.PPCA(2).fit_transform(X)
figure, axes = plt.subplots(2, 3, figsize=(9, 5.6), sharex=True, sharey=True, layout="constrained")
lost = []
for ax, share in zip(axes.ravel(), shares, strict=True):
    fits = [ld.procrustes(ld.PPCA(2).fit_transform(holes(share, seed)), complete) for seed in range(5)]
    lost.append(np.mean([fit.error for fit in fits]))
    for k, (colour, shape) in enumerate(zip(("#0072B2", "#E69F00", "#009E73"), "os^", strict=True)):
        ax.scatter(*fits[0].aligned[regime == k].T, s=12, color=colour, marker=shape)
    ax.set_title(f"{100 * share:.0f} % missing, {100 * lost[-1]:.1f} % lost", fontsize=10)

# %%
most = (1e-12, 0.03, 0.06, 0.13, 0.20, 0.28)  # what we hold ourselves to
for share, loss, limit in zip(shares, lost, most, strict=True):
    print(f"{100 * share:3.0f} % missing   limit {100 * limit:5.1f} %   lost {100 * loss:5.1f} %")
    assert loss < limit
assert (np.diff(lost) > 0).all()
