r"""
Distances between the rows of a Gaussian
========================================

Lawrence, sections 1.1.4, 1.4 and 1.11, figures 1.8 and 1.16. The squared distance between two rows of p independent
standard normal columns, divided by p, has a gamma law of mean 2 and variance :math:`8\sigma^4/p` (the text prints
:math:`8\sigma^2/D`): with 1000 columns all rows are equally far from each other. If the thousand columns are made of
two, the distances spread as those of two do: the histogram tells how many there are.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gamma

import lowdim as ld

rng = np.random.default_rng(0)
full = rng.standard_normal((1000, 1000))
few = rng.standard_normal((1000, 2)) @ rng.standard_normal((2, 1000)) + 0.1 * rng.standard_normal((1000, 1000))
laws = {"1000 independent columns": ld.distance_law(full), "1000 columns made of 2": ld.distance_law(few)}

# %%
# Squared distances over their mean, beside the law of a thousand independent columns and of the number that fits.
figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (name, law) in zip(panels, laws.items(), strict=True):
    ax.stairs(law.counts / law.counts.sum() / np.diff(law.edges / law.mean), law.edges / law.mean, fill=True, alpha=0.5)
    x = np.linspace(1e-3, max(law.edges[-1] / law.mean, 1.3), 600)
    for p, line in ((1000, "--"), (law.effective, "-")):
        ax.plot(x, gamma.pdf(x, p / 2, scale=2 / p), line, color="black", label=f"{p:.3g} columns")
    ax.set(title=name, xlabel="squared distance (mean = 1)")
    ax.legend()

# %%
for name, law in laws.items():
    print(f"{name}: variance claimed for p = 1000 {8 / 1000:.4f}   seen {law.variance:.4f}   "
          f"as of {law.effective:.3g} columns")  # fmt: skip
first, second = laws.values()
assert abs(first.variance - 0.008) < 0.0006
assert 900 < first.effective < 1100 and 1.2 < second.effective < 2.6
