r"""
Change one assumption
=====================

Lawrence, section 2.11: what is gained by a probabilistic model is that its assumptions are written down and can be
changed one at a time. A noise variance for every column is factor analysis; heavy tails of the rows make it robust;
sources that are not Gaussian are independent component analysis; columns that are no real numbers have a likelihood
of their own.
"""

import numpy as np

import lowdim as ld

rng = np.random.default_rng(0)
n, W = 500, rng.standard_normal((2, 6))
z = rng.standard_normal((n, 2))

# %%
# **Noise of each column its own.** Probabilistic PCA follows the noisiest column, factor analysis does not.
noise = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 4.0])
X = z @ W + noise * rng.standard_normal((n, 6))


def told(Z, truth=z):
    """Share of the true places that is a linear function of these."""
    A = np.column_stack([np.ones(len(Z)), Z])
    rest = truth - A @ np.linalg.lstsq(A, truth, rcond=None)[0]
    return 1 - (rest**2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum()


fa, ppca = ld.FactorAnalysis(2).fit(X), ld.PPCA(2).fit(X)
print(f"places told    PPCA {told(ppca.transform(X)):.3f}   factor analysis {told(fa.transform(X)):.3f}")
print(f"noise of the last column   true 16   ours {fa.noise_variance_[-1]:.1f}")
assert told(fa.transform(X)) > 0.98 > told(ppca.transform(X))
assert abs(fa.noise_variance_[-1] - 16) < 3

# %%
# **Far rows.** One row in twenty is thrown far away: it turns the plane of PPCA and not that of Student's rows.
Y = z @ W + 0.3 * rng.standard_normal((n, 6))
far = rng.random(n) < 0.05
Y[far] += 40 * rng.standard_normal((far.sum(), 6))
plain, robust = ld.PPCA(2).fit(Y), ld.RobustPPCA(2).fit(Y)
true_plane = np.linalg.qr(W.T)[0]


def off(model):
    """Largest angle between the model's plane and the true one, in degrees."""
    plane = np.linalg.qr(model.components_.T)[0]
    return np.degrees(np.arccos(np.clip(np.linalg.svd(plane.T @ true_plane)[1].min(), -1, 1)))


print(
    f"angle to the true plane    PPCA {off(plain):.0f} degrees   robust {off(robust):.1f} degrees   (claimed: near 0)"
)
assert off(robust) < 5 < off(plain)

# %%
# **Sources that are not Gaussian** can be told apart, not only up to a turn.
s = rng.uniform(-1, 1, (n, 2))
M = s @ np.array([[1.0, 0.4], [0.6, 1.0]])
ica, pca = ld.ICA(2).fit_transform(M), ld.PCA(2).fit_transform(M)


def alike(Z):
    """The worse of the two sources' best correlations."""
    return np.abs(np.corrcoef(s.T, Z.T)[:2, 2:]).max(axis=1).min()


print(f"correlation with the true sources   PCA {alike(pca):.3f}   ICA {alike(ica):.3f}   (claimed 1)")
assert alike(ica) > 0.98 > alike(pca)

# %%
# **Columns that are no numbers**: two columns of the first table as yes or no.
B = z @ W + 0.3 * rng.standard_normal((n, 6))
B[:, 4:] = B[:, 4:] > 0
mixed = ld.MixedFactorAnalysis(2).fit(B)
print(f"places told with two columns of yes and no: {told(mixed.transform(B)):.3f}")
assert told(mixed.transform(B)) > 0.9
