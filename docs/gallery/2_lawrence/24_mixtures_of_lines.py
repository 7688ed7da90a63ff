r"""
Mixtures of linear models
=========================

Lawrence, section 2.14; Zabaras on mixtures of probabilistic PCA: a bent table as several straight pieces, each with
axes of its own. Four short lines along an arc follow it where one line cannot. EM has many local maxima, so several
starts are made and the best is kept.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld

rng = np.random.default_rng(0)
angle = rng.uniform(0, np.pi, 300)
X = 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.12 * rng.standard_normal((300, 2))
turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
X = np.column_stack([X, 0.12 * rng.standard_normal((300, 2))]) @ turn  # in a plane of four columns

models = {
    "one line": ld.PPCA(1).fit(X),
    "4 of PPCA": ld.best_of(ld.MixtureOfPPCA(4, 1), X, starts=5).model,
    "4 of FA": ld.best_of(ld.MixtureOfFA(4, 1), X, starts=5).model,
    "4 of any": ld.best_of(ld.Mixture(ld.PPCA(1), 4), X, starts=5).model,
}
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
part = models["4 of PPCA"].predict(X)
for k, (colour, shape) in enumerate(zip(("#0072B2", "#E69F00", "#009E73", "#D55E00"), "os^D", strict=True)):
    ax.scatter(*(X[part == k] @ turn.T)[:, :2].T, s=10, color=colour, marker=shape)
ax.set_aspect("equal")

# %%
fresh = rng.uniform(0, np.pi, 300)
new = np.column_stack([3 * np.cos(fresh), 3 * np.sin(fresh), np.zeros((300, 2))]) @ turn
new += 0.12 * rng.standard_normal((300, 4))
scores = {name: model.score(new) for name, model in models.items()}
for name, score in scores.items():
    print(f"{name:10} log density of a new row {score:7.3f}")
print("claimed: the pieces follow the arc; PPCA and a mixture of that name are one:", end=" ")
print(f"{scores['4 of PPCA'] - scores['4 of any']:.1e}")
assert min(scores["4 of PPCA"], scores["4 of FA"]) > scores["one line"] + 1
