r"""
Hinton diagrams: maximum likelihood beside Bayesian PCA
=======================================================

Zabaras, "Bayesian PCA" (Bishop's figure 12.14): 300 rows of 10 columns, standard deviation 1 in three directions and
0.5 in the other seven; nine columns of W are offered. Maximum likelihood uses all nine. The Bayesian fit has a
precision :math:`\alpha_i` for each column and sends those of the columns it does not need to infinity: **three stay,
six are suppressed**.
"""

import lowdim as ld
from lowdim.datasets import load_demo
from lowdim.plot.access import plot_model

X = load_demo("gaussian", hidden=0.0).truth
bayesian = ld.BayesianPCA(9).fit(X)

# %%
# Maximum likelihood, then the Bayesian fit: area is the size of an entry. Columns that were switched off stay empty.
# In a terminal: ``lowdim fit table.csv -m bpca``, then ``lowdim plot hinton table.bpca.run``.
table = ld.read(X)
likely = plot_model("hinton", ld.PPCA(9).fit(X), table)

# %%
kept = plot_model("hinton", bayesian, table)

# %%
shown = plot_model("relevance", bayesian, table)

# %%
empty = 9 - bayesian.n_kept_
print(f"columns kept        published 3   ours {bayesian.n_kept_}")
print(f"columns suppressed  published 6   ours {empty}")
assert bayesian.n_kept_ == 3 and empty == 6
