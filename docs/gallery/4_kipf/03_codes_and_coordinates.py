r"""
A code or coordinates, at equal bits
====================================

Kipf, "Discrete and continuous latent variables": a discrete code of 16 bits has :math:`2^{16}` prototypes to learn
and to store; two numbers of 8 bits each have two axes. At the same number of bits a row, K-means with K clusters
stands beside PCA whose scores are rounded, on scikit-learn's digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import lowdim as ld

X = load_digits().data
total = X.var(axis=0).sum()
bits = (2, 4, 6, 8)
codes, coordinates = [], []
pca = ld.PCA(8).fit(X)
Z = pca.transform(X)
for b in bits:
    model = ld.KMeans(2**b).fit(X)
    centres = model.cluster_centers_[model.labels_]
    codes.append(((X - centres) ** 2).sum(axis=1).mean() / total)
    best = 1.0
    for q in range(1, b + 1):  # b bits dealt to q axes, the rest to the first ones
        rebuilt = np.tile(pca.mean_, (len(X), 1))
        for axis in range(q):
            levels = 2 ** (b // q + (axis < b % q))
            edges = np.quantile(Z[:, axis], np.linspace(0, 1, levels + 1)[1:-1])
            cell = np.digitize(Z[:, axis], edges)
            middle = np.array([Z[cell == c, axis].mean() for c in range(levels)])
            rebuilt += np.outer(middle[cell], pca.components_[axis])
        best = min(best, ((X - rebuilt) ** 2).sum(axis=1).mean() / total)
    coordinates.append(best)

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(bits, codes, "o-", color="#0072B2", label="K-means, one code")
ax.plot(bits, coordinates, "s-", color="#D55E00", label="PCA, rounded scores")
ax.set(xlabel="bits a row", ylabel="share of the variance lost", xticks=bits)
ax.legend()

# %%
# The price: numbers that must be stored to read the codes.
for b, a, c in zip(bits, codes, coordinates, strict=True):
    print(
        f"{b} bits   code: {100 * a:.0f} % lost, {2**b * 64:6,} numbers   axes: {100 * c:.0f} % lost, {64 * b + 64:,}"
    )
print(f"16 bits: {2**16 * 64:,} numbers for a code (claimed 2^16 prototypes), {64 * 17:,} for coordinates")
assert all(a < c for a, c in zip(codes, coordinates, strict=True))  # clusters bend, axes do not
assert 2**16 * 64 > 3000 * 64 * 17
