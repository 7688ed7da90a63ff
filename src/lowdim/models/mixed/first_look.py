"""Before variational EM: a look at the columns, what kind each is, their sites, and axes guessed from correlations."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from lowdim.engine.fold import Run, fold
from lowdim.engine.statistics import BlockSurvey, columns, pairs
from lowdim.maths.linalg import Array, Mask, largest
from lowdim.models.base.options import check_components
from lowdim.models.base.survey import LARGE_ORDER, TableSurvey, standardized, survey_table
from lowdim.models.linear.linear_gaussian import axes_beyond, excess
from lowdim.models.mixed.column_kinds import (
    LEVELLED,
    ColumnLook,
    MixedColumns,
    choose_kind,
    describe,
    log_ranges,
    look_at,
    score_curves,
    start_table,
)
from lowdim.models.mixed.variational_em import LOGISTIC, MixedParams
from lowdim.sources.arrays import ArraySource
from lowdim.sources.labelled_frames import Labels, labels_of
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed
from lowdim.text.messages import error, no_warnings

LOWEST = 0.005  # the least share of its variance that is a column's own, as in `FactorAnalysis`
LOWEST_MARKER = 0.01  # of an indicator, which takes two values: less noise would make its density grow without end
MOST_COMMON = 0.9  # of a site's variance that the guessed axes may explain
LEAST_BETWEEN = 0.4  # of the real columns' variance, on average, that lies between the labels: fewer mark no clusters
TRIED_ROWS, LEAST_ROWS = 1000, 60  # spread over the table
HIDDEN = 0.2  # of the seen cells
TRIAL_TOL, TRIAL_PASSES = 1e-3, 100
LEAST_SHARE = 0.01  # of a label that did not occur among the seen cells
ERRORS = 2.0  # standard errors by which indicators must predict better


# what the columns hold --------------------------------------------------------------------------------------------
class FirstLook(NamedTuple):
    """What is known of the columns before it is known of what kind they are."""

    scales: TableSurvey  # each column in units of its spread
    values: ColumnLook
    labels: tuple[Labels, ...]
    ordered: tuple[bool, ...]
    whole: tuple[bool, ...]  # whether its type holds whole numbers only


def first_look(source: Source, run: Run) -> FirstLook:
    """A pass for the scales of the columns and one for their values."""
    scales = survey_table(source, run, wide=True, each=True, units_matter=False)
    scales = standardized(scales, source, note="LD130.columns")  # labels have no scale that could be said to be 1
    return FirstLook(scales, fold(look_at, source, run), *labels_of(source))


# what kind each is ------------------------------------------------------------------------------------------------
def asked_kinds(likelihoods: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """The kind asked for of each column; a dict may leave columns out, which are then found."""
    if isinstance(likelihoods, str):
        return (likelihoods,) * len(names)
    if isinstance(likelihoods, dict):
        strange = [name for name in likelihoods if name not in names]
        if strange:
            listed = ", ".join(names[:10])
            raise error("LD103", column=strange[0], option="likelihoods", fix=f"the columns are: {listed}")
        return tuple(likelihoods.get(name, "auto") for name in names)
    if len(likelihoods) != len(names):
        allowed = f"one kind for each of {len(names)} columns"
        raise error("LD210", option="likelihoods", value=likelihoods, allowed=allowed)
    return tuple(likelihoods)


def found_kinds(look: FirstLook, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The kind of each column: as asked, or by its values and its type."""
    parts = zip(look.scales.source.columns, asked, look.labels, look.ordered, strict=True)
    return tuple(
        choose_kind(name, kind, look.values, j, labels, ordered)
        for j, (name, kind, labels, ordered) in enumerate(parts)
    )


def with_indicators(model: Any, source: Source, kinds: tuple[str, ...], asked: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds with labels that mark clusters of the real columns as markers, where their kind was not asked for.

    A label whose odds are logistic in z only truncates a Gaussian z, so that it cannot pin the middle of a group; an
    indicator with Gaussian noise can. Which of the two holds is asked of hidden cells: of some rows a part of the cells
    is hidden, both models are fitted to the rest, and the log densities and probabilities that they give to the hidden
    cells, of all columns, are compared.
    """
    labels = [j for j, kind in enumerate(kinds) if kind == "label" and asked[j] == "auto"]
    real = [j for j, kind in enumerate(kinds) if kind == "real"]
    if not labels or not real or source.n < LEAST_ROWS or not model.n_components:
        return kinds
    rows = source.sample(TRIED_ROWS)
    x = rows.with_nan
    markers = [j for j in labels if variance_between(x[:, j], x[:, real]) >= LEAST_BETWEEN]
    if not markers:
        return kinds
    marked = tuple("marker" if j in markers else kind for j, kind in enumerate(kinds))
    hidden = (np.random.default_rng(0).random(x.shape) < HIDDEN) & ~np.isnan(x)
    rest = ArraySource(np.where(hidden, np.nan, x), columns=None, weight=rows.weight)
    as_labels, as_indicators = (_hidden_losses(model, own, rest, x, hidden) for own in (kinds, marked))
    gain = (as_labels - as_indicators).sum(axis=1)  # nats a row
    return marked if gain.sum() > ERRORS * np.sqrt((gain**2).sum()) else kinds


def variance_between(labels: Array, X: Array) -> float:
    """The share of the columns' variance between the labels, on average."""
    shares = []
    for x in X.T:
        both = ~np.isnan(labels) & ~np.isnan(x)
        _, at = np.unique(labels[both], return_inverse=True)
        many = np.bincount(at)
        own = x[both] - (x[both].mean() if both.any() else 0.0)
        whole = float(own @ own)
        between = float((np.bincount(at, own) ** 2 / np.maximum(many, 1)).sum())
        shares.append(between / whole if whole > 0 and len(many) > 1 else 0.0)
    return float(np.mean(shares))


def _hidden_losses(model: Any, kinds: tuple[str, ...], rest: Source, x: Array, hidden: Mask) -> Array:
    """-log density or probability of each hidden cell of real and levelled columns under a fit to the rest, else 0."""
    trial = clone(model).set_params(likelihoods=kinds, ard=False, rotation=None, calibrate=False)
    trial = trial.set_params(tol=TRIAL_TOL, max_iter=TRIAL_PASSES)
    with no_warnings():
        trial.fit(rest)
        cells = trial.expected_cells(rest)
        shares = trial.probabilities(rest)
    described, losses = trial.params_.columns, np.zeros(x.shape)
    for j, (name, kind) in enumerate(zip(described.names, described.kinds, strict=True)):
        rows = np.flatnonzero(hidden[:, j])
        truth = x[rows, j]
        if kind == "real":
            var = cells.var[rows, j] + cells.noise[rows, j]
            losses[rows, j] = 0.5 * ((truth - cells.mean[rows, j]) ** 2 / var + np.log(var))
        elif kind in LEVELLED:
            own = (shares[name][rows] * (described.levels[j] == truth[:, None])).sum(axis=1)
            losses[rows, j] = -np.log(np.maximum(own, LEAST_SHARE))
    return losses


# the columns as sites ---------------------------------------------------------------------------------------------
class MixedSurvey(NamedTuple):
    """What the passes before EM found."""

    frame: Frame
    source: Source  # in the frame
    columns: MixedColumns
    mean: Array  # G, of the numbers that stand for each weight vector (`start_table`)
    sd: Array  # G, their standard deviations
    correlation: Array | None  # G x G, where there are not too many
    seen: Array  # d, seen cells by weight
    passes: int


def survey_sites(source: Source, run: Run, look: FirstLook, kinds: tuple[str, ...]) -> MixedSurvey:
    """The columns as sites: a pass for the curves of positive ones, and one for the correlations of all sites."""
    described = describe(source.columns, kinds, look.values, look.labels, look.whole)
    ranges = log_ranges(described, look.values)
    if ranges:
        curves = list(described.curves)
        for logs, curve in zip(ranges, score_curves(ranges, source, run), strict=True):
            curves[logs.column] = curve
        described = described._replace(curves=tuple(curves))
    real = np.array([kind == "real" for kind in kinds])  # others stay as they are: their sites have scales of their own
    shift, scale, unit = look.scales.frame
    frame = Frame(np.where(real, shift, 0.0), np.where(real, scale, 1.0), np.where(real, unit, 1.0))
    framed = Framed(source, frame)
    few = len(described.owners) <= LARGE_ORDER
    sums = fold(partial(_start_sums, described, few), framed, run)
    assert sums.columns is not None
    mean, sd = sums.columns.mean, np.sqrt(sums.columns.variance)
    sd = np.where(sd > 0, sd, 1.0)
    correlation = sums.pairs().covariance() / np.outer(sd, sd) if few else None
    # positive columns and indicators are standardised as sites; real ones are so already, by the frame
    own = np.array([kinds[j] != "real" for j, _ in described.gaussian], dtype=bool)
    R = len(own)
    described = described._replace(centre=np.where(own, mean[:R], 0.0), spread=np.where(own, sd[:R], 1.0))
    mean = np.concatenate([np.where(own, 0.0, mean[:R]), mean[R:]])
    passes = look.scales.passes + 2 + bool(ranges)
    return MixedSurvey(frame, framed, described, mean, sd, correlation, look.scales.columns.seen, passes)


def _start_sums(described: MixedColumns, few: bool, block: Block) -> BlockSurvey:
    table = start_table(described, block)
    table = table._replace(mask=table.seen)
    return BlockSurvey(columns(table), None, pairs(table) if few else None)


# where EM begins --------------------------------------------------------------------------------------------------
def start(survey: MixedSurvey, q: int, alpha: float, one_noise: bool, rng: np.random.Generator) -> MixedParams:
    """Axes of the correlations of what stands for each weight vector; intercepts from the shares of the levels."""
    described, G = survey.columns, len(survey.columns.owners)
    check_components(q, G, f"the table has {G} columns and labels to explain")
    R, M = len(described.gaussian), len(described.single)
    L = _first_loadings(survey.correlation, G, q, rng)
    # L says how latent responses correlate; in logits a response has the noise of a logistic curve, not 1 - |l|^2
    unique = 1.0 - (L**2).sum(axis=1)
    stretch = np.sqrt(1.0 / unique)
    W = np.concatenate([L[:R], LOGISTIC * L[R:] / np.sqrt(unique[R:, None])])
    b = _logit(np.clip(survey.mean[R : R + M], 1e-3, 1.0 - 1e-3)) * stretch[R : R + M]
    at = described.count_sites
    b[at] = survey.mean[R : R + M][at]  # log(1 + x) moves as eta does, nearly, with r = 1
    W[R : R + M][at] = L[R : R + M][at] * survey.sd[R : R + M][at][:, None]
    t = [_thresholds(described.counts[j]) * stretch[R + M + o] for o, j in enumerate(described.ordinal)]
    low = np.array([LOWEST_MARKER if described.kinds[j] == "marker" else LOWEST for j, _ in described.gaussian])
    seen = np.array([_seen_of(survey, j) for j, _ in described.gaussian])
    prior = np.full((G, q), alpha)
    prior[[s for s, (j, _) in enumerate(described.gaussian) if described.kinds[j] != "amount"]] = 0.0
    return MixedParams(
        W=W,
        mu=survey.mean[:R],
        b=b,
        t=np.concatenate([np.zeros(0), *t]),
        psi=np.maximum(unique[:R].mean() if one_noise and R else unique[:R], low),
        r=np.ones(len(at)),
        T=np.eye(q),
        V=np.zeros((G, q + 1, q + 1)),
        low=low,
        excess=excess(seen, q),
        alpha=prior,
        columns=described,
    )


def _seen_of(survey: MixedSurvey, j: int) -> float:
    """Seen cells of the Gaussian site of a column: of amounts those that are not zero."""
    seen = survey.columns.counts[j][1] if survey.columns.kinds[j] == "amount" else survey.seen[j]
    return max(float(seen), 1.0)


def _first_loadings(correlation: Array | None, G: int, q: int, rng: np.random.Generator) -> Array:
    """Principal axes of the correlations, less the noise that the rest of their spectrum shows; G x q."""
    if correlation is None:  # too many columns for a matrix of them
        L = rng.standard_normal((G, q)) * np.sqrt(0.3 / max(q, 1))
    else:
        np.fill_diagonal(correlation, 1.0)
        values, vectors = largest(np.clip(correlation, -1.0, 1.0), q)
        rest = max((G - float(values.sum())) / max(G - q, 1), 0.05)
        L = axes_beyond(values, vectors, rest)
    common = (L**2).sum(axis=1, keepdims=True)
    return L * np.sqrt(np.minimum(1.0, MOST_COMMON / np.maximum(common, 1e-12)))


def _logit(p: Array) -> Array:
    return np.log(p) - np.log1p(-p)


def _thresholds(counts: Array) -> Array:
    """Thresholds at which the levels of an ordinal column have their shares."""
    below = np.cumsum(counts)[:-1] / counts.sum()
    t = _logit(np.clip(below, 1e-4, 1.0 - 1e-4))
    gaps = np.maximum(np.diff(t), 1e-3)
    return t[0] + np.concatenate([[0.0], np.cumsum(gaps)])
