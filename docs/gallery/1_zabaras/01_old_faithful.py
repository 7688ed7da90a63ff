"""
Old Faithful: raw, standardised, whitened
=========================================

Zabaras, "Old Faithful data set: whitening". The two columns are minutes and differ in
size; standardising gives each variance 1, and what is left is their correlation; whitening removes that too.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import faithful

X = faithful().X
standard = (X - X.mean(axis=0)) / X.std(axis=0)
white = ld.whiten(X)

# %%
# The principal axes of the standardised data are drawn to :math:`\pm\sqrt{\lambda_i}`. Of two standardised columns they
# always are the diagonals, with :math:`\lambda = 1 \pm r`.
pca = ld.PCA(2).fit(standard)
lengths = np.sqrt(pca.explained_variance_ * (len(X) - 1) / len(X))

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, rows, title in zip(axes, (X, standard, white.rows), ("raw", "standardised", "whitened"), strict=True):
    ax.scatter(*rows.T, s=8, color="#0072B2")
    ax.set_title(title)
for axis, length in zip(pca.components_, lengths, strict=True):
    axes[1].plot(*np.outer([-length, length], axis).T, color="#D55E00", lw=2)
axes[0].set(xlabel="minutes an eruption lasts", ylabel="minutes to the next")
axes[1].set_aspect("equal")
axes[2].set_aspect("equal")

# %%
# The text prints no number for this figure; what it claims is asserted.
r = np.corrcoef(X.T)[0, 1]
print(f"axes^2     claimed 1 + r, 1 - r = {1 + r:.4f}, {1 - r:.4f}   ours {lengths[0] ** 2:.4f}, {lengths[1] ** 2:.4f}")
print("whitened   claimed I   ours", np.cov(white.rows.T).round(12).tolist())
assert np.allclose(lengths**2, [1 + r, 1 - r])
assert np.allclose(np.abs(pca.components_), np.sqrt(0.5))
assert np.allclose(np.cov(white.rows.T), np.eye(2))
