"""How many dimensions: eigenvalues beside chance, the jury, hidden cells, and the spread of distances."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import legend_above, name_ticks, nothing, plain_log, whole_ticks, write
from lowdim.plot.registry import InReport, plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.judge.dimensions.jury import Jury

MOST_EIGENVALUES = 40  # eigenvalues that can be told apart in one plot
DASHES = ("-", "--", "-.", ":")


@plot("scree", "Eigenvalues beside those of shuffled data.", needs="analysis", report=InReport("dimensions"))
def scree_of(analysis: Analysis) -> Plot:
    """Eigenvalues of the columns as normal scores, largest first, beside those of shuffled data.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave.

    Returns
    -------
    Plot
    """
    ballot = analysis.jury
    if not len(ballot.eigenvalues):
        raise error("LD216", name="scree", why=_why_no_vote(ballot))
    band = ballot.band if len(ballot.band) else None
    return scree(ballot.eigenvalues, band=band, q=analysis.dims)


def _why_no_vote(ballot: Jury) -> str:
    return ballot.notes[-1] if ballot.notes else "there was nothing to judge"


@draw.styled
def scree(
    eigenvalues: Any, *, band: Any = None, interval: Any = None, noise: float | None = None, q: int | None = None
) -> Plot:
    """Eigenvalues, largest first, beside those of shuffled data (`band`), their sampling interval and the noise.

    `band` is the upper edge (k) or both edges (2 x k) of 95% of the shuffled tables; `interval` is 2 x k.

    Reference: J. Horn, A rationale and test for the number of factors in factor analysis, Psychometrika 30, 1965.

    >>> scree([4.0, 2.0, 0.5], band=[1.5, 1.2, 0.9]).data["above"].tolist()
    [True, True, False]
    """
    values = np.asarray(eigenvalues, dtype=float)
    if not len(values):
        return nothing("scree", "No eigenvalues", "Fewer than two columns vary, so there is no eigenvalue to compare.")
    edges = None if band is None else np.asarray(band, dtype=float)
    low, high = (None, None) if edges is None else (None, edges) if edges.ndim == 1 else (edges[0], edges[1])
    limits = None if interval is None else np.asarray(interval, dtype=float)
    k = min(len(values), max(MOST_EIGENVALUES, 0 if q is None else q + 5))
    figure, ax = draw.canvas()
    _scree_marks(ax, values[:k], low, high, limits, noise)
    _scree_axes(ax, values, k, q)
    title, sentence = _scree_words(values, high, noise, q)
    draw.headline(figure, title)
    data: dict[str, Any] = {"dimension": np.arange(1, len(values) + 1), "eigenvalue": values}
    if high is not None:
        data |= {"shuffled_upper": high, "above": np.cumprod(values > high).astype(bool)}
    if low is not None:
        data["shuffled_lower"] = low
    if limits is not None:
        data |= {"lower": limits[0], "upper": limits[1]}
    return Plot("scree", figure, title=title, sentence=sentence, data=data | _given(noise=noise, kept=q))


def _given(**facts: Any) -> dict[str, Any]:
    return {key: [value] for key, value in facts.items() if value is not None}


def _scree_marks(
    ax: Any, values: Array, low: Array | None, high: Array | None, limits: Array | None, noise: float | None
) -> None:
    k = len(values)
    x = np.arange(1, k + 1)
    if high is not None and low is not None:
        ax.fill_between(x, low[:k], high[:k], color=draw.GREY, alpha=0.3, linewidth=0, label="95% of shuffled data")
    elif high is not None:
        ax.plot(x, high[:k], "--", color=draw.GREY, marker="s", ms=3.5, lw=1.2, label="95% limit of shuffled data")
    if limits is not None:
        off = np.maximum([values - limits[0][:k], limits[1][:k] - values], 0.0)
        ax.errorbar(
            x,
            values,
            yerr=off,
            fmt="none",
            ecolor=draw.COLOURS[0],
            elinewidth=1.2,
            capsize=2.5,
            label="95% sampling interval",
        )
    ax.plot(x, values, "o-", color=draw.COLOURS[0], ms=5, lw=1.2, label="this table")
    if noise is not None:
        ax.axhline(noise, color=draw.COLOURS[3], ls=":", lw=1.6, label=f"noise level {draw.number(noise)}")


def _scree_axes(ax: Any, values: Array, k: int, q: int | None) -> None:
    shown = values[:k]
    steep = bool((shown > 0).all() and shown[0] > 100 * np.median(shown))
    if steep:
        ax.set_yscale("log")
        plain_log(ax.yaxis)
    else:
        ax.set_ylim(bottom=min(0.0, float(shown.min())))
    if q is not None:
        ax.axvline(q + 0.5, color=draw.INK, lw=1.0)
        write(ax, q + 0.5, 0.66, f" {q} kept", transform=ax.get_xaxis_transform(), va="top")
    ax.set_xlim(0.4, k + 0.6)
    whole_ticks(ax.xaxis)
    ax.set_xlabel("dimension" + ("" if k == len(values) else f" (the first {k} of {len(values)})"))
    ax.set_ylabel("variance along it (eigenvalue" + (", log scale)" if steep else ")"))
    legend_above(ax, ncols=2)


def _scree_words(values: Array, high: Array | None, noise: float | None, q: int | None) -> tuple[str, str]:
    total = float(values.sum())
    share = draw.percent(values[: q or 0].sum() / total) if total > 0 else "0%"
    which = "The dimension kept holds" if q == 1 else f"The {q} dimensions kept hold"
    kept_text = "" if not q else f" {which} {share} of the variance (with the noise along them)."
    floor = "" if noise is None else f" The noise level is {draw.number(noise)}."
    if high is None:
        spread = (
            f"{draw.count(len(values), 'eigenvalue')}, from {draw.number(values[0])} down to {draw.number(values[-1])}"
        )
        return kept_text.split(" (with")[0].strip() or spread, f"{spread}.{kept_text}{floor}"
    above = int(np.cumprod(values > high).sum())
    if above == 0:
        title = "No eigenvalue stands above shuffled data"
        return (
            title,
            f"{title}: the largest is {draw.number(values[0])}, its limit {draw.number(high[0])}.{kept_text}{floor}",
        )
    verb = "stands" if above == 1 else "stand"
    title = f"{draw.count(above, 'eigenvalue')} {verb} above shuffled data" + (
        "" if q in (None, above) else f"; {q} kept"
    )
    return title, (
        f"The first {above} of {len(values)} eigenvalues {verb} above the 95% limit of shuffled data; "
        f"the last of them is {draw.number(values[above - 1])} where shuffled data reach "
        f"{draw.number(high[above - 1])}.{kept_text}{floor}"
    )


@plot("jury", "The number of dimensions that each judge picks.", needs="analysis", report=InReport("dimensions"))
def jury_of(analysis: Analysis) -> Plot:
    """The weight each judge gives to each number of dimensions, and what every judge picks.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave.

    Returns
    -------
    Plot
    """
    ballot = analysis.jury
    if not ballot.rows:
        raise error("LD216", name="jury", why=_why_no_vote(ballot))
    weights: dict[str, Any] = {"evidence on all rows (BIC)": [row.bic_weight for row in ballot.rows]}
    if any(row.minka_weight is not None for row in ballot.rows):
        weights["Minka, complete rows"] = [row.minka_weight or 0.0 for row in ballot.rows]
    picks = {judge.name: judge.q for judge in ballot.judges}
    return jury([row.q for row in ballot.rows], weights, picks, ballot.q)


@draw.styled
def jury(
    qs: Any,
    weights_by_judge: Mapping[str, Any],
    picks: Mapping[str, int | None],
    q: int,
    *,
    advisers: Collection[str] = (),
    title: str | None = None,
) -> Plot:
    """The weight each judge gives to each number of dimensions, and what every judge picks.

    A pick of None means that the judge cannot say. `advisers` are judges that are heard but do not vote.

    >>> jury([0, 1, 2], {"evidence": [0.0, 0.9, 0.1]}, {"evidence": 1, "shuffled data": 2}, 1).title
    '1 dimension: 1 of 2 judges agrees'
    """
    qs = np.asarray(qs, dtype=int) if len(qs) else np.array([q])
    weights_by_judge = {name: weight for name, weight in weights_by_judge.items() if len(weight) == len(qs)}
    lanes = max(len(picks), 1)
    figure, (top, low) = draw.canvas(
        6.4, 2.9 + 0.24 * lanes, rows=2, sharex=True, height_ratios=[2.2, max(1.0, 0.3 * lanes)]
    )
    _draw_weights(top, qs, weights_by_judge, q)
    for ax in (top, low):
        ax.axvspan(q - 0.5, q + 0.5, color=draw.COLOURS[1], alpha=0.18, lw=0)
    _picks(low, picks, q, advisers)
    first, last = _window(qs, weights_by_judge, picks, q)
    low.set_xlim(first - 0.6, last + 0.6)
    whole_ticks(low.xaxis)
    hollow = "; hollow: no vote" if any(picks.get(name) is not None for name in advisers) else ""
    low.set_xlabel(f"number of dimensions\n(circle: this judge agrees; diamond: it does not{hollow})", fontsize=9)
    words, sentence = _jury_words(qs, weights_by_judge, picks, q, advisers)
    draw.headline(figure, title or words)
    data: dict[str, Any] = {"q": qs}
    data |= {f"weight: {name}": np.asarray(weight, dtype=float) for name, weight in weights_by_judge.items()}
    data |= {
        "judge": list(picks),
        "pick": [np.nan if p is None else float(p) for p in picks.values()],
        "recommended": [q],
    }
    return Plot("jury", figure, title=title or words, sentence=sentence, data=data)


def _draw_weights(ax: Any, qs: Array, weights_by_judge: Mapping[str, Any], q: int) -> None:
    """A line for every judge that weighs the numbers of dimensions."""
    for i, (name, weight) in enumerate(weights_by_judge.items()):
        ax.plot(
            qs,
            100 * np.asarray(weight, dtype=float),
            DASHES[i % 4],
            marker=draw.SHAPES[i % 8],
            ms=5,
            lw=1.4,
            color=draw.COLOURS[i % 7],
            label=draw.short(name, 40),
        )
    write(ax, q, 1.01, f"recommended: {q}", transform=ax.get_xaxis_transform(), ha="center", va="bottom")
    ax.set_ylim(-3, 105)
    ax.set_ylabel("weight (%)")
    if weights_by_judge:
        ax.legend(fontsize=8.5, loc="best")


def _picks(ax: Any, picks: Mapping[str, int | None], q: int, advisers: Collection[str]) -> None:
    """A lane for every judge, with a mark at its pick."""
    for i, (name, pick) in enumerate(picks.items()):
        ax.axhline(i, color=draw.GREY, lw=0.5, alpha=0.5, zorder=0)
        if pick is None:
            write(
                ax,
                0.01,
                i,
                "no answer for this table",
                transform=ax.get_yaxis_transform(),
                va="center",
                bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"},
            )
        else:
            mark, colour = (draw.SHAPES[0], draw.COLOURS[0]) if pick == q else (draw.SHAPES[3], draw.COLOURS[3])
            ax.plot([pick], [i], mark, ms=8, color=colour, mfc="white" if name in advisers else colour)
    ax.set_ylim(len(picks) - 0.5, -0.5)
    name_ticks(ax.yaxis, range(len(picks)), list(picks), most=34)


def _window(qs: Array, weights: Mapping[str, Any], picks: Mapping[str, int | None], q: int) -> tuple[int, int]:
    """The stretch of q that holds every pick and every weight above one in a thousand, and two more."""
    at = [q, *(p for p in picks.values() if p is not None)]
    for weight in weights.values():
        at += list(qs[np.asarray(weight, dtype=float) > 1e-3])
    top = max(max(at) + 2, 4)
    return min(int(qs.min()), min(at)), min(top, max(int(qs.max()), max(at)))


def _jury_words(
    qs: Array, weights: Mapping[str, Any], picks: Mapping[str, int | None], q: int, advisers: Collection[str]
) -> tuple[str, str]:
    answers = {name: pick for name, pick in picks.items() if pick is not None}
    votes = [pick for name, pick in answers.items() if name not in advisers]
    agree = votes.count(q)
    what = "No shared structure found" if q == 0 else draw.count(q, "dimension")
    title = f"{what}: {agree} of {draw.count(len(votes), 'judge')} agree{'s' if agree == 1 else ''}"
    votes_text = []
    for name, pick in answers.items():
        place = np.flatnonzero(qs == pick)
        weight = f" (weight {draw.percent(float(weights[name][place[0]]))})" if name in weights and len(place) else ""
        votes_text.append(f"{name} {pick}{weight}" + (" (no vote)" if name in advisers else ""))
    silent = [name for name, pick in picks.items() if pick is None]
    more = f" No answer from {', '.join(silent)}." if silent else ""
    return title, f"Recommended number of dimensions: {q}. Judges: {'; '.join(votes_text) or 'none'}.{more}"


@plot(
    "heldout",
    "How well each number of dimensions predicts cells of left-out rows.",
    needs="analysis",
    report=InReport("dimensions"),
)
def heldout_of(analysis: Analysis) -> Plot:
    """How well each number of dimensions predicts the cells of rows left out, each from the rest of its row.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave.

    Returns
    -------
    Plot
    """
    ballot = analysis.jury
    tried = [row for row in ballot.rows if row.skill is not None]
    if not tried:
        raise error("LD216", name="heldout", why="no rows were left out of this table")
    error_of = {pair.other: pair.error for pair in ballot.paired}
    own = [np.nan if row.q2 is None else row.q2 for row in tried]
    return heldout(
        [row.q for row in tried],
        [row.skill for row in tried],
        [error_of.get(row.q, 0.0) for row in tried],
        ballot.q,
        own=own,
        detectable=ballot.detectable,
        cells=ballot.paired[0].cells if ballot.paired else None,
    )


@draw.styled
def heldout(
    qs: Any,
    skill: Any,
    errors: Any,
    q: int,
    *,
    own: Any = None,
    detectable: int | None = None,
    cells: int | None = None,
) -> Plot:
    """How well each number of dimensions predicts cells of left-out rows, and how it differs from `q` of them.

    `errors` are *paired* standard errors of the skill against `q` (0 at q itself): the same cells are predicted by
    every number, so only differences are uncertain. `own` is Q2 in the columns' own units.

    >>> heldout([0, 1, 2], [0, 0.4, 0.5], [0.02, 0, 0.01], 1).data["difference"].round(2).tolist()
    [-0.4, 0.0, 0.1]
    """
    qs, skill, errors = (np.asarray(a, dtype=float) for a in (qs, skill, errors))
    if q not in qs:
        return nothing(
            "heldout", "No rows were left out", f"Left-out rows say nothing about {draw.count(q, 'dimension')}."
        )
    at = int(np.flatnonzero(qs == q)[0])
    figure, (left, right) = draw.canvas(columns=2)
    if own is not None:
        left.plot(qs, np.asarray(own, dtype=float), "s--", ms=4, lw=1.2, color=draw.GREY, label="own units (Q²)")
    _draw_heldout(left, right, qs, skill, errors, at)
    if detectable is not None and detectable > q:
        left.axvline(detectable, color=draw.INK, lw=0.8, ls=":")
        words = f"{detectable} told from noise "
        write(left, detectable, 0.04, words, transform=left.get_xaxis_transform(), ha="right")
    title, sentence = _heldout_words(qs, skill, errors, at, cells)
    draw.headline(figure, title)
    data: dict[str, Any] = {
        "q": qs.astype(int),
        "skill": skill,
        "difference": skill - skill[at],
        "paired_error": errors,
        "recommended": [q],
    }
    data |= {} if own is None else {"own_units": np.asarray(own, dtype=float)}
    return Plot("heldout", figure, title=title, sentence=sentence, data=data | _given(detectable=detectable))


def _draw_heldout(left: Any, right: Any, qs: Array, skill: Array, errors: Array, at: int) -> None:
    """The share of variance predicted, and how it differs from that of the number needed, with paired errors."""
    q = int(qs[at])
    left.plot(qs, skill, "o-", ms=4.5, lw=1.4, color=draw.COLOURS[0], label="normal scores (skill)")
    left.axhline(0.0, color=draw.GREY, lw=0.8)
    left.set_ylabel("share of variance predicted")
    right.errorbar(
        qs,
        skill - skill[at],
        yerr=errors,
        fmt="o-",
        ms=4.5,
        lw=1.4,
        capsize=2.5,
        color=draw.COLOURS[0],
        label=f"± 1 standard error, paired with {q}",
    )
    right.axhline(0.0, color=draw.GREY, lw=0.8, ls="--")
    right.set_ylabel(f"skill less that of {draw.count(q, 'dimension')}")
    for ax in (left, right):
        ax.axvspan(q - 0.4, q + 0.4, color=draw.COLOURS[1], alpha=0.18, lw=0, label=f"needed: {q}")
        whole_ticks(ax.xaxis)
        ax.set_xlabel("number of dimensions")
        legend_above(ax)


def _heldout_words(qs: Array, skill: Array, errors: Array, at: int, cells: int | None) -> tuple[str, str]:
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
                f"{q} and {qs[other]:.0f} cannot be told apart"
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
def distances_of(analysis: Analysis) -> Plot:
    """Squared distances between rows beside the laws of independent columns.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave.

    Returns
    -------
    Plot
    """
    law = analysis.jury.distances
    if law is None:
        raise error("LD216", name="distances", why="fewer than two columns vary")
    variance = law.independent_variance / law.mean**2
    return distances(
        law.counts,
        law.columns,
        effective=law.effective,
        edges=law.edges,
        mean=law.mean,
        compared=law.compared,
        law=variance,
    )


@draw.styled
def distances(
    squared: Any,
    p: int,
    *,
    effective: float | None = None,
    law: float | None = None,
    edges: Any = None,
    mean: float | None = None,
    compared: float | None = None,
) -> Plot:
    """Squared distances between rows, over their mean, beside the gamma laws of p columns and of the best k.

    Independent Gaussian columns of one variance give gamma(p/2) with variance 2/p about a mean of 1; the k
    that matches the spread seen is 2 mean^2 / var. `law` is the variance (mean 1) of p independent columns
    shaped like these, where known. With `edges`, `squared` holds the counts between them (then give `mean`).
    With gaps, `compared` is how many cells a pair of rows has in common: the law is that of so many columns.

    Reference: [Lawrence2012] of `docs/sources.md`, (1.8) to (1.16).

    >>> gaps = np.random.default_rng(0).chisquare(4, 20000)
    >>> round(float(distances(gaps, 10).data["effective"][0]), 0)
    4.0
    """
    full = float(p if compared is None else compared)
    counts, borders, centre, k = _binned(np.asarray(squared, dtype=float).ravel(), edges, mean, effective)
    borders = borders / centre
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
    _draw_laws(ax, x, {f"{p} independent Gaussian columns": whole, f"best match: {_few(k)} columns": best}, law)
    tallest = float(density.max())
    ax.set(
        xlim=(foot, top), ylim=(0, 1.08 * max(tallest, min(whole.max(), 2.2 * tallest), min(best.max(), 2.2 * tallest)))
    )
    title, sentence = _distance_words(p, full, k, law)
    draw.headline(figure, title)
    data: dict[str, Any] = {"left": borders[:-1], "right": borders[1:], "density": density}
    data |= {"gamma_x": x, "gamma_columns": whole, "gamma_effective": best}
    data |= {"effective": [k], "columns": [p], "compared": [full], "mean": [centre]}
    return Plot("distances", figure, title=title, sentence=sentence, data=data | _given(independent_variance=law))


def _draw_laws(ax: Any, x: Array, laws: dict[str, Array], law: float | None) -> None:
    """The gamma laws of all columns and of the best number, and that of columns shaped like these where known."""
    (name, whole), (best_name, best) = laws.items()
    ax.plot(x, whole, "--", color=draw.COLOURS[3], lw=1.8, label=name)
    if law is not None:
        shaped = gamma_density(x, 2.0 / law)
        ax.plot(x, shaped, ":", color=draw.COLOURS[2], lw=1.8, label="independent, shaped like these")
    ax.plot(x, best, "-", color=draw.INK, lw=1.8, label=best_name)
    ax.set(xlabel="squared distance between two rows (mean = 1)", ylabel="density")
    ax.legend(loc="upper right", fontsize=8.5, title="spread, not number of signals", title_fontsize=8.5)


def _binned(
    squared: Array, edges: Any, mean: float | None, effective: float | None
) -> tuple[Array, Array, float, float]:
    """Counts, edges, mean and effective columns, of distances or of a histogram of them."""
    if edges is None:
        centre = float(squared.mean()) or 1.0
        k = 2.0 / max(float(squared.var()) / centre**2, 1e-9) if effective is None else effective
        bins = int(np.clip(round(2 * len(squared) ** (1 / 3)), 5, 60))
        counts, borders = np.histogram(squared, bins=bins)
        return counts.astype(float), borders, centre, float(k)
    borders = np.asarray(edges, dtype=float)
    middle, total = (borders[:-1] + borders[1:]) / 2, max(float(squared.sum()), 1.0)
    centre = float(middle @ squared) / total if mean is None else float(mean)
    spread = float((middle - centre) ** 2 @ squared) / total / centre**2
    return squared, borders, centre, float(2.0 / max(spread, 1e-9) if effective is None else effective)


def _distance_words(p: int, full: float, k: float, law: float | None) -> tuple[str, str]:
    title = f"Distances spread like those of about {_few(k)} independent columns, out of {p}"
    gaps = "" if full == p else f" (gaps: {draw.number(full)} cells are compared on average)"
    more = "" if law is None else f", and {draw.number(law)} if they were independent and shaped as these are"
    return title, (
        f"{title}{gaps}. The variance of squared distances is {draw.number(2.0 / k)} (mean = 1); {p} independent "
        f"Gaussian columns would have {draw.number(2.0 / full)}{more}. This measures spread, not the number of "
        f"signals."
    )


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
