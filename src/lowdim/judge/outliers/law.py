"""What is ordinary in a table: laws of the rows' distances and of the cells' surprises, set by the bulk of the rows.

    D2_i / (k_i c) ~ F(k_i, nu)                       the whole distance of a row with k seen cells
    w_ij = s_ij / sqrt((nu + D2_i - s_ij^2) / (nu + k_i - 1))      its surprises, D2 and s in units of c
    w_ij / c_j ~ t(min(nu_j, nu + k_i - 1))

as for a multivariate t, with c and nu, and c_j and nu_j of each column, from the median and an upper quantile: a
Gaussian table gives nu without end and chi-square laws, a heavy-tailed one its own. Tails that are the columns' own
and not the rows' bend D2 beyond its quantile alone, so that from there on a row is no rarer than by a law whose tail is
as heavy as the cells'. All cells have a part in this, also those that a fit does without, for they may be the tail;
only where many are wrong are they left out. Columns of a few levels are not measured in standard deviations: a level is
no farther from the middle than its share of the rows says.

A row has one p: of its distance or of its least likely cell, each counted as often as was looked. The law that a table
sets is kept whole, so that its own rows, a row that is touched and rows that come later are judged alike.

Reference: K. L. Lange, R. J. A. Little and J. M. G. Taylor (1989), Robust statistical modeling using the t
distribution, Journal of the American Statistical Association 84, 881-896.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, fdtrc, fdtri, ndtri, stdtr, stdtrit

from lowdim.judge.cells import CellBeliefs, CellsGivenOthers, FramedGaussian, given_others, kept_by
from lowdim.judge.outliers.outlyingness import MAD_TO_SD, own_tails
from lowdim.maths.linalg import Array, Mask
from lowdim.sources.source import Block
from lowdim.sources.views import Frame

if TYPE_CHECKING:
    from lowdim.models.linear.linear_gaussian import LinearGaussian

LEAST_ROWS_OF_LAW = 20  # rows that can set a law of their own; fewer are judged by the model's
UPPER_SHARE, UPPER_ROWS = 0.03, 4  # of the rows, but at least so many, beyond the quantile that sets a tail
CELL_SHARE = 0.02  # of the cells: nearer to where a cell is called wrong, and still more than most tables have of these
CUT = 3.5  # deviations, of the bulk of a table, below which no cell or row is left out of a fit
CENTRAL_CELLS = 0.1  # of a column, beyond the quantile of its centre
MANY_ROWS = 500  # from here on each column has a tail of its own
DOF_A_ROW = 0.5  # degrees of freedom, at most, for each of fewer rows
GAUSSIAN_DOF = 1e4  # degrees of freedom that no table can tell from a Gaussian
LEAST_DOF = 0.5
JUDGING_DOF = 2.0  # with fewer degrees of freedom the bulk has no variance, and no row can be called odd


LEVEL_KNOTS = 200  # values of a column of levels whose places are kept; between them they lie on lines
AS_IT_IS = np.zeros((2, 0))  # of a column whose values count as they are


class CellJudge(NamedTuple):
    """The Gaussian by which cells are judged, where that is not the map's, and the law of the distances it gives rows:
    D2 / (k scale) ~ F(k, dof)."""

    gaussian: FramedGaussian
    scale: float
    dof: float


class CellLaws(NamedTuple):
    """How unlikely a cell is given the others of its row, column by column: w / scale ~ t(dof)."""

    scale: Array
    dof: Array  # 0: no cell of the column is unlikely by itself
    power: Array = np.zeros(0)  # of a mixed map's levels: that of their p; 0 of other columns
    counts: tuple[Array, ...] = ()  # of columns of levels 2 x k: values, and where each counts as being
    cut: Array = np.zeros(0)  # standard deviations beyond which a cell says nothing of the others of its row
    judge: CellJudge | None = None  # what says of each cell what its row expects; none where the map's model does


class RowLaw(NamedTuple):
    """D2 / (k scale) ~ F(k, dof), and no rarer than by F(k, far_dof) of D2 / (k far_scale)."""

    scale: float = 1.0
    dof: float = GAUSSIAN_DOF
    middle: float = 0.0  # of a mixed map: what a row's standardised surprise usually is,
    spread: float = 1.0  # and by how much it differs between rows
    far_scale: float = 0.0  # 0: no bound
    far_dof: float = GAUSSIAN_DOF
    cells: CellLaws | None = None  # none where rows are too few to say, or of an older version

    def p_value(self, D2: Array, seen: NDArray[Any]) -> Array:
        """Upper tail; a row without cells has p = 1."""
        k, D2 = np.maximum(seen, 1).astype(np.float64), np.maximum(D2, 0.0)
        x = D2 / self.scale
        p = chdtrc(k, x) if self.dof >= GAUSSIAN_DOF else fdtrc(k, self.dof, x / k)
        if self.far_scale > 0.0:
            p = np.maximum(p, fdtrc(k, self.far_dof, D2 / (k * self.far_scale)))
        return np.where(seen > 0, p, 1.0)

    def limit(self, dof: NDArray[Any], level: float) -> Array:
        """What a share `level` of distances on so many cells are below."""
        k = np.maximum(dof, 1).astype(np.float64)
        gaussian = self.dof >= GAUSSIAN_DOF
        limit = np.asarray(self.scale * (chdtri(k, 1.0 - level) if gaussian else k * fdtri(k, self.dof, level)))
        return np.maximum(limit, self.far_scale * k * fdtri(k, self.far_dof, level))

    def counted(self, X: Array) -> Array:
        """Rows with each level where it counts as being."""
        return X if self.cells is None else as_counted(X, self.cells.counts)

    def places(self, j: int) -> Array:
        """Where values of column j count as being; nothing where these are as they are."""
        if self.cells is None:
            return AS_IT_IS
        return self.cells.counts[j] if self.cells.counts else AS_IT_IS

    @property
    def cell_judge(self) -> CellJudge | None:
        """What judges the cells, where that is not the map's model."""
        return None if self.cells is None else self.cells.judge

    @property
    def without_judge(self) -> RowLaw:
        """The same without the numbers of what judges the cells."""
        return self if self.cells is None else self._replace(cells=self.cells._replace(judge=None))

    @property
    def of_judge(self) -> RowLaw:
        """The law of the distances by what judges the cells."""
        by = self.cell_judge
        return self if by is None else self._replace(scale=by.scale, dof=by.dof)

    @property
    def judges(self) -> bool:
        """Whether a law fits the bulk at all."""
        return self.dof >= JUDGING_DOF


GAUSSIAN_LAW = RowLaw()
USUAL_LAW = {  # in the order of the class
    "scale": 1.0,
    "dof": GAUSSIAN_DOF,
    "middle": 0.0,
    "spread": 1.0,
    "far_scale": 0.0,
    "far_dof": GAUSSIAN_DOF,
}


def facts_of_law(law: RowLaw) -> dict[str, Any]:
    """A law as plain values."""
    known: dict[str, Any] = {name: getattr(law, name) for name in USUAL_LAW}
    if law.cells is not None:
        columns = {name: getattr(law.cells, name).tolist() for name in ("scale", "dof", "power")}
        infinite = np.isinf(law.cells.cut)
        columns["cut"] = [None if none else far for far, none in zip(law.cells.cut.tolist(), infinite, strict=True)]
        places = [[j, *own.tolist()] for j, own in enumerate(law.cells.counts) if own.size]
        known["cells"] = {**columns, "counts": places}
        if law.cells.judge is not None:
            g, scale, dof = law.cells.judge
            parts = {"W": g.W, "mu": g.mu, "psi": g.psi, "shift": g.frame.shift, "unit": g.frame.scale}
            known["cells"]["judge"] = {"scale": scale, "dof": dof, **{k: v.tolist() for k, v in parts.items()}}
    return known


def law_of_facts(facts: Any) -> RowLaw | None:
    """The law of `facts_of_law`; None where they are not one."""
    try:
        cells = facts.get("cells")
        numbers = (float(facts.get(key, usual)) for key, usual in USUAL_LAW.items())
        scale, dof, middle, spread, far_scale, far_dof = numbers
        known = RowLaw(scale, dof, middle, spread, far_scale, far_dof)
        sizes = np.array([known.scale, known.dof, known.far_dof, known.spread])
        fine = (sizes > 0.0).all() and np.isfinite([*sizes, known.middle, known.far_scale]).all()
        found = None if cells is None else _cells_of_facts(cells)
        return known._replace(cells=found) if fine and (found is None) == (cells is None) else None
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return None


def _cells_of_facts(facts: Any) -> CellLaws | None:
    scale, dof, power = (np.array(facts[name], dtype=np.float64) for name in ("scale", "dof", "power"))
    counts = [AS_IT_IS] * len(scale)
    for j, values, places in facts["counts"]:
        counts[j] = np.array([values, places], dtype=np.float64)
    cut = np.array([np.inf if far is None else far for far in facts["cut"]], dtype=np.float64)
    judge = _judge_of_facts(facts["judge"], len(scale)) if "judge" in facts else None
    parts = (scale, dof, power, *counts)
    fine = len(dof) == len(scale) and all(np.isfinite(part).all() for part in parts) and bool((scale > 0.0).all())
    fine = fine and len(cut) in (0, len(scale)) and bool((cut > 0.0).all())
    fine = fine and (judge is None) == ("judge" not in facts)
    return CellLaws(scale, dof, power, tuple(counts), cut, judge) if fine else None


def _judge_of_facts(facts: Any, d: int) -> CellJudge | None:
    W = np.array(facts["W"], dtype=np.float64).reshape(d, -1)
    mu, psi, shift, unit = (np.array(facts[name], dtype=np.float64) for name in ("mu", "psi", "shift", "unit"))
    law = np.array([facts["scale"], facts["dof"]], dtype=np.float64)
    fine = all(np.isfinite(part).all() for part in (W, mu, psi, shift, unit, law))
    fine &= all(len(part) == d for part in (mu, psi, shift, unit))
    if not fine or not ((psi > 0.0).all() and (unit > 0.0).all() and (law > 0.0).all()):
        return None
    gaussian = FramedGaussian(W, mu, psi, psi, np.ones(d), Frame(shift, unit, np.ones(d)), None)
    return CellJudge(gaussian, *law.tolist())


# of a table, by a linear Gaussian -----------------------------------------------------------------------------
def model_law(model: LinearGaussian) -> RowLaw:
    """The law of a row's distance that a model assumes: chi-square, or F where its rows are Student's."""
    return RowLaw(1.0, float(getattr(model, "dof_", GAUSSIAN_LAW.dof)))


def law_of_later_rows(law: RowLaw) -> RowLaw:
    """A table's own law for rows that come later: where no law fits its bulk, the heaviest tail that still judges is
    taken, for a row may be beyond any experience."""
    return law._replace(dof=max(law.dof, JUDGING_DOF))


def p_of_rows(told: CellBeliefs, law: RowLaw) -> Array:
    """The p of each row: of its distance or of its least likely cell."""
    least = np.zeros(0) if law.cells is None else told.p.min(axis=1)
    return row_p_values(told.p_D2, least, told.seen.sum(axis=1))


# of distances and of surprises --------------------------------------------------------------------------------
def row_law(D2: Array, seen: NDArray[Any], beyond: float = UPPER_SHARE) -> RowLaw:
    """The law whose median and upper quantile are those of the rows; the Gaussian's where rows are few.

    >>> rng = np.random.default_rng(0)
    >>> row_law(rng.chisquare(10, 2000), np.full(2000, 10)).dof > 30
    True
    """
    D2, k = D2[seen > 0], seen[seen > 0].astype(np.float64)
    if len(D2) < LEAST_ROWS_OF_LAW:
        return GAUSSIAN_LAW
    share, (counts, which) = max(beyond, UPPER_ROWS / len(D2)), np.unique(k, return_inverse=True)
    chance = np.sqrt(share / len(D2)) if len(D2) < MANY_ROWS else 0.0  # a few rows more beyond it are no heavy tail

    def fitted(dof: float) -> tuple[float, float]:
        """Scale by the median, and how many rows more than there should be are beyond the upper quantile."""
        scale = max(float(np.median(D2 / k / fdtri(counts, dof, 0.5)[which])), 1e-300)
        return scale, float((D2 / (k * scale) > fdtri(counts, dof, 1.0 - share)[which]).mean()) - share - chance

    most = most_dof(len(D2))
    low, high = np.log(LEAST_DOF), np.log(most)
    if fitted(most)[1] <= 0.0:
        return RowLaw(fitted(most)[0], most)
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fitted(float(np.exp(middle)))[1] <= 0.0 else (low, middle)
    dof = float(np.exp(0.5 * (low + high)))
    return RowLaw(fitted(dof)[0], dof)


def most_dof(n: int) -> float:
    """Degrees of freedom that n rows can claim: a scale found from few is in doubt, as Student's is."""
    return GAUSSIAN_DOF if n >= MANY_ROWS else DOF_A_ROW * n


def row_p_values(distance: Array, cell: Array, seen: NDArray[np.intp]) -> Array:
    """One p a row: of its distance or of its least likely cell, each counted as often as was looked (Bonferroni)."""
    if len(cell) < len(distance):
        return distance
    return np.minimum(1.0, 2.0 * np.minimum(distance, np.maximum(seen, 1) * cell))


def false_discovery(p: Array, rate: float) -> NDArray[np.bool_]:
    """Benjamini and Hochberg's step-up rule: at most `rate` of the rows it picks are false on average.

    >>> false_discovery(np.array([0.001, 0.04, 0.2, 0.011]), 0.05).tolist()
    [True, False, False, True]
    """
    order = np.sort(p)
    under = np.flatnonzero(order <= rate * np.arange(1, len(p) + 1) / max(len(p), 1))
    limit = order[under[-1]] if len(under) else -1.0
    return np.asarray(p <= limit)


def cell_laws(
    surprise: Array, D2: Array, mask: Mask, kept: Mask, law: RowLaw, bulk: Mask, counts: tuple[Array, ...] = ()
) -> CellLaws:
    """A t law of each column's surprises beside the kept cells; `bulk` marks the cells that set it, `counts` the
    columns of levels.

    Each column has a middle surprise of its own. How far the upper quantile lies beyond that is said by all columns
    together, and by each for itself as far as they differ by more than so many cells would by chance.
    """
    w, d = _student_surprises(surprise, D2, mask, kept, law), surprise.shape[1]
    judged = np.array([not places.size for places in counts] or [True] * d, dtype=bool)
    judged &= bulk.sum(axis=0) >= LEAST_ROWS_OF_LAW
    columns = [w[bulk[:, j], j] for j in np.flatnonzero(judged)]
    laws = CellLaws(np.ones(d), np.where(bulk.sum(axis=0) < LEAST_ROWS_OF_LAW, GAUSSIAN_DOF, 0.0), counts=counts)
    laws.dof[[j for j, places in enumerate(counts) if places.size]] = 0.0  # judged by their shares already
    if not columns:
        return laws
    middles = np.array([float(np.median(own)) or max(float(own.max()), 1e-300) for own in columns])
    parts = [own / middle for own, middle in zip(columns, middles, strict=True)]
    own_share = np.array([max(CELL_SHARE, UPPER_ROWS / len(part)) for part in parts])
    each = np.log([np.quantile(part, 1.0 - share) for part, share in zip(parts, own_share, strict=True)])
    # what columns of the same tail would differ by, from the spacing of all cells about the quantile
    together = np.concatenate(parts)
    ends = np.sqrt(own_share / [len(part) for part in parts]) * np.array([[-1.0], [0.0], [1.0]])
    low, middle, high = np.log(np.quantile(together, np.clip(1.0 - own_share + ends, 0.0, 1.0 - 1.0 / len(together))))
    chance, apart = (0.5 * (high - low)) ** 2, (each - middle) ** 2
    believed = max(0.0, 1.0 - float(chance.mean()) / max(float(apart.mean()), 1e-300))
    # the tail of all is taken a standard error heavier than it looks, since it says how rare cells far beyond it are
    upper = 1.0 - CELL_SHARE + np.sqrt(CELL_SHARE / len(together))
    shared = np.log(np.quantile(together, upper)) if len(together) * CELL_SHARE >= UPPER_ROWS else float(middle[0])
    grid, ratio = _tail_ratios(CELL_SHARE)
    tails = np.exp(np.interp(-(shared + believed * (each - middle)), -ratio, np.log(grid)))
    laws.dof[judged] = np.minimum(tails, [most_dof(len(part)) for part in parts])
    laws.scale[judged] = middles / stdtrit(laws.dof[judged], 0.75)
    return laws


def centre_cut(surprise: Array, inner: Mask, levels: Mask) -> Array:
    """How far cells of each column are hardly ever, by the law that the centre of the inner ones sets: less than one in
    the whole table; without end where there are none to say, or where the cells are levels."""
    cut = np.full(len(levels), np.inf)
    rare = 1.0 / max(int(inner.sum()), 1)
    for j in np.flatnonzero(~levels):
        own = np.abs(surprise[inner[:, j], j])
        if len(own) and (middle := float(np.median(own))) > 0.0:
            scale, dof = (float(part[0]) for part in t_laws(own[:, None], CENTRAL_CELLS))
            cut[j] = max(CUT * middle * MAD_TO_SD, scale * float(stdtrit(dof, 1.0 - 0.5 * rare)))
    return cut


class JudgedCells(NamedTuple):
    """The cells of some rows, each beside the others that do not contradict their row."""

    told: CellsGivenOthers  # in units of what judges them
    by: FramedGaussian
    x: Array  # in the same units
    kept: Mask
    p: Array  # two-sided, by the law of its column; 1 at gaps and of levels


def judged_cells(g: FramedGaussian, law: RowLaw, X: Array, seen: Mask) -> JudgedCells:
    """How likely each cell of some rows is by a table's law; `g` judges them where the law has none that knows more."""
    cells, of = law.cells, law.of_judge
    by = g if law.cell_judge is None else law.cell_judge.gaussian
    x = by.inward(Block(np.where(seen, law.counted(X), 0.0), seen)).x
    kept = seen
    if cells is not None and np.isfinite(cells.cut).any():
        kept = kept_by(by, x, seen, cells.cut)
    told = given_others(by, x, seen, kept)
    if cells is None:
        return JudgedCells(told, by, x, kept, np.ones(X.shape))
    w = _student_surprises(told.surprise, told.D2, seen, kept, of)
    judged = seen & (cells.dof > 0.0)
    tails = np.minimum(cells.dof, of.dof + np.maximum(kept.sum(axis=1)[:, None], 1) - 1.0)
    p = np.where(judged, 2.0 * stdtr(np.where(judged, tails, 1.0), -w / cells.scale), 1.0)
    return JudgedCells(told, by, x, kept, p)


def _student_surprises(surprise: Array, D2: Array, mask: Mask, kept: Mask, law: RowLaw) -> Array:
    """w: a surprise beside how far the rest of its row is; D2 is that of the kept cells."""
    s2, seen = surprise**2 / law.scale, kept.sum(axis=1)[:, None]
    rest = np.maximum(D2[:, None] / law.scale - np.where(kept, s2, 0.0), 0.0)
    return np.asarray(np.where(mask, np.sqrt(s2 / ((law.dof + rest) / (law.dof + np.maximum(seen, 1) - 1.0))), 0.0))


def bounded_by_cells(law: RowLaw, D2: Array, seen: NDArray[Any], tail: float) -> RowLaw:
    """A law of rows that beyond its upper quantile falls off no faster than cells with so many degrees of freedom: one
    cell of such a tail makes a row far, and F(k, nu) knows but tails that all cells of a row share."""
    D2, k = D2[seen > 0], seen[seen > 0].astype(np.float64)
    if len(D2) < LEAST_ROWS_OF_LAW or tail >= law.dof:
        return law
    share = max(UPPER_SHARE, UPPER_ROWS / len(D2))
    counts, which = np.unique(k, return_inverse=True)
    scale = float(np.quantile(D2 / (k * fdtri(counts, tail, 1.0 - share)[which]), 1.0 - share))
    return law._replace(far_scale=max(scale, 1e-300), far_dof=tail)


def t_law(w: Array, beyond: float = UPPER_SHARE) -> tuple[float, float]:
    """Scale and degrees of freedom of a t from the median and an upper quantile of its absolute values."""
    scale, dof = t_laws(w[:, None], beyond)
    return float(scale[0]), float(dof[0])


def t_laws(w: Array, beyond: float = UPPER_SHARE) -> tuple[Array, Array]:
    """`t_law` of each column of an array."""
    n, d = w.shape
    if n < LEAST_ROWS_OF_LAW:
        return np.ones(d), np.full(d, GAUSSIAN_DOF)
    share = max(beyond, UPPER_ROWS / n)
    # a tail that says how rare cells far beyond it are is taken a standard error heavier than it looks
    doubt = np.sqrt(share / n) if beyond in (UPPER_SHARE, CELL_SHARE) else 0.0
    middle, upper = np.quantile(w, [0.5, 1.0 - share + doubt], axis=0)
    flat = middle <= 0.0
    grid, ratio = _tail_ratios(round(share, 6))
    far = np.log(np.where(flat, 1.0, upper) / np.where(flat, 1.0, middle))
    dof = np.where(flat, LEAST_DOF, np.exp(np.interp(-far, -ratio, np.log(grid))))
    return np.where(flat, np.maximum(upper, 1e-300), middle / stdtrit(dof, 0.75)), dof


@cache
def _tail_ratios(share: float) -> tuple[Array, Array]:
    """Log ratio of the upper quantile of |t| to its median, falling, over degrees of freedom."""
    grid = np.geomspace(LEAST_DOF, GAUSSIAN_DOF, 200)
    return grid, np.log(stdtrit(grid, 1.0 - 0.5 * share) / stdtrit(grid, 0.75))


# columns of levels -----------------------------------------------------------------------------------------
def level_counts(X: Array, mask: Mask) -> tuple[Array, ...]:
    """Where the values of columns of levels and of long tails count as being: no farther from the mean than their share
    says; nothing of other columns. A level that a share f of the rows reach is at most as far out as a Gaussian's
    quantile of 1 - f / 2.

    >>> yes = np.zeros((200, 1)); yes[:2] = 1.0
    >>> T = as_counted(yes, level_counts(yes, np.ones((200, 1), dtype=bool)))
    >>> round(float((T[0, 0] - T.mean()) / yes.std()), 2)
    2.56
    """
    if len(X) < LEAST_ROWS_OF_LAW:
        return tuple([AS_IT_IS] * X.shape[1])
    counts = [AS_IT_IS] * X.shape[1]
    for j in np.flatnonzero(own_tails(X, mask) & mask.any(axis=0)):
        x = X[mask[:, j], j]
        values, many = np.unique(x, return_counts=True)
        upto, mean, sd = np.cumsum(many), x.mean(), x.std()
        share = np.where(values > mean, len(x) - upto + many, upto) / len(x)
        limit = -sd * ndtri(np.minimum(share, 1.0) / 2.0)
        knots = np.unique(np.linspace(0, len(values) - 1, min(len(values), LEVEL_KNOTS)).round().astype(np.intp))
        counts[j] = np.stack([values, mean + np.clip(values - mean, -limit, limit)])[:, knots]
    return tuple(counts)


def uncounted(x: Array, places: Array) -> Array:
    """The values of a column that count as being there."""
    return as_counted(x[:, None], (places[::-1],))[:, 0] if places.size else x


def as_counted(X: Array, counts: tuple[Array, ...]) -> Array:
    """Each value where it counts as being; beyond all that were seen, so much farther out as it is beyond.

    >>> as_counted(np.array([[0.0], [1.0], [5.0]]), (np.array([[0.0, 1.0], [0.0, 0.4]]),)).ravel().tolist()
    [0.0, 0.4, 4.4]
    """
    out = X.copy()
    for j, places in enumerate(counts):
        if places.size:
            x, (values, counted) = X[:, j], places
            out[:, j] = np.interp(x, values, counted) + (x - np.clip(x, values[0], values[-1]))
    return out
