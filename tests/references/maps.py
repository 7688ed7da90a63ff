"""How well a map of the first hundred oil rows survives gaps ([Bishop2006] figure 12.11, [Lawrence2012] figure 2.4)."""

from __future__ import annotations

import numpy as np

import lowdim


def holes(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    """The table with a share of its cells removed at random, no column or row left empty."""
    rng = np.random.default_rng(seed)
    gone = rng.random(X.shape) < share
    gone[np.arange(len(X)), rng.integers(X.shape[1], size=len(X))] = False
    return np.where(gone, np.nan, X)


def map_errors(X: np.ndarray, share: float, seed: int) -> tuple[float, float]:
    """Procrustes error of a map with gaps against the same method's complete map: PPCA, and PCA filled with means."""
    Y = holes(X, share, seed)
    filled = np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)
    ours = lowdim.procrustes(lowdim.PPCA(2).fit_transform(Y), lowdim.PPCA(2).fit_transform(X)).error
    return ours, lowdim.procrustes(lowdim.PCA(2).fit_transform(filled), lowdim.PCA(2).fit_transform(X)).error
