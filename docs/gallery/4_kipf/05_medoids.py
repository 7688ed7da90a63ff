r"""
Any dissimilarity: K-medoids
============================

Kipf, "K-means: general dissimilarity" (K-medoids): where there are distances and no coordinates, a centre must be one
of the rows. Ten American cities fall into an east and a west, each with a city in its middle.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import cities

table = cities()
model = ld.KMedoids(2, metric="precomputed").fit(table.X)
middles = [table.columns[i] for i in model.medoid_indices_]

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
latitude, longitude = table.extra["place"].T
for k, colour in enumerate(("#0072B2", "#E69F00")):
    ax.scatter(longitude[model.labels_ == k], latitude[model.labels_ == k], color=colour, s=30)
for name, x, y in zip(table.columns, longitude, latitude, strict=True):
    ax.annotate(name, (x, y), fontsize=8, xytext=(4, 3), textcoords="offset points")
ax.scatter(longitude[model.medoid_indices_], latitude[model.medoid_indices_], marker="*", s=160, color="#D55E00")

# %%
# Ten cities have 45 pairs of centres: the best is found by trying all.
cost = {pair: table.X[:, pair].min(axis=1).sum() for pair in combinations(range(10), 2)}
best = min(cost, key=cost.get)
ours = table.X[:, model.medoid_indices_].min(axis=1).sum()
print(
    f"sum of distances to the nearest centre   known {cost[best]:.0f}   ours {ours:.0f}   centres {', '.join(middles)}"
)
assert np.isclose(ours, cost[best])
