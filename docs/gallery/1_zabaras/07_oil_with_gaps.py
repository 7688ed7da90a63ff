r"""
Oil, complete and with 30 % of its cells removed
================================================

Zabaras, "EM for PPCA, missing data" (Bishop's figure 12.11): the first 100 rows of the oil flow, complete and with 30
% of the values omitted at random; the text says the two maps are similar. Here *similar* is a number: the share of
the complete map's variance that is lost after the best turn (Procrustes), beside that of filling gaps with column
means.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import load

oil = load("oil")
X, regime = oil.X[:100], oil.extra["regime"][:100]
gone = np.random.default_rng(0).random(X.shape) < 0.3
gone[np.arange(100), np.random.default_rng(1).integers(12, size=100)] = False  # no row without a cell
Y = np.where(gone, np.nan, X)

complete = ld.PPCA(2).fit_transform(X)
ours = ld.procrustes(ld.PPCA(2).fit_transform(Y), complete)
means = np.where(gone, np.nanmean(Y, axis=0), Y)
naive = ld.procrustes(ld.PCA(2).fit_transform(means), ld.PCA(2).fit_transform(X))

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for ax, Z, title in zip(axes, (complete, ours.aligned), ("complete", "30 % of the cells removed"), strict=True):
    for k, (colour, shape) in enumerate(zip(("#0072B2", "#E69F00", "#009E73"), "os^", strict=True)):
        ax.scatter(*Z[regime == k].T, s=18, color=colour, marker=shape, label=f"regime {k}")
    ax.set(title=title, xlabel="axis 1")
axes[0].legend()

# %%
D = ((ld.PCA(2).fit_transform(X)[:, None] - ld.PCA(2).fit_transform(X)) ** 2).sum(axis=2)
np.fill_diagonal(D, np.inf)
errors = int((regime[D.argmin(axis=1)] != regime).sum())
print(f"rows whose neighbour on the complete map has another regime: known 25   ours {errors}")
print(f"lost with 30 % gaps: EM {100 * ours.error:.1f} %, column means {100 * naive.error:.1f} %")
assert errors == 25
assert ours.error < 0.15 and ours.error < 0.9 * naive.error
