r"""
The mattress
============

Lawrence, section 5.7.1, figure 5.1: a Gaussian random field is a mattress. Points on a grid are joined by springs to
their neighbours and to the ground; in a heat bath the mattress crumples, and how far a point moves is a draw of the
field. The expected squared distance between two points follows from the covariance,
:math:`E[d_{ij}] = p(k_{ii} - 2 k_{ij} + k_{jj})`, with p columns (the text leaves p out).
"""

import matplotlib.pyplot as plt
import numpy as np
from lessons.sheets import heat_bath, mattress

sheet = mattress(14)

# %%
# The springs from above, and the third column of the same draw as heights.
L, places, moved = (sheet.data[name] for name in ("laplacian", "at_rest", "moved"))
n = len(L)
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
for i, j in np.argwhere(np.triu(L, 1)):
    ax.plot(*places[[i, j], :2].T, color="grey", lw=0.8, zorder=1)
figure.colorbar(ax.scatter(*places[:, :2].T, c=moved[:, 2], cmap="RdBu_r", zorder=2), label="height in the heat bath")
ax.set(aspect="equal", title=f"{int((np.triu(L, 1) != 0).sum())} springs hold {n} points")

# %%
# Mean squared distances over many columns drawn from the field, beside the formula.
p = 4000
K, draws = heat_bath(L, 0.05, p, 0)
i, j = 0, np.array([1, 5, n - 1])
seen = ((draws[i] - draws[j]) ** 2).sum(axis=1)
claimed = p * (K[i, i] - 2 * K[i, j] + K[j, j])
for place, a, b in zip(j, claimed, seen, strict=True):
    print(f"corner to point {place:3}   claimed {a:9.1f}   seen over {p} columns {b:9.1f}")
assert np.allclose(seen, claimed, rtol=0.06)
assert claimed[0] < claimed[1] < claimed[2]  # far places move apart
