r"""
Total least squares beside regression
=====================================

Morrison, "The least-squares view": regression measures errors along y, and the line depends on which column is called
y; the first principal axis measures them at right angles and does not. Between y on x and x on y lies the line of
total least squares.
"""

import numpy as np
from lessons.whitening import lines_through

import lowdim as ld
from lowdim.datasets import faithful

X = faithful().X
X = (X - X.mean(axis=0)) / X.std(axis=0)
shown = lines_through(ld.read(X))

x, y = X.T
r = float(np.corrcoef(x, y)[0, 1])
fit = ld.total_least_squares(x[:, None], y)
slope = float(shown.data["slope"][1])

# %%
# Of two standardised columns the line is the diagonal, and its normal is the last principal axis.
last = ld.PCA(2).fit(np.column_stack([x, y])).components_[1]
print(f"slopes: y on x {r:.4f}, total least squares {slope:.4f} (claimed 1), x on y {1 / r:.4f}")
print(f"sum of squared distances: claimed n (1 - r) = {len(x) * (1 - r):.4f}   ours {(fit.distances**2).sum():.4f}")
assert r < slope < 1 / r and np.isclose(slope, 1.0)
assert np.isclose(abs(last @ fit.normal), 1.0)
assert np.isclose((fit.distances**2).sum(), len(x) * (1 - r))
