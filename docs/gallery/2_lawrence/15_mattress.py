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

from lowdim.plot.models.springs import springs

side = 14
places = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2).astype(float)
n = len(places)
L = np.zeros((n, n))
for i, place in enumerate(places):
    near = np.flatnonzero(np.abs(places - place).sum(axis=1) == 1)
    L[i, near] = -1.0
    L[i, i] = len(near)
K = np.linalg.inv(L + 0.05 * np.eye(n))

rng = np.random.default_rng(0)
root = np.linalg.cholesky(K)
heights = root @ rng.standard_normal(n)
shown = springs(places, L, heights=heights)

# %%
# The same draw as a sheet.
figure = plt.figure(figsize=(6, 4.2), layout="constrained")
ax = figure.add_subplot(projection="3d")
ax.plot_surface(*places.T.reshape(2, side, side), heights.reshape(side, side), cmap="cividis", linewidth=0.2)
ax.set_axis_off()

# %%
# Mean squared distances over many columns drawn from the field, beside the formula.
p = 4000
draws = root @ rng.standard_normal((n, p))
i, j = 0, np.array([1, 5, n - 1])
seen = ((draws[i] - draws[j]) ** 2).sum(axis=1)
claimed = p * (K[i, i] - 2 * K[i, j] + K[j, j])
for place, a, b in zip(j, claimed, seen, strict=True):
    print(f"corner to point {place:3}   claimed {a:9.1f}   seen over {p} columns {b:9.1f}")
assert np.allclose(seen, claimed, rtol=0.06)
assert claimed[0] < claimed[1] < claimed[2]  # far places move apart
