r"""
A Gaussian pushed through a function
====================================

Lawrence, section 6.2, figure 6.5: a Gaussian latent variable through a bent function is no Gaussian, and may have
several modes; its density has no closed form. That is why bent models need a sample (density networks), a grid (GTM)
or a bound.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

rng = np.random.default_rng(0)


def bent(z):
    return z + 1.4 * np.tanh(3 * z)


z = rng.standard_normal(200_000)
y = bent(z)
grid = np.linspace(-3, 3, 400)
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
axes[0].plot(grid, norm.pdf(grid), color="#0072B2")
axes[0].set(title="p(z)", xlabel="z")
axes[1].plot(grid, bent(grid), color="#1b1b1b")
axes[1].set(title="y = f(z)", xlabel="z")
axes[2].hist(y, 120, density=True, color="#E69F00")
axes[2].set(title="p(y): two modes", xlabel="y")

# %%
# The density by the change of variables, :math:`p(y) = p(z)/|f'(z)|`, has its least value at the middle and two modes.
fine = np.linspace(-4, 4, 80_001)
density = norm.pdf(fine) / (1 + 1.4 * 3 / np.cosh(3 * fine) ** 2)
modes = int(((density[1:-1] > density[:-2]) & (density[1:-1] > density[2:])).sum())
counts, edges = np.histogram(y, 80, range=(-4, 4), density=True)
middle = (edges[1:] + edges[:-1]) / 2
exact = np.interp(middle, bent(fine), density)
print(f"modes   claimed more than one   ours {modes}")
print(f"largest difference of histogram and formula {np.abs(counts - exact).max():.4f} of a peak of {exact.max():.3f}")
assert modes == 2 and np.abs(counts - exact).max() < 0.02
