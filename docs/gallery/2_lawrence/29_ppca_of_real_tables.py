r"""
PPCA of the robot, the stick man and the oil
============================================

Lawrence, section 2.12: the linear map of the book's tables. The robot walks round a building, the stick man runs: rows
that follow each other in time should be near on the map, though the model knows no time. Of the oil, two axes leave 162
rows nearest to another regime.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import lowdim as ld
from lowdim.datasets import load

warnings.simplefilter("ignore")  # LD162: access points that were never heard together
wifi, man, oil = load("wifi"), load("stick_man"), load("oil")
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
maps = {}
for ax, table in zip(axes, (wifi, man, oil), strict=True):
    Z = maps[table.name] = ld.PPCA(2).fit(table.X).transform(table.X)
    if table.name == "oil":
        ax.scatter(*Z.T, s=6, c=table.extra["regime"], cmap="viridis")
    else:
        ax.plot(*Z.T, "-o", ms=3, lw=0.8, color="#0072B2")
    ax.set(title=table.about.split(",")[0].split(" (")[0], xlabel="axis 1", ylabel="axis 2")

# %%
# Steps between neighbours in time are short beside those between any two rows.
for name in ("wifi", "stick_man"):
    Z = maps[name]
    step = np.linalg.norm(np.diff(Z, axis=0), axis=1).mean()
    usual = np.linalg.norm(Z[:, None] - Z, axis=2).mean()
    print(f"{name:<9} a step {step:.2f}, any two rows {usual:.2f}")
    assert step < 0.5 * usual
regime = oil.extra["regime"]
D = np.linalg.norm(maps["oil"][:, None] - maps["oil"], axis=2)
np.fill_diagonal(D, np.inf)
errors = int((regime[D.argmin(axis=1)] != regime).sum())
print(f"oil       rows nearest to another regime: published for PCA 162   ours {errors}")
assert abs(errors - 162) <= 3
