r"""
The Gaussian egg
================

Lawrence, section 1.1.2, figures 1.1 to 1.5. A Gaussian has its highest density at the centre; where is its mass? Call
the yolk what lies nearer to the centre than 0.95 standard deviations a dimension, the green a thin shell from 0.95 to
1.05, the white the rest. With :math:`|x|^2 \sim \chi^2_p`, the mass within r is :math:`P(\chi^2_p \le p r^2)`. In one
dimension two thirds are yolk; in a thousand nearly everything is in the shell.
"""

import matplotlib.pyplot as plt
import numpy as np

from lowdim.judge.dimensions.distance_law import shell_mass

dimensions = np.unique(np.logspace(0, 3, 120).astype(int))
masses = np.array([shell_mass(p) for p in dimensions])

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
x = np.linspace(-3, 3, 400)
density = np.exp(-(x**2) / 2)
for inside, colour in ((np.abs(x) < 0.95, "#F0E442"), (np.abs(x) > 1.05, "#dddddd")):
    axes[0].fill_between(x, np.where(inside, density, np.nan), color=colour)
axes[0].fill_between(x, np.where((np.abs(x) >= 0.95) & (np.abs(x) <= 1.05), density, np.nan), color="#009E73")
axes[0].set(title="one dimension", xlabel="x", ylabel="density")
for k, (name, colour) in enumerate((("yolk", "#E69F00"), ("green", "#009E73"), ("white", "#767676"))):
    axes[1].semilogx(dimensions, masses[:, k], color=colour, label=name)
axes[1].set(title="where the mass is", xlabel="dimensions", ylabel="share of the mass")
axes[1].legend()

# %%
published = {1: (65.8, 4.8, 29.4), 2: (59.4, 7.4, 33.2), 3: (56.1, 9.2, 34.7)}
for p, printed in published.items():
    ours = tuple(round(100 * mass, 1) for mass in shell_mass(p))
    print(f"p = {p}   published yolk, green, white {printed} %   ours {ours}")
    assert np.allclose(ours, printed, atol=0.051)
print(f"p = 1000  green {100 * masses[-1, 1]:.1f} %")
assert masses[-1, 1] > 0.97
