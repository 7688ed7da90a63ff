r"""
How many dimensions a bent table has
====================================

Lawrence, chapter 6 (and Titsias and Lawrence, whom :doc:`/sources` cites): a Bayesian GP-LVM starts with more
dimensions than are needed and switches off the rest. A curved strip in ten columns has two: where along, and how far
across.
"""

# slow: a Bayesian Gaussian process
import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.plot.access import plot_model

rng = np.random.default_rng(0)
t, u = rng.uniform(-1.5, 1.5, (2, 100))
curves = np.column_stack([np.sin(2 * t), np.cos(2 * t), t, u, u * np.cos(t)])
X = curves @ rng.standard_normal((5, 10)) + 0.05 * rng.standard_normal((100, 10))
model = ld.BayesianGPLVM(6, random_state=0).fit(X)
shown = plot_model("relevance", model, ld.read(X))

# %%
figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
ax.scatter(*model.transform(X)[:, np.argsort(-np.asarray(model.relevance_))[:2]].T, c=t, s=14, cmap="cividis")
ax.set(xlabel="most relevant", ylabel="next", title="colour: where along")

# %%
print(f"dimensions   true 2   ours {model.n_kept_}   (straight ones needed for 99 %: ", end="")
print(int((np.cumsum(ld.PCA(6).fit(X).explained_variance_ratio_) < 0.99).sum()) + 1, end=")\n")
assert model.n_kept_ == 2
