r"""
Random functions and the distances they imply
=============================================

Lawrence, sections 4.1 and 4.2.1, figures 4.1 to 4.5: functions made of bells with Gaussian weights. The expected
squared distance between two places is :math:`p(k_{ii} - 2 k_{ij} + k_{jj})` with :math:`k = \phi\phi^\top`; where no
bell reaches, all functions are zero and places cannot be told apart. With ever more bells the kernel becomes the
Gaussian one, which reaches everywhere.
"""

import numpy as np
from lessons.functions import FAR, bells, random_functions

shown = random_functions()

# %%
# Many functions of many bells, at two places that three bells do not reach.
step, p = 0.05, 20_000
centres = np.arange(-10.0, 12.0, step)
places = np.linspace(-4, 6, 101)
K = step * np.sqrt(2 / np.pi) * bells(places, centres) @ bells(places, centres).T
limit = np.exp(-((places[:, None] - places) ** 2) / 2)
weights = np.sqrt(step * np.sqrt(2 / np.pi)) * np.random.default_rng(0).standard_normal((len(centres), p))
f = bells(np.array(FAR), centres) @ weights
seen, claimed = ((f[0] - f[1]) ** 2).mean(), shown.data["expected"][2]
print(f"kernel of many bells beside its limit: largest difference {np.abs(K - limit).max():.1e}")
print(f"squared distance a function   claimed {claimed:.4f}   mean of {p} functions {seen:.4f}")
print(f"with three bells, beyond them: {shown.data['expected'][1]:.1e}")
assert np.abs(K - limit).max() < 1e-10 and abs(seen / claimed - 1) < 0.03 and shown.data["expected"][1] < 1e-3
