r"""
The generative view of probabilistic PCA
========================================

Zabaras, "Probabilistic PCA". One number z is drawn from its prior; it marks a point
:math:`\mu + w z` on a line; a row is drawn from a circle round that point. All rows together are Gaussian, with
covariance :math:`C = w w^\top + \sigma^2 I`.
"""

import numpy as np
from lessons.latent_line import generate

import lowdim as ld

w, mu, noise = np.array([2.0, 1.2]), np.array([1.0, 2.0]), 0.6
rng = np.random.default_rng(1)
z = rng.standard_normal(20_000)
X = mu + np.outer(z, w) + noise * rng.standard_normal((len(z), 2))
C = np.outer(w, w) + noise**2 * np.eye(2)
shown = generate(ld.read(X))

# %%
# A model fitted to these rows finds what made them, and the covariance it implies is the one they have.
model = ld.PPCA(1).fit(X)
print(f"noise variance      true {noise**2:.3f}   ours {model.noise_variance_:.3f}")
print("length of w         true %.3f   ours %.3f" % (np.linalg.norm(w), np.linalg.norm(model.components_)))
print("covariance of rows  claimed w w' + s2 I =", C.round(2).tolist(), "  seen", np.cov(X.T).round(2).tolist())
assert abs(model.noise_variance_ - noise**2) < 0.02
assert np.allclose(np.cov(X.T), C, rtol=0.04)
assert np.allclose(model.get_covariance(), np.cov(X.T, bias=True), atol=1e-8)  # two columns, one axis: any covariance
