"""A fit that a few wrong cells or far rows cannot turn, where it predicts better than the plain one.

Three candidates: plain probabilistic PCA; the same with Student's rows; and that one of a screened table, from which
rows far from the bulk are left out and cells that the rest of their row contradicts are taken as gaps. They are judged
by prediction: fitted to four fifths of the rows, each predicts every seen cell of the others from the rest of its row,

    e_ij = x_ij - E[x_ij | the other cells of row i],

in closed form. The screened fit screens the rows that it predicts, too: that is how it will be used. The plain fit is
kept unless another is better by one standard error: in skew tables the far rows are the signal, and a robust fit that
does not predict better throws it away.

Reference: W. A. Stahel (1981) and D. L. Donoho (1982) for the screening of rows; P. J. Rousseeuw and W. Van den Bossche
(2018), Detecting deviating data cells, Technometrics 60, 135-145, for that of cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.cells import given_others
from lowdim.judge.framed_gaussian import FramedGaussian, framed_gaussian
from lowdim.judge.partition import (
    ALL_BULK,
    FAR_SHARE,
    PART_SHARE,
    Partition,
    far_partition,
    is_group,
)
from lowdim.judge.row_order import row_order
from lowdim.judge.rows.outlyingness import (
    MAD_TO_SD,
    far_rows,
    masked_rows,
    outlyingness,
    robust_units,
    similar_groups,
)
from lowdim.judge.rows.reference_law import tempered_levels
from lowdim.maths.linalg import Array, Mask, evenly_spread, moderate_scale
from lowdim.maths.seeds import ROBUST_FIT
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.linear.robust_ppca import RobustPPCA
from lowdim.sources.arrays import ArraySource, as_source
from lowdim.sources.views import Frame, gather
from lowdim.text.format import count
from lowdim.text.messages import error, no_warnings

CUT = 3.5  # deviations, of the bulk of the table, beyond which a cell or a row is held out of the fit
HELD_SHARE = 0.3  # of a row's seen cells that may be held out, the worst first; a row with more wrong cells is far
COLUMN_SHARE = 0.2  # of a column's cells: where more contradict their rows, the column is like that
MOST_LOST = 0.5  # of a column's cells, to rows and cells held out together
ROUNDS = 3  # of fit and screening; a fourth changed nothing in 200 x 10 (benchmarks/robust.md)
WIDE_CELL = 6.0  # robust units beyond which a cell is left out of the first fit
FOLDS = 5
JUDGED_CELLS = 60_000  # the candidates are compared on so many cells at most,
JUDGED_ROWS, JUDGED_COLUMNS = 200, 300  # but on so many rows and columns
LEAST_ROWS, LEAST_COLUMNS = 20, 3  # of a table in which a robust fit is tried
LEAST_CELLS = 20  # of a column by which candidates are judged
ERROR_CAP = 4.0  # robust units: a larger error counts as this, since a wrong cell is predicted by nobody
LEAST_GAIN = 0.03  # of the error, that a robust fit must win: 1 % of wrong cells cost 8 % and more
SCREEN_TOL = 1e-3  # nats a row, of the fits by which the table is screened and the candidates compared


class RobustFit(NamedTuple):
    """The fit that predicts best, and what it leaves out."""

    model: LinearGaussian  # ProbabilisticPCA where plain, else RobustPPCA
    choice: str  # "plain", "student" or "screened"
    held_cells: Mask  # n x d, seen cells that the rest of their row contradicts
    far_rows: Mask  # n
    weights: Array  # n, how much each row counts: 1 in a plain fit, 0 where it is left out
    far_groups: tuple[tuple[int, ...], ...]  # positions of far rows that lie together, the largest group first
    errors: dict[str, float]  # mean absolute error of each candidate on cells of rows it was not fitted to
    why: str

    def cleaned(self, X: Any) -> Array:
        """The table with the cells that are held out as gaps.

        `ProbabilisticPCA(q).fit(fit.cleaned(X), sample_weight=fit.weights)` is a plain model with the robust axes.
        """
        x, mask = gather(as_source(X))
        hidden = self.held_cells if mask is None else self.held_cells | ~mask
        return np.where(hidden, np.nan, x)

    @property
    def partition(self) -> Partition:
        """What is held out, as an analysis keeps it."""
        if self.choice == "plain":
            return ALL_BULK
        together = [np.array(group, dtype=np.intp) for group in self.far_groups]
        return far_partition(self.choice, self.held_cells, self.far_rows, together, self.weights)

    @property
    def sentence(self) -> str:
        """'9 cells and 4 rows are held out of the fit; 20 more far rows lie together.'"""
        if self.choice == "plain":
            return "Nothing is held out of the fit."
        held = [count(int(self.held_cells.sum()), "cell")] * bool(self.held_cells.any())
        held += [count(int(self.far_rows.sum()), "row")] * bool(self.far_rows.any())
        if not held:
            return "Nothing is held out of the fit; far rows count less in it."
        one = len(held) == 1 and held[0].startswith("1 ")
        text = f"{' and '.join(held)} {'is' if one else 'are'} held out of the fit"
        if self.far_groups:
            together, far = len(self.far_groups[0]), int(self.far_rows.sum())
            text += f"; {'all' if together == far else together} of these rows lie together"
        return text + "."


class Choice(NamedTuple):
    """The candidate that predicts best, and why."""

    name: str  # "plain", "student" or "screened"
    screen: Screen | None  # of the last
    errors: dict[str, float]  # mean absolute error of each candidate
    why: str


class Screen(NamedTuple):
    """What is left out of a table, and the measure by which it was."""

    keep: Mask  # n x d, seen and not contradicted
    far: Mask  # n
    scale: Array  # d, spread of each column's surprises in the bulk; infinite where no cell may be held out


def without_wrong(X: ArraySource, partition: Partition, *, rows: bool) -> ArraySource:
    """A table with its wrong cells as gaps; with `rows` the rows outside the bulk too, whole."""
    if partition.choice == "plain":
        return X
    x, mask = gather(X)
    gone = partition.cell_mask(*x.shape)
    if rows:
        gone |= partition.outside_mask(len(x))[:, None]
    return ArraySource(x, ~gone if mask is None else mask & ~gone, columns=X.columns)


def fit_bulk(
    X: ArraySource,
    q: int,
    partition: Partition,
    *,
    standardize: bool,
    sample_weight: Array | None,
    rotation: str | None = None,
) -> ProbabilisticPCA:
    """Probabilistic PCA of the bulk without its wrong cells: a plain model with the robust axes."""
    weight = sample_weight
    if partition.weights.size:
        weight = partition.weights if weight is None else weight * partition.weights
    model = ProbabilisticPCA(q, standardize=standardize, rotation=rotation)
    return model.fit(without_wrong(X, partition, rows=False), sample_weight=weight)


def robust_fit(
    X: Any,
    n_components: int,
    *,
    standardize: bool = True,
    sample_weight: Any = None,
    random_state: int = 0,
) -> RobustFit:
    """Probabilistic PCA of a table in which some cells or rows may be wrong, robust where that predicts better.

    Parameters
    ----------
    X : table, n x d, gaps welcome
    n_components : int
        Latent dimensions q.
    standardize : bool, default True
        Work in units of each column's spread.
    sample_weight : array of shape (n,), optional
    random_state : int, default 0
        Of the folds and of the directions along which far rows are looked for.

    Returns
    -------
    RobustFit
        The chosen `model`, the cells and rows held out of it, and why.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 1)) * [1.0, 1.0, 1.0, 1.0] + 0.1 * rng.standard_normal((100, 4))
    >>> X[:20] = [5.0, -5.0, 4.0, 0.0] + 0.1 * rng.standard_normal((20, 4))
    >>> fit = robust_fit(X, 1)
    >>> fit.choice, int(fit.far_rows.sum()), [len(group) for group in fit.far_groups]
    ('screened', 20, [20])
    """
    source = as_source(X, weight=sample_weight)
    if source.n < 2:
        raise error("LD160", n=source.n, least=2)
    table = _RobustTable.of(source, n_components, standardize, random_state)
    return table.result(table.choice(), source)


def partition_of(
    X: Any, n_components: int, *, standardize: bool = True, sample_weight: Any = None, random_state: int = 0
) -> Partition:
    """The partition of `robust_fit`; where all rows are the bulk, no model is fitted to them for it."""
    source = as_source(X, weight=sample_weight)
    table = _RobustTable.of(source, n_components, standardize, random_state)
    found = table.choice()
    return ALL_BULK if found.name == "plain" else table.result(found, source).partition


def _better(one: Array, other: Array) -> bool:
    """Whether errors are smaller than others of the same rows, by a standard error and by enough to matter."""
    gain = other - one
    return bool(gain.mean() > max(gain.std(ddof=1) / np.sqrt(len(gain)), LEAST_GAIN * other.mean()))


def _chosen(loss: dict[str, Array], grouped: bool) -> str:
    """The plain fit unless another is better; the screened one, which says what it leaves out, unless Student's is and
    no group is among that."""
    better = [name for name in ("screened", "student") if _better(loss[name], loss["plain"])]
    if len(better) == 2 and not grouped and _better(loss["student"], loss["screened"]):
        return "student"
    return better[0] if better else "plain"


def _reason(choice: str, errors: dict[str, float]) -> str:
    if choice == "plain":
        return "no robust fit predicts cells of other rows better by a standard error"
    less = 100 * (1 - errors[choice] / errors["plain"])
    how = "far rows and contradicted cells left out" if choice == "screened" else "far rows counting less"
    return f"with {how}, cells of other rows are predicted with {less:.0f}% less error"


class _RobustTable(NamedTuple):
    """A table in robust units, its rows in an order that their cells set, and how it is to be fitted."""

    order: NDArray[np.intp]  # where each row stands in the table as it came
    x: Array  # n x d, the table's units
    seen: Mask
    z: Array  # robust units, 0 at gaps; levels no farther out than their shares say
    centre: Array
    spread: Array
    levels: Mask  # d, columns of levels or with a long tail of their own: no cell is a wrong one
    weight: Array | None
    q: int
    standardize: bool
    seed: int

    @classmethod
    def of(cls, source: Any, q: int, standardize: bool, seed: int) -> _RobustTable:
        x, mask = gather(source)
        order = row_order(x, mask, seed, source.weight)
        x, seen = x[order], np.ones(x.shape, dtype=bool) if mask is None else mask[order]
        weight = None if source.weight is None else source.weight[order]
        centre, spread = robust_units(x, seen)
        tempered, levels = tempered_levels(x, seen)
        scale = moderate_scale(np.abs(np.where(seen, x, 0.0)).max(axis=0, initial=0.0))
        z = np.where(seen, (tempered * scale - centre * scale) / (spread * scale), 0.0)
        return cls(order, x, seen, z, centre, spread, levels, weight, q, standardize, seed)

    def some(self) -> _RobustTable:
        """Rows and columns for judging, as many as that takes: the first rows, and columns that enough of them show."""
        n, d = self.x.shape
        rows = np.arange(min(n, max(JUDGED_ROWS, JUDGED_CELLS // d)))
        weight = None if self.weight is None else self.weight[rows]
        columns = self.seen[rows].sum(axis=0) >= LEAST_CELLS  # others may be gone without a fold
        shown = np.flatnonzero(columns)
        columns[np.delete(shown, evenly_spread(len(shown), max(JUDGED_COLUMNS, JUDGED_CELLS // len(rows))))] = False
        x, seen, z = (part[np.ix_(rows, columns)] for part in (self.x, self.seen, self.z))
        parts = {name: getattr(self, name)[columns] for name in ("centre", "spread", "levels")}
        return self._replace(order=self.order[rows], x=x, seen=seen, z=z, weight=weight, **parts)

    # fits ------------------------------------------------------------------------------------------
    def model(self, choice: str, rows: Any, tol: float | None = None) -> LinearGaussian:
        """A candidate fitted to a source of rows in the table's units."""
        kind: type[LinearGaussian] = ProbabilisticPCA if choice == "plain" else RobustPPCA
        how: dict[str, Any] = {} if tol is None else {"tol": tol}
        return kind(self.q, standardize=self.standardize, **how).fit(rows)

    def rows(self, which: NDArray[np.intp], keep: Mask | None = None) -> Any:
        """Some rows as a source, gaps where they are not kept."""
        shown = self.seen[which] if keep is None else keep
        there = shown.any(axis=1)
        x = np.where(shown, self.x[which], np.nan)[there]
        return as_source(x, weight=None if self.weight is None else self.weight[which][there])

    def cells(self, model: LinearGaussian) -> FramedGaussian:
        """A fitted model in robust units."""
        g = framed_gaussian(model)
        frame = Frame(self.centre, 1.0 / self.spread, np.ones_like(self.spread))
        scale, mu = g.frame.scale * self.spread, (g.frame.outward(g.mu) - self.centre) / self.spread
        return g._replace(W=g.W / scale[:, None], mu=mu, psi=g.psi / scale**2, frame=frame)

    # screening ---------------------------------------------------------------------------------------
    def screened(self) -> Screen:
        """Far rows by their outlyingness, then by their distance from a Student's fit; cells by their surprise."""
        z, seen, measured = self.z, self.seen, ~self.levels
        rng = np.random.default_rng([self.seed, ROBUST_FIT, 1])
        far = far_at_first(z[:, measured], seen[:, measured], rng)
        part = parts(far, z, seen)
        trusted = self.levels  # columns none of whose cells is held out
        fine = seen & ((np.abs(z) <= WIDE_CELL) | trusted)
        screen = spared(Screen(at_most(fine, seen), far & ~part, np.ones(z.shape[1])), seen)
        for _ in range(ROUNDS):
            inner = np.flatnonzero(~screen.far)
            model = self.cells(self.model("student", self.rows(inner, screen.keep[inner]), SCREEN_TOL))
            scale = surprise_scale(z[inner], seen[inner], screen.keep[inner], model)
            keep = held(z, seen, model, np.where(trusted, np.inf, scale))
            common = (seen & ~keep).sum(axis=0) > COLUMN_SHARE * seen.sum(axis=0)
            if common.any():
                trusted = trusted | common
                keep = held(z, seen, model, np.where(trusted, np.inf, scale))
            far = few(far_by_distance(z, keep & measured, screen.far, model), screen.far)
            part = part | parts(far, z, seen)
            last = screen
            screen = spared(Screen(keep, far & ~part, np.where(trusted, np.inf, scale)), seen)
            settled = np.array_equal(screen.keep, last.keep) and np.array_equal(screen.far, last.far)
            if settled and not common.any():
                break  # another round would fit the same model to the same cells
        return screen

    # choosing ----------------------------------------------------------------------------------------
    def losses_of_all(self, screen: Screen) -> dict[str, Array]:
        """Each candidate's error in every row that is not far, by fits to the other folds."""
        fold = np.arange(len(self.x)) % FOLDS
        loss = {name: np.full(len(self.x), np.nan) for name in ("plain", "student", "screened")}
        for k in range(FOLDS):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            for name, values in self.losses(train, test, screen).items():
                loss[name][test] = values
        judged = (self.seen & ~self.levels).any(axis=1) & ~screen.far
        return {name: values[judged] for name, values in loss.items()}

    def losses(self, train: NDArray[np.intp], test: NDArray[np.intp], screen: Screen) -> dict[str, Array]:
        """Each candidate's mean capped error in every test row; what is left out of the others is as in all rows."""
        z, seen = self.z[test], self.seen[test]
        asked = seen & ~self.levels  # least absolute errors of levels are those of the commonest
        inner = train[~screen.far[train]]
        whole = self.rows(train)
        fits = {name: self.model(name, whole, SCREEN_TOL) for name in ("plain", "student")}
        if len(inner) == len(train) and np.array_equal(screen.keep[inner], self.seen[inner]):
            fits["screened"] = fits["student"]  # nothing is left out of these rows
        else:
            fits["screened"] = self.model("screened", self.rows(inner, screen.keep[inner]), SCREEN_TOL)
        out = {}
        for name, fit in fits.items():
            model = self.cells(fit)
            keep = held(z, seen, model, screen.scale) if name == "screened" else seen
            error = np.minimum(np.abs(given_others(model, z, seen, keep).shift), ERROR_CAP)
            out[name] = (error * asked).sum(axis=1) / np.maximum(asked.sum(axis=1), 1)
        return out

    def choice(self) -> Choice:
        """The candidate that predicts best."""
        n, judged = len(self.x), self.some()
        measured = int((~judged.levels).sum())
        if self.q < 1 or n < LEAST_ROWS or measured < LEAST_COLUMNS or len(judged.levels) <= self.q:
            return Choice("plain", None, {}, "too few rows or columns of measurements to tell wrong cells")
        with no_warnings():  # of trials: what the table's own fit has to say is said once, at the end
            screen = judged.screened()
            loss = judged.losses_of_all(screen)
            together = similar_groups(judged.z, judged.seen, np.flatnonzero(screen.far))
            name = _chosen(loss, bool(together) and is_group(len(together[0]), len(judged.x)))
            if name == "screened" and judged.x.shape != self.x.shape:
                screen = self.screened()
        errors = {name: float(values.mean()) for name, values in loss.items()}
        return Choice(name, screen if name == "screened" else None, errors, _reason(name, errors))

    def result(self, found: Choice, source: Any) -> RobustFit:
        """The chosen fit to all rows, which stand as they came again."""
        as_came = np.argsort(self.order)
        n, x, seen = len(self.x), self.x[as_came], self.seen[as_came]
        held_cells, far = np.zeros_like(seen), np.zeros(n, dtype=bool)
        if found.name == "plain":
            model = self.model("plain", source)
            return RobustFit(model, "plain", held_cells, far, np.ones(n), (), found.errors, found.why)
        if found.screen is not None:
            far = found.screen.far[as_came]
            held_cells = seen & ~found.screen.keep[as_came] & ~far[:, None]
        shown = np.where(held_cells | ~seen, np.nan, x)
        weight = (np.ones(n) if source.weight is None else source.weight) * ~far
        names = source.columns if source.named else None
        model = self.model(found.name, ArraySource(shown, columns=names, weight=weight))
        weights = np.where(far, 0.0, model.row_weights(shown))
        groups = similar_groups(self.z[as_came], seen, np.flatnonzero(far))
        together = tuple(tuple(int(k) for k in group) for group in groups)
        return RobustFit(model, found.name, held_cells, far, weights, together, found.errors, found.why)


# cells beside the rest of their row, in robust units ------------------------------------------------------
def surprise_scale(z: Array, seen: Mask, keep: Mask, g: FramedGaussian) -> Array:
    """The spread of each column's surprises, by their median: 1 where the model is right about the column's noise."""
    size = np.abs(given_others(g, z, seen, keep).surprise)
    middle = [float(np.median(s[m])) if m.any() else 1.0 for s, m in zip(size.T, seen.T, strict=True)]
    return np.maximum(MAD_TO_SD * np.array(middle), 1e-9)


def held(z: Array, seen: Mask, g: FramedGaussian, scale: Array) -> Mask:
    """The cells that are kept: the most surprising of a row is held out, and so on, until none is beyond the cut.

    At most a share of a row is held out; what no longer surprises the kept cells at the end is taken back.
    """
    keep, most = seen.copy(), np.floor(HELD_SHARE * seen.sum(axis=1))
    rows = np.arange(len(z))
    while len(rows):
        cells = given_others(g, z[rows], seen[rows], keep[rows])
        size = np.where(keep[rows], np.abs(cells.shift) / (cells.sd * scale), 0.0)
        live = (size.max(axis=1, initial=0.0) > CUT) & ((seen[rows] & ~keep[rows]).sum(axis=1) < most[rows])
        rows = rows[live]
        keep[rows, size[live].argmax(axis=1)] = False
    rows = np.flatnonzero((seen & ~keep).any(axis=1))
    if len(rows):
        cells = given_others(g, z[rows], seen[rows], keep[rows])
        keep[rows] |= seen[rows] & (np.abs(cells.shift) / (cells.sd * scale) < CUT)
    return keep


def far_by_distance(z: Array, keep: Mask, far: Mask, g: FramedGaussian) -> Mask:
    """Rows whose distance is out of line with that of the rows that were not far (cube root of D2, median, MAD)."""
    D2 = given_others(g, z, keep, keep).D2
    y = np.cbrt(D2 / np.maximum(keep.sum(axis=1), 1))
    inner = y[~far & keep.any(axis=1)]
    if not len(inner):
        return np.zeros(len(z), dtype=bool)
    middle = np.median(inner)
    return np.asarray(y - middle > CUT * MAD_TO_SD * np.median(np.abs(inner - middle)))


def spared(screen: Screen, seen: Mask) -> Screen:
    """A screen that leaves every column at least half of its cells: rows that alone show a column are not far."""
    kept = screen.keep & ~screen.far[:, None]
    bare = kept.sum(axis=0) < (1.0 - MOST_LOST) * seen.sum(axis=0)
    if not bare.any():
        return screen
    far = screen.far & ~seen[:, bare].any(axis=1)
    return screen._replace(keep=screen.keep | (seen & bare), far=far)


def far_at_first(z: Array, seen: Mask, rng: np.random.Generator) -> Mask:
    """Rows far along some direction, and a group that hides itself in all of them."""
    outlying = outlyingness(z, seen, rng)
    far = few(far_rows(outlying))
    both = few(far | masked_rows(z, seen, outlying, rng))
    return both if both.any() else far


def few(far: Mask, before: Mask | None = None) -> Mask:
    """Far rows; where they are too many to be called so, those that were far before, or none."""
    if far.mean() <= FAR_SHARE:
        return far
    return np.zeros_like(far) if before is None else before


def parts(far: Mask, z: Array, seen: Mask) -> Mask:
    """So many far rows together that they are a part of the table, like one of three groups."""
    part, most = np.zeros_like(far), PART_SHARE * len(far)
    if far.sum() > most:
        for group in similar_groups(z, seen, np.flatnonzero(far)):
            part[group] = len(group) > most
    return part


def at_most(keep: Mask, seen: Mask) -> Mask:
    """Cells kept, where no more than the share of a row that may be held out is not; else all seen ones."""
    fine = (seen & ~keep).sum(axis=1) <= HELD_SHARE * seen.sum(axis=1)
    return np.where(fine[:, None], keep, seen)
