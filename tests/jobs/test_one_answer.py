"""One table, one analysis: Python, the commands on the file and on its run folder give the same rows and numbers."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

import lowdim as ld
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


def check_one_answer(name: str, folder: Path) -> None:
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
        return
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
        scores = [[float(row[f"axis{k + 1}"]) for k in range(found.dims)] for row in csv.DictReader(file)]
    assert np.allclose(np.reshape(scores, found.posterior.mean.shape), found.posterior.mean, rtol=1e-9, atol=1e-12)
    assert np.array_equal(opened.fills.filled, found.fills.filled, equal_nan=True)


@pytest.mark.parametrize("name", SMALL)
def test_a_table_has_one_answer(name, tmp_path):
    check_one_answer(name, tmp_path)


@pytest.mark.drill
@pytest.mark.parametrize("name", all_tables())
def test_forty_tables_have_one_answer_each(name, tmp_path):
    check_one_answer(name, tmp_path)
