"""New rows on an old map: positions with their uncertainty, fills, and which rows are outside its experience."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.fills.calibration import MapCalibration
from lowdim.judge.maps.table_map import TableMap
from lowdim.judge.mixed.answer_map import table_map
from lowdim.judge.mixed.mixed_cells import GapAnswers
from lowdim.judge.rows.odd_rows import OddRows, judge_rows
from lowdim.judge.rows.reference_law import RowLaw
from lowdim.judge.verdicts import because
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.calibration import normal_half_width
from lowdim.models.base.results import Posterior
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.table.kinds.scales import ColumnScales, log_entries, log_scales
from lowdim.table.options import split_names
from lowdim.table.read import NewTableRows, read_rows
from lowdim.table.table import frame_like
from lowdim.text.format import clip, count, listing
from lowdim.text.messages import Message, message
from lowdim.text.notebook import card

RESCALED = 30.0  # a column whose middle moved by more than this many times is called rescaled
RESCALED_SEEN = 5  # new values of a column that say where its middle is
NAMED_COLUMNS = 5  # columns named in a message
PLAIN_LEVEL = 0.9  # level of the intervals where no calibration says another
LISTED_ROWS, LISTED_AXES = 20, 4  # rows and axes a notebook lists


class PlacedRows(NamedTuple):
    """New rows as an old model sees them; what has a row for each of them is a frame if a frame came in."""

    row_names: tuple[str, ...]
    X: Array  # in the model's columns, labels as its codes, gaps where the new table lacks one
    posterior: Posterior
    odd: OddRows
    larger: Array  # how much larger than a complete row's each row's ellipse is (geometric mean of the axes)
    filled: Any  # X with its gaps filled, in a frame labels as they are called
    sd: Array  # of the fills by the model, not calibrated; 0 where seen
    messages: tuple[Message, ...]
    lower: Any  # of the fills' intervals, calibrated on the old table's cells; equals filled where seen
    upper: Any
    level: float  # of these intervals
    calibrated: bool  # False: Gaussian intervals of the model alone
    fill_dims: int | None  # of the model that filled the old table's own gaps, where it is known
    came: NewTableRows  # the rows as they were read
    answers: GapAnswers | None = None  # of a mixed map: what fills the gaps of its columns, as the file calls them
    columns: tuple[str, ...] = ()  # what those of X are called

    @property
    def scores(self) -> Any:
        """Each row's position."""
        return frame_like(
            self.posterior.mean, tuple(f"axis{k + 1}" for k in range(self.posterior.mean.shape[1])), self.came
        )

    @property
    def gaps(self) -> int:
        """How many cells were filled."""
        return int(self.gap.sum())

    @property
    def gap(self) -> Mask:
        """Where cells are missing; a label that the model does not know is no gap."""
        return np.isnan(self.X) & ~self.came.strange

    @property
    def own_model(self) -> str:
        """Which model the fills are from: the old table's own gaps may have been filled by another."""
        dims = count(self.posterior.mean.shape[1], "dimension")
        return f"These fills use the map's model ({dims}); lowdim fill chooses a model of its own for filling."

    def __repr__(self) -> str:
        """At most four lines: what, the fills, and the sentence."""
        (n, d), q = self.X.shape, self.posterior.mean.shape[1]
        claim = f"{100 * self.level:.3g}% intervals{'' if self.calibrated else ', not calibrated'}"
        first = f"{count(n, 'new row')} x {count(d, 'column')} on {count(q, 'axis', 'axes')}, " + (
            f"{count(self.gaps, 'gap')} filled ({claim})" if self.gaps else "no gaps"
        )
        lines = [clip(line, 160) for line in self.sentence.split("\n")]
        return "\n".join([first, *lines, ".scores, .filled, .lower, .upper, .odd, .larger, .messages"])

    def _repr_html_(self) -> str:
        """Where each row lies, as a small static table."""
        mean, sd = self.posterior.mean[:, :LISTED_AXES], self.posterior.std[:, :LISTED_AXES]
        listed = (
            (
                name,
                *(f"{m:.2f} +- {s:.2f}" for m, s in zip(mean[i], sd[i], strict=True)),
                f"{int(self.gap[i].sum())}",
                "outside" if self.odd.odd[i] else "",
            )
            for i, name in enumerate(self.row_names[:LISTED_ROWS])
        )
        more = f"and {len(self.X) - LISTED_ROWS:,} more rows: .scores. " if len(self.X) > LISTED_ROWS else ""
        axes = (f"axis {k + 1}" for k in range(mean.shape[1]))
        return card(
            self.sentence,
            ("row", *axes, "gaps", "experience"),
            listed,
            note=more + (self.own_model if self.gaps else ""),
        )

    @property
    def sentence(self) -> str:
        """How many were placed, how many have gaps, how many are odd."""
        n = len(self.X)
        gaps = self.gap.any(axis=1)
        text = f"{count(n, 'row')} placed."
        if gaps.any() and self.posterior.mean.shape[1]:
            text += f" {_sizes(self.larger[gaps])}"
        k = len(self.odd.rows)
        if not k:
            return text + "\nNone is outside the table's experience."
        first = self.odd.rows[0]
        rate = f"{100 * (1 - self.odd.odd_level):.3g}% false discovery rate"
        return (
            f"{text}\n{count(k, 'row')} {'is' if k == 1 else 'are'} outside the table's experience ({rate}): "
            f"{'' if k == 1 else 'first of all '}row {first.name}, because {because(first)}."
        )


def _sizes(larger: Array) -> str:
    """'2 have gaps: their ellipses are 1.4x and 2.2x larger.'"""
    head = "1 has gaps: its ellipse is" if len(larger) == 1 else f"{len(larger):,} have gaps: their ellipses are"
    low, high = f"{larger.min():.1f}x", f"{larger.max():.1f}x"
    if high == "1.0x":
        return f"{head} hardly larger."
    if len(larger) == 2:
        return f"{head} {larger[0]:.1f}x and {larger[1]:.1f}x larger."
    return f"{head} {f'up to {high}' if low == '1.0x' else low if low == high else f'{low} to {high}'} larger."


def place(
    model: LinearGaussian | MixedFactorAnalysis,
    names: tuple[str, ...],
    new: Any,
    *,
    odd_level: float = 0.95,
    calibration: MapCalibration | None = None,
    law: RowLaw | None = None,
    scales: ColumnScales | None = None,
    aside: Collection[str] = (),
    labels: Sequence[Sequence[Any]] = (),
    **options: Any,
) -> PlacedRows:
    """Place the rows of a new table (a path, frame, array or Table) on a fitted map; `names` are its columns.

    A column the new table lacks is a gap in every row; one row is enough. `odd_level` is that of odd rows;
    `calibration` (`map_calibration` of the map's own table) makes the intervals of the fills hold what they
    claim, without it they are the model's own. `law` (`law_of_new_rows` of that table) says which distances are
    ordinary, without it the model's own does; `scales` which columns are logarithms and what each can be, without it
    `log` does; `aside` are columns that table had beside those of the map; `labels` are those of its columns, () where
    numbers are numbers. `options` are those of `lowdim.read`.

    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> X = np.random.default_rng(0).standard_normal((50, 1)) * [1.0, 2.0, 3.0] + 0.1 * np.eye(50, 3)
    >>> place(ProbabilisticPCA(1).fit(X), ("c1", "c2", "c3"), X[:4]).sentence.split(".")[0]
    '4 rows placed'
    """
    scales = scales or log_scales(names, log_entries(split_names(options.get("log")), names))
    rows = read_rows(new, names, labels, **options)
    return place_read(
        model,
        names,
        rows,
        labels=labels,
        odd_level=odd_level,
        calibration=calibration,
        law=law,
        scales=scales,
        aside=aside,
    )


def place_read(
    model: LinearGaussian | MixedFactorAnalysis,
    names: tuple[str, ...],
    rows: NewTableRows,
    *,
    labels: Sequence[Sequence[Any]] = (),
    odd_level: float = 0.95,
    calibration: MapCalibration | None,
    law: RowLaw | None,
    scales: ColumnScales | None,
    aside: Collection[str],
) -> PlacedRows:
    """`place` of rows that were read already."""
    map, X = table_map(model, names, scales), rows.X
    used = calibration or MapCalibration(PLAIN_LEVEL, (normal_half_width(PLAIN_LEVEL),) * len(names))
    fills = map.fills(X, used)
    law = law or map.plain_law  # never of the new rows themselves: they may be odd all together
    plain = (message("LD223"),) if calibration is None and (np.isnan(X) & ~rows.strange).any() else ()
    told = X if scales is None else scales.outward(X)
    moved = rescaled(told, map.middles, _spreads(map, used, scales, len(names)), names)
    middle, low, high = (
        frame_like(np.where(rows.strange, np.nan, part), names, rows, labels)
        for part in (fills.filled, fills.lower, fills.upper)
    )
    return PlacedRows(
        rows.row_names,
        X,
        map.positions(X),
        judge_rows(map, X, odd_level=odd_level, row_names=rows.row_names, law=law),
        map.larger(X),
        middle,
        fills.sd,
        (*rows.messages, *said_of(rows, aside), *said_of_empty(rows), *moved, *plain),
        low,
        high,
        used.level,
        calibration is not None,
        used.fill_dims,
        rows,
        _of_gaps(map.gap_answers(X), rows.strange),
        names,
    )


def _of_gaps(answers: GapAnswers | None, strange: Mask) -> GapAnswers | None:
    """Without cells whose labels the model does not know: they are no gaps, and stay as they are."""
    if answers is None or not strange.any():
        return answers
    kept = [line for line in zip(*answers, strict=True) if not strange[line[0], line[1]]]
    return GapAnswers(*(list(part) for part in zip(*kept, strict=True))) if kept else GapAnswers([], [], [], [])


def _spreads(map: TableMap, used: MapCalibration, scales: ColumnScales | None, d: int) -> Array:
    """How wide each column is, by a row of which nothing is known; 0 of logarithms, whose middle is never near 0."""
    sd = map.fills(np.full((1, d), np.nan), used).sd[0]
    return sd if scales is None else np.where(scales.log, 0.0, sd)


def said_of(rows: NewTableRows, aside: Collection[str] = ()) -> tuple[Message, ...]:
    """Columns that are absent, and columns that are not known; `aside` are known and shape no axis."""
    notes = []
    unknown = tuple(name for name in rows.unknown if name not in aside)
    for code, names in (("LD220.table", rows.absent), ("LD222", unknown)):
        if names:
            few = ", ".join(names[:NAMED_COLUMNS]) + (
                f" and {len(names) - NAMED_COLUMNS} more" if len(names) > NAMED_COLUMNS else ""
            )
            notes.append(message(code, what=f"column{'s' * (len(names) > 1)} {few}" if code != "LD222" else few))
    return tuple(notes)


def said_of_empty(rows: NewTableRows) -> tuple[Message, ...]:
    """Rows without any cell that the map knows."""
    empty = [rows.row_names[i] for i in np.flatnonzero(np.isnan(rows.X).all(axis=1))]
    return (message("LD225", rows=count(len(empty), "new row"), names=listing(empty)),) if empty else ()


def rescaled(X: Array, middle: Array, spread: Array, names: tuple[str, ...]) -> tuple[Message, ...]:
    """Columns whose new middle is many times the old one, those of one power of ten in one message. Where the old
    middle is within a spread of 0, as in a centred column, the quotient says nothing of a unit."""
    groups: dict[str, list[tuple[str, float]]] = {}
    for j, name in enumerate(names):
        seen = X[~np.isnan(X[:, j]), j]
        if len(seen) < RESCALED_SEEN or not abs(middle[j]) > spread[j]:
            continue
        times = float(np.median(seen)) / float(middle[j])
        if times > RESCALED or 0 < times < 1.0 / RESCALED:
            groups.setdefault(f"{np.log10(times):.0f}", []).append((name, times))
    return tuple(_said_of_rescaled(group) for group in groups.values())


def _said_of_rescaled(group: list[tuple[str, float]]) -> Message:
    names, factors = zip(*group, strict=True)
    times = f"{np.median(factors):.3g} times"
    if len(names) == 1:
        return message("LD221", column=names[0], times=times)
    return message("LD221.columns", columns=count(len(names), "column"), names=listing(names), times=f"about {times}")
