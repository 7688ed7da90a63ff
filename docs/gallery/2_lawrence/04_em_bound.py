r"""
EM: a bound that touches the likelihood
=======================================

Lawrence, section 2.11.1, figure 2.3. The E-step takes the posterior of the latent places under the present parameters.
With it held fixed, the expected log-likelihood plus its entropy is a lower bound of the log-likelihood of *any*
parameters, and touches it at the present ones; the gap is a Kullback-Leibler divergence. The M-step goes to the top
of the bound. Drawn over one weight of W, the others held.
"""

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(2)
X = rng.standard_normal((60, 1)) @ [[1.5, 1.0]] + 0.7 * rng.standard_normal((60, 2))
X -= X.mean(axis=0)
n, d = X.shape
s2, second = 0.49, 1.0
S = X.T @ X / n


def log_likelihood(a):
    w = np.array([a, second])
    C = np.outer(w, w) + s2 * np.eye(d)
    return -0.5 * n * (d * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S)))


def bound(a, old):
    """E under q(z) = p(z | x, old) of log p(x, z | a), plus the entropy of q."""
    w, v = np.array([a, second]), np.array([old, second])
    M = v @ v + s2
    mean, var = X @ v / M, s2 / M
    square = mean**2 + var
    fit = -0.5 * (d * np.log(2 * np.pi * s2) + ((X - np.outer(mean, w)) ** 2).sum(axis=1) / s2 + var * (w @ w) / s2)
    prior = -0.5 * (np.log(2 * np.pi) + square)
    return float((fit + prior + 0.5 * np.log(2 * np.pi * np.e * var)).sum())


def next_weight(old):
    """The top of the bound: one weight of a regression of the column on the expected places."""
    v = np.array([old, second])
    M = v @ v + s2
    mean = X @ v / M
    return float(X[:, 0] @ mean / (mean @ mean + n * s2 / M))


steps = [0.2]
for _ in range(60):
    steps.append(next_weight(steps[-1]))

grid = np.linspace(-0.4, 2.6, 300)
figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
ax.plot(grid, [log_likelihood(a) for a in grid], color="#1b1b1b", lw=2, label="log-likelihood")
for k, colour in enumerate(("#D55E00", "#E69F00", "#009E73", "#0072B2")):
    ax.plot(grid, [bound(a, steps[k]) for a in grid], color=colour, label=f"bound of step {k + 1}")
    ax.plot(steps[k], log_likelihood(steps[k]), "o", color=colour)
ax.set(ylim=(log_likelihood(steps[0]) - 60, max(log_likelihood(a) for a in grid) + 10), xlabel="w₁", ylabel="nats")
ax.legend()

# %%
# The claims of the text: never above, touching at the present weight with the same slope, and a rise with each step.
for old in steps[:4]:
    above = max(bound(a, old) - log_likelihood(a) for a in grid)
    touch = log_likelihood(old) - bound(old, old)
    print(
        f"w1 = {old:.4f}   gap there {touch:+.1e} (claimed 0)   largest excess of the bound {above:+.1e} (claimed <= 0)"
    )
    assert abs(touch) < 1e-9 and above < 1e-9
values = [log_likelihood(a) for a in steps]
best = max(log_likelihood(a) for a in np.linspace(1, 2.6, 20001))
print(f"log-likelihood after {len(steps) - 1} steps {values[-1]:.8f}   highest on a fine grid {best:.8f}")
assert (np.diff(values) > -1e-10).all() and abs(values[-1] - best) < 1e-6
