"""One table, one analysis: Python, the commands on the file and on its run folder, the explorer and the report give the
same rows and numbers."""

from __future__ import annotations

import csv
import html
import json
import os
from pathlib import Path

import numpy as np
import pytest

import lowdim as ld
from lowdim.explorer.endpoints import MOST_ODD, Endpoints
from lowdim.jobs.analysis import Analysis
from lowdim.text.messages import LowdimError
from tests.cli.calls import in_process

DATA = Path(os.environ.get("LOWDIM_DATA", Path(__file__).parents[2] / "../shared/data"))  # as in conftest
SMALL = ("real_tables/mtcars.csv", "real_tables/penguins.csv", "real_tables/usarrests.csv")
FOLDERS = ("real_tables", "fresh_tables", "missing_small")
LARGEST = 300_000  # bytes of a table that is tried


def all_tables() -> list[str]:
    """Up to forty tables of the folders of real ones, the small ones of `make test` left out."""
    paths = (path for folder in FOLDERS for path in sorted((DATA / folder).glob("*.csv")))
    names = (str(path.relative_to(DATA)) for path in paths if path.stat().st_size < LARGEST)
    return [name for name in names if name not in SMALL][:40]


def told(answer: dict) -> list[tuple[str, float]]:
    """The odd rows of a command's JSON."""
    return [(row["name"], row["p"]) for row in answer["rows" if "wrote" in answer else "odd"]]


def check_one_answer(name: str, folder: Path) -> Analysis | None:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{name} is not here: LOWDIM_DATA names the folder of real tables")
    whole = in_process("fit", str(path), "-o", "t.run", "--json", cwd=folder)
    if whole.code in (3, 4):  # what needs options to be read is refused alike
        assert (
            in_process("odd", str(path), cwd=folder).code
            == in_process("dims", str(path), cwd=folder).code
            == whole.code
        )
        with pytest.raises(LowdimError):
            ld.analyse(path)
        return None
    fitted = json.loads(whole.out)
    by_file = json.loads(in_process("odd", str(path), "-o", "file.csv", "--json", cwd=folder).out)
    by_run = json.loads(in_process("odd", "t.run", "-o", "run.csv", "--json", cwd=folder).out)
    counted = json.loads(in_process("dims", str(path), "--json", cwd=folder).out)
    found = ld.analyse(path)
    opened = ld.load_run(folder / "t.run").analysis

    rows = [(row.name, row.p) for row in found.odd.rows]
    assert told(fitted) == told(by_run) == rows and by_run["sentence"] == found.odd.sentence
    assert [row.name for row in opened.odd.rows] == [name for name, _ in rows]
    assert told(by_file) == rows and by_file["sentence"] == found.odd.sentence
    assert fitted["sentences"] == list(found.sentences) == list(opened.sentences)
    assert fitted["dims"] == found.dims == opened.dims
    assert (counted["dims"], counted["sentence"]) == (found.jury.q, found.jury.sentence)
    with (folder / "t.run" / "scores.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    scores = np.array([[float(row[f"axis{k + 1}"]) for k in range(found.dims)] for row in written])
    assert np.allclose(scores.reshape(found.posterior.mean.shape), found.posterior.mean, rtol=1e-9, atol=1e-12)
    assert np.array_equal(opened.fills.filled, found.fills.filled, equal_nan=True)
    check_rows(found, [float(row["p"]) for row in written], folder)
    return found


def check_rows(found: Analysis, p: list[float], folder: Path) -> None:
    """The page of the explorer and the cards of rows have the rows, places, odd rows and dimensions of the analysis."""
    assert p == pytest.approx(found.odd.p.tolist(), rel=1e-9)
    model = ld.subject(folder / "t.run")
    endpoints = Endpoints(model)
    facts = json.loads(endpoints.reply("facts.json").body)
    assert facts["sentences"] == list(found.sentences) and facts["oddSentence"] == found.odd.sentence
    odd = [(row.name, row.p) for row in found.odd.rows]
    assert [(row["name"], row["p"]) for row in facts["odd"]] == odd[:MOST_ODD]
    assert facts["q"] == found.dims == facts["jury"]["q"] and facts["jury"]["sentence"] == found.jury.sentence
    for k in range(found.dims if endpoints.exact and not len(found.partition.wrong_cells) else 0):
        at = np.frombuffer(endpoints.reply(f"axis/{k}").body, "<f8")
        assert np.allclose(at, found.posterior.mean[:, k], rtol=1e-9, atol=1e-12)
    for row in [0, *(r.row for r in found.odd.rows[:2])]:
        card = json.loads(endpoints.reply("card", json.dumps({"row": row, "hidden": [], "edited": []})).body)
        assert (card["p"], model.explain(row).p) == pytest.approx((p[row], p[row]), rel=1e-9)
        assert found.explain(row).p == pytest.approx(p[row], rel=1e-9)


def check_report(found: Analysis, path: Path) -> None:
    """The report says the sentences of the analysis, and names its odd rows."""
    page = html.unescape(found.report(path).read_text(encoding="utf-8"))
    missing = [text for text in (*found.sentences, found.odd.sentence) if text not in page]
    assert not missing and all(f"{row.name}" in page for row in found.odd.rows[:10])


@pytest.mark.parametrize("name", SMALL)
def test_a_table_has_one_answer(name, tmp_path):
    check_one_answer(name, tmp_path)


@pytest.mark.drill
@pytest.mark.parametrize("name", all_tables())
def test_forty_tables_have_one_answer_each(name, tmp_path):
    found = check_one_answer(name, tmp_path)
    if found is not None:
        check_report(found, tmp_path / "t.html")
