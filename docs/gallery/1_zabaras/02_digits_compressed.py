r"""
Digits compressed to M = 1, 10, 50, 250 numbers
===============================================

Zabaras, "PCA for data compression" (off-line digit images). A picture of a three is 784
numbers; its projection on the first M principal axes is M. The mean squared error is the sum of the eigenvalues left
out,

.. math:: J = \sum_{i > M} \lambda_i ,

so the error of every M is known once the eigenvalues are.
"""

import numpy as np

import lowdim as ld
from lowdim.datasets import load
from lowdim.plot.access import plot_model

digits = load("mnist")
table = ld.read(digits.X[digits.extra["digit"] == 3][:1000], scale="none")  # pixels that never change are left out
X = table.X
pca = ld.PCA(250).fit(X)
Z = pca.transform(X)

# %%
# The mean and the first four eigenvectors, which are pictures too.
eigenvectors = plot_model("component_images", pca, table, (28, 28), 4)

# %%
# A few threes, rebuilt from M numbers.
counts = (1, 10, 50, 250)
grid = plot_model("rebuilt", pca, table, shown=range(5), kept=counts, shape=(28, 28))

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
