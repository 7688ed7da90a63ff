"""How much memory a fit of a linear-Gaussian model needs, counted by hand before anything runs."""

from __future__ import annotations

from lowdim.engine.plan import kept_blocks, walking
from lowdim.maths.eigen import PASSES
from lowdim.maths.gaussian import LIGHT
from lowdim.sources.source import tile_rows


def peak_bytes(n: int, d: int, q: int, wide: bool) -> int:
    """Bytes at the worst moment: of the look, of the solve, or of an EM pass (counted in numbers)."""
    tile, p = min(tile_rows(d), n), q * (q + 1) // 2
    cells = tile * d
    survey = walking(n, d, 6 * cells, 6 * d if wide else 3 * d * d)
    if wide:
        basis = d * min(PASSES * (q + 8), d)
        solve = 8 * (4 * n * d + 4 * n * n if n < d else 3 * basis) + walking(n, d, 4 * cells, d * (q + 8))
    else:
        solve = 8 * 9 * d * d + walking(n, d, 4 * cells, 0)  # an eigenproblem; or QR of a tile's triangle
    outer = min(d * p, LIGHT)
    em = walking(n, d, 8 * cells + (11 * p + 6 * q) * tile + outer, min(d * (p + q + 1), LIGHT) + d * (q + 4))
    em += 8 * (4 * min(d * (q + 1) ** 2, 2 * LIGHT) + (0 if wide else 3 * d * d))
    return max(survey, solve, em) + kept_blocks(n, d)
