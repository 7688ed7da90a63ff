"""The jury of dimensions: how many does this table have, and how sure is that?"""

from __future__ import annotations

from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.dimensions.distance_law import DistanceLaw, law_of
from lowdim.judge.dimensions.evidence import (
    FALLS,
    JuryTable,
    bic,
    falling,
    jury_table,
    log_likelihoods,
    minka,
    own_units,
    quick_fit,
    quick_look,
    rank_of,
    spectrum,
    weights,
)
from lowdim.judge.dimensions.heldout import HELD_OUT_PARTS, Folds, HeldOutDensity, PairedDifference
from lowdim.judge.dimensions.parallel import ParallelAnalysis, gavish_donoho, parallel_analysis
from lowdim.judge.dimensions.text import jury_card, jury_lines, jury_text, sentence
from lowdim.judge.dimensions.uneven_noise import FactorEvidence, ask, hidden_cells
from lowdim.judge.table_input import numbers_of
from lowdim.math.linalg import Array
from lowdim.models.base.estimator import seed_of
from lowdim.sources.source import Block
from lowdim.text.format import count
from lowdim.text.messages import error

MOST_DIMENSIONS = 20  # dimensions tried unless asked for more: a person cannot read more, and EM slows down
EXACT_SHARE = 1e-6  # a fit that leaves a smaller share of the variance than this is exact, not evidence
COLLAPSE = 0.5  # nats a hidden cell below the best: such fits follow the noise, whatever their evidence
NEARLY = 0.01  # share of gaps up to which mean-filled singular values are good enough for a threshold


class Judge(NamedTuple):
    """One judge's answer; None where it cannot say, with the reason in `detail`."""

    name: str
    q: int | None
    detail: str
    votes: bool = True  # a judge with another aim is heard, but does not vote


class DimensionRow(NamedTuple):
    """What is known about one number of dimensions; None where a judge is absent."""

    q: int
    variance: float  # 1 - noise variance of the q-dimensional fit / mean variance of the columns
    q2: float | None
    log_density: float | None  # mean log density of a hidden cell
    bic_weight: float
    minka_weight: float | None
    above_noise: bool | None  # whether eigenvalue q rises above the shuffled tables' band; None at q = 0


class Jury(NamedTuple):
    """How many dimensions, who says so, and how sure that is."""

    q: int
    sentence: str
    rows: tuple[DimensionRow, ...]
    judges: tuple[Judge, ...]
    paired: tuple[PairedDifference, ...]  # the recommended q against every other one tried
    eigenvalues: Array
    band: Array  # upper edge of the shuffled tables' eigenvalues
    distances: DistanceLaw | None
    notes: tuple[str, ...]
    columns: int = 0  # columns that vary

    @property
    def saturated(self) -> bool:
        """Whether the answer is as many dimensions as columns allow: any covariance at all could be written so."""
        return 2 <= self.q == self.columns - 1 and bool(self.rows)

    @property
    def votes(self) -> tuple[int, ...]:
        """What the voting judges say."""
        return tuple(j.q for j in self.judges if j.votes and j.q is not None)

    @property
    def no_worse(self) -> tuple[int, ...]:
        """Numbers next to the answer, without a break, that predict no worse by one paired standard error.

        Far from it the standard error grows, and "no worse" would only mean "hard to say".
        """
        near = {c.other for c in self.paired if c.difference <= c.error}
        up = takewhile(near.__contains__, range(self.q + 1, self.q + 1 + len(near)))
        down = takewhile(near.__contains__, range(self.q - 1, -1, -1))
        return tuple(sorted([*up, *down]))

    def text(self) -> str:
        """The table that `lowdim dims` prints."""
        return jury_text(self)

    def __repr__(self) -> str:
        return jury_lines(self)

    def _repr_html_(self) -> str:
        return jury_card(self)


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
    """How many dimensions a table has: four judges vote, the sentence says how sure that is.

    The judges: Minka's Laplace evidence on the complete rows; BIC weights of probabilistic PCA on all rows; cells
    hidden on purpose, the smallest q within one paired standard error of the best log density; parallel analysis,
    eigenvalues above the `band` quantile of tables with shuffled columns. Gavish and Donoho's threshold does not
    vote: it asks what a hard cut should keep. The answer is the median vote, the lower one of two.

    Measured: each judge alone errs. Evidence and held-out cells go up where the noise is uneven (the demo "gaussian"
    divided by its spreads: up to 8 for a truth of 3) or a table is short (orange, 12 rows: BIC 6), Minka and BIC go
    down where few rows are complete or gaps are many, parallel analysis misses weak dimensions and finds one in 4 of
    100 tables of noise. They rarely err alike: of 48 simulated tables with 0, 10 and 30% gaps, noise even and uneven
    (100 x 10 with a weak second dimension, 300 x 15 with three) the answer was never above the truth and 29 times
    equal to it; 19 missed the weak one.

    Where evidence finds more than parallel analysis, factor analysis is asked (`uneven_noise.ask`): if a noise for
    each column explains the table as well with fewer dimensions, evidence and held-out cells go by that, and Minka's
    evidence does not vote. Eight columns with noise from 0.2 to 2 and a truth of 2, 50 tables: 0 were right without
    it, 50 with it.

    Parameters
    ----------
    X : path, data frame, array or Table
        Gaps are welcome.
    most : int, optional
        The largest number tried; 20 where it is not given.
    standardize : bool, default True
        Every column counts alike; where the columns' own units make the noise more even, the likelihood judges work in
        those.
    band : float, default 0.95
        Quantile of the shuffled tables' eigenvalues that a dimension must exceed.
    folds : int, optional
        Of 20 parts of the seen cells, how many are hidden in turn; by the table's size where it is not given.
    shuffles : int, optional
        Shuffled tables; by the table's size where it is not given.
    random_state : int, default 0

    Returns
    -------
    Jury
        `.q` is the answer, `.sentence` says how sure it is, `.text()` every judge's vote.

    References
    ----------
    Minka, Automatic choice of dimensionality for PCA, NIPS 13, 2000. Horn, A rationale and test for the number of
    factors in factor analysis, Psychometrika 30, 1965. Gavish and Donoho, The optimal hard threshold for singular
    values is 4/sqrt(3), IEEE Transactions on Information Theory 60, 2014.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8)) + 0.3 * rng.standard_normal((200, 8))
    >>> choose_dimension(X).sentence
    '2'
    """
    _check(most, standardize, band, folds, shuffles)
    seed = seed_of(random_state)
    unit = jury_table(numbers_of(X, standardize)[0], standardize=standardize, seed=seed)
    notes = (f"judged on {unit.n} of {unit.sampled} rows, drawn by the seed",) if unit.sampled else ()
    if unit.d < 2:
        return _without(0, (*notes, "fewer than two columns vary, so nothing can be shared"), unit)
    values = spectrum(unit.x) if unit.mask is None else None
    rank = min(unit.n - 1, unit.d) if values is None else rank_of(values)
    if values is not None and (exact := _exact(unit, values, rank, notes)):
        return exact
    cap = most_possible(unit, rank)
    top = min(cap, MOST_DIMENSIONS if most is None else most)
    noise = parallel_analysis(unit, shuffles=shuffles, band=band, seed=seed)
    t = own_units(unit, min(noise.q, top)) if standardize else unit
    found = _deliberate(t, noise, top, folds, seed, notes, standardized=standardize and t is unit)
    return found._replace(distances=law_of(unit, seed, quick=True))


def _check(most: Any, standardize: Any, band: Any, folds: Any, shuffles: Any) -> None:
    counts = (("most", most, 0, 10**6), ("folds", folds, 1, HELD_OUT_PARTS), ("shuffles", shuffles, 1, 10**6))
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


def _exact(t: JuryTable, values: Array, rank: int, notes: tuple[str, ...]) -> Jury | None:
    """The verdict on a complete table of low rank; that of a nearly full rank tells of columns that add up."""
    full = min(t.n - 1, t.d)
    q = exact_rank(log_likelihoods(values[:rank], t.d, t.n, rank - 1)[1]) or rank
    if 2 * q > full + 1 or q == full:
        return None
    exactly = f"the table has exactly rank {rank}: nothing is left to call noise"
    return _without(q, (*notes, exactly if q == rank else _nothing_left(q)), t)


def _nothing_left(q: int) -> str:
    return f"{count(q, 'dimension')} {'leaves' if q == 1 else 'leave'} nothing to call noise"


def most_possible(t: JuryTable, rank: int) -> int:
    """The largest q worth asking about: some noise must be left, and BIC runs away near the rank where n < d."""
    return max(min(t.d - 1, rank - 1) if t.n > t.d else min(t.d - 1, rank // 2), 0)


class _Ladder(NamedTuple):
    """What fits with 0, 1, ... dimensions said."""

    bic: Array
    noise: Array  # noise variances
    hidden: HeldOutDensity | None
    exact: int | None = None  # dimensions that leave nothing to call noise


class Deliberation(NamedTuple):
    """The judges' answers on one table, and what they were made from."""

    tried: _Ladder
    weights: Array  # BIC's
    minka: Array | None  # Minka's posterior
    judges: tuple[Judge, ...]  # held-out cells, evidence, Minka, parallel analysis, threshold
    notes: tuple[str, ...]


def _deliberate(
    t: JuryTable,
    noise: ParallelAnalysis,
    top: int,
    folds: int | None,
    seed: int,
    notes: tuple[str, ...],
    *,
    standardized: bool,
) -> Jury:
    """All judges on one table."""
    whole = spectrum(t.complete) if len(t.complete) > 2 else np.zeros(0)
    evidence, minka_judge = _minka(t, whole, top)
    most = noise.q if minka_judge.q is None else max(noise.q, minka_judge.q)
    tried = _try(t, top, min(most, top) + 1, folds, seed, whole)
    if tried.exact is not None and 2 * tried.exact <= min(t.n - 1, t.d) + 1:
        verdict = _without(tried.exact, (*notes, _nothing_left(tried.exact)), t)
        return verdict._replace(eigenvalues=noise.eigenvalues, band=noise.band)
    bic_judge = _bic_judge(t, weights(tried.bic))
    judges = (_heldout_judge(tried.hidden), bic_judge, minka_judge, _parallel_judge(noise, top), _threshold_judge(t))
    even = Deliberation(tried, weights(tried.bic), evidence, judges, notes)
    factors = ask(t, bic_judge.q or 0, standardized=standardized) if (bic_judge.q or 0) > noise.q else None
    return _verdict(t, noise, top, even if factors is None else _uneven(t, even, factors, folds, seed))


def _verdict(t: JuryTable, noise: ParallelAnalysis, top: int, deliberation: Deliberation) -> Jury:
    """The median vote and its sentence."""
    tried, notes = deliberation.tried, deliberation.notes
    votes = [j.q for j in deliberation.judges if j.votes and j.q is not None]
    q = min(median_vote(votes), len(tried.bic) - 1)
    others = [k for k in range(len(tried.bic)) if k != q]
    paired = () if tried.hidden is None else tuple(tried.hidden.compare(q, k) for k in others)
    if q == top and top < t.d - 1:
        notes = (*notes, f"{top} is the largest number tried; there may be more")
    found = Jury(
        q,
        "",
        _rows(tried, deliberation.weights, deliberation.minka, noise),
        deliberation.judges,
        paired,
        noise.eigenvalues,
        noise.band,
        None,
        notes,
        t.d,
    )
    return found._replace(sentence=sentence(found, float(deliberation.weights[q])))


def _uneven(t: JuryTable, even: Deliberation, found: FactorEvidence, folds: int | None, seed: int) -> Deliberation:
    """What the judges say once every column has a noise of its own; Minka's evidence does not know such."""
    hidden = hidden_cells(t, even.tried.hidden, found, folds, seed)
    same = hidden is even.tried.hidden
    many = len(found.bic) if hidden is None else len(hidden.log_density)
    logs = np.append(found.bic, np.full(max(many - len(found.bic), 0), -np.inf))[:many]
    own = "a noise for each column"
    held = even.judges[0] if same else _heldout_judge(hidden)
    held = held if same else held._replace(detail=f"{held.detail}; {own}")
    detail = f"BIC weight {found.weights[found.q]:.0%} on {count(found.rows, 'row')}; {own}"
    evidence = Judge("evidence", found.q, detail)
    minka = even.judges[2]
    if minka.q is not None:
        minka = minka._replace(detail=f"{minka.detail}; it takes the noise of all columns for equal", votes=False)
    few = f"{count(found.q, 'dimension')} {'does' if found.q == 1 else 'do'}"
    note = f"with a noise for each column (factor analysis) {few} what takes {found.even} with one noise for all"
    return Deliberation(
        _Ladder(logs, even.tried.noise[:many], hidden),
        weights(logs),
        even.minka,
        (held, evidence, minka, *even.judges[3:]),
        (*even.notes, note),
    )


def median_vote(votes: list[int]) -> int:
    """The median vote, the lower one of two.

    >>> median_vote([5, 5, 4, 5]), median_vote([3, 5, 3, 5])
    (5, 3)
    """
    return sorted(votes)[(len(votes) - 1) // 2]


def _try(t: JuryTable, top: int, least: int, folds: int | None, seed: int, whole: Array) -> _Ladder:
    """Fit 0, 1, ... dimensions until more of them are plainly worse, or leave no noise at all."""
    look = None if t.mask is None else quick_look(Block(t.x, t.mask))
    closed = log_likelihoods(whole, t.d, t.n, top) if look is None else None
    cells = Folds(t, folds, seed)
    logs: list[float] = []
    noise: list[float] = []
    hidden: HeldOutDensity | None = None
    for q in range(top + 1):
        if closed is not None:
            log_likelihood, s2 = float(closed[0][q]), float(closed[1][q])
        else:
            assert look is not None
            fit = quick_fit(look, q)
            log_likelihood, s2 = fit.log_likelihood, fit.noise
        if q and s2 < EXACT_SHARE * noise[0]:  # its likelihood has no bound: evidence would run away with it
            return _Ladder(np.array(logs), np.array(noise), hidden, exact_rank(np.array([*noise, s2])))
        logs.append(bic(log_likelihood, t.d, q, t.rows))
        noise.append(s2)
        hidden = cells.next() if cells.count else None
        if _enough(q, least, np.array(logs), hidden):
            break
    return _Ladder(np.array(logs), np.array(noise), hidden)


def _enough(q: int, least: int, logs: Array, hidden: HeldOutDensity | None) -> bool:
    """Whether evidence and held-out density both fell three times in a row, or the density collapsed."""
    if hidden is None:
        return q >= least + FALLS - 1 and falling(logs)
    means = hidden.means()
    if not falling(means):
        return False
    collapsed = bool(means.max() - means[-1] > COLLAPSE)
    return collapsed or (q >= least + FALLS - 1 and falling(logs))


# the judges ------------------------------------------------------------------------------------------


def _minka(t: JuryTable, values: Array, top: int) -> tuple[Array | None, Judge]:
    """Minka's posterior over q, where enough rows are complete."""
    rows = len(t.complete)
    if t.mask is not None and (rows < max(30, 3 * t.d) or 3 * rows < t.n):
        return None, Judge("Minka", None, f"only {rows} of {t.n} rows are complete: too few to speak for the table")
    if rank_of(values) < 2:
        return None, Judge("Minka", None, "the complete rows vary in fewer than two directions")
    posterior = weights(minka(values, rows, t.d, top))
    q = int(np.argmax(posterior))
    return posterior, Judge("Minka", q, f"{rows} complete rows, {q} has {posterior[q]:.0%}")


def _bic_judge(t: JuryTable, found: Array) -> Judge:
    q = int(np.argmax(found))
    return Judge("evidence", q, f"BIC weight {found[q]:.0%} on all {t.n} rows")


def _heldout_judge(hidden: HeldOutDensity | None) -> Judge:
    if hidden is None:
        return Judge("held-out cells", None, "no column has enough cells to hide any")
    q = hidden.smallest()
    best = int(np.argmax(hidden.means()))
    detail = f"{len(hidden.row)} cells hidden, Q2 {hidden.q2()[q]:.2f}"
    return Judge("held-out cells", q, detail if q == best else f"{detail}; {best} predicts best, but not clearly")


def _parallel_judge(noise: ParallelAnalysis, top: int) -> Judge:
    more = f"; {noise.q} without the limit" if noise.q > top else ""
    return Judge("parallel analysis", min(noise.q, top), f"{noise.shuffles} shuffled tables{more}")


def _threshold_judge(t: JuryTable) -> Judge:
    gaps = 1.0 - t.seen / (t.n * t.d)
    if gaps > NEARLY:
        return Judge("Gavish-Donoho", None, f"{gaps:.0%} of the cells are gaps: its law needs a full table", False)
    values = spectrum(t.x)
    if rank_of(values) < len(values):
        return Judge("Gavish-Donoho", None, "the table's rank is short: its median is not the noise's", False)
    return Judge("Gavish-Donoho", gavish_donoho(values, t.n, t.d), "worth keeping in a hard cut", False)


def _rows(
    tried: _Ladder, bic_weights: Array, evidence: Array | None, noise: ParallelAnalysis
) -> tuple[DimensionRow, ...]:
    shared = 1.0 - tried.noise / tried.noise[0]
    q2 = None if tried.hidden is None else tried.hidden.q2()
    density = None if tried.hidden is None else tried.hidden.means()
    above = noise.eigenvalues > noise.band
    return tuple(
        DimensionRow(
            q,
            float(shared[q]),
            None if q2 is None else float(q2[q]),
            None if density is None else float(density[q]),
            float(bic_weights[q]),
            None if evidence is None or q >= len(evidence) else float(evidence[q]),
            bool(above[:q].all()) if q else None,
        )
        for q in range(len(tried.bic))
    )


def _without(q: int, notes: tuple[str, ...], t: JuryTable) -> Jury:
    """The verdict where the table leaves nothing to judge."""
    judge = Judge("rank", q, notes[-1])
    words = "no shared structure found" if q == 0 else str(q)
    empty = np.zeros(0)
    values = empty if q == 0 or t.mask is not None else spectrum(t.x)
    return Jury(q, words, (), (judge,), (), values, empty, None, notes)
