r"""
Clusters and a mixture of Gaussians
===================================

Lawrence, section 1.1, figure 1.7: clusters in two dimensions and the mixture fitted to them. On Old Faithful the R
package mclust prefers three clusters with one covariance in common (its model EEE) and prints a log-likelihood of
-1126.326; its EM stops early, and the maximum is -1126.315928.
"""

import pandas as pd

import lowdim as ld
from lowdim.datasets import faithful
from lowdim.plot.access import plot_model

X = faithful().X
model = ld.best_of(ld.GaussianMixture(3, covariance_type="tied", tol=1e-10, max_iter=5000), X, starts=10).model
table = ld.read(pd.DataFrame(X, columns=["eruption", "waiting"]))
shown = plot_model("mixture", model, table)

# %%
sizes = sorted((model.predict(X) == k).sum() for k in range(3))
value = model.score(X) * len(X)
print(f"log-likelihood   published -1126.326, converged -1126.3159   ours {value:.6f}")
print(f"BIC of {model.n_parameters_} numbers, mclust's sign   published -2314.316   ours {-model.bic(X):.3f}")
print("rows in each     published, stopped early 40, 97, 135   ours", *sizes)
assert value > -1126.315929 and model.n_parameters_ == 11 and -2314.316 < -model.bic(X) < -2314.29
