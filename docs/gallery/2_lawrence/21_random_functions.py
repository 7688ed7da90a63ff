r"""
Random functions and the distances they imply
=============================================

Lawrence, sections 4.1 and 4.2.1, figures 4.1 to 4.5: functions made of bells with Gaussian weights. The expected
squared distance between two places is :math:`p(k_{ii} - 2 k_{ij} + k_{jj})` with :math:`k = \phi\phi^\top`; where no
bell reaches, all functions are zero and places cannot be told apart. With ever more bells the kernel becomes the
Gaussian one, which reaches everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
x = np.linspace(-4, 4, 201)


def bells(centres, width=1.0):
    """Basis functions, normalised so that infinitely many give a kernel of variance 1."""
    step = centres[1] - centres[0] if len(centres) > 1 else 1.0
    scale = np.sqrt(step / (np.sqrt(np.pi) * width))
    return scale * np.exp(-0.5 * ((x[:, None] - centres) / width) ** 2)


bases = {"three bells": np.array([-1.0, 0.0, 1.0]), "many bells": np.linspace(-12, 12, 241)}
figure, axes = plt.subplots(2, 2, figsize=(9.5, 5.6), layout="constrained")
for row, (name, centres) in zip(axes, bases.items(), strict=True):
    phi = bells(centres)
    row[0].plot(x, phi @ rng.standard_normal((len(centres), 5)))
    row[0].set_title(f"{name}: five functions", fontsize=10)
    K = phi @ phi.T
    D = np.diag(K)[:, None] - 2 * K + np.diag(K)
    row[1].imshow(D, cmap="cividis_r", extent=(-4, 4, 4, -4))
    row[1].set_title("expected squared distance of two places", fontsize=10)

# %%
phi = bells(bases["many bells"])
K = phi @ phi.T
limit = np.exp(-((x[:, None] - x) ** 2) / 4)
i, j, p = 80, 110, 20_000
f = phi[[i, j]] @ rng.standard_normal((phi.shape[1], p))
seen, claimed = ((f[0] - f[1]) ** 2).mean(), K[i, i] - 2 * K[i, j] + K[j, j]
ends = bells(bases["three bells"])[[0, -1]]
print(f"kernel of many bells beside its limit: largest difference {np.abs(K - limit).max():.1e}")
print(f"squared distance a function   claimed {claimed:.4f}   mean of {p} functions {seen:.4f}")
print(f"three bells at the ends of the line: {np.abs(ends).max():.4f}")
assert np.abs(K - limit).max() < 1e-10 and abs(seen / claimed - 1) < 0.03 and np.abs(ends).max() < 0.02
