r"""
An image in a few colours
=========================

Kipf, "K-means for image compression" (Bishop's figure 9.3): the pixels' colours are clustered, and each pixel keeps the
number of its cluster. With K colours an image of N pixels needs :math:`N \lceil\log_2 K\rceil + 24 K` bits instead of
:math:`24 N`: for K = 2, 3 and 10 that is 4.2 %, 8.3 % and 16.7 % of the original, as the book prints for its picture of
43,200 pixels.
"""

import matplotlib.pyplot as plt
import numpy as np
from lessons.quantize_image import quantize_image
from sklearn.datasets import load_sample_image

photo = load_sample_image("china.jpg")[:400:2, 90:522:2]
few = {K: quantize_image(photo, K) for K in (2, 3, 10)}

figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), layout="constrained")
pictures = (*(q.image for q in few.values()), photo)
for ax, picture, title in zip(axes, pictures, ("K = 2", "K = 3", "K = 10", "original"), strict=True):
    ax.imshow(picture)
    ax.set_title(title)
    ax.axis("off")

# %%
published = {2: 4.2, 3: 8.3, 10: 16.7}
print(f"pixels   published 43,200   ours {photo.shape[0] * photo.shape[1]:,}")
for K, quantised in few.items():
    print(f"K = {K:2}   published {published[K]:4.1f} %   ours {100 * quantised.ratio:4.1f} %   "
          f"mean squared error {quantised.mean_squared_error:.0f}")  # fmt: skip
    assert abs(100 * quantised.ratio - published[K]) < 0.1
errors = [q.mean_squared_error for q in few.values()]
assert photo.shape[0] * photo.shape[1] == 43_200 and (np.diff(errors) < 0).all()
