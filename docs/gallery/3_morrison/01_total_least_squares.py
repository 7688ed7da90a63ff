r"""
Total least squares beside regression
=====================================

Morrison, "The least-squares view": regression measures errors along y, and the line depends on which column is called
y; the first principal axis measures them at right angles and does not. Between y on x and x on y lies the line of
total least squares.
"""

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import faithful

X = faithful().X
x, y = ((X - X.mean(axis=0)) / X.std(axis=0)).T
r = float(np.corrcoef(x, y)[0, 1])
fit = ld.total_least_squares(x[:, None], y)
slope = float(fit.coefficients[0])

figure, ax = plt.subplots(figsize=(5.4, 5), layout="constrained")
ax.scatter(x, y, s=10, color="#56B4E9")
line = np.array([-2.2, 2.2])
for steep, name, colour in (
    (r, "y on x", "#E69F00"),
    (1 / r, "x on y", "#009E73"),
    (slope, "total least squares", "#D55E00"),
):
    ax.plot(line, steep * line, color=colour, label=name)
ax.set(aspect="equal", xlim=(-2.3, 2.3), ylim=(-2.3, 2.3), xlabel="eruption", ylabel="waiting")
ax.legend()

# %%
# Of two standardised columns the line is the diagonal, and its normal is the last principal axis.
last = ld.PCA(2).fit(np.column_stack([x, y])).components_[1]
print(f"slopes: y on x {r:.4f}, total least squares {slope:.4f} (claimed 1), x on y {1 / r:.4f}")
print(f"sum of squared distances: claimed n (1 - r) = {len(x) * (1 - r):.4f}   ours {(fit.distances**2).sum():.4f}")
assert r < slope < 1 / r and np.isclose(slope, 1.0)
assert np.isclose(abs(last @ fit.normal), 1.0)
assert np.isclose((fit.distances**2).sum(), len(x) * (1 - r))
