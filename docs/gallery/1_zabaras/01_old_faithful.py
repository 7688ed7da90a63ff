r"""
Old Faithful: raw, standardised, whitened
=========================================

Zabaras, "Old Faithful data set: whitening". The two columns are minutes and differ in
size; standardising gives each variance 1, and what is left is their correlation; whitening removes that too.
"""

import numpy as np
from lessons.whitening import whitening

import lowdim as ld
from lowdim.datasets import faithful

X = faithful().X
white = ld.whiten(X)

# %%
# The principal axes of the standardised data are drawn to :math:`\pm\sqrt{\lambda_i}`. Of two standardised columns they
# always are the diagonals, with :math:`\lambda = 1 \pm r`.
shown = whitening()
squares, axes = shown.data["variance"], shown.data["axis"]

# %%
# The text prints no number for this figure; what it claims is asserted.
r = np.corrcoef(X.T)[0, 1]
print(f"axes^2     claimed 1 + r, 1 - r = {1 + r:.4f}, {1 - r:.4f}   ours {squares[0]:.4f}, {squares[1]:.4f}")
print("whitened   claimed I   ours", np.cov(white.rows.T).round(12).tolist())
assert np.allclose(squares, [1 + r, 1 - r])
assert np.allclose(np.abs(axes) / np.sqrt(squares)[:, None], np.sqrt(0.5))
assert np.allclose(np.cov(white.rows.T), np.eye(2))
