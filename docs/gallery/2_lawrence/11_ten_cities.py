r"""
Ten cities from their distances
===============================

Lawrence, section 3.5.1, on a table that ships: straight-line distances between ten American cities (R's ``UScitiesD``).
Two eigenvalues carry nearly everything, and the map is the country, up to a turn and a mirror.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import cities

table = cities()
with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", ld.messages.LowdimWarning
    )  # the globe is not flat: a few small negative eigenvalues
    model = ld.ClassicalMDS(2, metric="precomputed").fit(table.X)
latitude, longitude = table.extra["place"].T
truth = 69.0 * np.column_stack([longitude * np.cos(np.radians(latitude.mean())), latitude])
fit = ld.procrustes(model.embedding_, truth)

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
ax.scatter(*truth.T, s=30, color="#0072B2", label="true")
ax.scatter(*fit.aligned.T, s=30, marker="s", color="#D55E00", label="from distances")
for name, place in zip(table.columns, fit.aligned, strict=True):
    ax.annotate(name, place, fontsize=8, xytext=(5, 3), textcoords="offset points")
ax.set(aspect="equal", xlabel="miles", ylabel="miles")
ax.legend()

# %%
print("eigenvalues   known 9.58e6 1.69e6   ours", *(f"{v:.3g}" for v in model.eigenvalues_))
print(f"share of the true map: known 0.99   ours {1 - fit.error:.3f}")
assert np.allclose(model.eigenvalues_, [9.58e6, 1.69e6], rtol=0.003)
assert 1 - fit.error > 0.985
