"""How many dimensions: eigenvalues beside chance, the jury, hidden cells, and the spread of distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import legend_above, name_ticks, plain_log, whole_ticks, write
from lowdim.plot.registry import InReport, plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.judge.dimensions.jury import Jury

MOST_EIGENVALUES = 40  # eigenvalues that can be told apart in one plot
DASHES = ("-", "--", "-.", ":")


@plot("scree", "Eigenvalues beside those of shuffled data.", needs="analysis", report=InReport("dimensions"))
def scree(analysis: Analysis) -> Plot:
    """Eigenvalues of the columns as normal scores, largest first, beside those of shuffled data.

    Reference: J. Horn, A rationale and test for the number of factors in factor analysis, Psychometrika 30, 1965.
    """
    values, q = analysis.jury.eigenvalues, analysis.dims
    if not len(values):
        raise error("LD216", name="scree", why=_why_no_vote(analysis.jury))
    limit = analysis.jury.band if len(analysis.jury.band) else None
    k = min(len(values), max(MOST_EIGENVALUES, q + 5))
    figure, ax = draw.canvas()
    x = np.arange(1, k + 1)
    if limit is not None:
        ax.plot(x, limit[:k], "--", color=draw.GREY, marker="s", ms=3.5, lw=1.2, label="95% limit of shuffled data")
    ax.plot(x, values[:k], "o-", color=draw.COLOURS[0], ms=5, lw=1.2, label="this table")
    shown = values[:k]
    steep = bool((shown > 0).all() and shown[0] > 100 * np.median(shown))
    if steep:
        ax.set_yscale("log")
        plain_log(ax.yaxis)
    else:
        ax.set_ylim(bottom=min(0.0, float(shown.min())))
    ax.axvline(q + 0.5, color=draw.INK, lw=1.0)
    write(ax, q + 0.5, 0.66, f" {q} kept", transform=ax.get_xaxis_transform(), va="top")
    ax.set_xlim(0.4, k + 0.6)
    whole_ticks(ax.xaxis)
    ax.set_xlabel("dimension" + ("" if k == len(values) else f" (the first {k} of {len(values)})"))
    ax.set_ylabel("variance along it (eigenvalue" + (", log scale)" if steep else ")"))
    legend_above(ax, ncols=2)
    title, sentence = _scree_words(values, limit, q)
    draw.headline(figure, title)
    data: dict[str, Any] = {"dimension": np.arange(1, len(values) + 1), "eigenvalue": values}
    if limit is not None:
        data |= {"shuffled_upper": limit, "above": np.cumprod(values > limit).astype(bool)}
    return Plot("scree", figure, title=title, sentence=sentence, data=data | {"kept": [q]})


def _why_no_vote(ballot: Jury) -> str:
    return ballot.notes[-1] if ballot.notes else "there was nothing to judge"


def _scree_words(values: Array, high: Array | None, q: int) -> tuple[str, str]:
    total = float(values.sum())
    share = draw.percent(values[:q].sum() / total) if total > 0 else "0%"
    which = "The dimension kept holds" if q == 1 else f"The {q} dimensions kept hold"
    kept_text = "" if not q else f" {which} {share} of the variance (with the noise along them)."
    if high is None:
        spread = (
            f"{draw.count(len(values), 'eigenvalue')}, from {draw.number(values[0])} down to {draw.number(values[-1])}"
        )
        return kept_text.split(" (with")[0].strip() or spread, f"{spread}.{kept_text}"
    above = int(np.cumprod(values > high).sum())
    if above == 0:
        title = "No eigenvalue stands above shuffled data"
        return title, f"{title}: the largest is {draw.number(values[0])}, its limit {draw.number(high[0])}.{kept_text}"
    verb = "stands" if above == 1 else "stand"
    title = f"{draw.count(above, 'eigenvalue')} {verb} above shuffled data" + ("" if q == above else f"; {q} kept")
    return title, (
        f"The first {above} of {len(values)} eigenvalues {verb} above the 95% limit of shuffled data; "
        f"the last of them is {draw.number(values[above - 1])} where shuffled data reach "
        f"{draw.number(high[above - 1])}.{kept_text}"
    )


@plot("jury", "The number of dimensions that each judge picks.", needs="analysis", report=InReport("dimensions"))
def jury(analysis: Analysis) -> Plot:
    """The weight each judge gives to each number of dimensions, and what every judge picks."""
    ballot = analysis.jury
    if not ballot.rows:
        raise error("LD216", name="jury", why=_why_no_vote(ballot))
    q, qs = ballot.q, np.array([row.q for row in ballot.rows])
    weights: dict[str, Array] = {"evidence on all rows (BIC)": np.array([row.bic_weight for row in ballot.rows])}
    if any(row.minka_weight is not None for row in ballot.rows):
        weights["Minka, complete rows"] = np.array([row.minka_weight or 0.0 for row in ballot.rows])
    picks = {judge.name: judge.q for judge in ballot.judges}  # None where the judge cannot say
    lanes = max(len(picks), 1)
    figure, (top, low) = draw.canvas(
        6.4, 2.9 + 0.24 * lanes, rows=2, sharex=True, height_ratios=[2.2, max(1.0, 0.3 * lanes)]
    )
    for i, (name, weight) in enumerate(weights.items()):
        colour, label = draw.COLOURS[i % 7], draw.short(name, 40)
        top.plot(qs, 100 * weight, DASHES[i % 4], marker=draw.SHAPES[i % 8], ms=5, lw=1.4, color=colour, label=label)
    write(top, q, 1.01, f"recommended: {q}", transform=top.get_xaxis_transform(), ha="center", va="bottom")
    top.set(ylim=(-3, 105), ylabel="weight (%)")
    top.legend(fontsize=8.5, loc="best")
    for ax in (top, low):
        ax.axvspan(q - 0.5, q + 0.5, color=draw.COLOURS[1], alpha=0.18, lw=0)
    _picks(low, picks, q)
    # the stretch of q that holds every pick and every weight above one in a thousand, and two more
    at = [q, *(p for p in picks.values() if p is not None), *(k for w in weights.values() for k in qs[w > 1e-3])]
    low.set_xlim(min(*qs, *at) - 0.6, min(max(max(at) + 2, 4), max(*qs, *at)) + 0.6)
    whole_ticks(low.xaxis)
    low.set_xlabel("number of dimensions\n(circle: this judge agrees; diamond: it does not)", fontsize=9)
    title, sentence = _jury_words(qs, weights, picks, q)
    draw.headline(figure, title)
    data: dict[str, Any] = {"q": qs} | {f"weight: {name}": weight for name, weight in weights.items()}
    data |= {
        "judge": list(picks),
        "pick": [np.nan if p is None else float(p) for p in picks.values()],
        "recommended": [q],
    }
    return Plot("jury", figure, title=title, sentence=sentence, data=data)


def _picks(ax: Any, picks: Mapping[str, int | None], q: int) -> None:
    """A lane for every judge, with a mark at its pick."""
    for i, pick in enumerate(picks.values()):
        ax.axhline(i, color=draw.GREY, lw=0.5, alpha=0.5, zorder=0)
        if pick is None:
            behind = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
            write(ax, 0.01, i, "no answer for this table", transform=ax.get_yaxis_transform(), va="center", bbox=behind)
        else:
            mark, colour = (draw.SHAPES[0], draw.COLOURS[0]) if pick == q else (draw.SHAPES[3], draw.COLOURS[3])
            ax.plot([pick], [i], mark, ms=8, color=colour, mfc=colour)
    ax.set_ylim(len(picks) - 0.5, -0.5)
    name_ticks(ax.yaxis, range(len(picks)), list(picks), most=34)


def _jury_words(
    qs: NDArray[np.int_], weights: Mapping[str, Array], picks: Mapping[str, int | None], q: int
) -> tuple[str, str]:
    answers = {name: pick for name, pick in picks.items() if pick is not None}
    agree = list(answers.values()).count(q)
    what = "No shared structure found" if q == 0 else draw.count(q, "dimension")
    title = f"{what}: {agree} of {draw.count(len(answers), 'judge')} agree{'s' if agree == 1 else ''}"
    votes_text = []
    for name, pick in answers.items():
        place = np.flatnonzero(qs == pick)
        weight = f" (weight {draw.percent(float(weights[name][place[0]]))})" if name in weights and len(place) else ""
        votes_text.append(f"{name} {pick}{weight}")
    silent = [name for name, pick in picks.items() if pick is None]
    more = f" No answer from {', '.join(silent)}." if silent else ""
    return title, f"Recommended number of dimensions: {q}. Judges: {'; '.join(votes_text) or 'none'}.{more}"


@plot(
    "heldout",
    "How well each number of dimensions predicts cells of left-out rows.",
    needs="analysis",
    report=InReport("dimensions"),
)
def heldout(analysis: Analysis) -> Plot:
    """How well each number of dimensions predicts the cells of rows left out, each from the rest of its row.

    The same cells are predicted by every number, so only differences are uncertain: their standard errors are *paired*
    with the number that is needed.
    """
    ballot = analysis.jury
    tried = [row for row in ballot.rows if row.skill is not None]
    q, qs = ballot.q, np.array([row.q for row in tried])
    if not tried or q not in qs:
        raise error("LD216", name="heldout", why="no rows were left out of this table")
    at = int(np.flatnonzero(qs == q)[0])
    skill = np.array([row.skill for row in tried], dtype=float)
    own = np.array([np.nan if row.q2 is None else row.q2 for row in tried])
    error_of = {pair.other: pair.error for pair in ballot.paired}
    errors = np.array([error_of.get(row.q, 0.0) for row in tried])
    figure, (left, right) = draw.canvas(columns=2)
    left.plot(qs, own, "s--", ms=4, lw=1.2, color=draw.GREY, label="own units (Q²)")
    left.plot(qs, skill, "o-", ms=4.5, lw=1.4, color=draw.COLOURS[0], label="normal scores (skill)")
    left.axhline(0.0, color=draw.GREY, lw=0.8)
    left.set_ylabel("share of variance predicted")
    colour, label = draw.COLOURS[0], f"± 1 standard error, paired with {q}"
    right.errorbar(qs, skill - skill[at], errors, fmt="o-", ms=4.5, lw=1.4, capsize=2.5, color=colour, label=label)
    right.axhline(0.0, color=draw.GREY, lw=0.8, ls="--")
    right.set_ylabel(f"skill less that of {draw.count(q, 'dimension')}")
    for ax in (left, right):
        ax.axvspan(q - 0.4, q + 0.4, color=draw.COLOURS[1], alpha=0.18, lw=0, label=f"needed: {q}")
        whole_ticks(ax.xaxis)
        ax.set_xlabel("number of dimensions")
        legend_above(ax)
    if ballot.detectable > q:
        left.axvline(ballot.detectable, color=draw.INK, lw=0.8, ls=":")
        write(
            left,
            ballot.detectable,
            0.04,
            f"{ballot.detectable} detectable ",
            transform=left.get_xaxis_transform(),
            ha="right",
        )
    title, sentence = _heldout_words(qs, skill, errors, at, ballot.paired[0].cells if ballot.paired else None)
    draw.headline(figure, title)
    data = {"q": qs, "skill": skill, "difference": skill - skill[at], "paired_error": errors, "recommended": [q]}
    data |= {"own_units": own, "detectable": [ballot.detectable]}
    return Plot("heldout", figure, title=title, sentence=sentence, data=data)


def _heldout_words(qs: NDArray[np.int_], skill: Array, errors: Array, at: int, cells: int | None) -> tuple[str, str]:
    q = int(qs[at])
    title = (
        f"{draw.count(q, 'dimension')} predict{'s' if q == 1 else ''} {draw.percent(max(skill[at], 0.0))} "
        "of the variance of left-out rows' cells"
        if q
        else "No number of dimensions predicts left-out cells better than column means do"
    )
    parts = []
    for other in (at - 1, at + 1):
        if 0 <= other < len(qs):
            gain, error = skill[at] - skill[other], errors[other]
            comparison = (
                f"{q} and {qs[other]:.0f} cannot be distinguished"
                if abs(gain) <= error
                else f"{q} {'beats' if gain > 0 else 'loses to'} {qs[other]:.0f}"
            )
            parts.append(f"{comparison} ({draw.number(gain)} ± {draw.number(error)})")
    many = "" if cells is None else f" over {draw.count(cells, 'cell')}"
    return title, (
        f"Skill is {draw.number(skill[at])} at {draw.count(q, 'dimension')}. Differences paired{many}, ± one standard "
        f"error: {'; '.join(parts) or 'nothing to compare'}."
    )


@plot(
    "distances",
    "Distances between rows beside those of independent columns.",
    needs="analysis",
    report=InReport("dimensions", "rows"),
)
def distances(analysis: Analysis) -> Plot:
    """Squared distances between rows, over their mean, beside the gamma laws of p columns and of the best k.

    Independent Gaussian columns of one variance give gamma(p/2) with variance 2/p about a mean of 1; the k that matches
    the spread seen is 2 mean^2 / var. With gaps a pair of rows is compared in fewer cells: the law is that of so many
    columns. The third law is that of independent columns shaped like these.

    Reference: [Lawrence2012] of `docs/sources.md`, (1.8) to (1.16).
    """
    law = analysis.jury.distances
    if law is None:
        raise error("LD216", name="distances", why="fewer than two columns vary")
    p, full, k = law.columns, float(law.compared), float(law.effective)
    shaped = law.independent_variance / law.mean**2
    counts, borders = np.asarray(law.counts, dtype=float), law.edges / law.mean
    density = counts / max(counts.sum(), 1.0) / np.diff(borders)
    reach = np.cumsum(counts) <= 0.998 * counts.sum()
    sd = float(np.sqrt(2.0 / k))
    top = max(float(borders[1:][reach].max(initial=0.0)), 1.0 + 4.0 * sd)
    foot = 1.0 - 5.0 * sd if 5.0 * sd < 0.6 else 0.0  # many columns: all distances are nearly alike
    x = np.linspace(foot + top / 800, top, 400)
    whole, best = gamma_density(x, full), gamma_density(x, k)
    figure, ax = draw.canvas()
    ax.stairs(density, borders, fill=True, color=draw.COLOURS[5], alpha=0.55, label="this table")
    ax.stairs(density, borders, color=draw.COLOURS[0], lw=0.8)
    ax.plot(x, whole, "--", color=draw.COLOURS[3], lw=1.8, label=f"{p} independent Gaussian columns")
    like_these = gamma_density(x, 2.0 / shaped)
    ax.plot(x, like_these, ":", color=draw.COLOURS[2], lw=1.8, label="independent, shaped like these")
    ax.plot(x, best, "-", color=draw.INK, lw=1.8, label=f"best match: {_few(k)} columns")
    ax.legend(loc="upper right", fontsize=8.5, title="spread, not number of signals", title_fontsize=8.5)
    tallest = float(density.max())
    highest = 1.08 * max(tallest, min(whole.max(), 2.2 * tallest), min(best.max(), 2.2 * tallest))
    ax.set(xlabel="squared distance between two rows (mean = 1)", ylabel="density", xlim=(foot, top), ylim=(0, highest))
    title = f"Distances spread like those of about {_few(k)} independent columns, out of {p}"
    gaps = "" if full == p else f" (gaps: {draw.number(full)} cells are compared on average)"
    sentence = (
        f"{title}{gaps}. The variance of squared distances is {draw.number(2.0 / k)} (mean = 1); {p} independent "
        f"Gaussian columns would have {draw.number(2.0 / full)}, and {draw.number(shaped)} if they were independent "
        "and shaped as these are. This measures spread, not the number of signals."
    )
    draw.headline(figure, title)
    data: dict[str, Any] = {"left": borders[:-1], "right": borders[1:], "density": density}
    data |= {"gamma_x": x, "gamma_columns": whole, "gamma_effective": best}
    data |= {"effective": [k], "columns": [p], "compared": [full], "mean": [law.mean], "independent_variance": [shaped]}
    return Plot("distances", figure, title=title, sentence=sentence, data=data)


def _few(k: float) -> str:
    return f"{k:.2g}" if k < 100 else draw.number(k)


def gamma_density(x: Array, k: float) -> Array:
    """The density of chi-square(k) / k: shape k/2, mean 1.

    >>> round(float(gamma_density(np.array([1.0]), 2.0)[0]), 4)
    0.3679
    """
    a = k / 2.0
    density: Array = np.exp(a * np.log(a) - gammaln(a) + (a - 1.0) * np.log(x) - a * x)
    return density
