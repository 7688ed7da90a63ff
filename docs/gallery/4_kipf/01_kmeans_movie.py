r"""
K-means in pictures
===================

Kipf, "K-means" (Bishop's figure 9.1): Old Faithful, two clusters. E: each row goes to its nearest centre. M: each
centre goes to the mean of its rows. The sum of squared distances never grows, and after a few rounds nothing moves.
"""

import numpy as np
from lessons.em_movie import em_movie
from sklearn import cluster

import lowdim as ld
from lowdim.datasets import faithful

X = faithful().X
movie = em_movie(X, 6, model="kmeans", n_clusters=2, names=("eruption", "waiting"), random_state=1)

# %%
S = (X - X.mean(axis=0)) / X.std(axis=0)
model = ld.KMeans(2).fit(S)
centres = model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])] * X.std(axis=0) + X.mean(axis=0)
rise = np.diff(movie.data["objective"])
print("the objective never falls: smallest change", f"{rise.min():.2e}")
print("centres: short", centres[0].round(2), "minutes, long", centres[1].round(2))
peer = cluster.KMeans(2, n_init=10, random_state=0).fit(S)
print(f"sum of squared distances   scikit-learn {peer.inertia_:.6f}   ours {model.inertia_:.6f}")
assert (rise >= -1e-12).all()
assert np.isclose(model.inertia_, peer.inertia_, rtol=1e-6)
