r"""
Two views of the same rows: CCA
===============================

Zabaras lists canonical correlation among the relatives of PCA: the directions in which two sets of columns say the
same. Its probabilistic form has one latent place behind both views. The correlations are the singular values of
:math:`S_{xx}^{-1/2} S_{xy} S_{yy}^{-1/2}`.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld

rng = np.random.default_rng(0)
shared = rng.standard_normal((400, 2))
X = shared @ rng.standard_normal((2, 4)) + rng.standard_normal((400, 4))
Y = shared @ rng.standard_normal((2, 3)) + rng.standard_normal((400, 3))
model = ld.CCA(2).fit(X, Y)


def root(S):
    values, vectors = np.linalg.eigh(S)
    return vectors / np.sqrt(values) @ vectors.T


S = np.cov(np.hstack([X, Y]).T, bias=True)
claimed = np.linalg.svd(root(S[:4, :4]) @ S[:4, 4:] @ root(S[4:, 4:]))[1][:2]
figure, ax = plt.subplots(figsize=(5, 3.8), layout="constrained")
ax.bar([1, 2], model.canonical_correlations_, 0.5, color="#0072B2")
ax.set(xticks=[1, 2], xlabel="pair of directions", ylabel="correlation", ylim=(0, 1))

# %%
print(
    "canonical correlations   claimed", claimed.round(6), "  ours", np.asarray(model.canonical_correlations_).round(6)
)
assert np.allclose(model.canonical_correlations_, claimed, atol=1e-8)
