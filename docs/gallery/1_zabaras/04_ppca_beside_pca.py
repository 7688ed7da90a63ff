r"""
PPCA beside PCA: shrunken feet
==============================

Zabaras, "PPCA: limit of zero noise" (Murphy's ppcaDemo2d). PCA takes each row to the foot of its perpendicular; the
posterior mean of probabilistic PCA lies on the same line, nearer to the mean, by the factor
:math:`(\lambda_1 - \sigma^2)/\lambda_1`. As the noise goes to zero the two become one.
"""

import numpy as np
from lessons.latent_line import shrink

import lowdim as ld

rng = np.random.default_rng(3)
X = rng.standard_normal((30, 1)) @ [[2.0, 1.0]] + 0.8 * rng.standard_normal((30, 2)) + [3.0, 2.0]
shown = shrink(ld.read(X))
feet, shrunk = shown.data["foot"], shown.data["shrunk"]

# %%
# The factor that the text derives beside the one measured.
lam = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
claimed = (lam[0] - lam[1]) / lam[0]
ratio = np.linalg.norm(shrunk - X.mean(axis=0), axis=1) / np.linalg.norm(feet - X.mean(axis=0), axis=1)
print(f"shrinkage   claimed (lambda1 - s2) / lambda1 = {claimed:.6f}   ours {ratio.min():.6f} to {ratio.max():.6f}")
print(f"noise       claimed lambda2 = {lam[1]:.6f}   ours {shown.data['noise_variance']:.6f}")
assert np.allclose(ratio, claimed)
assert np.isclose(shown.data["noise_variance"], lam[1])
