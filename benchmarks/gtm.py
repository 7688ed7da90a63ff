"""GTM against ugtm on the oil flow (rows of speed.py), and a million rows from a file.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/gtm.py [rows]

A 20 x 20 grid on 1000 x 12 standardised cells. ugtm goes to its own stop (at most 200 iterations, its default), ours
until its log-likelihood has passed the one that ugtm ended with. Both have the same bells and the same prior.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from lowdim import GTM, Run
from tests.references.tables import oil

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "oil_flow"
GRID = 20
SQUARE = 0.3  # ugtm's default s: the bells' squared width in squared spacings
CHUNK = 50_000


def log_likelihood(X: np.ndarray, Y: np.ndarray, psi: float) -> float:
    """Of the rows about equally likely nodes; shares no line with either contestant."""
    square = (X**2).sum(axis=1)[:, None] - 2 * X @ Y.T + (Y**2).sum(axis=1)
    each = logsumexp(-0.5 * square / psi, axis=1) - np.log(len(Y)) - 0.5 * X.shape[1] * np.log(2 * np.pi * psi)
    return float(each.sum())


def theirs(X: np.ndarray, bells: int) -> tuple[float, float]:
    """Seconds to ugtm's own stop, and the log-likelihood there."""
    import ugtm

    begin = time.process_time()
    model = ugtm.runGTM(X, k=GRID, m=bells, s=SQUARE, regul=0.1)
    seconds = time.process_time() - begin
    Y = np.asarray(model.matY)
    return seconds, log_likelihood(X, Y.T if Y.shape[0] == X.shape[1] else Y, float(model.betaInv))


class TracedGTM(GTM):
    """Keeps the log-likelihood of each pass; the objective is that less the prior of the weights."""

    log_likelihoods: ClassVar[list[float]] = []

    def _objective(self, params: Any, stats: Any) -> float:
        self.log_likelihoods.append(stats.log_density)
        return super()._objective(params, stats)


def ours(X: np.ndarray, bells: int, width: float, target: float) -> float:
    """Seconds until the log-likelihood is past the target; infinite where it never is."""
    seconds: list[float] = []

    def past(step: Any) -> bool:
        if TracedGTM.log_likelihoods[-1] >= target and not seconds:
            seconds.append(time.process_time() - begin)
        return bool(seconds)

    begin = time.process_time()
    model = TracedGTM(2, grid=GRID, basis=bells, basis_width=width).fit(X, run=Run(callback=past, engine="serial"))
    if not seconds:
        end = log_likelihood(X, model.nodes_, model.noise_variance_)
        print(f"{bells} bells: {end:.1f} after {model.n_iter_} passes", file=sys.stderr)
    return seconds[0] if seconds else float("inf")


def stream(rows: int) -> None:
    """A file of so many noisy oil rows, fitted in a process of its own."""
    X, _ = oil(DATA)
    with tempfile.TemporaryDirectory() as folder:
        path, rng = f"{folder}/oil.npy", np.random.default_rng(0)
        out = np.lib.format.open_memmap(path, "w+", np.float64, (rows, X.shape[1]))
        for begin in range(0, rows, CHUNK):
            part = out[begin : begin + CHUNK]
            part[:] = X[rng.integers(len(X), size=len(part))] + 0.02 * rng.standard_normal(part.shape)
        out.flush()
        del out
        for gaps in ("", "gaps"):
            subprocess.run([sys.executable, __file__, "child", path, gaps], check=True)
            if not gaps:  # the same file, with a tenth of its cells removed
                out = np.lib.format.open_memmap(path, "r+")
                for begin in range(0, rows, CHUNK):
                    part = out[begin : begin + CHUNK]
                    part[rng.random(part.shape) < 0.1] = np.nan
                out.flush()
                del out


def child(path: str, gaps: str) -> None:
    import warnings

    from stream import Watch

    warnings.simplefilter("ignore")  # three passes do not converge
    X = np.load(path, mmap_mode="r")
    with Watch() as watch:
        begin = time.perf_counter()
        model = GTM(2, grid=GRID, max_iter=2 if gaps else 4).fit(X)
        seconds = time.perf_counter() - begin
    print(
        f"{X.shape[0]} x {X.shape[1]}{' with gaps' * bool(gaps)}: {model.n_iter_} passes, {seconds:.1f} s, "
        f"{seconds / model.n_iter_:.1f} s a pass, {watch.megabytes:.0f} MB beyond the start "
        f"(the table is {X.nbytes / 1e6:.0f} MB), load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:4])
    else:
        stream(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
