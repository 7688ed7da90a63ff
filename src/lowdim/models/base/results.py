"""What models return: where rows lie, what their cells are, and how far the numbers of a fit can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fit import Fit
from lowdim.maths.linalg import LARGEST, Array, lower, unpack
from lowdim.maths.linalg import orthogonality as measured_orthogonality
from lowdim.sources.views import Frame
from lowdim.text.messages import warn
from lowdim.text.notebook import block, table


class RowPosterior(Protocol):
    """Where rows lie, of whatever form; a model may keep more for its own use."""

    @property
    def mean(self) -> Array: ...
    @property
    def log_density(self) -> Array: ...
    @property
    def packed(self) -> Array: ...
    def _replace(self, *, log_density: Array) -> Self: ...


class Posterior(NamedTuple):
    """p(z | seen cells) of each row: Gaussian mean, covariance and the row's log density."""

    mean: Array  # n x q
    packed: Array  # covariances as packed lower triangles, n x q(q+1)/2
    log_density: Array  # n

    @property
    def cov(self) -> Array:
        """The covariances as n matrices of order q."""
        return unpack(self.packed.T, self.mean.shape[1])

    @property
    def std(self) -> Array:
        """Standard deviation of each coordinate, n x q."""
        i, j = lower(self.mean.shape[1])
        return np.sqrt(np.maximum(self.packed[:, i == j], 0.0))


def turned(rows: RowPosterior, T: Array) -> Posterior:
    """The posterior of z T, as Gaussian moments."""
    i, j = lower(T.shape[1])
    cov = unpack(rows.packed.T, len(T))
    return Posterior(product(rows.mean, T), product(product(T.T, cov), T)[:, i, j], rows.log_density)


def standard(n: int, q: int) -> Posterior:
    """N(0, I) of each of n rows."""
    i, j = lower(q)
    return Posterior(np.zeros((n, q)), np.tile(np.where(i == j, 1.0, 0.0), (n, 1)), np.zeros(n))


def draw_labels(share: Array, rng: Sequence[np.random.Generator]) -> NDArray[np.intp]:
    """One of K for each row, drawn by its shares (n x K) with the row's own generator."""
    edges = np.cumsum(share, axis=1)
    at = np.array([r.random() for r in rng])[:, None] * edges[:, -1:]
    return np.asarray((at >= edges[:, :-1]).sum(axis=1), dtype=np.intp)


class Cells(NamedTuple):
    """The cells a latent position decodes to: mean, variance of the noiseless cell, noise variance."""

    mean: Array
    var: Array
    noise: Array


def in_table_units(frame: Frame, cells: Cells) -> Cells:
    """Cells that are stated in the frame's units, in the table's."""
    scale = frame.lengths(np.ones_like(frame.scale))
    return Cells(frame.outward(cells.mean), squared(cells.var, scale), squared(cells.noise, scale))


class Certificate(NamedTuple):
    """How a fit was done and how far its numbers can be trusted.

    `residual` and `orthogonality` are LAPACK-style ratios for eigenproblems (good: below 35); for EM the residual is
    what the objective could still gain, in nats. `condition` is the largest by the smallest singular value kept.
    """

    solver: str
    passes: int
    objective: float | None
    objective_name: str
    converged: bool
    reason: str
    residual: float = 0.0
    orthogonality: float = 0.0
    condition: float = 1.0
    digits: float = 15.0  # what that leaves of double precision
    boundary: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, str]]:
        """The certificate as (name, text) pairs."""
        passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
        rows = [
            ("solver", f"{self.solver}, {passes} over the table"),
            ("converged", ("yes" if self.converged else "NO") + f" ({self.reason})" * (self.reason != "converged")),
        ]
        if self.objective is not None:
            rows.append((self.objective_name, f"{self.objective:.6f}"))
        accuracy = f"about {self.digits:.0f} digits, condition {self.condition:.2g}"
        if self.reason == "closed form" and self.residual + self.orthogonality > 0.0:
            ratios = f"residual {self.residual:.2g}, orthogonality {self.orthogonality:.2g}"
            accuracy += f"; {ratios}, in units of rounding errors (good: below 35)"
        rows.append(("accuracy", accuracy))
        if self.boundary:
            rows.append(("on a bound", ", ".join(self.boundary)))
        return rows + [("note", note) for note in self.notes]

    def text(self) -> str:
        """The certificate in plain lines."""
        return "\n".join(f"  {name:<14} {value}" for name, value in self.rows())

    def html(self) -> str:
        """The certificate as a small table."""
        return block(table((), self.rows()))


def certify(
    fit: Fit[Any, Any],
    objective_name: str,
    *,
    digits: float = 15.0,
    rows: float | None = None,
    axes: Array | None = None,
    residual: float | None = None,
    orthogonality: float = 0.0,
    condition: float = 1.0,
    boundary: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Certificate:
    """The certificate of a climb; its residual is what the objective may still gain, unless another is given.

    Of an EM fit to so many `rows`, the true digits follow from that gain and from the condition. `axes`, which should
    be orthogonal columns, tell the condition and how orthogonal they are.
    """
    if axes is not None:
        sizes = np.linalg.norm(axes, axis=0)
        kept = sizes[sizes > 0]
        condition = float(kept.max() / kept.min()) if len(kept) else 1.0
        orthogonality = measured_orthogonality(axes / np.where(sizes > 0, sizes, 1.0))
    if rows is not None:
        # A gap of g nats leaves parameters sqrt(2 g) of their standard errors away from the optimum, and these are a
        # share 1 / sqrt(rows) of their size.
        off = -0.5 * np.log10(2.0 * max(fit.remaining, 1e-30) / max(rows, 1.0))
        digits = min(digits, 15.0 - np.log10(condition), off)
    return Certificate(
        solver=fit.solver,
        passes=fit.passes,
        objective=fit.objective,
        objective_name=objective_name,
        converged=fit.converged,
        reason=fit.reason,
        residual=fit.remaining if residual is None else residual,
        orthogonality=orthogonality,
        condition=condition,
        digits=float(np.clip(digits, 0.0, 15.0)),  # what double precision has
        boundary=boundary,
        notes=notes,
    )


def inflation_note(inflation: float) -> str:
    """A certificate's note on the inflation of intervals."""
    if inflation == 1.0:
        return "intervals are not calibrated on held-out cells"
    return f"intervals are {inflation:.2f} times as wide as the model believes, by cells held back"


class Fitted(NamedTuple):
    """What a fit finds, whatever the model: all that is assigned to it."""

    params: Any
    frame: Frame
    certificate: Certificate
    attributes: dict[str, Any]  # further fitted attributes, by their public names
    history: tuple[float, ...] | None = None  # of the objective, a value a pass; None where nothing was climbed

    def of_moments(self, log_stretch: float, passes: int) -> Fitted:
        """The same in other units, where only moments were climbed and the table was read so many times."""
        assert self.certificate.objective is not None
        objective = self.certificate.objective + log_stretch
        certificate = self.certificate._replace(objective=objective, passes=passes)
        return self._replace(certificate=certificate, history=(objective,))

    def restated(self, seen: Array, passes: int) -> Fitted:
        """The same in the table's units, given the seen cells of each column, after so many more passes."""
        assert self.history is not None and self.certificate.objective is not None
        log_stretch = float(seen @ np.log(self.frame.scale))  # what the log density of all seen cells gains
        certificate = self.certificate._replace(
            objective=self.certificate.objective + log_stretch, passes=self.certificate.passes + passes
        )
        return self._replace(certificate=certificate, history=tuple(value + log_stretch for value in self.history))


# what double precision can hold: numbers beyond it are clipped, with a warning ------------------------------
def in_range(values: Array, what: str, size: float) -> Array:
    """The values, those beyond the largest double set to it, with a warning that names them."""
    if np.isfinite(values).all():
        return values
    warn("LD152", what=what, limit=f"{LARGEST:.2e}", size=f"{size:.0e}")
    return np.clip(values, -LARGEST, LARGEST)


def squared(variance: Array, factor: Array | float) -> Array:
    """variance * factor^2, never with factor^2 alone: it overflows long before the product does."""
    with np.errstate(over="ignore"):
        out = np.asarray(variance * factor * factor)
    return out if np.isfinite(out).all() else in_range(out, "Variances", float(np.max(factor)))


def product(A: Array, B: Array) -> Array:
    """A @ B; where that leaves double precision, its largest number."""
    with np.errstate(over="ignore", invalid="ignore"):
        out = A @ B
        is_finite = np.isfinite(out.sum())  # one cheap look, as for blocks
    return out if is_finite else np.clip(out, -LARGEST, LARGEST)
