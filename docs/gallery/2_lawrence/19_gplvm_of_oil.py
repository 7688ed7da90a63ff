r"""
GP-LVM of the oil flow
======================

Lawrence, chapter 6, announces the model; its numbers stand in his paper of 2005 (:doc:`/sources`). Of a hundred rows
of the oil, PCA leaves 20 nearest to another regime and the GP-LVM 4 (its table 2: kernel PCA 13, non-metric MDS 13,
GTM 7, Sammon's map 6); of all thousand rows PCA leaves 162, GTM 11, sparse GP-LVMs 24 and 14, the full one 1 (table 3).
His hundred rows were drawn by a generator that is gone, and a hundred rows differ: here are six draws.
"""

# slow: a Gaussian process of a thousand rows
import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import load

oil = load("oil")
X, regime = oil.X, oil.extra["regime"]


def errors(Z, kinds):
    """Rows whose nearest other row has another regime."""
    D = sum((Z[:, j, None] - Z[:, j]) ** 2 for j in range(Z.shape[1]))
    np.fill_diagonal(D, np.inf)
    return int((kinds[D.argmin(axis=1)] != kinds).sum())


# %%
# **A hundred rows**, six times.
found = []
for seed in range(6):
    some = np.random.default_rng(seed).choice(1000, 100, replace=False)
    maps = ld.PCA(2).fit_transform(X[some]), ld.GPLVM(2).fit(X[some]).embedding_
    found.append([errors(Z, regime[some]) for Z in maps])
pca, ours = np.array(found).T
print(f"100 rows    PCA     published 20   ours {pca.mean():4.1f} on average ({', '.join(map(str, pca))})")
print(f"            GP-LVM  published  4   ours {ours.mean():4.1f} on average ({', '.join(map(str, ours))})")
print(f"            gained  published 16   ours {(pca - ours).mean():4.1f}")
assert ours.mean() <= 6 and (pca - ours).mean() >= 14 and (ours < pca).all()

# %%
# **All rows.** Every row is a dimension of the Gaussian process; it takes most of a minute.
flat, model = ld.PCA(2).fit_transform(X), ld.GPLVM(2).fit(X)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, Z, name in ((axes[0], flat, "PCA"), (axes[1], model.embedding_, "GP-LVM")):
    for k, (colour, shape) in enumerate(zip(("#0072B2", "#E69F00", "#009E73"), "os^", strict=True)):
        ax.scatter(*Z[regime == k].T, s=6, color=colour, marker=shape)
    ax.set_title(f"{name}: {errors(Z, regime)} of 1000", fontsize=10)

# %%
print(f"1000 rows   PCA     published 162   ours {errors(flat, regime)}")
print(f"            GP-LVM  published   1   ours {errors(model.embedding_, regime)}")
print(f"            12 columns themselves: published 2   ours {errors(X, regime)}")
assert errors(flat, regime) == 162 and errors(X, regime) == 2 and errors(model.embedding_, regime) <= 1
