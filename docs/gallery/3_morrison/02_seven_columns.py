r"""
Seven columns, two of which matter
==================================

Morrison, "A 7-dimensional example": clusters that show in two columns, five columns of noise. The eigenvalues say
two; the map has the clusters; and the order of the columns makes no difference.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import lowdim as ld

rng = np.random.default_rng(4)
centres = np.array([[0, 0], [6, 0], [3, 5]])
label = np.repeat(np.arange(3), 60)
X = np.hstack([centres[label] + rng.standard_normal((180, 2)), rng.standard_normal((180, 5))])
pca = ld.PCA(7).fit(X)
Z = pca.transform(X)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
axes[0].bar(range(1, 8), pca.explained_variance_, color="#0072B2")
axes[0].set(xlabel="axis", ylabel="variance")
for k, (colour, shape) in enumerate(zip(("#0072B2", "#E69F00", "#009E73"), "os^", strict=True)):
    axes[1].scatter(*Z[label == k, :2].T, s=14, color=colour, marker=shape)
axes[1].set(xlabel="axis 1", ylabel="axis 2", aspect="equal")

# %%
order = rng.permutation(7)
turned = ld.PCA(7).fit(X[:, order])
jury = ld.choose_dimension(X)
print("variances", pca.explained_variance_.round(2))
print(f"the first two carry {100 * pca.explained_variance_ratio_[:2].sum():.0f} %")
apart = np.abs(turned.explained_variance_ - pca.explained_variance_).max()
print(f"columns in another order: variances differ by {apart:.1e}")
assert np.allclose(turned.explained_variance_, pca.explained_variance_)
assert pca.explained_variance_[1] > 4 * pca.explained_variance_[2]

# %%
# Here the eye on the spectrum and the jury of :func:`lowdim.choose_dimension` part: the jury asks how well a cell is
# predicted from the others of its row, and these two columns, though they hold all the clusters, say nothing of each
# other. It answers 0; clusters are the business of :func:`lowdim.choose_clusters`, here on the first two axes.
found = ld.choose_clusters(Z[:, :2]).n_clusters
print(f"dimensions that columns share: {jury.q};  clusters on the map: claimed 3   ours {found}")
assert jury.q == 0 and found == 3

# %%
# Where the rows have known classes, the question can be what a classifier gains ("How many dimensions?"): as many axes
# as tell the classes of rows left out. Every model is a step of a pipeline.
right = [
    cross_val_score(make_pipeline(ld.PCA(q), LinearDiscriminantAnalysis()), X, label, cv=5).mean() for q in range(1, 8)
]
print("left-out rows whose class is told, by axes:", *(f"{share:.0%}" for share in right))
assert right[1] > right[0] + 0.05 and max(right[2:]) < right[1] + 0.02
