r"""
The generative view of probabilistic PCA
========================================

Zabaras, "Probabilistic PCA". One number z is drawn from its prior; it marks a point
:math:`\mu + w z` on a line; a row is drawn from a circle round that point. All rows together are Gaussian, with
covariance :math:`C = w w^\top + \sigma^2 I`.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld

w, mu, noise = np.array([2.0, 1.2]), np.array([1.0, 2.0]), 0.6
rng = np.random.default_rng(1)
z = rng.standard_normal(20_000)
X = mu + np.outer(z, w) + noise * rng.standard_normal((len(z), 2))

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
line = np.linspace(-3, 3, 200)
axes[0].plot(line, np.exp(-(line**2) / 2) / np.sqrt(2 * np.pi), color="#0072B2")
axes[0].axvline(1.2, color="#D55E00")
axes[0].set(title="p(z), and one draw", xlabel="z")
spot = mu + 1.2 * w
for radius in (1, 2):
    axes[1].add_patch(plt.Circle(spot, radius * noise, fill=False, color="#009E73"))
axes[1].plot(*(mu + np.outer([-2.5, 2.5], w)).T, color="#767676")
axes[1].plot(*spot, "o", color="#D55E00")
axes[1].set(title="p(x | z): a circle round μ + w z")
C = np.outer(w, w) + noise**2 * np.eye(2)
a, b = np.meshgrid(np.linspace(-5, 7, 100), np.linspace(-2.5, 6.5, 100))
away = np.stack([a - mu[0], b - mu[1]], axis=-1)
axes[2].contour(a, b, np.exp(-0.5 * np.einsum("...i,ij,...j", away, np.linalg.inv(C), away)), 6, cmap="cividis")
axes[2].scatter(*X[:300].T, s=4, color="#0072B2", alpha=0.5)
axes[2].set(title="p(x): an ellipse")
for ax in axes[1:]:
    ax.set(xlim=(-5, 7), ylim=(-2.5, 6.5), aspect="equal")

# %%
# A model fitted to these rows finds what made them, and the covariance it implies is the one they have.
model = ld.PPCA(1).fit(X)
print(f"noise variance      true {noise**2:.3f}   ours {model.noise_variance_:.3f}")
print("length of w         true %.3f   ours %.3f" % (np.linalg.norm(w), np.linalg.norm(model.components_)))
print("covariance of rows  claimed w w' + s2 I =", C.round(2).tolist(), "  seen", np.cov(X.T).round(2).tolist())
assert abs(model.noise_variance_ - noise**2) < 0.02
assert np.allclose(np.cov(X.T), C, rtol=0.04)
assert np.allclose(model.get_covariance(), np.cov(X.T, bias=True), atol=1e-8)  # two columns, one axis: any covariance
