r"""
How improbable a six is
=======================

Lawrence, section 3.2. The six has 64 x 57 = 3648 pixels, 849 of them ink. A model in which every pixel is ink with
the same probability, fitted to the picture itself, gives it the probability :math:`\pi^{849}(1-\pi)^{2799}` =
2.67e-860, and none of its draws looks like a digit: the space of pictures is almost empty of sixes.
"""

import matplotlib.pyplot as plt
import numpy as np

from lowdim.datasets import load

six = load("six").X
ink, pixels = int(six.sum()), six.size
share = ink / pixels
log10 = ink * np.log10(share) + (pixels - ink) * np.log10(1 - share)

figure, axes = plt.subplots(1, 3, figsize=(7, 2.8), layout="constrained")
draws = np.random.default_rng(0).random((2, *six.shape)) < share
for ax, picture, title in zip(axes, (six, *draws), ("the six", "a draw", "another"), strict=True):
    ax.imshow(picture, cmap="gray_r")
    ax.set_title(title)
    ax.axis("off")

# %%
exponent = int(np.floor(log10))
mantissa = 10 ** (log10 - exponent)
print(f"ink pixels     published 849 of 3648   ours {ink} of {pixels}")
print(f"probability    published 2.67e-860 (cut off)   ours {mantissa:.3f}e{exponent}")
assert (ink, pixels) == (849, 3648)
assert exponent == -860 and int(100 * mantissa) == 267
