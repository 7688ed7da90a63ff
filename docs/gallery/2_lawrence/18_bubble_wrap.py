r"""
Bubble wrap
===========

Lawrence, section 6.5.7, figures 6.12 and 6.13. A grid of nodes is a mixture of small Gaussians: as the noise shrinks
beside the spacing of the nodes, the smooth sheet becomes bubble wrap, and a row belongs to one node alone. On the
line between two nodes that are s standard deviations apart the share of the nearer one jumps from 0 to 1: over the
whole way for s = 1, within a few per cent of it for s = 16.
"""

import numpy as np
from lessons.bubblewrap import bubblewrap

shown = bubblewrap(apart=(1, 4, 16))

# between the second node and the third, where the others have no part for s >= 4
way, share = shown.data["way"], shown.data["share"]
between = (way >= 1) & (way <= 2)
width = {s: ((share[between, k].max(axis=1) < 0.95).mean()) for k, s in enumerate((1, 4, 16))}

# %%
# The share is a logistic function of slope :math:`s^2`: from 5 % to 95 % it needs :math:`2 \log 19 / s^2` of the way.
for s, seen in width.items():
    claimed = min(1.0, 2 * np.log(19) / s**2)
    print(f"{s:2} sd apart   claimed {claimed:.4f} of the way   ours {seen:.4f}")
    assert abs(seen - claimed) < 0.01
