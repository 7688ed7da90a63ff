r"""
Hinton diagrams: maximum likelihood beside Bayesian PCA
=======================================================

Zabaras, "Bayesian PCA" (Bishop's figure 12.14): 300 rows of 10 columns, standard deviation 1 in three directions and
0.5 in the other seven; nine columns of W are offered. Maximum likelihood uses all nine. The Bayesian fit has a
precision :math:`\alpha_i` for each column and sends those of the columns it does not need to infinity: **three stay,
six are suppressed**.
"""

import numpy as np

import lowdim as ld
from lowdim.datasets import load_demo
from lowdim.plot.analysis.hinton import hinton
from lowdim.plot.models.relevance import relevance

X = load_demo("gaussian", hidden=0.0).truth
likely = ld.PPCA(9).fit(X)
bayesian = ld.BayesianPCA(9).fit(X)
names = [f"x{j + 1}" for j in range(10)]

# %%
# All nine columns of each on one scale: area is the size of an entry. A model reports the columns it kept; the others
# are zero, and are drawn here as the empty columns of the text's figure.
nine = np.zeros((10, 9))
nine[:, : bayesian.n_kept_] = bayesian.components_.T
both = hinton(likely.components_.T, names, other=nine, labels=("maximum likelihood", "Bayesian"), most=10)

# %%
shown = relevance(bayesian.relevance_, bayesian.kept_)

# %%
empty = 9 - bayesian.n_kept_
print(f"columns kept        published 3   ours {bayesian.n_kept_}")
print(f"columns suppressed  published 6   ours {empty}")
assert bayesian.n_kept_ == 3 and empty == 6
