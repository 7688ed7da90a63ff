r"""
What a projection shows, and what it hides
==========================================

Lawrence, section 1.1 (figure 1.6) and section 3.4 (figures 3.5 and 3.6); Morrison, "Why reduce dimensions?". Remarks
of the texts as numbers. Twenty bins a column are :math:`20^{50}` cells for fifty columns; a Gaussian of them is told by
its means, variances and correlations.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2

import lowdim as ld

d = 50
print(f"cells of a histogram: 20^50 = 10^{d * np.log10(20):.0f}")
print(
    f"numbers of a Gaussian: {d} means + {d} variances + {d * (d - 1) // 2} correlations = {2 * d + d * (d - 1) // 2}"
)
q = 2
free = d * q + 1 - q * (q - 1) // 2 + d
print(f"numbers of probabilistic PCA with {q} axes: {free}; of a spectral map of n rows: {q} n")
assert round(d * np.log10(20)) == 65

# %%
# A Gaussian of many columns is empty in the middle: all its rows lie in a thin shell. Two of its columns look full
# there, for a projection lays the shell over its centre.
p = 1000
rng = np.random.default_rng(0)
X = rng.standard_normal((1000, p))
yolk = chi2(p).cdf(0.95**2 * p)
shown = 1 - np.exp(-(0.95**2))  # of two columns, within 0.95 of their own scale sqrt(2)
seen = ((X[:, :2] ** 2).sum(axis=1) < 0.95**2 * 2).mean()
print(f"within 0.95 of the middle: all {p} columns {yolk:.2f}, two of them   known {shown:.2f}   ours {seen:.2f}")
assert ((X**2).sum(axis=1) < 0.95**2 * p).mean() < 0.03 and abs(seen - shown) < 0.05

# %%
# Projection on a column beside a turn and then a projection: the second keeps more, for it may choose the direction.
Z = rng.standard_normal((300, 2)) * [2.0, 0.4] @ np.array([[0.8, 0.6], [-0.6, 0.8]])
pca = ld.PCA(1).fit(Z)
best = ld.VarianceSelector(1).fit(Z)
figure, axes = plt.subplots(1, 4, figsize=(11, 2.9), layout="constrained")
turned = ld.PCA(2).fit_transform(Z)
for ax, rows, name in ((axes[0], Z, "the rows"), (axes[2], turned, "turned")):
    ax.scatter(*rows.T, s=8, color="#0072B2")
    ax.set(title=name, aspect="equal")
for ax, column, name in ((axes[1], Z[:, 0], "one column"), (axes[3], turned[:, 0], "the first axis")):
    ax.scatter(column, np.zeros(len(column)), s=8, color="#D55E00", marker="|")
    ax.set(title=name, yticks=[])
lost = [1 - kept / Z.var(axis=0, ddof=1).sum() for kept in (best.variances_.max(), pca.explained_variance_[0])]
print(f"variance lost: by the best column {lost[0]:.0%}, by the best direction {lost[1]:.0%}")
assert lost[1] < lost[0]

# %%
# Columns with long tails crowd along the axes, those with short ones at 45 degrees; a Gaussian has no preference. Of
# the far rows, the share nearer to an axis than to a diagonal:
shares = {}
for name, draw in (
    ("Laplace", rng.laplace),
    ("Gaussian", rng.normal),
    ("uniform", lambda size: rng.uniform(-1, 1, size)),
):
    rows = draw(size=(20000, 2))
    rows /= rows.std()
    far = (rows**2).sum(axis=1) > 4
    angle = np.arctan2(*rows[far].T)
    shares[name] = float((np.cos(4 * angle) > 0).mean())
    print(f"{name:<9} {shares[name]:.2f}")
assert shares["Laplace"] > 0.55 > 0.45 > shares["uniform"] and abs(shares["Gaussian"] - 0.5) < 0.03

# %%
# Prototypes change the law of squared distances: pairs of one cluster are near, pairs of two are far, and the spread of
# both is more than the columns alone would give. By the law, about so many independent columns:
alone = ld.distance_law(rng.standard_normal((600, 20)))
centres = 3 * rng.standard_normal((4, 20))
grouped = ld.distance_law(rng.standard_normal((600, 20)) + centres[rng.integers(0, 4, 600)])
print(alone.sentence)
print(grouped.sentence)
assert grouped.effective < 0.5 * alone.effective
