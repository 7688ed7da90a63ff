"""The jury of dimensions: how many does this table need, and how many are detectable?"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.dimensions.distance_law import DistanceLaw, law_of
from lowdim.judge.dimensions.factors import covariance, factor_ladder, principal_ladder
from lowdim.judge.dimensions.judges import (
    PairedDifference,
    ParallelAnalysis,
    RowFolds,
    factor_evidence,
    parallel_analysis,
    usual_folds,
    weights,
)
from lowdim.judge.dimensions.jury_table import JuryTable, jury_table, normal_scores
from lowdim.judge.dimensions.neighbour_noise import neighbour_evidence, neighbour_ladder
from lowdim.judge.dimensions.text import jury_card, jury_lines, jury_text, sentence
from lowdim.judge.outliers.partition import far_before_counting
from lowdim.judge.read_table import numbers_of
from lowdim.maths.factor import degrees_of_freedom
from lowdim.maths.linalg import Array
from lowdim.maths.seeds import FACTOR_STARTS, FAR_ROWS
from lowdim.models.base.options import seed_of
from lowdim.models.linear.minka import minka, rank_of
from lowdim.text.format import count, times_as_likely
from lowdim.text.messages import error

MOST_DIMENSIONS = 20  # dimensions tried unless asked for more: a person cannot read more
MOST_FOLDS = 20
EXACT_SHARE = 1e-6  # a fit that leaves a smaller share of the variance than this is exact, not evidence
CLIFF = 1e-4  # of an eigenvalue, below which the next must fall: the spectrum of smooth curves fades, and is judged
ROWS_TO_SCREEN = 3  # rows a column, from which far rows can be told from near ones


class Judge(NamedTuple):
    """One judge's answer; None where it cannot say, with the reason in `detail`."""

    name: str
    q: int | None
    detail: str


class DimensionRow(NamedTuple):
    """What is known about one number of dimensions; None where a judge is absent."""

    q: int
    variance: float  # 1 - noise variance of the q-dimensional fit / mean variance of the columns
    q2: float | None  # share of the variance of left-out cells that principal axes predict, columns in own units
    bic_weight: float
    minka_weight: float | None
    above_noise: bool | None  # whether eigenvalue q rises above the shuffled tables' band; None at q = 0
    skill: float | None = None  # as q2, of factors with a noise for each column, columns as normal scores


class Jury(NamedTuple):
    """How many dimensions a table needs, how many are detectable, and what each judge says."""

    q: int  # the answer: how many are needed
    sentence: str
    rows: tuple[DimensionRow, ...]
    judges: tuple[Judge, ...]
    paired: tuple[PairedDifference, ...]  # skill of q less that of every other number tried
    eigenvalues: Array
    band: Array  # upper edge of the shuffled tables' eigenvalues
    distances: DistanceLaw | None
    notes: tuple[str, ...]
    columns: int = 0  # columns that vary
    detectable: int = 0  # how many can be distinguished from noise; at least q
    own_units: bool = False  # whether the columns' own units decided, whose cells normal scores alone predict worse

    @property
    def needed(self) -> int:
        """The smallest number with nearly all of the skill: `q`."""
        return self.q

    @property
    def skill(self) -> list[float]:
        """By number of dimensions the share of left-out cells predicted, on the scale that decided."""
        found = [row.q2 if self.own_units else row.skill for row in self.rows]
        return [share for share in found if share is not None]

    @property
    def carried(self) -> float:
        """The share of the skill of the best number that `q` dimensions have; 1 where nothing was tried."""
        best = max(self.skill, default=0.0)
        return min(max(self.skill[self.q] / best, 0.0), 1.0) if best > 0.0 and self.q < len(self.skill) else 1.0

    def text(self) -> str:
        """The table that `lowdim dims` prints."""
        return jury_text(self)

    def facts(self) -> dict[str, Any]:
        """The same as JSON has it."""
        lists = {name: list(getattr(self, name)) for name in ("rows", "judges", "paired", "notes")}
        return {"dims": self.q, "detectable": self.detectable, "sentence": self.sentence, **lists}

    def __repr__(self) -> str:
        return jury_lines(self)

    def _repr_html_(self) -> str:
        return jury_card(self)


def axes_drawn(jury: Jury, d: int) -> int:
    """The axes of a map of d columns: those needed, and a second one where it is detectable."""
    return min(max(jury.q, min(2, jury.detectable)) if jury.q else 0, d - 1)


def choose_dimension(
    X: Any,
    *,
    most: int | None = None,
    standardize: bool = True,
    band: float = 0.95,
    folds: int | None = None,
    shuffles: int | None = None,
    random_state: Any = 0,
) -> Jury:
    """How many dimensions a table needs, and how many are detectable.

    Rows are left out in turn. Factor analysis (a noise for each column) of the other rows, columns as normal scores,
    predicts every seen cell of a left-out row from the rest of its row; the skill s(q) is the share of their variance
    that q dimensions predict. *Needed*, the answer: the q with the largest s(q)/s(best) - q/16, beyond which a
    dimension adds less than a sixteenth of what the columns share. *Detectable*: the smallest q within one paired
    standard error (rows as clusters) of the best. Both are 0 unless the best beats the column means by two of them.

    Judges advise and are shown: the same in the columns' own units with principal axes, as the map uses them; parallel
    analysis, eigenvalues above the `band` quantile of tables with shuffled columns; BIC of factor analysis; Minka's
    Laplace evidence of principal axes on complete rows. Where parallel analysis and BIC name the detectable
    number too, that is the answer; if the answer predicts cells in own units worse than every judge's number, the
    smallest of theirs is taken. Rows far from the bulk, at most 15 %, are set aside while counting.
    `benchmarks/dimensions.md` has the rates of right answers.

    Parameters
    ----------
    X : path, data frame, array or Table
        Gaps are welcome.
    most : int, optional
        The largest number tried; 20 where it is not given. Never more than leave something to tell from any covariance.
    standardize : bool, default True
        Every column counts alike; otherwise by its variance.
    band : float, default 0.95
        Quantile of the shuffled tables' eigenvalues that a dimension must exceed.
    folds : int, optional
        Parts the rows are dealt into, 2 to 20; 5, and more of small tables, where it is not given.
    shuffles : int, optional
        Shuffled tables; by the table's size where it is not given.
    random_state : int, default 0

    Returns
    -------
    Jury
        `.q` is the answer (`.needed`), `.detectable` how many can be distinguished from noise, `.sentence` both in
        words, `.text()` every judge's answer.

    References
    ----------
    Minka, Automatic choice of dimensionality for PCA, NIPS 13, 2000. Horn, A rationale and test for the number of
    factors in factor analysis, Psychometrika 30, 1965. Lawley and Maxwell, Factor Analysis as a Statistical Method,
    Butterworths, 1971.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8)) + 0.3 * rng.standard_normal((200, 8))
    >>> choose_dimension(X).sentence
    '2 (more predict hidden cells no better)'
    """
    _check(most, standardize, band, folds, shuffles)
    seed = seed_of(random_state)
    t = jury_table(numbers_of(X, standardize)[0], standardize=standardize, seed=seed)
    notes: tuple[str, ...] = (f"judged on {t.n} of {t.sampled} rows",) if t.sampled else ()
    if t.d < 2 or t.n < 3:
        few = "fewer than two columns vary" if t.d < 2 else "fewer than three rows have any cell"
        return _without(0, (*notes, f"{few}, so nothing can be shared"), t)
    if t.mask is None and (exact := _exact(t, notes)):
        return exact
    distances = law_of(t, seed, quick=True)
    top = min(most_possible(t), MOST_DIMENSIONS if most is None else most)
    t, scores, notes = _screened(t, seed, notes)
    shuffled = parallel_analysis(scores * np.sqrt(t.shares), t.mask, shuffles=shuffles, band=band, seed=seed)
    left_out = usual_folds(t.n, t.d) if folds is None else min(folds, t.n)
    return _verdict(t, scores, shuffled, top, left_out, seed, notes)._replace(distances=distances)


def _check(most: Any, standardize: Any, band: Any, folds: Any, shuffles: Any) -> None:
    counts = (("most", most, 0, 10**6), ("folds", folds, 2, MOST_FOLDS), ("shuffles", shuffles, 1, 10**6))
    for name, value, low, high in counts:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and not (whole and low <= value <= high):
            raise error("LD210", option=name, value=value, allowed=f"None or a whole number from {low} to {high}")
    if not isinstance(standardize, bool | np.bool_):
        raise error("LD210", option="standardize", value=standardize, allowed="True or False")
    if not isinstance(band, float) or not 0.5 <= band < 1.0:
        raise error("LD210", option="band", value=band, allowed="a number from 0.5 to 1, e.g. 0.95")


def exact_rank(noise: Array) -> int | None:
    """The fewest dimensions that leave nothing to call noise, from the noise variances of fits with 0, 1, ...

    That is less than a millionth of the variance. Small noise just there is not cut in two: while one dimension
    fewer leaves no more than ten times as much, and hardly anything still, that one was noise too.

    >>> exact_rank(np.array([1.0, 0.4, 1.2e-6, 0.9e-6])), exact_rank(np.array([1.0, 0.4, 0.1]))
    (2, None)
    """
    small = np.flatnonzero(noise < EXACT_SHARE * noise[0])
    if not len(small):
        return None
    q = int(small[0])
    while q > 1 and noise[q - 1] < min(10.0 * noise[q], 100.0 * EXACT_SHARE * noise[0]):
        q -= 1
    return q


def _exact(t: JuryTable, notes: tuple[str, ...]) -> Jury | None:
    """The verdict on a complete table of low rank; that of a nearly full rank tells of columns that add up."""
    values = spectrum(t.x)
    rank, full = rank_of(values), min(t.n - 1, t.d)
    rest = np.append(np.cumsum(values[:rank][::-1])[::-1], 0.0)[:rank]
    q = exact_rank(rest / (t.d - np.arange(rank))) or rank
    if 2 * q > full + 1 or q == full or (q < rank and values[q] > CLIFF * values[q - 1]):
        return None
    leaves = f"{count(q, 'dimension')} {'leaves' if q == 1 else 'leave'} nothing to call noise"
    exactly = f"the table has exactly rank {rank}: nothing is left to call noise"
    return _without(q, (*notes, exactly if q == rank else leaves), t)


def spectrum(x: Array) -> Array:
    """Eigenvalues (1/n) of the covariance of complete rows, falling; min(n - 1, d) of them at the most."""
    n, d = x.shape
    x = x - x.mean(axis=0)
    values = np.linalg.eigvalsh(x @ x.T if n < d else x.T @ x)[::-1] / n
    eigenvalues: Array = np.maximum(values[: min(n - 1, d)], 0.0)
    return eigenvalues


def most_possible(t: JuryTable) -> int:
    """The largest number worth asking about: the smallest that can write any covariance, and half the rows at most.

    >>> [next(q for q in range(d) if degrees_of_freedom(d, q) <= 0) for d in (2, 3, 4, 5, 10)]
    [1, 1, 2, 3, 6]
    """
    return min(next(q for q in range(t.d) if degrees_of_freedom(t.d, q) <= 0), max(t.n // 2, 1))


def _screened(t: JuryTable, seed: int, notes: tuple[str, ...]) -> tuple[JuryTable, Array, tuple[str, ...]]:
    """The table without the rows far from its bulk, and its normal scores."""
    scores = normal_scores(t.x, t.mask)
    if t.n < ROWS_TO_SCREEN * t.d:
        return t, scores, notes
    far = far_before_counting(scores, t.x, t.mask, np.random.default_rng([seed, FAR_ROWS]))
    if not far.any():
        return t, scores, notes
    near = t.rows_of(~far)
    note = f"{count(int(far.sum()), 'row')} far from the bulk set aside while counting dimensions"
    return near, normal_scores(near.x, near.mask), (*notes, note)


def _verdict(
    t: JuryTable, scores: Array, shuffled: ParallelAnalysis, top: int, folds: int, seed: int, notes: tuple[str, ...]
) -> Jury:
    """The judges on a table without far rows, and the answer that follows from theirs."""
    rng = np.random.default_rng([seed, FACTOR_STARTS])
    rows = t.n if t.mask is None else t.seen / t.d  # complete rows that would hold as many cells
    of_scores, of_columns = RowFolds(scores, t.mask, folds, seed), RowFolds(t.x, t.mask, folds, seed)
    # Rows left out, and evidence: factors of the normal scores, a noise for each column.
    found = of_scores.errors(partial(factor_ladder, rng=rng), top, weight=t.shares)
    tried = len(found.squares) - 1
    S, whole = covariance(scores, t.mask, rng), covariance(t.x, t.mask, rng)
    bic = factor_evidence(S, rows, tried, rng)
    as_they_came = scores[:, t.came]  # neighbours are those of the file
    shared = neighbour_evidence(covariance(as_they_came, None, rng), rows, bic) if t.mask is None else None
    if shared is not None:  # the factors beside noise that neighbouring columns share
        neighbours = RowFolds(as_they_came, None, folds, seed)
        found = neighbours.errors(neighbour_ladder, tried, weight=t.shares[t.came], patient=True)
        bic = shared.bic
    # The columns in their own units: principal axes on the same folds.
    own = of_columns.errors(partial(principal_ladder, most=tried), tried, weight=np.ones(t.d), patient=True)
    noise = np.array([f.psi[0] for f in principal_ladder(whole, tried)])
    # Minka's posterior, where enough rows are complete.
    complete, posterior = t.complete, None
    if t.mask is None or (len(complete) >= max(30, 3 * t.d) and 3 * len(complete) >= t.n):
        values = spectrum(complete)
        posterior = weights(minka(values, len(complete), t.d, tried)) if rank_of(values) >= 2 else None

    # Needed; all that is detectable where parallel analysis and evidence draw the line there too; and the smallest of
    # the judges' numbers where every one of them predicts cells in own units better than that does.
    likeliest = int(np.argmax(bic))
    q = found.detectable if found.detectable == shuffled.q == likeliest else found.needed
    named = (own.needed, shuffled.q, likeliest, None if posterior is None else int(np.argmax(posterior)))
    advised = [k for k in named if k is not None and k < len(own.skill)]
    some = found.has_structure or own.has_structure
    worse = some and q < len(own.skill) and bool(advised) and bool(own.skill[q] < own.skill[advised].min())
    q = min(advised) if worse else q

    if found.detectable == top < most_possible(t):
        notes = (*notes, f"{top} is the largest number tried; there may be more")
    if shared is not None:
        words = f"neighbouring columns share noise (correlation {shared.rho:.2f})"
        notes = (*notes, f"{words}: what it predicts is no dimension, and skill is what dimensions add to it")
    skill, q2, weight = found.skill, own.skill, weights(bic)
    cells = f"{found.cells:,} cells of rows left out in {found.folds} folds, skill {skill[found.needed]:.2f}"
    judges = (
        Judge("left-out rows", found.needed, f"{cells}; {found.detectable} detectable"),
        Judge("own units", own.needed, f"the same cells by principal axes, Q2 {q2[own.needed]:.2f}"),
        Judge("parallel analysis", shuffled.q, f"{shuffled.shuffles} shuffled tables"),
        Judge("evidence", likeliest, f"BIC weight {weight[likeliest]:.0%}{beside(bic)}, a noise for each column"),
        _minka_judge(posterior, len(complete), t.n),
    )
    variance = 1.0 - noise / max(float(noise[0]), 1e-300)
    above = shuffled.eigenvalues > shuffled.band
    listed = tuple(
        DimensionRow(
            k,
            variance=float(variance[min(k, len(variance) - 1)]),
            q2=float(q2[k]) if k < len(q2) else None,
            bic_weight=float(weight[k]),
            minka_weight=None if posterior is None or k >= len(posterior) else float(posterior[k]),
            above_noise=bool(above[:k].all()) if k else None,
            skill=float(skill[k]),
        )
        for k in range(len(skill))
    )
    jury = Jury(
        q,
        sentence="",
        rows=listed,
        judges=judges,
        paired=tuple(found.compare(q, k) for k in range(len(skill)) if k != q),
        eigenvalues=shuffled.eigenvalues,
        band=shuffled.band,
        distances=None,
        notes=notes,
        columns=t.d,
        detectable=max(q, found.detectable),
        own_units=worse,
    )
    return jury._replace(sentence=sentence(jury))


def beside(logs: Array) -> str:
    """The Bayes factor of the best beside the next best, in words: ', 12 times as likely as q = 3'."""
    if len(logs) < 2:
        return ""
    best, second = np.argsort(-logs, kind="stable")[:2].tolist()
    return f", {times_as_likely(float(logs[best] - logs[second]))} as q = {second}"


def _minka_judge(posterior: Array | None, rows: int, n: int) -> Judge:
    if posterior is None:
        return Judge("Minka", None, f"only {rows} of {n} rows are complete: too few to speak for the table")
    q = int(np.argmax(posterior))
    odds = beside(np.log(np.maximum(posterior, 1e-300)))
    return Judge("Minka", q, f"{rows} complete rows, {q} has {posterior[q]:.0%}{odds}, one noise for all columns")


def _without(q: int, notes: tuple[str, ...], t: JuryTable) -> Jury:
    """The verdict where the table leaves nothing to judge."""
    words = "no shared structure found" if q == 0 else str(q)
    empty = np.zeros(0)
    values = empty if q == 0 or t.mask is not None else spectrum(t.x)
    return Jury(q, words, (), (Judge("rank", q, notes[-1]),), (), values, empty, None, notes, t.d, q)
