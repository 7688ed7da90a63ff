r"""
Digits compressed to M = 1, 10, 50, 250 numbers
===============================================

Zabaras, "PCA for data compression" (off-line digit images). A picture of a three is 784
numbers; its projection on the first M principal axes is M. The mean squared error is the sum of the eigenvalues left
out,

.. math:: J = \sum_{i > M} \lambda_i ,

so the error of every M is known once the eigenvalues are.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import load

digits = load("mnist")
X = digits.X[digits.extra["digit"] == 3][:1000]
pca = ld.PCA(250).fit(X)
Z = pca.transform(X)

# %%
# The mean and the first four eigenvectors, which are pictures too.
figure, axes = plt.subplots(1, 5, figsize=(9, 2.2), layout="constrained")
axes[0].imshow(pca.mean_.reshape(28, 28), cmap="gray_r")
axes[0].set_title("mean", fontsize=9)
for k, ax in enumerate(axes[1:]):
    ax.imshow(pca.components_[k].reshape(28, 28), cmap="RdBu_r")
    ax.set_title(f"λ = {pca.explained_variance_[k]:.3g}", fontsize=9)
for ax in axes:
    ax.axis("off")

# %%
# One three, rebuilt from M numbers.
counts = (1, 10, 50, 250)
figure, axes = plt.subplots(1, 5, figsize=(9, 2.2), layout="constrained")
axes[0].imshow(X[0].reshape(28, 28), cmap="gray_r")
axes[0].set_title("original", fontsize=9)
for ax, M in zip(axes[1:], counts, strict=True):
    ax.imshow((pca.mean_ + Z[0, :M] @ pca.components_[:M]).reshape(28, 28), cmap="gray_r")
    ax.set_title(f"M = {M}", fontsize=9)
for ax in axes:
    ax.axis("off")

# %%
# Measured squared error of a row beside the theorem.
eigenvalues = pca.explained_variance_ * (len(X) - 1) / len(X)
total = X.var(axis=0).sum()
print("  M   claimed J = sum of discarded eigenvalues   measured")
for M in counts:
    rebuilt = pca.mean_ + Z[:, :M] @ pca.components_[:M]
    measured = ((X - rebuilt) ** 2).sum(axis=1).mean()
    claimed = total - eigenvalues[:M].sum()
    print(f"{M:3}   {claimed:34,.1f}   {measured:,.1f}   ({100 * measured / total:.1f} % of the variance)")
    assert np.isclose(measured, claimed, rtol=1e-9)
