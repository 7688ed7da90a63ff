"""Which engine fills a table: a contest on cells hidden on purpose, from which the straight model has to be driven.

Every engine fills the same hidden cells as the straight model. The first folds are heats: each engine climbs its rungs
while its error falls. The best of those that beat the straight model there goes on to all folds, and so do those that
blend best with the straight model, three at most; then all of them and a blend (`judge/fills/blend.py`) are compared.
The one with the least squared error fills the table if it is better than the straight model by two standard errors,
paired and with rows as clusters, and its draws are no worse as distributions by one (`judge/fills/trials.py`, energy
score). Hidden cells of a column count together as much as it has gaps: the error is that of the gaps to be filled.

An engine whose forecast does not fit in what is left of the budget is not tried, and that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.blend import best_team, blended_trials, by_blend, products, without_crumbs
from lowdim.judge.fills.engines import Engine, Rung, forecast
from lowdim.judge.fills.models import FillModel
from lowdim.judge.fills.trials import (
    SMALL_TRIAL_CELLS,
    Trials,
    energy_scores,
    gap_weights,
    joined,
    paired,
    skill,
    squared_errors,
    trials,
)
from lowdim.maths.linalg import Array, centre_and_spread
from lowdim.text.format import duration, listing

STRAIGHT: str = "straight model"
STRAIGHT_WORDS: str = "straight lines through the row's other cells"
BLEND = "blend"
BETTER_ERRORS = 2.0  # standard errors by which an engine must be better to replace the straight model
WORSE_ERRORS = 1.0  # standard errors by which its draws may be worse as distributions
FINALISTS = 3
HOPEFUL_ERRORS = 0.5  # standard errors by which an engine must lead after the heats to go on
PATIENCE = 2  # rungs without a gain after which an engine climbs no further
SCORED_DRAWS = 5  # of each hidden cell, for the energy score
FILL_BUDGET = 40.0  # seconds forecast for the engines together, where nothing else is asked
CHOSEN, BEATEN, NO_BETTER, NARROW, BEHIND, OUTRUN = (
    "chosen",
    "beaten",
    "no better",
    "better, but its draws are worse",
    "better, but not the best",
    "better, but behind others in the first folds",
)


class EngineTrial(NamedTuple):
    """How an engine did on the hidden cells, columns in units of their spread; `cells` is 0 where it was not tried."""

    engine: str
    words: str
    verdict: str
    cells: int = 0
    error: float = 0.0  # root mean square
    difference: float = 0.0  # mean squared error less the straight model's
    difference_error: float = 0.0  # its standard error, rows as clusters
    energy: float = 0.0  # mean energy score of the cells of a row hidden together
    energy_difference: float = 0.0
    energy_error: float = 0.0

    @property
    def better(self) -> bool:
        """Whether it predicts hidden cells better than the straight model, by two standard errors."""
        return self.cells > 0 and self.difference < -BETTER_ERRORS * self.difference_error

    @property
    def hopeful(self) -> bool:
        """Whether the other folds could make it better by so much: they halve the standard error at the most."""
        return self.difference < -HOPEFUL_ERRORS * self.difference_error

    @property
    def draws_worse(self) -> bool:
        """Whether its draws are worse as distributions than the straight model's."""
        return self.energy_difference > WORSE_ERRORS * self.energy_error


class Outcome(NamedTuple):
    """What fills the table, how it did on the hidden cells, and how all that were tried did."""

    fit: FillModel
    trials: Trials
    engine: str
    words: str
    tried: tuple[EngineTrial, ...]


class Ground(NamedTuple):
    """The cells that all engines are tried on."""

    X: Array
    fold: NDArray[np.intp]
    heats: int
    fits: int
    seed: int
    draws: int = 0  # of each hidden cell, for the energy score
    numbers: int | None = None  # columns of numbers, which come first; None = all

    def tried(self, fit: FillModel, which: Sequence[int]) -> Trials:
        return trials(fit, self.X, self.fold, which, self.seed, draws=self.draws, numbers=self.numbers)

    def heat(self, fit: FillModel) -> Trials:
        return self.tried(fit, range(self.heats))

    def rest(self, fit: FillModel, heat: Trials) -> Trials:
        """A heat and the other folds."""
        return joined([heat, self.tried(fit, range(self.heats, self.fits))], self.draws)


class Heat(NamedTuple):
    """The best rung of an engine in the heats."""

    engine: str
    rung: Rung
    trials: Trials
    report: EngineTrial


def straight_model(ground: Ground, models: Sequence[FillModel]) -> tuple[FillModel, Trials]:
    """The straight model that predicts hidden cells best, and its trials in all folds.

    They are cheap: in a small table all folds choose, in a large one the heats.
    """
    if len(models) == 1 or len(ground.X) * ground.X.shape[1] < SMALL_TRIAL_CELLS:
        whole = [(model, ground.tried(model, range(ground.fits))) for model in models]
        return max(whole, key=lambda pair: skill(pair[1], ground.X))
    heats = [(model, ground.heat(model)) for model in models]
    model, first = max(heats, key=lambda pair: skill(pair[1], ground.X))
    return model, ground.rest(model, first)


def hold(ground: Ground, fit: FillModel, straight: Trials, engines: Sequence[Engine], budget: float) -> Outcome:
    """Let these engines, the cheap ones first, challenge a straight model that has been through all folds."""
    first = straight.before(ground.heats)
    heats, reports = _heats(ground, first, engines, budget)
    own = compared(STRAIGHT, STRAIGHT_WORDS, straight, straight, ground.X)
    finals = [_final(ground, heat, straight) for heat in _finalists(heats, first, ground.X)]
    whole = [final for final in finals if final.report.cells]
    blend = _blend([Heat(STRAIGHT, Rung(STRAIGHT_WORDS, fit, 0.0), straight, own), *whole], ground.X)
    best = min(
        (one for one in [*whole, *blend] if one.report.better and not one.report.draws_worse),
        key=lambda one: one.report.error,
        default=None,
    )
    ended = {final.engine: final.report for final in finals}
    told = [ended.get(report.engine, report) for report in reports] + [one.report for one in blend]
    tried = (
        own._replace(verdict=BEATEN if best else CHOSEN),
        *(_judged(report, best, report.engine in ended or report.engine == BLEND) for report in told),
    )
    if best is None:
        return Outcome(fit, straight, STRAIGHT, STRAIGHT_WORDS, tried)
    return Outcome(best.rung.fit, best.trials, best.engine, best.rung.words, tried)


def _blend(members: Sequence[Heat], X: Array) -> list[Heat]:
    """The straight model and the finalists together, where more than one of them gets a share."""
    found, unit = [one.trials for one in members], centre_and_spread(X)[1]
    weight = gap_weights(found[0].column, X)
    errors = np.stack([one.error for one in found]) / unit[found[0].column]
    share = without_crumbs(products(errors, weight)) if errors.size else np.ones(1)
    if (share > 0).sum() < 2:
        return []
    parts = [
        f"{100 * s:.0f}% {one.engine}" for s, one in sorted(zip(share, members, strict=True), key=lambda p: -p[0]) if s
    ]
    words = f"a blend of {listing(parts)}"
    trial = blended_trials(found, weight, unit)
    fit = by_blend([one.rung.fit for one in members], share)
    return [Heat(BLEND, Rung(words, fit, 0.0), trial, compared(BLEND, words, trial, found[0], X))]


def _heats(
    ground: Ground, straight: Trials, engines: Sequence[Engine], budget: float
) -> tuple[list[Heat], list[EngineTrial]]:
    """The heats of the engines that fit in the budget, and a report of every engine."""
    heats, reports = [], []
    tried: list[Engine] = []
    for engine in sorted(engines, key=lambda engine: engine.seconds):
        more = [*tried, engine]
        seconds = forecast(more, ground.heats, ground.fits, FINALISTS)
        if seconds > budget:
            why = f"not tried: would make it about {duration(seconds)}, the budget is {duration(budget)}"
            reports.append(EngineTrial(engine.name, engine.rungs[-1].words, why))
            continue
        tried = more
        heat = _climbed(ground, engine, straight)
        if heat is None:
            reports.append(EngineTrial(engine.name, engine.rungs[-1].words, "could not be fitted"))
            continue
        heats.append(heat)
        reports.append(heat.report)
    return heats, reports


def _climbed(ground: Ground, engine: Engine, straight: Trials) -> Heat | None:
    """The rung with the least error: up from the first until two more have not helped."""
    best: Heat | None = None
    since = 0
    for rung in engine.rungs:
        found = ground.heat(rung.fit)
        if not comparable(found, straight):
            break
        report = compared(engine.name, rung.words, found, straight, ground.X)
        since += 1
        if best is None or report.error < best.report.error:
            best, since = Heat(engine.name, rung, found, report), 0
        if since == PATIENCE:
            break
    return best


def comparable(found: Trials, straight: Trials) -> bool:
    """Whether a trial can be paired with that of the straight model: no fold failed, and every fill is a number."""
    return len(found.error) == len(straight.error) and bool(np.isfinite(found.z).all())


def _finalists(heats: Sequence[Heat], straight: Trials, X: Array) -> list[Heat]:
    """The best of the heats, if it leads, and those that blend best with the straight model, if that leads."""
    if not heats or not len(straight.error):
        return []
    leader = min(heats, key=lambda heat: heat.report.error)
    unit, weight = centre_and_spread(X)[1], gap_weights(straight.column, X)
    errors = np.stack([found.error for found in (straight, *(heat.trials for heat in heats))])
    at = best_team(errors / unit[straight.column], weight, FINALISTS)
    team = [heats[k - 1] for k in at]
    hope = compared(BLEND, "", blended_trials([straight, *(heat.trials for heat in team)], weight, unit), straight, X)
    team = team if hope.hopeful else []
    return team if leader in team or not leader.report.hopeful else [leader, *team[: FINALISTS - 1]]


def _final(ground: Ground, heat: Heat, straight: Trials) -> Heat:
    found = ground.rest(heat.rung.fit, heat.trials)
    if not comparable(found, straight):
        return heat._replace(report=heat.report._replace(cells=0, verdict="could not be fitted to every fold"))
    return heat._replace(trials=found, report=compared(heat.engine, heat.rung.words, found, straight, ground.X))


def compared(engine: str, words: str, found: Trials, straight: Trials, X: Array) -> EngineTrial:
    """An engine beside the straight model on the same cells."""
    weight = gap_weights(found.column, X)
    square = paired(squared_errors(found, X), squared_errors(straight, X), found.row, weight)
    (ours, row), (theirs, _) = energy_scores(found, X), energy_scores(straight, X)
    energy = paired(ours, theirs, row)
    return EngineTrial(engine, words, "", len(found.error), square.score**0.5, square.difference, square.error, *energy)


def _judged(report: EngineTrial, best: Heat | None, in_final: bool) -> EngineTrial:
    """A report with its verdict."""
    if report.verdict:
        return report
    if best is not None and report.engine == best.engine:
        return report._replace(verdict=CHOSEN)
    if not report.better:
        return report._replace(verdict=NO_BETTER)
    return report._replace(verdict=NARROW if report.draws_worse else BEHIND if in_final else OUTRUN)


def contest_lines(tried: Sequence[EngineTrial]) -> list[str]:
    """The engines beside each other as lines of text."""
    wide = max(len(report.engine) for report in tried)
    head = f"  {'engine':<{wide}}  error*  squared error, less the straight model's  draws**  verdict"
    lines = ["Which engine fills these gaps was decided by the same hidden cells:", head]
    for r in tried:
        versus = "" if r.engine == STRAIGHT else f"{r.difference:+.4f} +- {r.difference_error:.4f}"
        numbers = f"{r.error:>6.3f}  {versus:>41}  {r.energy:>7.3f}" if r.cells else " " * 58
        lines.append(f"  {r.engine:<{wide}}  {numbers}  {r.verdict}")
    return [
        *lines,
        "  * root mean square, in units of each column's spread.  ** energy score of calibrated draws: less is better.",
        f"  One is chosen if its error is less by {BETTER_ERRORS:.0f} standard errors and its draws are no worse.",
    ]
