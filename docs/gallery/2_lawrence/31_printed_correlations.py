r"""
Factor analysis of a printed table, and residual components
===========================================================

Lawrence, section 2.12.2, announces factor analysis "from the RCA point of view". Residual component analysis asks what
a covariance :math:`S` holds beyond a covariance :math:`\Sigma` that is known: the likelihood of
:math:`x \sim N(\mu, W W^\top + \Sigma)` is largest at :math:`W = \Sigma U (\Lambda - I)^{1/2}`, where
:math:`S U = \Sigma U \Lambda` and :math:`U^\top \Sigma U = I`. With :math:`\Sigma = \sigma^2 I` this is PPCA;
with the noise variances of the columns, :math:`\Sigma = \Psi`, it is factor analysis. The table is Harman's: eight body
measures of 305 girls, of which only the correlations were printed.
"""

import warnings

import numpy as np
from scipy.linalg import eigh

import lowdim as ld

below = """.846
.805 .881
.859 .826 .801
.473 .376 .380 .436
.398 .326 .319 .329 .762
.301 .277 .237 .327 .730 .583
.382 .415 .345 .365 .629 .577 .539"""
R = np.eye(8)
R[np.tril_indices(8, -1)] = [float(word) for word in below.split()]
R = R + R.T - np.eye(8)
printed = ld.Moments(305, np.zeros(8), R)

# %%
# **The number of factors.** R's own help page of ``factanal`` prints the chi-squares of one to four factors. With four,
# one column has no noise left (a Heywood case, in R as here), and nothing more is missing: p = 0.0988.
warnings.filterwarnings("ignore", message="LD204")
for q, published in ((1, 611.44), (2, 75.74), (3, 22.81), (4, 4.63)):
    model = ld.FactorAnalysis(q).fit(printed)
    ours = model.goodness_of_fit_.statistic
    print(f"{q} factors   chi-square published {published:6.2f}   ours {ours:7.3f}   numbers {model.n_parameters_}")
    assert abs(ours - published) < 0.006
print(f"p of four factors   published 0.0988   ours {model.goodness_of_fit_.p_value:.4f}")
assert abs(model.goodness_of_fit_.p_value - 0.0988) < 6e-5

# %%
# **Residual components.** Given the noise of the columns, one generalised eigenproblem gives the factors back.
model = ld.FactorAnalysis(2).fit(printed)


def residual_components(S, known, q):
    """W of the q directions in which S exceeds a known covariance most."""
    values, U = eigh(S, known, subset_by_index=(len(S) - q, len(S) - 1))
    return known @ U * np.sqrt(np.maximum(values - 1, 0))


W, V = residual_components(R, np.diag(model.uniquenesses_), 2), model.components_.T
print(f"W W' of residual components and of the fit: largest difference {np.abs(W @ W.T - V @ V.T).max():.0e} (known 0)")
assert np.abs(W @ W.T - V @ V.T).max() < 1e-6

# %%
# **To and fro.** With the noise not known: residual components for the noise that is there, then the noise that they
# leave. This is factor analysis by turns; it arrives where Newton's method does.
noise = np.full(8, 0.5)
for rounds in range(300):  # noqa: B007
    W = residual_components(R, np.diag(noise), 2)
    last, noise = noise, np.diag(R - W @ W.T)
    if np.abs(noise - last).max() < 1e-10:
        break
off = np.abs(noise - model.uniquenesses_).max()
print(f"noise after {rounds} rounds: largest difference from the fit {off:.0e} (known 0)")
assert off < 1e-6
