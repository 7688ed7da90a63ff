"""Principal axes of a complete table, by the solver that suits its shape and conditioning.

covariance  one pass, d x d               qr      one pass more, nothing is squared
dual        n x n, for n << d             krylov  a few passes, for large n and d
All answer alike; the Gram-like ones hand over to QR or SVD where squaring would cost the wanted digits.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from lowdim.engine.fold import Run, fold, one_blas_thread
from lowdim.engine.statistics import Moments, Sum, triangle
from lowdim.maths.eigen import block_krylov, lanczos
from lowdim.maths.linalg import EPS, Array, largest, orthogonality, residual, sign_rule, svd
from lowdim.models.base.results import Certificate
from lowdim.models.base.survey import LARGE_ORDER, TableSurvey
from lowdim.models.linear.linear_gaussian import noise_floor
from lowdim.sources.source import Block
from lowdim.sources.views import gather
from lowdim.text.messages import warn

SQUARED = 1e-8  # below this ratio of eigenvalues a squared matrix has lost half the digits
CHEAP, CHEAP_LOSS = 2**19, 1e-1  # up to so many products QR takes half a millisecond: no digit need be lost
TINY = 1e-20  # beside the first eigenvalue, what a solver that squares nothing can still tell from zero
RESIDUAL = 1e-8  # what the Krylov residual test asks for
SOLVERS = ("auto", "covariance", "dual", "qr", "krylov", "em")


class Spectrum(NamedTuple):
    """The largest eigenpairs of the covariance (1/n), and the certificate's raw material."""

    values: Array  # k, falling
    vectors: Array  # d x k
    mean: Array
    total: float  # trace of the covariance
    tail: float  # what the k values leave of it
    n: float
    rank: int
    solver: str
    passes: int  # beyond the first look
    residual: float
    squared: bool  # whether the solver squared the matrix

    @property
    def floor(self) -> float:
        """The least noise variance told from rounding: that of the solver."""
        first = float(self.values[0]) if len(self.values) else self.total / max(len(self.mean), 1)
        rounding = EPS * max(self.n, len(self.mean)) if self.squared else TINY
        return max(rounding * first, float(np.sqrt(np.finfo(float).tiny)))

    @property
    def condition(self) -> float:
        kept = self.values[: self.rank]
        return float(np.sqrt(kept[0] / kept[-1])) if len(kept) and kept[-1] > 0 else 1.0

    @property
    def digits(self) -> float:
        return max(0.0, 15.0 - (2 if self.squared else 1) * float(np.log10(self.condition)))


def choose(n: int, d: int, k: int, light: bool = False) -> str:
    """The solver for a table's shape; of a light one the dual would fill in every zero."""
    if (min(n, d) > LARGE_ORDER or (light and n < d)) and k <= min(n, d) // 20:
        return "krylov"
    return "dual" if n < d else "covariance"


def principal(survey: TableSurvey, k: int, run: Run, *, solver: str = "auto", seed: int = 0) -> Spectrum:
    """The k largest principal axes of a complete table."""
    n, d = survey.source.n, survey.source.d
    name = choose(n, d, k, survey.source.is_sparse) if solver == "auto" else solver
    if name == "krylov":
        return krylov(survey, k, run, seed)
    if name == "dual" or (name == "covariance" and survey.moments is None):
        return _dual(survey, k)
    if name == "qr":
        return _qr(survey, k, run)
    assert survey.moments is not None
    answer = spectrum_of(survey.moments, k)
    lost = CHEAP_LOSS if n * d * d <= CHEAP else SQUARED
    wanted = answer.values[-1] > lost * answer.values[0] if k else True
    noise = answer.tail / max(d - k, 1) > 10 * answer.floor or k == d  # the tail must be more than rounding
    if solver == "auto" and answer.total > 0 and not (wanted and noise):
        return _qr(survey, k, run)
    return answer


def spectrum_of(m: Moments, k: int) -> Spectrum:
    """Principal axes from the moments alone."""
    C = m.covariance
    values, V = largest(C, k)
    total = float(np.trace(C))
    if k < len(C) and total - values.sum() < 1e-6 * total:  # the difference would be mostly rounding
        tail = np.maximum(np.linalg.eigvalsh(C)[: len(C) - k], 0.0).sum()
    else:
        tail = max(total - float(values.sum()), 0.0)
    off = residual(C, values, V)
    return settled(Spectrum(values, V, m.mean, total, float(tail), m.n, 0, "covariance", 0, off, True))


def _qr(survey: TableSurvey, k: int, run: Run) -> Spectrum:
    R = fold(triangle, survey.source, run).R
    n = R[0, 0] ** 2
    mean = R[0, 1:] / R[0, 0] if n > 0 else R[0, 1:]
    return _from_factor(R[1:, 1:], mean, n, k, "qr", 1)


def _from_factor(F: Array, mean: Array, n: float, k: int, solver: str, passes: int) -> Spectrum:
    """Principal axes from any F with F'F = n C: nothing is squared."""
    d = F.shape[1]
    _, s, Vt = svd(F) if len(F) else (None, np.zeros(0), np.zeros((0, d)))
    values, V = s**2 / n, Vt.T
    if len(values) < min(k, d):  # fewer rows than axes: the rest has no variance at all
        V = np.linalg.qr(np.hstack([V, np.eye(d)]))[0][:, :d] if len(values) else np.eye(d)
        values = np.concatenate([values, np.zeros(d - len(values))])
    V = V[:, :k] * sign_rule(V[:, :k])
    off = float(np.linalg.norm(F.T @ (F @ V) / n - V * values[:k]))
    off /= max(float(np.linalg.norm(values)), 1e-300) * d * EPS
    return settled(
        Spectrum(values[:k], V, mean, float(values.sum()), float(values[k:].sum()), n, 0, solver, passes, off, False)
    )


def _dual(survey: TableSurvey, k: int) -> Spectrum:
    """n << d: eigenvectors of the n x n Gram matrix, carried over to the columns."""
    X, _ = gather(survey.source)
    w = survey.source.weight
    n = survey.source.total
    X -= survey.columns.mean
    extra = (X if w is None else w[:, None] * X).sum(axis=0) / n  # centre twice: the first mean was rounded
    X -= extra
    if w is not None:
        X *= np.sqrt(w)[:, None]
    mean = survey.columns.mean + extra
    G = X @ X.T / n
    values, U = largest(G, min(k, len(G)))
    total = float(np.trace(G))
    unexplained = max(total - float(values.sum()), 0.0)
    if k > len(G) or (k and (values[-1] <= SQUARED * values[0] or unexplained <= SQUARED * total)):
        return _from_factor(X, mean, n, k, "svd", 1)
    # v = X'u / |X'u|; the lengths of X'u are the roots of n times the variances
    V, R = np.linalg.qr(X.T @ U)
    turn, sizes, _ = svd(R)  # almost diagonal; equal values may have come in any order
    V = V @ turn
    V = V * sign_rule(V)
    tail = unexplained
    if k < len(G) and tail < 1e-6 * total:
        tail = float(np.maximum(np.linalg.eigvalsh(G)[: len(G) - k], 0.0).sum())
    values = sizes**2 / n
    return settled(Spectrum(values, V, mean, total, tail, n, 0, "dual", 1, residual(G, values, U), True))


def krylov(survey: TableSurvey, k: int, run: Run, seed: int) -> Spectrum:
    """Each product with the covariance is one pass; nothing of order d^2 or n^2 is ever held."""
    mean, n = survey.columns.mean, survey.source.total
    total = float(survey.columns.variance.sum())
    if k == 0:
        none = np.zeros((len(mean), 0))
        return settled(Spectrum(np.zeros(0), none, mean, total, total, n, 0, "krylov", 0, 0.0, True))
    stored = survey.stored
    source = survey.source if stored is None else stored
    if stored is not None and run.engine == "threads":
        run = run._replace(engine="serial")  # SciPy's sparse products hold Python's lock: threads would only wait

    def operate(Q: Array) -> Array:
        return fold(partial(covariance_times, mean, Q), source, run).value / n

    solve = block_krylov if stored is None else lanczos  # stored cells: products are cheap, wide bases are not
    with one_blas_thread():  # once, not for every product
        values, V, off, passes = solve(operate, source.d, k, np.random.default_rng(seed), tol=RESIDUAL)
    if off > RESIDUAL:
        warn("LD209", solver="Krylov", residual=off, tol=RESIDUAL)
    tail = max(total - float(values.sum()), 0.0)
    return settled(Spectrum(values, V, mean, total, tail, n, 0, "krylov", passes, off, True))


def covariance_times(mean: Array, Q: Array, block: Block) -> Sum:
    """A block's share of n C Q, centred as it goes; Q may be one vector, the block one of stored cells."""
    y = block.x @ Q - mean @ Q
    y = y if block.weight is None else (y.T * block.weight).T
    return Sum(block.x.T @ y - np.multiply.outer(mean, y.sum(axis=0)))


def settled(spectrum: Spectrum) -> Spectrum:
    """No variance below zero, nothing left over where every axis is kept, and the rank beyond rounding."""
    values = np.maximum(spectrum.values, 0.0)
    rounding = EPS * max(spectrum.n, len(spectrum.mean))
    least = rounding if spectrum.squared else rounding**2
    rank = int((values > least * values[0]).sum()) if len(values) else 0
    tail = 0.0 if len(values) == len(spectrum.mean) else spectrum.tail
    return spectrum._replace(values=values, tail=tail, rank=rank)


def spectrum_log_likelihood(spectrum: Spectrum, s2: float, factor: float = 1.0) -> float:
    """Log-likelihood of all rows under the spectrum's axes, variances `factor` times its values, noise s2."""
    d, q = spectrum.vectors.shape
    top = np.maximum(spectrum.values * factor, s2)
    logdet = float(np.log(top).sum()) + (d - q) * np.log(s2)
    trace = float((spectrum.values / top).sum()) + spectrum.tail / s2
    return float(-0.5 * spectrum.n * (d * np.log(2 * np.pi) + logdet + trace))


def certify_spectrum(
    spectrum: Spectrum, objective: float, name: str, passes: int, boundary: tuple[str, ...] = ()
) -> Certificate:
    """The certificate of a closed-form fit."""
    ties = np.flatnonzero(spectrum.values[:-1] - spectrum.values[1:] <= 1e-12 * spectrum.values[:-1])
    ties = ties[spectrum.values[ties] > 1e-12 * spectrum.values[0]] if len(ties) else ties
    notes: tuple[str, ...] = ()
    if len(ties):
        groups = np.split(ties, np.flatnonzero(np.diff(ties) > 1) + 1)  # pairs beside pairs are not all equal
        first, last = int(groups[0][0]) + 1, int(groups[0][-1]) + 2
        more = f", and so have others ({len(groups) - 1} more groups)" if len(groups) > 1 else ""
        warn("LD203", first=first, last=last, more=more)
        notes = (f"components {first} to {last} have equal variance{more}: read them together",)
    return Certificate(
        solver=spectrum.solver,
        passes=passes,
        objective=objective,
        objective_name=name,
        converged=True,
        reason="closed form",
        residual=spectrum.residual,
        orthogonality=orthogonality(spectrum.vectors),
        condition=spectrum.condition,
        digits=min(spectrum.digits, 15.0),
        boundary=boundary,
        notes=notes,
    )


def closed_noise(spectrum: Spectrum, s2: float) -> tuple[float, float]:
    """A noise variance and its bound: what is left over, or the stated floor where that is only rounding."""
    if s2 > spectrum.floor:
        return s2, spectrum.floor
    floor = noise_floor(spectrum.total, len(spectrum.mean))
    return floor, floor
