r"""
EM for PCA, step by step with its springs
=========================================

Zabaras, "EM for PCA" (Bishop's figure 12.12, Murphy's pcaEmStepByStep). The rows hang on a rod by springs whose other
ends slide along it. E: the rod is held and the springs slide to their places of least energy. M: the ends are held and
the rod turns. Each half-step raises the likelihood; the rod settles in the first principal axis.
"""

import matplotlib.pyplot as plt
import numpy as np
from lessons.em_movie import em_movie

import lowdim as ld

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 2)) @ np.diag([2.0, 0.6]) @ np.array([[0.8, 0.6], [-0.6, 0.8]])

# %%
# The true axes first, then half-steps.
figure, ax = plt.subplots(figsize=(4.2, 3.6), layout="constrained")
ax.scatter(*X.T, s=14, color="#0072B2")
values, vectors = np.linalg.eigh(np.cov(X.T))
for value, vector in zip(values, vectors.T, strict=True):
    ax.plot(*np.outer([-2, 2], np.sqrt(value) * vector).T, color="#D55E00")
ax.set(title="true axes, to 2 sd", aspect="equal")

# %%
movie = em_movie(X, 12)

# %%
# The rise is monotone, and the last axis is the eigenvector of the standardised rows, as claimed.
rise = np.diff(movie.data["objective"])
S = (X - X.mean(axis=0)) / X.std(axis=0)
truth = np.linalg.eigh(np.cov(S.T))[1][:, -1]
last = movie.data["axis"][-1] / np.linalg.norm(movie.data["axis"][-1])
print(f"smallest rise of the log-likelihood in a step: {rise.min():.2e} (claimed: never negative)")
print(f"angle between the rod and the eigenvector: {np.degrees(np.arccos(min(1, abs(last @ truth)))):.3f} degrees")
assert (rise > -1e-9).all()
assert abs(last @ truth) > 0.999

# %%
# The limit of zero noise is the method for large tables: no covariance is ever formed.
em, svd = ld.PCA(1, solver="em").fit(X), ld.PCA(1).fit(X)
print("axis by EM", em.components_[0].round(8), "  by SVD", svd.components_[0].round(8))
assert np.allclose(em.components_, svd.components_, atol=1e-6)
