r"""
More columns than rows: the dual
================================

Lawrence, section 2.12.4.1; Zabaras, "PCA for high-dimensional data" (the method of snapshots). With 77 arrays
of 6178 genes the covariance of the columns has 38 million entries and rank 76. The matrix of the rows, 77 x 77, has
the same nonzero eigenvalues, and the map comes from it.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import load

yeast = load("yeast")
Y = np.where(np.isnan(yeast.X), 0.0, yeast.X)  # as the author filled them
experiment = yeast.extra["experiment"]
primal, dual = ld.PPCA(2).fit(Y, run=ld.Run(engine="serial")), ld.DualPPCA(2).fit(Y)

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
Z = primal.transform(Y)
colours = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
for name, colour, shape in zip(np.unique(experiment), colours, "os^DvP", strict=False):
    ax.plot(*Z[experiment == name].T, color=colour, marker=shape, ms=5, lw=0.6, label=str(name))
ax.legend(fontsize=8)
ax.set(xlabel="axis 1", ylabel="axis 2", title="77 arrays, in order of time")

# %%
centred = Y - Y.mean(axis=0)
by_rows = np.linalg.eigvalsh(centred @ centred.T / len(Y))[::-1][:2]
ours = primal.explained_variance_
alike = [abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(dual.transform(Y).T, Z.T, strict=True)]
print("eigenvalues   of the 77 x 77 matrix", by_rows.round(6), "  of the model", np.asarray(ours).round(6))
threads = ld.PPCA(2).fit(Y, run=ld.Run(engine="threads"))  # how it is run changes no bit
assert np.array_equal(threads.components_, primal.components_)
print(f"correlation of the dual's axes with the primal's: claimed 1   ours {min(alike):.9f}")
assert np.allclose(by_rows, ours, rtol=1e-6) and min(alike) > 1 - 1e-6

# %%
# **Without either matrix.** The Krylov solver multiplies the table by a few vectors at a time. Another program of its
# kind, fbpca, holds itself on tables of exactly low rank to a spectral error below 1e-11 of the first singular value,
# and below 1e-3 of it in single precision.
rng = np.random.default_rng(0)
low = rng.standard_normal((1000, 10)) @ rng.standard_normal((10, 600))
for kind, bound in ((np.float64, 1e-11), (np.float32, 1e-3)):
    krylov = ld.PCA(10, solver="krylov").fit(low.astype(kind))
    rows = low.astype(kind).astype(float) - krylov.mean_
    left = np.linalg.norm(rows - rows @ krylov.components_.T @ krylov.components_, 2) / np.linalg.norm(rows, 2)
    print(f"{kind.__name__}   published bound {bound:.0e}   ours {left:.0e}")
    assert left < bound
