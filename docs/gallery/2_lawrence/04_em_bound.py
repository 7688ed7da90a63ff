r"""
EM: a bound that touches the likelihood
=======================================

Lawrence, section 2.11.1, figure 2.3. The E-step takes the posterior of the latent places under the present parameters.
With it held fixed, the expected log-likelihood plus its entropy is a lower bound of the log-likelihood of *any*
parameters, and touches it at the present ones; the gap is a Kullback-Leibler divergence. The M-step goes to the top
of the bound. Drawn over one weight of W, the others held.
"""

import numpy as np
from lessons.em_bound import OneWeight, em_bound

import lowdim as ld

rng = np.random.default_rng(2)
X = rng.standard_normal((60, 1)) @ [[1.5, 1.0]] + 0.7 * rng.standard_normal((60, 2))
shown = em_bound(ld.read(X), steps=4)

# %%
# The claims of the text: never above, touching at the present weight, and a rise with each step.
grid, likely, bounds = (shown.data[name] for name in ("weight", "log_likelihood", "bound"))
for k, old in enumerate(shown.data["step"][:-1]):
    gap = likely - bounds[:, k]
    nearest = int(np.abs(grid - old).argmin())
    print(
        f"w1 = {old:.4f}   gap beside it {gap[nearest]:+.1e} (claimed 0 there)   "
        f"largest excess of the bound {-gap.min():+.1e} (claimed <= 0)"
    )
    assert gap.min() > -1e-9 and gap.argmin() in (nearest - 1, nearest, nearest + 1)
model = OneWeight(X - X.mean(axis=0), float(shown.data["held_weight"]), float(shown.data["noise_variance"]))
steps = [0.15]
for _ in range(80):
    steps.append(model.next(steps[-1]))
rising, best = model.log_likelihood(np.array(steps)), len(X) * ld.PPCA(1).fit(X).score(X)
print(f"log-likelihood after 80 steps {rising[-1]:.6f}   known best {best:.6f}")
assert (np.diff(rising) > -1e-9).all() and abs(rising[-1] - best) < 1e-5
