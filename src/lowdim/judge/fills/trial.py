"""Every engine on the hidden cells: which linear model is best, what each makes of numbers, and of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lowdim.judge.fills.engines.category import word_opinions
from lowdim.judge.fills.engines.engine import Engine, EngineFit, FittedEngine
from lowdim.judge.fills.folds import (
    SMALL_TRIAL_CELLS,
    FoldCells,
    Guesses,
    HiddenFold,
    guessed,
    guesses_of,
    hidden_cells,
    hidden_folds,
    joined,
)
from lowdim.judge.fills.result import EngineShare
from lowdim.judge.fills.view import FillView
from lowdim.judge.fills.words import WordTrials
from lowdim.judge.row_order import row_order
from lowdim.maths.linalg import Array, centre_and_spread
from lowdim.text.messages import LowdimError, no_warnings

TRIAL_ROWS = 6_000  # rows of a large table that trials are made with: more of them teach nothing about a quantile


class Trial(NamedTuple):
    """What the engines made of the hidden cells."""

    cells: FoldCells  # of numbers
    linear: EngineFit | None  # the best linear model; none where no number is missing
    engines: list[Engine]  # those beside it that fill numbers
    guesses: list[Guesses]  # of the linear model, then of these
    latent: list[Engine]  # the engines that tell labels
    words: dict[int, WordTrials]  # by column
    failed: list[EngineShare]


def tried(
    view: FillView,
    linear: Sequence[EngineFit],
    engines: Sequence[Engine],
    parts: int,
    fits: int,
    seed: int,
    *,
    regressions: bool,
) -> Trial:
    """Hide cells of the numbers, where some are missing, and of the words that have gaps, and let all fill them."""
    rows = view.rows
    if len(rows) > TRIAL_ROWS:
        rows = rows[row_order(rows, ~np.isnan(rows), seed)[:TRIAL_ROWS]]
    columns = [*(range(view.d) if linear else ()), *view.words]
    folds = hidden_folds(rows, parts, fits, seed, columns) if columns else []
    cells = hidden_cells(folds)
    best, first = _best_linear(linear, folds, view)
    found, failed, words = _each_tried(view, engines, folds, regressions)
    of_numbers = [e for e in engines if linear and e.name not in failed]
    return Trial(
        cells.of(cells.column < view.d),
        best,
        of_numbers,
        [first, *(found[e.name] for e in of_numbers)],
        [e for e in engines if any(e.name in trial.told for trial in words.values())],
        words,
        [EngineShare(name, 0.0, None, "could not be fitted") for name in failed],
    )


def _best_linear(
    linear: Sequence[EngineFit], folds: Sequence[HiddenFold], view: FillView
) -> tuple[EngineFit | None, Guesses]:
    """The linear model that predicts hidden numbers best; in a large table the first fold chooses."""
    if not linear:
        return None, Guesses(np.zeros(0), np.zeros(0))
    unit, whole = centre_and_spread(view.rows)[1], len(linear) == 1 or (~np.isnan(view.rows)).sum() < SMALL_TRIAL_CELLS
    heat = folds if whole else folds[:1]
    cells = hidden_cells(heat)
    spread = unit[cells.column[cells.column < view.d]]

    def off(found: Guesses | None) -> float:
        return np.inf if found is None else float(((found.error / spread) ** 2).sum())

    found = [guessed(fit, heat) for fit in linear]
    k = min(range(len(linear)), key=lambda k: off(found[k]))
    own = found[k] if whole else guessed(linear[k], folds[1:])
    if own is None:  # nothing to check it by
        return linear[k], Guesses(np.zeros(0), np.zeros(0))
    first = found[k]
    return linear[k], own if whole or first is None else joined([first, own])


def _each_tried(
    view: FillView, engines: Sequence[Engine], folds: Sequence[HiddenFold], regressions: bool
) -> tuple[dict[str, Guesses], list[str], dict[int, WordTrials]]:
    """Each engine fitted once a fold: its guesses of numbers, those that failed, and what all tell of words."""
    failed: list[str] = []
    guesses: dict[str, list[Guesses]] = {e.name: [] for e in engines}
    told: list[dict[int, WordTrials]] = []
    for k, fold in enumerate(folds):
        latent: dict[str, FittedEngine] = {}
        for engine in [e for e in engines if e.name not in failed]:
            try:
                with no_warnings():
                    fitted = engine.fit(fold.fitted)
                    own = guesses_of(fitted, fold)
            except LowdimError:
                own = Guesses(np.full(1, np.nan), np.full(1, np.nan))
            if not np.isfinite(own.error).all() or not np.isfinite(own.sd).all():
                failed.append(engine.name)
                continue
            guesses[engine.name].append(own)
            if fitted.shares is not None:
                latent[engine.name] = fitted
        told.append(_words_told(view, latent, fold, k, regressions) if view.words else {})
    words = {j: _whole([one[j] for one in told], failed) for j in view.words}
    return {name: joined(parts) for name, parts in guesses.items() if name not in failed}, failed, words


def _words_told(
    view: FillView, latent: dict[str, FittedEngine], fold: HiddenFold, k: int, regressions: bool
) -> dict[int, WordTrials]:
    """What the opinions, fitted without a fold, tell of its hidden words."""
    wanted = list(view.words)
    opinions = word_opinions(latent, fold.fitted, view.kinds, view.sizes, wanted, regressions)
    some, at = np.unique(fold.at[fold.column >= view.d], return_inverse=True)
    shares, column = opinions.shares(fold.rows[some], wanted), fold.column[fold.column >= view.d]
    found, cells = {}, hidden_cells([fold])
    for j in wanted:
        own = cells.of(cells.column == j)
        own = own._replace(fold=np.full(len(own.row), k))
        told: dict[str, Array] = {name: one[j][at[column == j]] for name, one in shares.items()}
        found[j] = WordTrials(own, told, np.tile(opinions.usual[j], (len(own.row), 1)))
    return found


def _whole(parts: Sequence[WordTrials], failed: Sequence[str]) -> WordTrials:
    """The folds of one column together, with the opinions that all of them have."""
    names = [name for name in parts[0].told if name not in failed and all(name in part.told for part in parts)]
    return WordTrials(
        FoldCells(*(np.concatenate(piece) for piece in zip(*(part.cells for part in parts), strict=True))),
        {name: np.concatenate([part.told[name] for part in parts]) for name in names},
        np.concatenate([part.usual for part in parts]),
    )
