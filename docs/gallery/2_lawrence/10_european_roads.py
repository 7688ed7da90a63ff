r"""
A map of Europe from road distances
===================================

Lawrence, section 3.5.1, figures 3.8 to 3.11. Classical scaling needs distances only. Roads are no straight lines, so
the matrix is not Euclidean and some eigenvalues are negative; two large ones still make a map. The text speaks of 53
cities; the author's script keeps 48, those with a road to all others and within his map.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import load

roads = load("roads")
keep = ~np.isnan(roads.X).any(axis=1) & (np.array(roads.columns) != "Hammerfest")
D, names = roads.X[np.ix_(keep, keep)], np.array(roads.columns)[keep]
latitude, longitude = np.radians(roads.extra["place"][keep].T)

with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", ld.messages.LowdimWarning
    )  # says that the distances are not Euclidean, as they are not
    model = ld.ClassicalMDS(2, metric="precomputed").fit(D)

# %%
# The map over the true one (Lambert's equal-area projection), turned and scaled onto it.
at, east = np.radians(52.0), longitude - np.radians(10.0)
k = np.sqrt(2 / (1 + np.sin(at) * np.sin(latitude) + np.cos(at) * np.cos(latitude) * np.cos(east)))
up = np.cos(at) * np.sin(latitude) - np.sin(at) * np.cos(latitude) * np.cos(east)
truth = 6371 * np.column_stack([k * np.cos(latitude) * np.sin(east), k * up])
fit = ld.procrustes(model.embedding_, truth)

figure, ax = plt.subplots(figsize=(8, 6.4), layout="constrained")
ax.plot(*np.stack([truth, fit.aligned]).transpose(2, 0, 1), color="#bbbbbb", lw=0.8)
ax.scatter(*truth.T, s=14, color="#0072B2", label="true")
ax.scatter(*fit.aligned.T, s=14, marker="s", color="#D55E00", label="from roads")
for name, place in zip(names, fit.aligned, strict=True):
    ax.annotate(name.split()[0], place, fontsize=6.5, xytext=(3, 2), textcoords="offset points")
ax.set(aspect="equal", xlabel="km", ylabel="km")
ax.legend()

# %%
H = np.eye(48) - 1 / 48
values = np.linalg.eigvalsh(-0.5 * H @ D**2 @ H)[::-1]
figure, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.bar(range(1, 49), values, color=np.where(values < 0, "#D55E00", "#0072B2"))
ax.set(xlabel="eigenvalue", title="negative ones: these distances are of no straight space")

# %%
print(f"cities                 author's figure 48   ours {len(D)}")
print("largest eigenvalues    known 4.0697e7 2.1512e7   ours", *(f"{v:.4e}" for v in model.eigenvalues_))
print(f"the next, the least    known 7.398e6 5.854e6 -5.853e6   ours {values[2]:.3e} {values[3]:.3e} {values[-1]:.3e}")
print(f"negative eigenvalues   known 22   ours {model.n_negative_}")
fits = [values[:2].sum() / total for total in (np.abs(values).sum(), values[values > 0].sum())]
print(f"goodness of fit        known 0.5760 0.6975   ours {fits[0]:.4f} {fits[1]:.4f}")
assert np.allclose(values[[2, 3, -1]], [7.398e6, 5.854e6, -5.853e6], rtol=2e-4)
assert np.allclose(fits, [0.5760, 0.6975], atol=6e-5)
print(f"of the true map {100 * (1 - fit.error):.1f} % is there")
assert len(D) == 48 and model.n_negative_ == 22
assert np.allclose(model.eigenvalues_, [4.0697e7, 2.1512e7], rtol=1e-4) and fit.error < 0.035
