r"""
The Gaussian egg
================

Lawrence, section 1.1.2, figures 1.1 to 1.5. A Gaussian has its highest density at the centre; where is its mass? Call
the yolk what lies nearer to the centre than 0.95 standard deviations a dimension, the green a thin shell from 0.95 to
1.05, the white the rest. With :math:`|x|^2 \sim \chi^2_p`, the mass within r is :math:`P(\chi^2_p \le p r^2)`. In one
dimension two thirds are yolk; in a thousand nearly everything is in the shell.
"""

import numpy as np
from lessons.egg import egg, shell_mass

shown = egg()

# %%
published = {1: (65.8, 4.8, 29.4), 2: (59.4, 7.4, 33.2), 3: (56.1, 9.2, 34.7)}
for p, printed in published.items():
    ours = tuple(round(100 * mass, 1) for mass in shell_mass(p))
    print(f"p = {p}   published yolk, green, white {printed} %   ours {ours}")
    assert np.allclose(ours, printed, atol=0.051)
green = shown.data["shell"][-1]
print(f"p = 1000  green {100 * green:.1f} %")
assert green > 0.97
