r"""
An autoencoder without hidden layers is PCA
===========================================

Kipf, "Autoencoders": a network to q numbers and back, trained on the squared error. Without hidden layers its best is
the principal subspace (Baldi and Hornik 1989), so its error is the sum of the discarded eigenvalues.
"""

import numpy as np
from lessons.bottleneck import bottleneck
from sklearn.datasets import load_wine

import lowdim as ld

X = load_wine().data
X = (X - X.mean(axis=0)) / X.std(axis=0)
shown = bottleneck(ld.Autoencoder(), X, [1, 2, 3, 5], seeds=1)

# %%
network, pca = ld.Autoencoder(2, hidden=()).fit(X), ld.PCA(2).fit(X)
lost = {
    name: ((X - model.inverse_transform(model.transform(X))) ** 2).sum() / (X**2).sum()
    for name, model in (("network", network), ("PCA", pca))
}
A, B = (
    np.linalg.qr((model.inverse_transform(np.eye(2)) - model.inverse_transform(np.zeros((2, 2)))).T)[0]
    for model in (network, pca)
)
angle = np.degrees(np.arccos(np.clip(np.linalg.svd(A.T @ B)[1].min(), -1, 1)))
print(f"share of the variance lost   claimed: equal   network {lost['network']:.6f}   PCA {lost['PCA']:.6f}")
print(f"largest angle between the two planes {angle:.3f} degrees (claimed 0)")
assert abs(lost["network"] - lost["PCA"]) < 1e-4 and angle < 1.0
