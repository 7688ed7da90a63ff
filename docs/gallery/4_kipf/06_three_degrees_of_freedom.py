r"""
Three degrees of freedom
========================

Kipf, "Continuous latent variables": one digit, turned and moved. A picture has hundreds of pixels, and three numbers
make it: the turn, and the moves right and down. A model should find that there are three. A straight one cannot: turned
pictures lie on a bent sheet, and more straight axes than three are needed to hold it. The Bayesian GP-LVM begins with
ten dimensions and switches off those that it does not need.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import digit3

table = digit3()
model = ld.BayesianGPLVM(10, random_state=0).fit(table.X)
straight = ld.BayesianPCA().fit(table.X)

figure, axes = plt.subplots(2, 8, figsize=(9, 2.5), layout="constrained")
for ax, image in zip(axes.ravel(), table.images, strict=False):
    ax.imshow(image, cmap="gray_r")
    ax.set_axis_off()

# %%
# Each relevance is the prior variance of a dimension: the first three stand, the others are gone.
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.bar(range(1, 11), model.relevance_, color="#0072B2")
ax.set(xlabel="dimension", ylabel="relevance", xticks=range(1, 11))

# %%
# The three are the turn and the moves: a straight line through them tells each.
Z = np.column_stack([np.ones(len(table.X)), model.embedding_[:, :3]])
left = table.freedom - Z @ np.linalg.lstsq(Z, table.freedom, rcond=None)[0]
told = 1 - left.var(axis=0) / table.freedom.var(axis=0)
for name, share in zip(("turn", "move right", "move down"), told, strict=True):
    print(f"{name:<11} {100 * share:.0f} % told by the three dimensions")
print(f"degrees of freedom   true 3   Bayesian GP-LVM {model.n_kept_}   Bayesian PCA {straight.n_kept_}")
assert model.n_kept_ == 3 < straight.n_kept_ and told.min() > 0.8
