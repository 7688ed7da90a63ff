"""The one partition of a table's rows: the bulk, groups apart from it, single far rows, and wrong cells.

Every rule by which some rows or cells are unlike the rest stands here, with its limit, and all that follows goes by
what is found, so that a far group is told once:

* the model and the law of ordinary rows (`bulk_law`) are those of the bulk, without the wrong cells;
* dimensions are counted in the bulk, where there are groups beside it;
* a group is no odd row: it is told as a group, with those that the map shows (`judge/maps/groups.py`);
* single far rows and wrong cells are left out of the fit, and told beside the odd rows.

It is found by three candidate fits: plain probabilistic PCA; the same with Student's rows; and that one of a screened
table, from which rows far from the bulk are left out and cells that the rest of their row contradicts are taken as
gaps. They are judged by prediction: fitted to four fifths of the rows, each predicts every seen cell of the others from
the rest of its row,

    e_ij = x_ij - E[x_ij | the other cells of row i],

in closed form. The screened fit screens the rows that it predicts, too: that is how it will be used. The plain fit is
kept unless another is better by one standard error: in skew tables the far rows are the signal, and a robust fit that
does not predict better throws it away. Of the cells that a screened fit leaves out those are called wrong, and stay
out, which the law of their column hardly has: the others are its tail.

Reference: W. A. Stahel (1981) and D. L. Donoho (1982) for the screening of rows; P. J. Rousseeuw and W. Van den Bossche
(2018), Detecting deviating data cells, Technometrics 60, 135-145, for that of cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.cells import HELD_SHARE, FramedGaussian, framed_gaussian, given_others, kept_by
from lowdim.judge.hidden_cells import left_out
from lowdim.judge.outliers.law import (
    CUT,
    LEAST_ROWS_OF_LAW,
    MANY_ROWS,
    CellJudge,
    RowLaw,
    as_counted,
    bounded_by_cells,
    cell_laws,
    centre_cut,
    false_discovery,
    judged_cells,
    level_counts,
    row_law,
)
from lowdim.judge.outliers.outlyingness import (
    MAD_TO_SD,
    far_rows,
    masked_rows,
    outlyingness,
    robust_units,
    similar_groups,
)
from lowdim.judge.row_order import row_order
from lowdim.maths.linalg import Array, Mask, evenly_spread, moderate_scale
from lowdim.maths.seeds import ROBUST_FIT
from lowdim.sources.arrays import ArraySource, as_source
from lowdim.sources.source import Block
from lowdim.sources.views import Frame, gather
from lowdim.text.format import count
from lowdim.text.messages import error, no_warnings

if TYPE_CHECKING:  # a stored run's partition is read, and its odd rows are listed, without loading a model
    from lowdim.models.linear.linear_gaussian import LinearGaussian
    from lowdim.models.linear.ppca import ProbabilisticPCA

# Which share of the rows is what, for all that judges rows:
FEW_SHARE = 0.015  # single rows: a law of the others, set by its quantiles, does not mind them
GROUP_SHARE, GROUP_ROWS = 0.05, 5  # far rows that lie together are a group, no outliers; fewer are told one by one
COUNTED_SHARE = 0.15  # far rows, before a model tells which, are set aside while dimensions are counted: more of them
# may be what the dimensions are about
AXIS_SHARE = 0.22  # rows make an axis of the map, a fifth and what chance adds: more are what the map is of
PART_SHARE = 0.25  # far rows that lie together are apart from the bulk: more are a part of it as the others are
FAR_SHARE = 0.35  # scattered rows are far: of more, no half of the rows is left that could say what is ordinary

# The screening, and the choice of the fit:
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
TAIL_WHY = "cells that contradict their rows are the tails of their columns"
CELL_RATE = 0.05  # of the cells that are called wrong, those that are not
SCREEN_TOL = 1e-3  # nats a row, of the fits by which the table is screened and the candidates compared

# Whether what was left out is wrong, or the tail of the rest:
TAIL_ROWS = 100  # rows from which cells held out of a fit can be told from the tail of the others
CENTRAL_ROWS = 0.25  # beyond the quantile of a centre: a fifth of the rows may be wrong
BEYOND_FAR = 0.1  # of the rows, that are beyond the quantile of a centre beside those that are far
TAIL_SHARE = 0.28  # of the far rows, that the law of the centre must predict for a tail: 0.30 to 0.88 in t3 and
# lognormal tables (measured)
HELD_CELLS = 0.015  # of the cells that set a tail, up to which its quantile does not mind wrong ones
LEAST_POWER = 1.5  # of the fall of held cells beyond the cut: 1.9 to 2.7 where they are the tail of a table in which
# 2 % are held, 0.7 to 0.8 where a fiftieth to a tenth of the cells are wrong (measured)
DOUBTS = 1.65  # standard errors by which the fall must be slower


class Partition(NamedTuple):
    """Rows and cells that are no part of the bulk, by position; all other rows are."""

    choice: str  # of the fit: "plain", "student" (far rows count less) or "screened"
    wrong_cells: NDArray[np.intp]  # k x 2: row, column
    far_rows: NDArray[np.intp]  # far from the bulk, each by itself
    groups: tuple[NDArray[np.intp], ...]  # rows far from the bulk that lie together, the largest group first
    weights: Array  # how much each row counts in the fit; empty where all count alike

    @property
    def outside(self) -> NDArray[np.intp]:
        """All rows that are no part of the bulk."""
        return np.sort(np.concatenate([self.far_rows, *self.groups]))

    def cell_mask(self, n: int, d: int) -> Mask:
        """True at the wrong cells, n x d."""
        mask = np.zeros((n, d), dtype=bool)
        mask[self.wrong_cells[:, 0], self.wrong_cells[:, 1]] = True
        return mask

    def outside_mask(self, n: int) -> Mask:
        """True for the rows that are no part of the bulk."""
        mask = np.zeros(n, dtype=bool)
        mask[self.outside] = True
        return mask

    def group_mask(self, n: int) -> Mask:
        """True for the rows of groups apart from the bulk."""
        mask = np.zeros(n, dtype=bool)
        for rows in self.groups:
            mask[rows] = True
        return mask

    def counted(self, sample_weight: Array | None) -> Array | None:
        """How much each row counts in the fit, beside weights of its own; None where all count alike."""
        if not self.weights.size:
            return sample_weight
        return self.weights if sample_weight is None else self.weights * sample_weight

    @property
    def sentence(self) -> str:
        """'9 cells and 4 rows are left out of the fit.' Groups are in the map's sentence."""
        if self.choice == "plain":
            return ""
        if self.choice == "student":
            return "Nothing is left out of the fit; far rows have less weight in it."
        held = [count(len(self.wrong_cells), "cell")] * bool(len(self.wrong_cells))
        held += [count(len(self.far_rows), "row")] * bool(len(self.far_rows))
        one = len(self.wrong_cells) + len(self.far_rows) == 1
        return f"{' and '.join(held)} {'is' if one else 'are'} left out of the fit." if held else ""


def is_group(size: int, n: int) -> bool:
    """Whether so many far rows together, of n, are a group."""
    return size >= max(GROUP_ROWS, GROUP_SHARE * n)


NO_ROWS = np.zeros(0, dtype=np.intp)
ALL_BULK = Partition("plain", np.zeros((0, 2), dtype=np.intp), NO_ROWS, (), np.zeros(0))


def far_partition(
    choice: str, wrong_cells: Mask, far: Mask, together: list[NDArray[np.intp]], weights: Array
) -> Partition:
    """Far rows parted into groups, which are large, and single ones; `together` are those that lie together."""
    groups = tuple(np.sort(rows) for rows in together if is_group(len(rows), len(far)))
    single = np.setdiff1d(np.flatnonzero(far), np.concatenate([NO_ROWS, *groups]))
    return Partition(choice, np.argwhere(wrong_cells & ~far[:, None]), single, groups, weights)


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
    from lowdim.models.linear.ppca import ProbabilisticPCA  # not loaded where a stored partition is read

    model = ProbabilisticPCA(q, standardize=standardize, rotation=rotation)
    return model.fit(without_wrong(X, partition, rows=False), sample_weight=partition.counted(sample_weight))


# finding it ---------------------------------------------------------------------------------------------------
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

    @property
    def partition(self) -> Partition:
        """What is held out, as an analysis keeps it."""
        if self.choice == "plain":
            return ALL_BULK
        together = [np.array(group, dtype=np.intp) for group in self.far_groups]
        return far_partition(self.choice, self.held_cells, self.far_rows, together, self.weights)

    @property
    def sentence(self) -> str:
        """'9 cells and 4 rows are left out of the fit; 20 more far rows lie together.'"""
        if self.choice == "plain":
            return "Nothing is left out of the fit."
        held = [count(int(self.held_cells.sum()), "cell")] * bool(self.held_cells.any())
        held += [count(int(self.far_rows.sum()), "row")] * bool(self.far_rows.any())
        if not held:
            return "Nothing is left out of the fit; far rows have less weight in it."
        one = len(held) == 1 and held[0].startswith("1 ")
        text = f"{' and '.join(held)} {'is' if one else 'are'} left out of the fit"
        if self.far_groups:
            together, far = len(self.far_groups[0]), int(self.far_rows.sum())
            text += f"; {'all' if together == far else together} of these rows lie together"
        return text + "."


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


class Screen(NamedTuple):
    """What is left out of a table, and the measure by which it was."""

    keep: Mask  # n x d, seen and not contradicted
    far: Mask  # n
    scale: Array  # d, spread of each column's surprises in the bulk; infinite where no cell may be held out


class Choice(NamedTuple):
    """The candidate that predicts best, and why."""

    name: str  # "plain", "student" or "screened"
    screen: Screen | None  # of the last
    errors: dict[str, float]  # mean absolute error of each candidate
    why: str


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
        counts = level_counts(x, seen)
        levels = np.array([places.size > 0 for places in counts], dtype=bool)
        scale = moderate_scale(np.abs(np.where(seen, x, 0.0)).max(axis=0, initial=0.0))
        z = np.where(seen, (as_counted(x, counts) * scale - centre * scale) / (spread * scale), 0.0)
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

    def unfitted(self, name: str) -> LinearGaussian:
        """A candidate."""
        from lowdim.models.linear.ppca import ProbabilisticPCA  # not loaded where a stored partition is read
        from lowdim.models.linear.robust_ppca import RobustPPCA

        kind = ProbabilisticPCA if name == "plain" else RobustPPCA
        return kind(self.q, standardize=self.standardize)

    def fitted(self, name: str, which: NDArray[np.intp], keep: Mask) -> FramedGaussian:
        """A candidate fitted to the kept cells of some rows, loosely, in robust units."""
        there = keep.any(axis=1)
        x = np.where(keep, self.x[which], np.nan)[there]
        rows = as_source(x, weight=None if self.weight is None else self.weight[which][there])
        g = framed_gaussian(self.unfitted(name).set_params(tol=SCREEN_TOL).fit(rows))
        frame = Frame(self.centre, 1.0 / self.spread, np.ones_like(self.spread))
        scale, mu = g.frame.scale * self.spread, (g.frame.outward(g.mu) - self.centre) / self.spread
        return g._replace(W=g.W / scale[:, None], mu=mu, psi=g.psi / scale**2, frame=frame)

    def screened(self) -> Screen:
        """Far rows by their outlyingness, then by their distance from a Student's fit; cells by their surprise."""
        z, seen, measured = self.z, self.seen, ~self.levels
        # rows far along some direction, and a group that hides itself in all of them
        rng = np.random.default_rng([self.seed, ROBUST_FIT, 1])
        outlying = outlyingness(z[:, measured], seen[:, measured], rng)
        far = _few(far_rows(outlying))
        both = _few(far | masked_rows(z[:, measured], seen[:, measured], outlying, rng))
        far = both if both.any() else far
        part = _parts(far, z, seen)
        # cells far out by themselves, but in rows that have many
        trusted = self.levels  # columns none of whose cells is held out
        keep = seen & ((np.abs(z) <= WIDE_CELL) | trusted)
        few_wrong = (seen & ~keep).sum(axis=1) <= HELD_SHARE * seen.sum(axis=1)
        screen = _spared(Screen(np.where(few_wrong[:, None], keep, seen), far & ~part, np.ones(z.shape[1])), seen)
        for _ in range(ROUNDS):
            inner = np.flatnonzero(~screen.far)
            g = self.fitted("student", inner, screen.keep[inner])
            # cells by their surprise, in units of the column's middle one: 1 where the model is right about its noise
            size = np.abs(given_others(g, z[inner], seen[inner], screen.keep[inner]).surprise)
            middle = [float(np.median(s[m])) if m.any() else 1.0 for s, m in zip(size.T, seen[inner].T, strict=True)]
            scale = np.maximum(MAD_TO_SD * np.array(middle), 1e-9)
            keep = kept_by(g, z, seen, CUT * np.where(trusted, np.inf, scale))
            common = (seen & ~keep).sum(axis=0) > COLUMN_SHARE * seen.sum(axis=0)
            if common.any():
                trusted = trusted | common
                keep = kept_by(g, z, seen, CUT * np.where(trusted, np.inf, scale))
            # rows by the cube root of their distance, whose middle and spread are those of the rows that were not far
            shown = keep & measured
            far, many = np.zeros(len(z), dtype=bool), shown.sum(axis=1)
            y = np.cbrt(given_others(g, z, shown, shown).D2 / np.maximum(many, 1))
            if len(inside := y[~screen.far & (many > 0)]):
                far = y - np.median(inside) > CUT * MAD_TO_SD * np.median(np.abs(inside - np.median(inside)))
            far = _few(far, screen.far)
            part = part | _parts(far, z, seen)
            last = screen
            screen = _spared(Screen(keep, far & ~part, np.where(trusted, np.inf, scale)), seen)
            settled = np.array_equal(screen.keep, last.keep) and np.array_equal(screen.far, last.far)
            if settled and not common.any():
                break  # another round would fit the same model to the same cells
        return screen

    def losses(self, screen: Screen) -> dict[str, Array]:
        """Each candidate's mean capped error in every row that is not far, by fits to the other folds; what is left out
        of these is as in all rows."""
        loss = {name: np.full(len(self.x), np.nan) for name in ("plain", "student", "screened")}
        for out in left_out(len(self.x), FOLDS):
            train, test = np.flatnonzero(~out), np.flatnonzero(out)
            inner = train[~screen.far[train]]
            fits = {name: self.fitted(name, train, self.seen[train]) for name in ("plain", "student")}
            if len(inner) == len(train) and np.array_equal(screen.keep[inner], self.seen[inner]):
                fits["screened"] = fits["student"]  # nothing is left out of these rows
            else:
                fits["screened"] = self.fitted("screened", inner, screen.keep[inner])
            z, seen = self.z[test], self.seen[test]
            asked = seen & ~self.levels  # least absolute errors of levels are those of the commonest
            for name, g in fits.items():
                keep = kept_by(g, z, seen, CUT * screen.scale) if name == "screened" else seen
                off = np.minimum(np.abs(given_others(g, z, seen, keep).shift), ERROR_CAP)
                loss[name][test] = (off * asked).sum(axis=1) / np.maximum(asked.sum(axis=1), 1)
        judged = (self.seen & ~self.levels).any(axis=1) & ~screen.far
        return {name: values[judged] for name, values in loss.items()}

    def choice(self) -> Choice:
        """The candidate that predicts best: the plain fit unless another is better; of two the screened one, which says
        what it leaves out, unless Student's is better and no group is among that."""
        n, judged = len(self.x), self.some()
        measured = int((~judged.levels).sum())
        if self.q < 1 or n < LEAST_ROWS or measured < LEAST_COLUMNS or len(judged.levels) <= self.q:
            return Choice("plain", None, {}, "too few rows or columns of measurements to tell wrong cells")
        with no_warnings():  # of trials: what the table's own fit has to say is said once, at the end
            screen = judged.screened()
            loss = judged.losses(screen)
            together = similar_groups(judged.z, judged.seen, np.flatnonzero(screen.far))
            grouped = bool(together) and is_group(len(together[0]), len(judged.x))
            better = [name for name in ("screened", "student") if _better(loss[name], loss["plain"])]
            name = better[0] if better else "plain"
            if len(better) == 2 and not grouped and _better(loss["student"], loss["screened"]):
                name = "student"
            if name == "screened" and judged.x.shape != self.x.shape:
                screen = self.screened()
        errors = {each: float(values.mean()) for each, values in loss.items()}
        why = "no robust fit predicts cells of other rows better by a standard error"
        if name != "plain":
            how = "far rows and contradicted cells left out" if name == "screened" else "far rows counting less"
            less = 100 * (1 - errors[name] / errors["plain"])
            why = f"with {how}, cells of other rows are predicted with {less:.0f}% less error"
        return Choice(name, screen if name == "screened" else None, errors, why)

    def unlikely(self, g: FramedGaussian, x: Array, seen: Mask, held: Mask, far: Mask) -> Mask:
        """Those of the cells held out of a fit that the laws of their columns hardly have: the others are their tails,
        which a fit is better off with."""
        if len(x) < LEAST_ROWS_OF_LAW or not held.any():
            return held
        law = bulk_law(g, np.where(seen, x, 0.0), seen, held, far, sharply=True)
        p = judged_cells(g, law, x, seen).p
        asked = seen & ~far[:, None]
        rare = np.zeros_like(held)
        rare[asked] = false_discovery(p[asked], CELL_RATE)
        return held & rare

    def result(self, found: Choice, source: Any) -> RobustFit:
        """The chosen fit to all rows, which stand as they came again."""
        as_came = np.argsort(self.order)
        n, x, seen = len(self.x), self.x[as_came], self.seen[as_came]
        wrong, far = np.zeros_like(seen), np.zeros(n, dtype=bool)
        model = self.unfitted(found.name)
        if found.name == "plain":
            return RobustFit(model.fit(source), "plain", wrong, far, np.ones(n), (), found.errors, found.why)
        if found.screen is not None:
            far, inner = found.screen.far[as_came], np.flatnonzero(~found.screen.far)
            held = seen & ~found.screen.keep[as_came] & ~far[:, None]
            if held.any():
                wrong = self.unlikely(self.fitted("screened", inner, found.screen.keep[inner]), x, seen, held, far)
            if not wrong.any() and not far.any():
                # what was left out is the tail of the table: rows count less, or all alike
                name = "student" if found.errors["student"] < found.errors["plain"] else "plain"
                return self.result(found._replace(name=name, screen=None, why=TAIL_WHY), source)
        weight = (np.ones(n) if source.weight is None else source.weight) * ~far
        shown = np.where(wrong | ~seen, np.nan, x)
        model.fit(ArraySource(shown, columns=source.columns if source.named else None, weight=weight))
        weights = np.where(far, 0.0, model.row_weights(shown))
        groups = similar_groups(self.z[as_came], seen, np.flatnonzero(far))
        together = tuple(tuple(int(k) for k in group) for group in groups)
        return RobustFit(model, found.name, wrong, far, weights, together, found.errors, found.why)


def _better(one: Array, other: Array) -> bool:
    """Whether errors are smaller than others of the same rows, by a standard error and by enough to matter."""
    gain = other - one
    return bool(gain.mean() > max(gain.std(ddof=1) / np.sqrt(len(gain)), LEAST_GAIN * other.mean()))


def _few(far: Mask, before: Mask | None = None) -> Mask:
    """Far rows; where they are too many to be called so, those that were far before, or none."""
    if far.mean() <= FAR_SHARE:
        return far
    return np.zeros_like(far) if before is None else before


def _parts(far: Mask, z: Array, seen: Mask) -> Mask:
    """So many far rows together that they are a part of the table, like one of three groups."""
    part, most = np.zeros_like(far), PART_SHARE * len(far)
    if far.sum() > most:
        for group in similar_groups(z, seen, np.flatnonzero(far)):
            part[group] = len(group) > most
    return part


def _spared(screen: Screen, seen: Mask) -> Screen:
    """A screen that leaves every column at least half of its cells: rows that alone show a column are not far."""
    kept = screen.keep & ~screen.far[:, None]
    bare = kept.sum(axis=0) < (1.0 - MOST_LOST) * seen.sum(axis=0)
    if not bare.any():
        return screen
    far = screen.far & ~seen[:, bare].any(axis=1)
    return screen._replace(keep=screen.keep | (seen & bare), far=far)


def far_before_counting(scores: Array, x: Array, mask: Mask | None, rng: np.random.Generator) -> Mask:
    """Rows far from the bulk of a table x in normal scores and in robust units, before a model tells more; none where
    they are too many. In one of the two alone rows at the edge of the bulk, or the long tail of a skew column, would be
    far.
    """
    centre, spread = robust_units(x, mask)
    far = far_rows(outlyingness(scores, mask, rng)) & far_rows(outlyingness((x - centre) / spread, mask, rng))
    return far if far.sum() <= COUNTED_SHARE * len(x) else np.zeros_like(far)


# what is ordinary beside it -----------------------------------------------------------------------------------
def bulk_law(
    g: FramedGaussian, x: Array, mask: Mask, held: Mask | None, far: Mask | None, *, sharply: bool = False
) -> RowLaw:
    """The law that the bulk of a table sets for its rows and cells.

    Cells `held` out of the fit and `far` rows have a part in saying what is ordinary, for they may be the tail of the
    rest, unless they are many and clearly no tail. Rows are judged by the model g, their cells too, or `sharply`: by
    one that knows more of what columns tell of each other.
    """
    counts = level_counts(x, mask)
    shown = Block(np.where(mask, as_counted(x, counts), 0.0), mask)
    out = np.zeros(len(mask), dtype=bool) if far is None else far
    kept = mask if held is None or len(x) < TAIL_ROWS else mask & ~held
    # rows by the model g, by the cells that it is fitted to
    own = given_others(g, g.inward(shown).x, mask, kept)
    inside = ~wrong_rows(own.D2, kept.sum(axis=1), out)
    law = row_law(own.D2[inside], kept[inside].sum(axis=1))
    # cells by what judges them, each beside those that do not contradict their row
    sharp = None
    if sharply:
        from lowdim.judge.outliers.cell_judge import cell_judge  # loads models: not where a partition is read

        sharp = cell_judge(x, mask, kept, counts, out)
    levels = np.array([places.size > 0 for places in counts], dtype=bool)
    judge, cut = sharp or (g, centre_cut(own.surprise, kept & ~out[:, None], levels))
    z = judge.inward(shown).x
    beside = kept_by(judge, z, mask, cut)
    cells, seen = given_others(judge, z, mask, beside), beside.sum(axis=1)
    rows = row_law(cells.D2[inside], seen[inside])
    set_by = mask & inside[:, None]
    set_by &= ~wrong_cells(cells.surprise, set_by, mask & ~kept)
    laws = cell_laws(cells.surprise, cells.D2, mask, beside, rows, set_by, counts)._replace(cut=cut)
    if judge is not g:
        laws = laws._replace(judge=CellJudge(judge, rows.scale, rows.dof))
    tails = laws.dof[laws.dof > 0.0]
    if len(tails):
        law = bounded_by_cells(law, own.D2[inside], kept[inside].sum(axis=1), float(np.median(tails)))
    return law._replace(cells=laws)


def wrong_cells(surprise: Array, mask: Mask, held: Mask) -> Mask:
    """The cells held out of a fit that are too many for a law not to mind them and no tail of the others: their sizes
    beyond the cut fall off more slowly than any tail that has a variance (Hill's estimate of its power).

    They are looked at column by column, and all together where the table is so small that all say of each other's
    tails.

    Reference: B. M. Hill (1975), A simple general approach to inference about the tail of a distribution, Annals of
    Statistics 3, 1163-1174.
    """
    out, wrong = held & mask, np.zeros_like(held)
    spread = [
        MAD_TO_SD * float(np.median(np.abs(s[m]))) if m.any() else 1.0 for s, m in zip(surprise.T, mask.T, strict=True)
    ]
    beyond = np.log(np.maximum(np.abs(surprise) / np.maximum(spread, 1e-300) / CUT, 1.0))
    every = np.arange(out.shape[1])
    for columns in [*every[:, None], *([every] if len(out) < MANY_ROWS else [])]:
        own = out[:, columns]
        many = int(own.sum())
        if many > HELD_CELLS * mask[:, columns].sum():
            fall = float(beyond[:, columns][own].mean())  # 1 / power, known to so many root-th parts of itself
            wrong[:, columns] |= own & bool(fall * LEAST_POWER > 1.0 + DOUBTS / np.sqrt(many))
    return wrong


def wrong_rows(D2: Array, seen: NDArray[Any], far: Mask) -> Mask:
    """The far rows, if they are too many not to be minded and not the tail of the others."""
    if far.mean() <= FEW_SHARE:
        return np.zeros_like(far)
    beyond = max(CENTRAL_ROWS, float(far.mean()) + BEYOND_FAR)  # the quantile is none of the far rows'
    p = row_law(D2, seen, beyond).p_value(D2, seen)
    tail = float(np.median(p[far])) >= TAIL_SHARE * 0.5 * far.mean()  # half of the far rows lie beyond their median
    return np.zeros_like(far) if tail else far
