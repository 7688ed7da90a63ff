r"""
Parts, and axes of each, by evidence
====================================

Lawrence, section 2.9, names the variational treatment of mixtures of factor analysers (Ghahramani and Beal, 2000): how
many parts, and how many axes each, is found in one fit, because a part or an axis that does not pay for itself in the
bound on the evidence dies. Three parts of 2, 2 and 1 axes among eight columns; six parts are offered.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld

rng = np.random.default_rng(5)
parts = []
for q in (2, 2, 1):
    axes = np.linalg.qr(rng.standard_normal((8, q)))[0] * [3.0, 2.0][:q]
    centre = rng.standard_normal(8)
    centre *= 6 / np.linalg.norm(centre)
    parts.append(centre + rng.standard_normal((120, q)) @ axes.T + 0.5 * rng.standard_normal((120, 8)))
X = np.vstack(parts)

model = ld.BayesianMixtureOfPPCA().fit(X)
found = sorted(model.n_axes_.tolist())
print(f"parts: {model.n_clusters_} (true 3), axes: {found} (true [1, 2, 2])")
print("noise of the parts:", model.noise_variance_.round(2), "(true 0.25)")
assert model.n_clusters_ == 3 and found == [1, 2, 2]
assert np.abs(model.noise_variance_ / 0.25 - 1).max() < 0.2

# %%
# **A noise of every column.** Where columns are measured with different errors, one noise for a part takes the noisiest
# column for an axis. With ``noise="column"`` the parts are factor analysers, as in the paper.
rows = []
for q in (2, 2, 1):
    axes = np.linalg.qr(rng.standard_normal((8, q)))[0] * [3.0, 2.0][:q]
    centre = rng.standard_normal(8)
    centre *= 6 / np.linalg.norm(centre)
    rows.append(
        centre + rng.standard_normal((120, q)) @ axes.T + rng.uniform(0.2, 1, 8) * rng.standard_normal((120, 8))
    )
Y = np.vstack(rows)
one, each = ld.BayesianMixtureOfPPCA().fit(Y), ld.BayesianMixtureOfPPCA(noise="column").fit(Y)
print(f"axes, one noise a part: {sorted(one.n_axes_.tolist())}   a noise a column: {sorted(each.n_axes_.tolist())}"
      "   (true [1, 2, 2])")  # fmt: skip
print(f"the bound is higher by {each.objective_ - one.objective_:.0f} nats")
assert sorted(each.n_axes_.tolist()) == [1, 2, 2] and each.objective_ > one.objective_ + 50

# %%
# The parts of the first table in the plane of the table's two widest directions.
Z = ld.PCA(2).fit_transform(X)
label = model.predict(X)
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for k, (colour, shape) in enumerate(zip(("#0072B2", "#E69F00", "#009E73"), "os^", strict=True)):
    ax.scatter(*Z[label == k].T, s=10, color=colour, marker=shape, label=f"part {k + 1}, axes: {model.n_axes_[k]}")
ax.legend(frameon=False)
