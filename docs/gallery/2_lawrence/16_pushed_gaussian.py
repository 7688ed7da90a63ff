r"""
A Gaussian pushed through a function
====================================

Lawrence, section 6.2, figure 6.5: a Gaussian latent variable through a bent function is no Gaussian, and may have
several modes; its density has no closed form. That is why bent models need a sample (density networks), a grid (GTM)
or a bound.
"""

import numpy as np
from lessons.functions import pushed

shown = pushed()
z = np.random.default_rng(0).standard_normal(200_000)
y = z + 1.4 * np.tanh(3 * z)

# %%
# The density by the change of variables, :math:`p(y) = p(z)/|f'(z)|`, has its least value at the middle and two modes.
modes = len(shown.data["mode"])
counts, edges = np.histogram(y, 80, range=(-4, 4), density=True)
middle = (edges[1:] + edges[:-1]) / 2
exact = np.interp(middle, shown.data["y"], shown.data["density"])
print(f"modes   claimed more than one   ours {modes}")
print(f"largest difference of histogram and formula {np.abs(counts - exact).max():.4f} of a peak of {exact.max():.3f}")
assert modes == 2 and np.abs(counts - exact).max() < 0.02
