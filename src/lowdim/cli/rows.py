"""odd, explain, apply, monitor: single rows, old and new."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lowdim.cli.common import complain, open_either, open_table, print_json, reading, table_options
from lowdim.cli.main_job import DIMS, SEED, asked_dims, stem


def model_of(target: Any, dims: str, seed: int) -> tuple[Any, Any]:
    """A model and its rows: a run's own, or one fitted to a table now."""
    from lowdim.data.arrays import ArraySource
    from lowdim.runs import SavedRun

    if isinstance(target, SavedRun):
        return target.model, ArraySource(target.table.X, columns=target.table.names)
    from lowdim.judge.dimensions import choose_dimension
    from lowdim.models.linear import ProbabilisticPCA

    X, unit, q = ArraySource(target.X, columns=target.names), target.scale == "unit", asked_dims(dims)
    if q == "auto":
        q = choose_dimension(X, standardize=unit, random_state=seed).q
    return ProbabilisticPCA(min(int(q), target.d - 1), standardize=unit).fit(X), X


@click.command("odd")
@click.argument("target")
@click.option("--level", default=0.95, show_default=True, help="1 - false discovery rate.")
@click.option("-o", "--out", help="CSV file [default: NAME.odd.csv].")
@DIMS
@SEED
@table_options
def odd_command(target: str, level: float, out: str | None, dims: str, seed: int, quiet: bool, as_json: bool,
                **given: Any) -> None:
    """The odd rows of a table or a run, and why."""
    from lowdim.judge.odd import odd_rows
    from lowdim.runs import SavedRun, odd_table

    opened = open_either(target, reading(given), quiet=quiet)
    table = opened.table if isinstance(opened, SavedRun) else opened
    model, X = model_of(opened, dims, seed)
    found = odd_rows(model, X, level=level, row_names=table.row_names)
    if as_json:
        print_json(sentence=found.sentence, rows=list(found.rows))
        return
    click.echo(found.text())
    path = Path(out or f"{stem(target)}.odd.csv")
    path.write_text(odd_table(found), encoding="utf-8")
    complain(f"Saved {path}.")


@click.command("explain")
@click.argument("run")
@click.option("--row", type=int, help="A row, counted from 1.")
@click.option("--axis", type=int, help="An axis, counted from 1.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def explain_command(run: str, row: int | None, axis: int | None, as_json: bool) -> None:
    """One row, or one axis, of a run folder."""
    from lowdim.data.arrays import ArraySource
    from lowdim.judge.axes import axes
    from lowdim.judge.odd import explain_row
    from lowdim.runs import open_run

    opened = open_run(run)
    X = ArraySource(opened.table.X, columns=opened.table.names)
    if (row is None) == (axis is None):
        raise click.UsageError("give either --row or --axis")
    if row is not None:
        if not 1 <= row <= opened.table.n:
            raise click.BadParameter(f"rows are counted from 1 to {opened.table.n}", param_hint="--row")
        card: Any = explain_row(opened.model, X, row - 1, row_names=opened.table.row_names)
    else:
        assert axis is not None
        if not 1 <= axis <= opened.model.n_components_:
            raise click.BadParameter(f"axes are counted from 1 to {opened.model.n_components_}", param_hint="--axis")
        card = axes(opened.model, X, labels=opened.table.labels)[axis - 1]
    if as_json:
        print_json(card=card)
    else:
        click.echo(card.text())


def placed(run: str, new: str, quiet: bool, given: dict[str, Any]) -> tuple[Any, Any]:
    """A run and new rows placed on its map; the new file is read as the run's own was, unless told otherwise."""
    import json

    from lowdim.placing import place
    from lowdim.runs import open_run

    opened = open_run(run)
    told = json.loads((Path(run) / "run.json").read_text(encoding="utf-8"))["table"]["options"]
    table = open_table(new, {**told, **reading(given)}, quiet=True)
    found = place(opened.model, opened.table.names, table)
    if not quiet:
        for note in found.messages:
            complain(str(note))
    return opened, found


@click.command("apply")
@click.argument("run")
@click.argument("new")
@click.option("-o", "--out", help="CSV file for the positions [default: NAME.scores.csv].")
@table_options
def apply_command(run: str, new: str, out: str | None, quiet: bool, as_json: bool, **given: Any) -> None:
    """Place the rows of NEW on the map of a run: positions, ellipses, distances."""
    from lowdim.runs import placed_table

    _, found = placed(run, new, quiet, given)
    path = Path(out or f"{stem(new)}.scores.csv")
    path.write_text(placed_table(found), encoding="utf-8")
    if as_json:
        print_json(sentence=found.sentence, scores=found.posterior.mean, odd=list(found.odd.rows), wrote=str(path))
    else:
        click.echo(f"{found.sentence}\nScores in {path}")


@click.command("monitor")
@click.argument("run")
@click.argument("new")
@click.option("-o", "--out", help="Control chart to write (SVG or PNG) [default: NAME.control.svg].")
@table_options
def monitor_command(run: str, new: str, out: str | None, quiet: bool, as_json: bool, **given: Any) -> None:
    """Control charts: the run's rows are the history, the rows of NEW are watched."""
    from lowdim.judge.odd import odd_rows
    from lowdim.plot.odd import control

    opened, found = placed(run, new, quiet, given)
    import numpy as np

    from lowdim.data.arrays import ArraySource

    old = odd_rows(opened.model, ArraySource(opened.table.X, columns=opened.table.names))
    both = [np.concatenate([getattr(getattr(o, law), part) for o in (old, found.odd)])
            for law in ("T2", "Q") for part in ("value", "dof")]
    watched = np.arange(len(both[0])) >= opened.table.n
    chart = control(both[0], both[1], both[2], both[3], new=watched,
                    row_names=[*opened.table.row_names, *found.row_names])
    path = chart.save(out or f"{stem(new)}.control.svg")
    if as_json:
        print_json(sentence=found.sentence, odd=list(found.odd.rows), chart=str(path))
    else:
        click.echo(f"{found.odd.text()}\nChart in {path}")
