r"""
Objects under lights: three to five dimensions
==============================================

Morrison, "A different eigenfaces example" (Yuille): photographs of one object under many lights lie in a space of few
dimensions, and the share :math:`\sum_{i \le M} \lambda_i / \sum_i \lambda_i` is drawn for several objects. The
photographs are not available; here are matt objects under distant lights from in front. A pixel whose surface has the
normal :math:`n` is as bright as :math:`\max(0, n^\top l)` under the light :math:`l`. Without shadows, which are the
maximum, every image is a sum of three.
"""

import numpy as np
from lessons.cumulative import cumulative

import lowdim as ld
from lowdim.plot.access import plot_model

side = 24
along = np.linspace(-1, 1, side)
u, v = (part.ravel() for part in np.meshgrid(along, along))


def normals(slope_u, slope_v):
    """Unit normals of a surface that falls off with these slopes, one a pixel."""
    n = np.column_stack([slope_u, slope_v, np.ones(side * side)])
    return n / np.linalg.norm(n, axis=1, keepdims=True)


objects = {
    "ball": normals(2 * u, 2 * v),
    "saddle": normals(2 * u, -2 * v),
    "pipe": normals(3 * u, 0 * v),
    "waves": normals(np.cos(6 * u), np.sin(6 * v)),
}
rng = np.random.default_rng(0)
lights = rng.standard_normal((300, 3))
lights[:, 2] = np.abs(lights[:, 2])
lights /= np.linalg.norm(lights, axis=1, keepdims=True)
images = {name: np.maximum(0.0, lights @ n.T) for name, n in objects.items()}

# %%
# The mean and the first axes of the ball: lit from one side, from above, from in front.
tables = [ld.read(X, scale="none") for X in images.values()]
eigen_images = plot_model("component_images", ld.PCA(5).fit(tables[0].X), tables[0], (side, side), 4)

# %%
# All four in one picture; pixels keep their units.
shown = cumulative(tables[0], tables=tables[1:], names=list(images))

# %%
for k, name in enumerate(images):
    share = shown.data["share"][:, k]
    print(
        f"{name:7} claimed: mostly 3 to 5 dimensions   ours: {100 * share[2]:.1f} % in 3, {100 * share[4]:.1f} % in 5"
    )
    assert share[2] > 0.85 and share[4] > 0.95
for name, n in objects.items():
    values = np.linalg.svd(lights @ n.T, compute_uv=False)
    known = np.linalg.matrix_rank(n)
    print(f"{name:7} without shadows: known dimension {known}   ours {int((values > 1e-9 * values[0]).sum())}")
    assert int((values > 1e-9 * values[0]).sum()) == known
