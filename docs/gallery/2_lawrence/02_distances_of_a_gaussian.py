r"""
Distances between the rows of a Gaussian
========================================

Lawrence, sections 1.1.4, 1.4 and 1.11, figures 1.8 and 1.16. The squared distance between two rows of p independent
standard normal columns, divided by p, has a gamma law of mean 2 and variance :math:`8\sigma^4/p` (the text prints
:math:`8\sigma^2/D`): with 1000 columns all rows are equally far from each other. If the thousand columns are made of
two, the distances spread as those of two do: the histogram tells how many there are.
"""

import numpy as np

import lowdim as ld
from lowdim.plot.analysis.dimensions import distances

rng = np.random.default_rng(0)
full = rng.standard_normal((1000, 1000))
few = rng.standard_normal((1000, 2)) @ rng.standard_normal((2, 1000)) + 0.1 * rng.standard_normal((1000, 1000))
laws = {"1000 independent columns": ld.distance_law(full), "1000 columns made of 2": ld.distance_law(few)}

# %%
law = laws["1000 independent columns"]
independent = distances(law.counts, law.columns, effective=law.effective, edges=law.edges, mean=law.mean)

# %%
law = laws["1000 columns made of 2"]
low_rank = distances(law.counts, law.columns, effective=law.effective, edges=law.edges, mean=law.mean)

# %%
for name, law in laws.items():
    print(f"{name}: variance claimed for p = 1000 {8 / 1000:.4f}   seen {law.variance:.4f}   "
          f"as of {law.effective:.3g} columns")  # fmt: skip
first, second = laws.values()
assert abs(first.variance - 0.008) < 0.0006
assert 900 < first.effective < 1100 and 1.2 < second.effective < 2.6
