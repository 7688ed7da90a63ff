r"""
PPCA beside PCA: shrunken feet
==============================

Zabaras, "PPCA: limit of zero noise" (Murphy's ppcaDemo2d). PCA takes each row to the foot of its perpendicular; the
posterior mean of probabilistic PCA lies on the same line, nearer to the mean, by the factor
:math:`(\lambda_1 - \sigma^2)/\lambda_1`. As the noise goes to zero the two become one.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld

rng = np.random.default_rng(3)
X = rng.standard_normal((30, 1)) @ [[2.0, 1.0]] + 0.8 * rng.standard_normal((30, 2)) + [3.0, 2.0]
pca, ppca = ld.PCA(1).fit(X), ld.PPCA(1).fit(X)
feet, shrunk = pca.inverse_transform(pca.transform(X)), ppca.inverse_transform(ppca.transform(X))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharex=True, sharey=True, layout="constrained")
for ax, ends, title in zip(axes, (feet, shrunk), ("PCA: feet", "PPCA: posterior means"), strict=True):
    ax.plot(*np.stack([X, ends]).transpose(2, 0, 1), color="#767676", lw=0.7)
    ax.scatter(*X.T, s=16, color="#0072B2", label="rows")
    ax.scatter(*ends.T, s=16, marker="s", color="#D55E00", label="rebuilt")
    ax.plot(*X.mean(axis=0), "*", ms=14, color="#009E73", label="mean")
    ax.set(title=title, aspect="equal")
axes[0].legend()

# %%
# The factor that the text derives beside the one measured.
lam = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
claimed = (lam[0] - lam[1]) / lam[0]
ratio = np.linalg.norm(shrunk - X.mean(axis=0), axis=1) / np.linalg.norm(feet - X.mean(axis=0), axis=1)
print(f"shrinkage   claimed (lambda1 - s2) / lambda1 = {claimed:.6f}   ours {ratio.min():.6f} to {ratio.max():.6f}")
print(f"noise       claimed lambda2 = {lam[1]:.6f}   ours {ppca.noise_variance_:.6f}")
assert np.allclose(ratio, claimed)
assert np.isclose(ppca.noise_variance_, lam[1])
