"""New rows on an old map: positions with their uncertainty, fills, and which rows are outside its experience."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.jobs.run_tables import RowPlaces, places_of
from lowdim.judge.fills.calibration import MapCalibration
from lowdim.judge.maps.map_columns import GapAnswers
from lowdim.judge.maps.table_map import TableMap
from lowdim.judge.outliers.law import RowLaw
from lowdim.judge.rows.odd_rows import OddRow, OddRows, judge_rows
from lowdim.judge.verdicts import because
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.calibration import normal_half_width
from lowdim.models.base.latent import LatentModel
from lowdim.registry import ModelEntry, entry_of
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Source
from lowdim.table.column import in_ones, one_names, ones_of
from lowdim.table.read import NewTableRows, read_rows
from lowdim.table.table import frame_like
from lowdim.text.format import clip, count, listing
from lowdim.text.messages import Message, error, message
from lowdim.text.notebook import card

if TYPE_CHECKING:
    from lowdim.jobs.run_folder import SavedRun
    from lowdim.judge.maps.groups import RowGroups

RESCALED = 30.0  # a column whose middle moved by more than this many times is called rescaled
RESCALED_SEEN = 5  # new values of a column that say where its middle is
PLAIN_LEVEL = 0.9  # level of the intervals where no calibration says another
LISTED_ROWS, LISTED_AXES = 20, 4  # rows and axes a notebook lists


class PlacedRows(NamedTuple):
    """New rows as an old model sees them; what has a row for each of them is a frame if a frame came in.

    A model that says nothing of cells places them alone: of it nothing below `columns` is known. One without a law of
    rows' distances fills their gaps too, and does not say which of them are odd.
    """

    row_names: tuple[str, ...]
    X: Array  # in the model's columns, gaps where the new table lacks one
    places: RowPlaces
    came: NewTableRows  # the rows as they were read
    messages: tuple[Message, ...]
    columns: tuple[str, ...]  # what those of X are called
    odd: OddRows | None = None
    larger: Array | None = None  # how much larger than a complete row's each ellipse is (geometric mean of the axes),
    # of a model that judges rows
    filled: Any = None  # X with its gaps filled
    sd: Array | None = None  # of the fills by the model; 0 where seen
    lower: Any = None  # of the fills' intervals; equals filled where seen
    upper: Any = None
    level: float | None = None  # of these intervals
    calibrated: bool = False  # on cells of the old table, now or within the fit; False: by the model's noise alone
    fill_dims: int | None = None  # of the model that filled the old table's own gaps, where it is known
    answers: GapAnswers | None = None  # of a mixed map: what fills the gaps of its columns, as the file calls them

    @property
    def scores(self) -> Any:
        """Each row's position."""
        return frame_like(self.places.z, self.places.columns, self.came)

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
        dims = count(self.places.z.shape[1], "dimension")
        return f"These fills use the map's model ({dims}); lowdim fill chooses a model of its own for filling."

    def __repr__(self) -> str:
        """At most four lines: what, the fills, and the sentence."""
        first = f"{count(len(self.X), 'new row')} x {count(self.X.shape[1], 'column')} on {self.places.words}"
        lines = [clip(line, 160) for line in self.sentence.split("\n")]
        if self.level is None:
            return "\n".join([first, *lines, ".scores, .places, .messages"])
        claim = f"{100 * self.level:.3g}% intervals{'' if self.calibrated else ', not calibrated'}"
        first += f", {count(self.gaps, 'gap')} filled ({claim})" if self.gaps else ", no gaps"
        return "\n".join([first, *lines, ".scores, .filled, .lower, .upper, .odd, .larger, .messages"])

    def _repr_html_(self) -> str:
        """Where each row lies, as a small static table."""
        z, sd = self.places.z[:, :LISTED_AXES], self.places.sd
        listed = []
        for i, name in enumerate(self.row_names[:LISTED_ROWS]):
            at = [f"{m:.2f}" if sd is None else f"{m:.2f} +- {sd[i, k]:.2f}" for k, m in enumerate(z[i].tolist())]
            outside = self.odd is not None and self.odd.odd[i]
            listed.append((name, *at, f"{int(self.gap[i].sum())}", "outside" if outside else ""))
        more = f"and {len(self.X) - LISTED_ROWS:,} more rows: .scores. " if len(self.X) > LISTED_ROWS else ""
        return card(
            self.sentence,
            ("row", *self.places.columns[:LISTED_AXES], "gaps", "experience"),
            listed,
            note=more + (self.own_model if self.gaps and self.level is not None else ""),
        )

    @property
    def sentence(self) -> str:
        """How many were placed, how many have gaps, how many are odd."""
        text = f"{count(len(self.X), 'row')} placed"
        if self.odd is None or self.larger is None:
            filled = f", {count(self.gaps, 'gap')} filled" if self.gaps and self.level is not None else ""
            return f"{text}: {self.places.words}{filled}."
        gaps = self.gap.any(axis=1)
        sizes = f" {_sizes(self.larger[gaps])}" if gaps.any() and self.places.z.shape[1] else ""
        return f"{text}.{sizes}\n{experience(len(self.odd.rows), self.odd.odd_level, self.odd.rows)}"

    def facts(self) -> dict[str, Any]:
        """As JSON has them; what the model does not say is None."""
        odd = self.odd
        return {
            "sentence": self.sentence,
            "placed": len(self.X),
            "gaps": int(self.gap.any(axis=1).sum()),
            "outside": None if odd is None else len(odd.rows),
            "odd_level": None if odd is None else odd.odd_level,
            "odd": None if odd is None else list(odd.rows),
            "rows": list(self.row_names),
            **self.places.facts(),
            "larger": self.larger,
            "level": self.level,
            "calibrated": self.calibrated,
            "fills_from": None if self.level is None else self.own_model,
        }


def experience(outside: int, odd_level: float, odd: Sequence[OddRow]) -> str:
    """How many new rows are unlike those of the table, and why the first of them is."""
    rate = f"{100 * (1 - odd_level):.3g}% false discovery rate"
    if not outside:
        return f"None is outside the table's experience ({rate})."
    are, first = "row is" if outside == 1 else "rows are", "" if outside == 1 else "first of all "
    why = f"{first}row {odd[0].name}, because {because(odd[0])}"
    return f"{outside:,} {are} outside the table's experience ({rate}): {why}."


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
    map: TableMap,
    new: Any,
    *,
    odd_level: float = 0.95,
    calibration: MapCalibration | None = None,
    law: RowLaw | None = None,
    aside: Collection[str] = (),
    labels: Sequence[Sequence[Any]] = (),
    groups: RowGroups | None = None,
    **options: Any,
) -> PlacedRows:
    """Place the rows of a new table (a path, frame, array or Table) on the map of another.

    A column the new table lacks is a gap in every row; one row is enough. `odd_level` is that of odd rows;
    `calibration` (`map_calibration` of the map's own table) makes the intervals of the fills hold what they
    claim, without it they are the model's own. `law` (`law_of_new_rows` of that table) says which distances are
    ordinary, without it the model's own does; `aside` are columns that table had beside those of the map; `labels` are
    those of its columns, () where numbers are numbers, `groups` those of its rows. `options` are those of
    `lowdim.read`.

    >>> from lowdim.judge.maps.table_map import table_map
    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> X = np.random.default_rng(0).standard_normal((50, 1)) * [1.0, 2.0, 3.0] + 0.1 * np.eye(50, 3)
    >>> place(table_map(ProbabilisticPCA(1).fit(X), ("c1", "c2", "c3")), X[:4]).sentence.split(".")[0]
    '4 rows placed'
    """
    rows = read_rows(new, map.names, labels, **options)
    return place_cells(map, rows, odd_level, calibration, law, aside, labels, groups)


def place_cells(
    map: TableMap,
    rows: NewTableRows,
    odd_level: float,
    calibration: MapCalibration | None,
    law: RowLaw | None,
    aside: Collection[str],
    labels: Sequence[Sequence[Any]] = (),
    groups: RowGroups | None = None,
) -> PlacedRows:
    """Place rows whose cells were read, in the map's columns."""
    X, names, scales = rows.X, map.names, map.scales
    used = calibration or MapCalibration(PLAIN_LEVEL, (normal_half_width(PLAIN_LEVEL),) * len(names))
    fills, judges = map.fills(X, used), map.cells.judges_rows
    if judges:  # never by a law of the new rows themselves: they may be odd all together
        law = law or map.cells.plain_law
    calibrated = calibration is not None or not judges
    plain = () if calibrated or not (np.isnan(X) & ~rows.strange).any() else (message("LD223"),)
    # how wide each column is, by a row of which nothing is known; 0 of logarithms, whose middle is never near 0
    spread = map.fills(np.full((1, len(names)), np.nan), used).sd[0]
    own = X if scales is None else scales.outward(X)
    moved = rescaled(own, map.middles, spread if scales is None else np.where(scales.log, 0.0, spread), names)
    middle, low, high = (
        frame_like(np.where(rows.strange, np.nan, part), names, rows, labels)
        for part in (fills.filled, fills.lower, fills.upper)
    )
    posterior = map.cells.posterior(X)
    grouped = () if groups is None else groups.columns_of_new_rows(posterior)
    return PlacedRows(
        rows.row_names,
        X,
        places_of(posterior)._replace(more=grouped),
        rows,
        (*said_of(rows, aside), *moved, *plain),
        names,
        odd=judge_rows(map, X, odd_level=odd_level, row_names=rows.row_names, law=law) if judges else None,
        larger=map.larger(X) if judges else None,
        filled=middle,
        sd=fills.sd,
        lower=low,
        upper=high,
        level=used.level,
        calibrated=calibrated,
        fill_dims=used.fill_dims,
        answers=_of_gaps(map.gap_answers(X), rows.strange),
    )


def place_run(run: SavedRun, new: Any, *, odd_level: float = 0.95, **options: Any) -> PlacedRows:
    """Place the rows of a new table on the model of a run folder; `options` say how it is read, where not as the run's
    own table was."""
    options, map = {**read_as(run), **options}, run.map
    if map is None:
        return _place_alone(run, read_rows(new, run.names, run.code_words, **options))
    entry = entry_of(map.model)
    assert entry is not None  # runs hold models of ours
    if entry.kinds or run.method is None:
        known = dict(zip(run.names, run.code_words, strict=True))
        labels = tuple(c.code_words or known.get(c.name, ()) for c in map.columns)
        rows = read_rows(new, map.names, labels, **options)
    else:
        labels = ((),) * len(map.columns)
        rows = rows_in_ones(read_rows(new, run.names, run.code_words, **options), ones_of(run.code_labels))
    calibration, law = run.calibration_of(len(map.columns)), run.law_of_new_rows
    groups = run.groups
    found = place_cells(map, rows, odd_level, calibration, law, run.aside, labels, groups)
    places = found.places.first(run.facts["dims"])
    return found._replace(places=places._replace(density=None) if entry.lack("density") else places)


def _place_alone(run: SavedRun, came: NewTableRows) -> PlacedRows:
    """Rows on a model that says nothing of their cells."""
    ones, model = ones_of(run.code_labels), run.model
    entry, rows = entry_of(model), rows_in_ones(came, ones)
    assert entry is not None  # runs hold models of ours
    check_gaps(entry, rows.X, "lowdim fill NEW -o FILLED, then apply to FILLED")
    names = one_names(run.names, run.code_labels, ones)
    places = place_rows(model, entry, ArraySource(rows.X / np.asarray(run.facts["unit"]), columns=names))
    places = places.first(run.facts["dims"] or places.z.shape[1])
    return PlacedRows(rows.row_names, rows.X, places, rows, said_of(rows, run.aside), names)


def says_cells(entry: ModelEntry, model: Any) -> bool:
    """Whether a model says where a row with hidden cells lies, and what those hold."""
    lacking = any(map(entry.lack, ("map", "uncertainty", "fills", "gaps")))
    return isinstance(model, LatentModel) and not lacking and entry.asks != "views"


def rows_in_ones(rows: NewTableRows, ones: Sequence[tuple[int, int | None]]) -> NewTableRows:
    """New rows for a model of numbers alone."""
    return rows._replace(X=in_ones(rows.X, ones), strange=rows.strange[:, [j for j, _ in ones]])


def read_as(run: SavedRun) -> dict[str, Any]:
    """How the table of a run was read, as far as it holds for new rows."""
    options = {key: value for key, value in run.options.items() if key not in ("sample", "strict", "stream")}
    if run.facts["table"]["header"] is False:
        options.setdefault("header", False)
    return options | {"units": run.facts["table"].get("units", {})}


def check_gaps(method: ModelEntry, X: Array, fix: str) -> None:
    """Refuse gaps where a method needs every cell."""
    gaps = int(np.isnan(X).sum())
    if method.lack("gaps") and gaps:
        title = method.title[0].upper() + method.title[1:]
        raise error("LD163", count(gaps, "gap"), job=title, why="it needs every cell", fix=fix)


def place_rows(model: Any, method: ModelEntry, X: Source) -> RowPlaces:
    """Where the model puts rows."""
    density = None if method.lack("density") else model.score_samples(X)
    if method.asks == "classes":
        chance = model.predict_proba(X)
        said = (("class", model.classes_[chance.argmax(axis=1)]), ("probability", chance.max(axis=1)))
        return RowPlaces(model.transform(X), None, None, None, more=said)
    if method.own_units:
        names = tuple(str(name) for name in model.get_feature_names_out())
        return RowPlaces(model.transform(X), None, None, None, names)
    if method.lack("map"):
        z = model.transform(X)
        return RowPlaces(z, None, model.predict(X), density)
    if method.lack("uncertainty"):
        return RowPlaces(model.transform(X), None, None, density)
    posterior = model.posterior(X)
    return RowPlaces(posterior.mean, posterior.std, None, density)


def _of_gaps(answers: GapAnswers | None, strange: Mask) -> GapAnswers | None:
    """Without cells whose labels the model does not know: they are no gaps, and stay as they are."""
    if answers is None or not strange.any():
        return answers
    kept = [line for line in zip(*answers, strict=True) if not strange[line[0], line[1]]]
    return GapAnswers(*(list(part) for part in zip(*kept, strict=True))) if kept else GapAnswers([], [], [], [])


def said_of(rows: NewTableRows, aside: Collection[str] = ()) -> tuple[Message, ...]:
    """What there is to say of new rows; columns `aside` are known and shape no axis."""
    unknown = [name for name in rows.unknown if name not in aside]
    empty = [rows.row_names[i] for i in np.flatnonzero(np.isnan(rows.X).all(axis=1))]
    of_empty = [message("LD225", rows=count(len(empty), "new row"), names=listing(empty))] if empty else []
    return (*rows.messages, *said_of_columns(rows.absent, unknown), *of_empty)


def said_of_columns(absent: Sequence[str], unknown: Sequence[str] = ()) -> tuple[Message, ...]:
    """Columns that new rows lack, and columns that the model does not know."""
    found = (("LD220.table", absent), ("LD222", unknown))
    return tuple(message(code, n=len(names), names=listing(names)) for code, names in found if names)


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
    notes = []
    for group in groups.values():
        moved, factors = zip(*group, strict=True)
        notes.append(message("LD221", n=len(moved), names=listing(moved), times=f"{np.median(factors):.3g} times"))
    return tuple(notes)
