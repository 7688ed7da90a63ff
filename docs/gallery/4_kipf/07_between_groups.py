r"""
From one group to another
=========================

Kipf, "Continuous latent variables": faces have many degrees of freedom that mean something, such as a smile. Such a
direction need not be an axis of the model: it is what leads from the rows without to the rows with. The handwritten
digits of scikit-learn, from the ones to the sevens: the places of both groups in a model of 20 dimensions, and what the
model makes of the places between. The command line has it as ``lowdim plot between FILE --from 1 --to 7``.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import lowdim as ld
from lowdim.plot.access import plot_model

data = load_digits()
frame = pd.DataFrame(data.data, columns=data.feature_names).assign(digit=[f"a {k}" for k in data.target])
table = ld.read(frame)
model = ld.PPCA(20).fit(table.X)
walk = plot_model("between", model, table, "a 1", "a 7", shape=(8, 8))
print(walk.sentence)

# %%
# A straight model goes straight: half the way is half of both ends. (The picture ends where a pixel does, at 0; the
# model itself knows no such end.) Along the way the nearest mean of the ten digits changes from the one to the seven,
# and by way of no other digit here.
at = model.inverse_transform(walk.data["position"])
middle = np.abs(at[2] - (at[0] + at[4]) / 2).max()
print(f"half the way, from the mean of both ends: {middle:.1e} (known 0)")
digits = np.unique(data.target)
means = np.array([table.X[data.target == k].mean(axis=0) for k in digits])
share = np.linspace(0, 1, 21)
line = at[0] + share[:, None] * (at[4] - at[0])
nearest = digits[((line[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)]
print("nearest digit on the way:", "".join(map(str, nearest)))
assert middle < 1e-9
assert nearest[0] == 1 and nearest[-1] == 7

# %%
# The direction is no axis: its largest share in one of them is
step = walk.data["position"][-1] - walk.data["position"][0]
print(f"largest share of the way along one axis: {(step**2).max() / (step**2).sum():.0%} (an axis has 100 %)")
assert (step**2).max() / (step**2).sum() < 0.9
