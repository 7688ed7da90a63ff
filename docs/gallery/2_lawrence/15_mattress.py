r"""
The mattress
============

Lawrence, section 5.7.1, figure 5.1: a Gaussian random field is a mattress. Points on a grid are joined by springs to
their neighbours and to the ground; in a heat bath the mattress crumples, and how far a point moves is a draw of the
field. The expected squared distance between two points follows from the covariance,
:math:`E[d_{ij}] = p(k_{ii} - 2 k_{ij} + k_{jj})`, with p columns (the text leaves p out).
"""

import numpy as np
from lessons.sheets import heat_bath, mattress

from lowdim.plot.models.springs import springs

sheet = mattress(14)

# %%
# The springs, and the third column of the same draw as heights.
L, places, moved = (sheet.data[name] for name in ("laplacian", "at_rest", "moved"))
n = len(L)
shown = springs(places[:, :2], L, heights=moved[:, 2])

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
