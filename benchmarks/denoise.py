"""Denoising of USPS digits: kernel PCA with three kinds of pre-image beside PCA, plain, shrunk and clipped.

    python benchmarks/denoise.py [rows a digit, default 300]

Settings (components, width, pre-image, noise) are chosen on validation rows, errors are those of test rows: the
mean over cells of (answer - clean)^2. Gaussian noise of sd 0.5; speckle: 40 % of the cells black or white at random.
Reference: Mika et al. (1999), section 4; docs/measurements.md.
"""

from __future__ import annotations

import copy
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from clock import machine, table
from threadpoolctl import threadpool_limits

import lowdim
from lowdim.text.messages import LowdimWarning

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "../shared/data/usps_digits/usps.npz"
HELD = 50  # rows a digit for the test, and half as many for validation
WIDTHS = (0.7, 1.0)  # of Mika's: gamma = 1 / (d c), c twice the mean variance of a cell
SIZES = (64, 150, 500, 1100)
WAYS = (("fixed_point", 0), ("distances", 10), ("learned", 0))
LEARNED = 150  # components up to which the learned map is tried: it was best with few, and each try is a regression


class Digits(NamedTuple):
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray


def digits(each: int) -> Digits:
    """`each` rows of every digit to learn from, 25 for validation and 50 for the test."""
    with np.load(DATA) as data:
        X, y = data["X_train"] / 1000.0, data["y_train"]
        T, t = data["X_test"] / 1000.0, data["y_test"]
    rng = np.random.default_rng(0)
    order = [rng.permutation(np.flatnonzero(y == c)) for c in range(10)]
    train = np.concatenate([X[o[:each]] for o in order])
    valid = np.concatenate([X[o[each : each + HELD // 2]] for o in order])
    test = np.concatenate([T[rng.permutation(np.flatnonzero(t == c))[:HELD]] for c in range(10)])
    return Digits(train, valid, test)


def noisy(X: np.ndarray, kind: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 1])
    if kind == "Gaussian":
        return X + 0.5 * rng.standard_normal(X.shape)
    hit = rng.random(X.shape) < 0.4
    return np.where(hit, np.where(rng.random(X.shape) < 0.5, -1.0, 1.0), X)


def error(A: np.ndarray, X: np.ndarray) -> float:
    return float(((A - X) ** 2).mean())


def first(model: Any, q: int) -> Any:
    """A fitted kernel PCA with fewer components: they are nested."""
    few, p = copy.copy(model), model.params_
    few.params_, few.embedding_ = p._replace(weights=p.weights[:, :q]), model.embedding_[:, :q]
    few.n_components_ = q
    return few


def linear(data: Digits, kind: str) -> dict[str, tuple[float, str]]:
    """PCA, shrunk PCA (Wiener), and both clipped to the range of ink; components by validation rows."""
    V, T = noisy(data.valid, kind, 1), noisy(data.test, kind, 2)
    pca = lowdim.PCA(200).fit(data.train)
    mean, U, values = pca.mean_, pca.components_, pca.explained_variance_
    out = {}
    for name, shrunk, clip in (
        ("PCA", 0, 0),
        ("PCA, clipped", 0, 1),
        ("PCA, shrunk", 1, 0),
        ("PCA, shrunk, clipped", 1, 1),
    ):

        def answer(X: np.ndarray, q: int, shrunk: int = shrunk, clip: int = clip) -> np.ndarray:
            z = (X - mean) @ U[:q].T
            extra = np.maximum(z.var(axis=0) - values[:q], 1e-9)  # what the noise adds along each axis
            z = z - z.mean(axis=0) * shrunk
            z = z * (values[:q] / (values[:q] + extra)) if shrunk else z
            found = z @ U[:q] + mean
            return np.clip(found, -1, 1) if clip else found

        q = min(range(1, 200), key=lambda q: error(answer(V, q), data.valid))
        out[name] = error(answer(T, q), data.test), f"{q} components"
    return out


def fits(data: Digits) -> dict[float, Any]:
    """Kernel PCA of the clean rows, one for each width."""
    d, c = data.train.shape[1], 2.0 * data.train.var(axis=0).mean()
    q = min(max(SIZES), len(data.train) // 2)
    return {width: lowdim.KernelPCA(q, gamma=1.0 / (d * c * width)).fit(data.train) for width in WIDTHS}


def kernel(data: Digits, models: dict[float, Any], kind: str) -> dict[str, tuple[float, str]]:
    """Each pre-image at the width and size that validation rows choose."""
    V, T = noisy(data.valid, kind, 1), noisy(data.test, kind, 2)
    best: dict[str, tuple[float, Any, dict[str, Any], str]] = {}
    for width, whole in models.items():
        for q in (q for q in SIZES if q <= whole.n_components_):
            model = first(whole, q)
            for way, near in WAYS:
                for noise in (None, "estimate") if way != "learned" or q <= LEARNED else ():
                    how = {"method": way, "noise": noise, **({"n_neighbors": near} if near else {})}
                    value = error(model.reconstruct(V, **how), data.valid)
                    if way not in best or value < best[way][0]:
                        note = f"{q} components, width {width:g} c" + (f", {near} neighbours" if near else "")
                        best[way] = value, model, how, note + (", noise estimated" if noise else "")
    chosen = min(best, key=lambda way: best[way][0])
    out = {}
    for way, (_, model, how, note) in best.items():
        mark = " *" if way == chosen else ""
        out[f"kernel PCA, {way}{mark}"] = error(model.reconstruct(T, **how), data.test), note
    return out


def main(each: int) -> str:
    parts = [f"## Denoising USPS digits, {each} rows a digit\n\n\\* the pre-image that validation rows choose."]
    data = digits(each)
    with threadpool_limits(1):
        models = fits(data)
    for kind in ("Gaussian", "speckle"):
        begin = time.perf_counter()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)
            found = {**linear(data, kind), **kernel(data, models, kind)}
        base = found["PCA"][0]
        rows = [(name, value, base / value, note) for name, (value, note) in found.items()]
        parts.append(
            f"{kind} noise ({time.perf_counter() - begin:.0f} s)\n\n"
            + table((f"{kind} noise", "squared error", "PCA / this", "settings"), rows)
        )
        print(parts[-1], flush=True)
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(machine("python benchmarks/denoise.py"))
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
