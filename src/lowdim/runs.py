"""Run folders: what was asked, what was found, and the model, as flat files anyone can open."""
from __future__ import annotations

import hashlib
import json
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowdim import __version__
from lowdim.analysis import Analysis, Settings
from lowdim.data.safe import protect_cell
from lowdim.data.table import Table, read
from lowdim.judge.odd import OddRows
from lowdim.messages import error
from lowdim.models.linear import ProbabilisticPCA
from lowdim.models.posterior import Posterior
from lowdim.persist import load
from lowdim.placing import Placed

SCHEMA = 1


class SavedRun(NamedTuple):
    """A run folder opened again: the table as it was read, the model, the settings and what was said."""

    folder: Path
    table: Table
    model: ProbabilisticPCA
    settings: Settings
    sentences: tuple[str, ...]


def save_run(found: Analysis, folder: str | PathLike[str], *, options: dict[str, Any] | None = None) -> Path:
    """Write run.json, model.lowdim, scores.csv, fills.csv and odd.csv."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    found.model.save(folder / "model.lowdim")
    (folder / "scores.csv").write_text(scores_csv(found), encoding="utf-8")
    (folder / "fills.csv").write_text(fills_csv(found), encoding="utf-8")
    (folder / "odd.csv").write_text(odd_csv(found), encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(describe(found, options or {}), indent=1) + "\n", encoding="utf-8")
    return folder


def describe(found: Analysis, options: dict[str, Any]) -> dict[str, Any]:
    """The run as one JSON object."""
    t, settings = found.table, found.settings
    return {
        "schema": SCHEMA, "lowdim": __version__, "numpy": np.__version__,
        "table": {"path": None if t.path is None else str(Path(t.path).resolve()), "sha256": t.sha256, "rows": t.n,
                  "columns": list(t.names), "options": _plain(options)},
        "settings": settings._asdict(), "dims": found.dims, "judges": found.jury.sentence,
        "sentences": list(found.sentences), "objective": float(found.model.objective_),
        "converged": bool(found.model.converged_),
        "trust": [check._asdict() for check in found.trust],
        "messages": [m._asdict() for m in t.messages]}


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}


def open_run(folder: str | PathLike[str]) -> SavedRun:
    """Open a run folder; its table must still be where it was, and unchanged."""
    folder = Path(folder)
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        path, options = run["table"]["path"], run["table"]["options"]
        settings = Settings(**run["settings"])
        told = tuple(run["sentences"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise error("LD305", path=folder, problem=f"run.json: {problem}") from None
    if path is None or not Path(path).exists():
        raise error("LD306", path=path or "(a table from Python)", folder=folder)
    table = read(path, **options)
    if table.sha256 != run["table"]["sha256"]:
        raise error("LD307", path=path, folder=folder)
    model = load(folder / "model.lowdim")
    return SavedRun(folder, table, model, settings, told)


def csv(header: list[str], rows: list[list[Any]]) -> str:
    """A CSV file whose text cells cannot be read as formulas."""
    return "".join(",".join(_cell(cell) for cell in row) + "\r\n" for row in [header, *rows])


def _cell(cell: Any) -> str:
    if isinstance(cell, str):
        cell = protect_cell(cell)
        return '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell
    if isinstance(cell, float | np.floating):
        return repr(float(cell)) if np.isfinite(cell) else ""
    return "" if cell is None else str(cell)


def scores_csv(found: Analysis) -> str:
    """Each row's position, its standard deviations and its distances."""
    return position_table(found.table.row_names, found.posterior, found.odd)


def placed_table(found: Placed) -> str:
    """The same for new rows."""
    return position_table(found.row_names, found.posterior, found.odd)


def position_table(row_names: tuple[str, ...], p: Posterior, odd: OddRows) -> str:
    """One line a row: position, standard deviations, p-values."""
    q = p.mean.shape[1]
    header = ["row", *(f"axis{k + 1}" for k in range(q)), *(f"axis{k + 1}_sd" for k in range(q)), "D2_p", "T2_p", "Q_p"]
    std = p.std
    rows = [[name, *p.mean[i], *std[i], odd.D2.p[i], odd.T2.p[i], odd.Q.p[i]] for i, name in enumerate(row_names)]
    return csv(header, rows)


def fills_csv(found: Analysis) -> str:
    """One line a filled cell."""
    f, names, rows = found.fills, found.table.names, found.table.row_names
    where = np.argwhere(f.mask)
    return csv(["row", "column", "fill", "lower", "upper", "sd"],
               [[rows[i], names[j], f.filled[i, j], f.lower[i, j], f.upper[i, j], f.sd[i, j]] for i, j in where])


def odd_csv(found: Analysis) -> str:
    """One line an odd row."""
    return odd_table(found.odd)


def odd_table(odd: OddRows) -> str:
    """One line an odd row."""
    return csv(["row", "seen", "D2", "p", "column", "value", "expected", "sd", "surprise", "reason"],
               [[r.name, r.seen, r.D2, r.p, r.column, r.value, r.expected, r.sd, r.surprise, r.reason]
                for r in odd.rows])


def fingerprint(folder: str | PathLike[str]) -> str:
    """A digest of a run's files, to see whether two runs are the same."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(folder).glob("*")):
        if path.suffix != ".html":
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
