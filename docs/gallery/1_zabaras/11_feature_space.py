r"""
Data space and feature space
============================

Zabaras, "Kernel PCA": rows :math:`x` go to features :math:`\phi(x)`, PCA is done there, and a straight projection in
feature space is a curve in data space. With :math:`\phi(x) = (x_1, x_2, x_1^2)` a parabola becomes a straight line of a
plane; kernel PCA with the polynomial kernel finds it without ever writing :math:`\phi` down.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld

rng = np.random.default_rng(0)
t = rng.uniform(-1, 1, 120)
X = np.column_stack([t, t**2 + 0.05 * rng.standard_normal(120)])
phi = np.column_stack([X, X[:, 0] ** 2])  # the features, written down for the picture alone
kernel = ld.KernelPCA(2, kernel="poly", degree=2, coef0=1.0).fit(X)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
side = np.linspace(-1.2, 1.2, 60)
grid = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
levels = kernel.transform(grid)[:, 0].reshape(60, 60)
axes[0].contour(side, side, levels, 12, colors="#999999", linewidths=0.8)
axes[0].scatter(*X.T, s=10, color="#0072B2")
axes[0].set(xlabel="x1", ylabel="x2", title="data: a projection's level curves bend")
axes[1].scatter(phi[:, 2], phi[:, 1], s=10, color="#0072B2")
axes[1].set(xlabel="x1 squared", ylabel="x2", title="features: the parabola is a line")

# %%
# The scores are those of PCA on the features that the kernel stands for: all monomials up to the second power.
s = np.sqrt(2.0)
full = np.column_stack([np.ones(120), s * X[:, 0], s * X[:, 1], s * X[:, 0] * X[:, 1], X[:, 0] ** 2, X[:, 1] ** 2])
gamma = kernel.get_params()["gamma"]
scale = 1.0 / X.shape[1] if gamma is None else gamma
weights = np.array([1.0, np.sqrt(scale), np.sqrt(scale), scale, scale, scale])
peer = ld.PCA(2).fit_transform(full * weights)
apart = np.abs(np.abs(kernel.transform(X)) - np.abs(peer)).max()
print(f"kernel PCA less PCA of the features   known 0   ours {apart:.1e}")
assert apart < 1e-8
