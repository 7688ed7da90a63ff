"""Where variational EM begins: the look at the columns, their scales, and axes guessed from correlations."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fold import Run, fold
from lowdim.engine.statistics import BlockSurvey, columns, pairs
from lowdim.maths.linalg import Array, largest
from lowdim.models.base.survey import LARGE_ORDER, standardized, survey_table
from lowdim.models.mixed.column_kinds import ColumnLook, MixedColumns, choose_kind, describe, look_at, start_table
from lowdim.models.mixed.normal_scores import LogRange, curves
from lowdim.models.mixed.variational_em import MixedParams
from lowdim.sources.labelled_frames import labels_of, whole_columns
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed
from lowdim.text.messages import error

LOWEST = 0.005  # the least share of its variance that is a column's own, as in `FactorAnalysis`
LOWEST_MARKER = 0.01  # of an indicator, which takes two values: less noise would make its density grow without end
LOGISTIC = 1.7  # a logistic curve is a normal one of this standard deviation, nearly
MOST_COMMON = 0.9  # of a site's variance that the guessed axes may explain


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

    @property
    def log_stretch(self) -> float:
        """What the log density of all seen cells gains when it is stated in the table's units."""
        return float(self.seen @ np.log(self.frame.scale))


def survey_mixed(source: Source, run: Run, likelihoods: Any) -> MixedSurvey:
    """A pass each: scales of the columns, their values, curves of positive ones, and correlations of their sites."""
    names, (labels, ordered) = source.columns, labels_of(source)
    asked = asked_kinds(likelihoods, names)
    survey = survey_table(source, run, standardize=False, wide=True, each=True)
    survey = standardized(survey, source, note="LD130.columns")  # labels have no scale that could be said to be 1
    look = fold(look_at, source, run)
    kinds = tuple(choose_kind(names[j], asked[j], look, j, labels[j], ordered[j]) for j in range(source.d))
    described = describe(names, kinds, look, labels)._replace(whole=whole_columns(source))
    found = curves(_log_ranges(described, look), source, run)
    if found:
        described = described._replace(curves=tuple(found.get(j, np.zeros((2, 0))) for j in range(source.d)))
    real = np.array([kind == "real" for kind in kinds])
    frame = Frame(*(np.where(real, own, plain) for own, plain in zip(survey.frame, (0.0, 1.0, 1.0), strict=True)))
    framed = Framed(source, frame)
    small = described.n_weights <= LARGE_ORDER
    sums = fold(partial(_start_sums, described, small), framed, run)
    assert sums.columns is not None
    mean, sd = sums.columns.mean, np.sqrt(sums.columns.variance)
    sd = np.where(sd > 0, sd, 1.0)
    correlation = sums.pairs().covariance() / np.outer(sd, sd) if small else None
    own = np.array([kinds[j] != "real" for j, _ in described.gaussian], dtype=bool)
    R = len(own)
    described = described._replace(centre=np.where(own, mean[:R], 0.0), spread=np.where(own, sd[:R], 1.0))
    mean = np.concatenate([np.where(own, 0.0, mean[:R]), mean[R:]])
    passes = survey.passes + 2 + bool(found)
    return MixedSurvey(frame, framed, described, mean, sd, correlation, survey.columns.seen, passes)


def _log_ranges(described: MixedColumns, look: ColumnLook) -> list[LogRange]:
    """The ends of the logarithms of positive columns."""
    out = []
    for j, kind in enumerate(described.kinds):
        if kind == "positive" and look.seen[j] > 0:
            offset = float(described.offset[j])
            low, high = np.log(np.array([look.low[j], look.high[j]]) + offset).tolist()
            out.append(LogRange(j, offset, low, high))
    return out


def _start_sums(described: MixedColumns, small: bool, block: Block) -> BlockSurvey:
    table = start_table(described, block)
    mask = np.ones(table.x.shape, dtype=bool) if table.mask is None else table.mask
    table = table._replace(mask=mask)
    return BlockSurvey(columns(table), None, pairs(table) if small else None)


def asked_kinds(likelihoods: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """The kind asked for of each column; a dict may leave columns out, which are then found."""
    if isinstance(likelihoods, str):
        return (likelihoods,) * len(names)
    if isinstance(likelihoods, dict):
        strange = [name for name in likelihoods if name not in names]
        if strange:
            raise error(
                "LD103", column=strange[0], option="likelihoods", fix=f"the columns are: {', '.join(names[:10])}"
            )
        return tuple(likelihoods.get(name, "auto") for name in names)
    if len(likelihoods) != len(names):
        raise error(
            "LD210", option="likelihoods", value=likelihoods, allowed=f"one kind for each of {len(names)} columns"
        )
    return tuple(likelihoods)


# parameters -------------------------------------------------------------------------------------------------------
def start(survey: MixedSurvey, q: int, alpha: float, one_noise: bool, rng: np.random.Generator) -> MixedParams:
    """Axes of the correlations of what stands for each weight vector; intercepts from the shares of the levels."""
    described, G = survey.columns, survey.columns.n_weights
    if q > G:
        raise error("LD200", n_components=q, most=G, why=f"the table has {G} columns and labels to explain")
    L = _first_loadings(survey.correlation, G, q, rng)
    R, M = len(described.gaussian), len(described.single)
    unique = 1.0 - (L**2).sum(axis=1)
    W = np.concatenate([L[:R], LOGISTIC * L[R:] / np.sqrt(unique[R:, None])])
    stretch = np.sqrt(1.0 / unique)
    b = _logit(np.clip(survey.mean[R : R + M], 1e-3, 1.0 - 1e-3)) * stretch[R : R + M]
    at = described.count_sites
    b[at] = survey.mean[R : R + M][at]  # log(1 + x) moves as eta does, nearly, with r = 1
    W[R : R + M][at] = L[R : R + M][at] * survey.sd[R : R + M][at][:, None]
    t = [_thresholds(described.counts[j]) * stretch[R + M + o] for o, j in enumerate(described.ordinal)]
    low = np.array([LOWEST_MARKER if described.kinds[j] == "marker" else LOWEST for j, _ in described.gaussian])
    seen = np.array([survey.seen[j] for j, _ in described.gaussian])
    psi = np.maximum(unique[:R].mean() if one_noise and R else unique[:R], low)
    prior = np.full((G, q), alpha)
    prior[:R] = 0.0
    return MixedParams(
        W,
        survey.mean[:R],
        b,
        np.concatenate([np.zeros(0), *t]),
        psi,
        np.ones(len(at)),
        np.eye(q),
        np.zeros((G, q + 1, q + 1)),
        low,
        seen / np.maximum(seen - q - 1.0, seen / 4.0),
        prior,
        described,
    )


def _first_loadings(correlation: Array | None, G: int, q: int, rng: np.random.Generator) -> Array:
    if correlation is None:  # too many columns for a matrix of them
        L = rng.standard_normal((G, q)) * np.sqrt(0.3 / max(q, 1))
    else:
        np.fill_diagonal(correlation, 1.0)
        values, vectors = largest(np.clip(correlation, -1.0, 1.0), q)
        rest = max((G - float(values.sum())) / max(G - q, 1), 0.05)
        L = vectors * np.sqrt(np.maximum(values - rest, 0.01))
    common = (L**2).sum(axis=1, keepdims=True)
    return np.asarray(L * np.sqrt(np.minimum(1.0, MOST_COMMON / np.maximum(common, 1e-12))))


def _logit(p: Array) -> Array:
    return np.asarray(np.log(p) - np.log1p(-p))


def _thresholds(counts: Array) -> Array:
    """Thresholds at which the levels of an ordinal column have their shares."""
    below = np.cumsum(counts)[:-1] / counts.sum()
    t = _logit(np.clip(below, 1e-4, 1.0 - 1e-4))
    gaps = np.maximum(np.diff(t), 1e-3)
    return np.asarray(t[0] + np.concatenate([[0.0], np.cumsum(gaps)]))
