r"""
Probabilistic PCA in nine lines
===============================

Lawrence, section 2.10, gives the whole method as a recipe; the lecture note of the second text gives the same one.
Step 8 must read :math:`W = U(\Lambda - \sigma^2 I)^{1/2}`; the printed exponent is :math:`-1/2`. Here it is in NumPy,
beside :class:`lowdim.ProbabilisticPCA`, on the oil flow.
"""

import matplotlib.pyplot as plt
import numpy as np
from lessons.sheets import plane

import lowdim as ld
from lowdim.datasets import load

# %%
# The model (figure 2.1): a plane in the space of the columns, and rows round it. Of the oil flow the plane lies in
# twelve dimensions; here is one in three.
picture = plane()

# %%
oil = load("oil")
X, regime, q = oil.X, oil.extra["regime"], 2
n, d = X.shape

mu = X.mean(axis=0)
lam, U = np.linalg.eigh((X - mu).T @ (X - mu) / n)
lam, U = lam[::-1], U[:, ::-1]
s2 = lam[q:].mean()
W = U[:, :q] * np.sqrt(lam[:q] - s2)
M = W.T @ W + s2 * np.eye(q)
Z = (X - mu) @ W @ np.linalg.inv(M)
posterior_covariance = s2 * np.linalg.inv(M)
C = W @ W.T + s2 * np.eye(d)
log_likelihood = (
    -0.5 * n * (d * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, np.cov(X.T, bias=True))))
)

# %%
model = ld.PPCA(q).fit(X)
figure, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
for k, (colour, shape) in enumerate(zip(("#0072B2", "#E69F00", "#009E73"), "os^", strict=True)):
    ax.scatter(*model.transform(X[regime == k]).T, s=9, color=colour, marker=shape, label=f"regime {k}")
ax.set(xlabel="axis 1", ylabel="axis 2")
ax.legend()

# %%
# Eigenvalues and noise variance as computed from the author's file.
print("eigenvalues      known 1.00297537 0.70290726 0.40012457   ours", lam[:3].round(8))
print(f"noise variance   known 0.0885690157   by hand {s2:.10f}   lowdim {model.noise_variance_:.10f}")
print(f"log-likelihood   known -4732.616757   by hand {log_likelihood:.6f}   lowdim {model.objective_:.6f}")
assert np.allclose(lam[:3], [1.00297537, 0.70290726, 0.40012457], atol=6e-9)
assert np.isclose(s2, 0.08856901574874, atol=1e-12) and np.isclose(model.noise_variance_, s2, atol=1e-12)
assert np.isclose(log_likelihood, -4732.616756591) and np.isclose(model.objective_, log_likelihood)
assert np.allclose(np.abs(model.transform(X)), np.abs(Z), atol=1e-8)
assert np.allclose(model.posterior(X[:1]).cov[0], posterior_covariance, atol=1e-10)
