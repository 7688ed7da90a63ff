"""The plot of stability against direct computation of spread and angles."""

import numpy as np
import pytest

from tests.plot.from_arrays import stability
from tests.plot.svg_checks import HOSTILE, same_twice, svg_of, texts


def clouds(B: int, n: int, q: int, sd: float = 0.2):
    """Positions on two axes of a map with q, the map, the angles of its axes and of its plane."""
    rng = np.random.default_rng([B, n, q])
    R = rng.standard_normal((n, 2))
    return R + sd * rng.standard_normal((B, n, 2)), R, np.abs(rng.normal(10, 3, (B, q))), np.linspace(10, 40, B)


def test_spread_and_angles() -> None:
    B, R, angles, plane = clouds(60, 40, 3)
    angles[:, 2] = np.linspace(40, 88, 60)
    plot = same_twice(lambda: stability(B, R, angles, plane, row_names=[HOSTILE[k % 8] + str(k) for k in range(40)]))
    want = np.sqrt(((B - R) ** 2).sum(axis=2).mean(axis=0))
    assert plot.data["spread"] == pytest.approx(want)
    assert plot.data["median_angle"] == pytest.approx(np.median(angles, axis=0))
    assert plot.data["angle_95"] == pytest.approx(np.quantile(angles, 0.95, axis=0))
    assert plot.title.endswith("2 of 3 axes keep direction to within 15°")
    share = 100 * np.median(want) / np.sqrt(R.var(axis=0).sum())
    assert f"A row moves by {share:.0f}% of the map's spread" in plot.sentence
    assert "axis 3 64°" in plot.sentence and "90% of a row's cloud" in texts(plot)


def test_ellipses_hold_nine_in_ten() -> None:
    B, R, angles, plane = clouds(4000, 3, 2)
    lines = stability(B, R, angles, plane).figure.axes[0].collections[0].get_segments()
    for k, line in enumerate(lines):
        centre, radius = line[:-1].mean(axis=0), np.linalg.norm(line - line[:-1].mean(axis=0), axis=1).mean()
        assert np.mean(np.linalg.norm(B[:, k] - centre, axis=1) < radius) == pytest.approx(0.9, abs=0.015)


def test_plane_is_drawn_first() -> None:
    plot = same_twice(lambda: stability(*clouds(30, 20, 5)))
    assert plot.data["median_plane"].tolist() == [25.0]
    assert plot.title.startswith("Drawn again, the map's plane turns by 25° (median); ") and "map plane" in texts(plot)


@pytest.mark.parametrize(("B", "n", "q"), [(0, 5, 2), (2, 3, 2), (10, 30, 12), (5, 50_000, 2)])
def test_any_size(B: int, n: int, q: int) -> None:
    plot = same_twice(lambda: stability(*clouds(B, n, q)))
    assert len(svg_of(plot)) < 700_000
    if B == 0:
        assert plot.title == "Stability was not measured"
