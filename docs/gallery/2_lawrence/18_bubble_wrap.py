r"""
Bubble wrap
===========

Lawrence, section 6.5.7, figures 6.12 and 6.13. A grid of nodes is a mixture of small Gaussians: as the noise shrinks
beside the spacing of the nodes, the smooth sheet becomes bubble wrap, and a row belongs to one node alone. On the
line between two nodes that are s standard deviations apart the share of the nearer one jumps from 0 to 1: over the
whole way for s = 1, within a few per cent of it for s = 16.
"""

import matplotlib.pyplot as plt
import numpy as np

way = np.linspace(0, 1, 1001)
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
width = {}
for ax, s in zip(axes, (1, 4, 16), strict=True):
    first, second = np.exp(-0.5 * (s * way) ** 2), np.exp(-0.5 * (s * (1 - way)) ** 2)
    share = second / (first + second)
    inner = way[(share > 0.05) & (share < 0.95)]
    width[s] = inner.max() - inner.min()
    ax.plot(way, share, color="#0072B2")
    ax.fill_between(way, 0.5 * (first + second), color="#E69F00", alpha=0.4)
    ax.set(title=f"{s} sd apart", xlabel="way from one node to the next", ylim=(0, 1.02))
axes[0].set_ylabel("share of the second node")

# %%
# The share is a logistic function of slope :math:`s^2`: from 5 % to 95 % it needs :math:`2 \log 19 / s^2` of the way.
for s, seen in width.items():
    claimed = min(1.0, 2 * np.log(19) / s**2)
    print(f"{s:2} sd apart   claimed {claimed:.4f} of the way   ours {seen:.4f}")
    assert abs(seen - claimed) < 0.003
