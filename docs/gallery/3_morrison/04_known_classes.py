r"""
Projection for sight, projection for classes
============================================

Morrison, "Projection": PCA looks for variance and knows no classes; Fisher's discriminant looks for the direction in
which the means of known classes are far apart beside the spread within them. On scikit-learn's wines (three growers),
by the rows that the nearest other row on the map would put into the wrong class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import lowdim as ld

X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
model = ld.LinearDiscriminant(2).fit(X, y)
maps = {"PCA": ld.PCA(2).fit_transform(X), "Fisher's discriminant": model.transform(X)}


def errors(Z):
    """Rows whose nearest other row is of another class, axes at unit spread."""
    Z = Z / Z.std(axis=0)
    D = ((Z[:, None] - Z) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    return int((y[D.argmin(axis=1)] != y).sum())


figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, (name, Z) in zip(axes, maps.items(), strict=True):
    for k, (colour, shape) in enumerate(zip(("#0072B2", "#E69F00", "#009E73"), "os^", strict=True)):
        ax.scatter(*Z[y == k].T, s=14, color=colour, marker=shape)
    ax.set_title(f"{name}: {errors(Z)} wrong", fontsize=10)

# %%
peer = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).transform(X)[:, :2]
alike = min(abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(maps["Fisher's discriminant"].T, peer.T, strict=True))
print(f"correlation of our axes with scikit-learn's: claimed 1   ours {alike:.9f}")
print("wrong by the nearest neighbour:", {name: errors(Z) for name, Z in maps.items()})
assert alike > 1 - 1e-9 and errors(maps["Fisher's discriminant"]) < errors(maps["PCA"])
