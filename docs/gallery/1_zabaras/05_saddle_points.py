r"""
The maximum among the stationary points
=======================================

Zabaras, "Maximum likelihood PPCA"; Lawrence, section 2.8. Any q eigenvectors of the covariance make the gradient of
the log-likelihood vanish, with :math:`\sigma^2` the mean of the eigenvalues left out. Only the first q make a
maximum; every other choice is a saddle.

The table is the oil flow of Bishop and James, 1000 x 12.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import load

X = load("oil").X
n, d = X.shape
lam = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]


def log_likelihood(kept):
    """Of the stationary point that keeps these eigenvectors; W = U (Lambda - s2)^(1/2) needs them above the noise."""
    rest = np.delete(lam, kept)
    s2 = rest.mean()
    if lam[list(kept)].min() < s2:
        return np.nan
    log_det = np.log(lam[list(kept)]).sum() + len(rest) * np.log(s2)
    return -0.5 * n * (d * np.log(2 * np.pi) + log_det + d)


pairs = list(combinations(range(d), 2))
values = np.array([log_likelihood(pair) for pair in pairs])
exists = np.isfinite(values)
order = np.argsort(-np.where(exists, values, -np.inf))[: exists.sum()]

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.bar(range(len(order)), values[order] - values[order].min() + 50, color=["#D55E00"] + ["#0072B2"] * (len(order) - 1))
ax.set_xticks(range(len(order)), [f"{pairs[k][0] + 1}, {pairs[k][1] + 1}" for k in order], rotation=90, fontsize=8)
ax.set(xlabel="eigenvectors kept", ylabel="log-likelihood above the lowest")

# %%
# Published (from the author's file): sigma^2 = 0.0885690157, log-likelihood -4732.616757.
model = ld.PPCA(2).fit(X)
print(f"best pair: {pairs[order[0]]} of {exists.sum()} stationary points")
print(f"log-likelihood   published -4732.6168   closed form {values[order[0]]:.4f}   fitted {model.objective_:.4f}")
print(f"noise variance   published 0.0885690   ours {model.noise_variance_:.7f}")
print(f"the next best saddle is {values[order[0]] - values[order[1]]:.1f} lower")
assert pairs[order[0]] == (0, 1)
assert abs(values[order[0]] + 4732.616756591) < 1e-6 and abs(model.objective_ + 4732.616756591) < 1e-6
assert abs(model.noise_variance_ - 0.08856901574874) < 1e-12
