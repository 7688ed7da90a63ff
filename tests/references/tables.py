"""The real tables, as the tests of this folder want them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np


def columns(path: Path) -> dict[str, list[str]]:
    with path.open(newline="") as lines:
        rows = list(csv.reader(lines))
    return {name: list(cells) for name, cells in zip(rows[0], zip(*rows[1:], strict=True), strict=True)}


def numbers(path: Path, names: list[str] | None = None) -> np.ndarray:
    """These columns as float64, empty cells and NA as gaps; without names, every column of numbers."""
    found = columns(path)
    kept = []
    for name in found if names is None else names:
        try:
            kept.append([float(cell) if cell not in ("", "NA") else np.nan for cell in found[name]])
        except ValueError:
            if names is not None:
                raise
    return np.array(kept).T


def oil(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The 1000 training rows and their classes."""
    path = folder / "oil_flow.csv"
    return numbers(path, [f"x{j:02d}" for j in range(1, 13)])[:1000], numbers(path, ["label"])[:1000, 0]


def neighbour_errors(Z: np.ndarray, label: np.ndarray) -> int:
    """Rows whose nearest other row has another label."""
    square = distances(Z)
    np.fill_diagonal(square, np.inf)
    return int((label[square.argmin(axis=1)] != label).sum())


def distances(Z: np.ndarray) -> np.ndarray:
    """Squared distances, a column at a time: exact, and small enough for a thousand rows."""
    return sum((Z[:, j, None] - Z[None, :, j]) ** 2 for j in range(Z.shape[1]))


def yeast(folder: Path) -> np.ndarray:
    return np.load(folder / "spellman_yeast.npz")["X"].astype(float)


def wifi(folder: Path) -> np.ndarray:
    return numbers(folder / "robot_wifi.csv", [f"ap{j:02d}" for j in range(1, 31)])[:215]


def stick_man(folder: Path) -> np.ndarray:
    return numbers(folder / "run1_raw.csv")[:, 2:]
