r"""
Eigenfaces and recognition
==========================

Morrison, "Eigenfaces"; Kipf, "PCA of faces": a photograph is a point in 4096 dimensions; a hundred weights describe
it well enough to name the person by the nearest stored weights. The text has 100 to 150 weights for pictures of
10,000 pixels.
"""

# slow: 400 photographs
import numpy as np

import lowdim as ld
from lowdim.datasets import load
from lowdim.plot.access import plot_model

faces = load("faces")
X, person = faces.X, faces.extra["person"]
pca = ld.PCA(150).fit(X)
Z = pca.transform(X)

# %%
table = ld.read(X, scale="none")
eigenfaces = plot_model("component_images", pca, table, (64, 64), 9)

# %%
# Originals, and what 36 weights (as in Kipf's lecture) and 150 keep.
grid = plot_model("rebuilt", pca, table, shown=range(0, 300, 50), kept=[36, 150], shape=(64, 64))


# %%
# Leave one out: the person of the nearest other photograph, by so many weights.
def errors(M):
    D = ((Z[:, None, :M] - Z[None, :, :M]) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    return int((person[D.argmin(axis=1)] != person).sum())


found = {M: errors(M) for M in (1, 5, 20, 100, 150)}
kept = np.cumsum(pca.explained_variance_) / X.var(axis=0, ddof=1).sum()
for M, wrong in found.items():
    print(f"{M:3} weights   {wrong:3} of 400 taken for another   {100 * kept[M - 1]:.0f} % of the variance")
print(f"claimed: 100 to 150 weights tell people apart   ours: {100 - found[100] / 4:.1f} % named by 100 weights")
assert found[1] > 300 and found[100] <= 20 and found[150] <= 20
