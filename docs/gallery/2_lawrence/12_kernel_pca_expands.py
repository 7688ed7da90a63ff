r"""
Kernel PCA expands
==================

Lawrence, sections 4.2 and 4.3, figures 4.6 and 4.7. Under a narrow Gaussian kernel only sixes turned by a few degrees
are alike; all others are :math:`\sqrt 2` apart, each in a direction of its own. The table has spread over more
dimensions than it had: kernel PCA with such a kernel expands rather than reduces.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate
from scipy.spatial.distance import pdist

import lowdim as ld
from lowdim.datasets import load

warnings.filterwarnings("ignore", message="LD203")
six = np.pad(load("six").X, ((0, 0), (3, 4)))
X = np.stack([rotate(six, angle, reshape=False, order=1).ravel() for angle in range(360)])
model = ld.KernelPCA(60, gamma=20 / np.median(pdist(X)) ** 2).fit(X)
implied = np.sqrt(np.maximum(model.field().squared_distances(), 0))

figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
axes[0].imshow(implied, cmap="cividis_r")
axes[0].set(title="implied distances, by angle", xticks=[0, 90, 180, 270], yticks=[0, 90, 180, 270])
axes[1].scatter(*model.embedding_[:, :2].T, c=np.arange(360), s=8, cmap="twilight")
axes[1].set(title="axes 1 and 2", aspect="equal")
share = {
    "kernel PCA": model.eigenvalues_ / 359,
    "PCA": ld.PCA(60).fit(X).explained_variance_ / X.var(axis=0, ddof=1).sum(),
}
for (name, values), colour in zip(share.items(), ("#D55E00", "#0072B2"), strict=True):
    axes[2].plot(range(1, 61), np.cumsum(values), color=colour, label=name)
axes[2].set(title="share of the variance", xlabel="axes")
axes[2].legend()

# %%
pairs = implied[np.triu_indices(360, 1)]
far = (pairs >= 0.99 * np.sqrt(2)).mean()
print(f"largest distance: claimed sqrt 2 = {np.sqrt(2):.4f}   ours {pairs.max():.4f}")
print(f"pairs within 1 % of it: {100 * far:.0f} %")
two = {name: values[:2].sum() for name, values in share.items()}
print(f"two axes hold {100 * two['PCA']:.0f} % with PCA, {100 * two['kernel PCA']:.1f} % with this kernel")
assert pairs.max() <= np.sqrt(2) and far >= 0.8 and two["kernel PCA"] < 0.3 * two["PCA"]

# %%
# The author notes for later that metric MDS has to do with this (Williams, 2002). It has: of a kernel that depends on
# distances alone, kernel PCA is classical scaling of :math:`\sqrt{2 - 2 k(d)}`, distances bent by a function. A scaling
# that may choose this function is metric MDS; this one bends all long distances to the same length.
scaled = ld.ClassicalMDS(60, metric="precomputed").fit(implied)
apart = np.abs(scaled.eigenvalues_ / model.eigenvalues_ - 1).max()
turned = ld.procrustes(scaled.embedding_, model.embedding_).error
print(f"classical scaling of the implied distances: eigenvalues {apart:.0e} apart, map {turned:.0e} (known 0 and 0)")
assert apart < 1e-6 and turned < 1e-6
