"""`lowdim check`: what is read, what is refused, and how."""

from __future__ import annotations

import gzip
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import small_table

X = (10 * np.where(np.isnan(small_table()), 0.3, small_table()) + 100)[:30, :5].round(2)


NAMES = list("abcde")


def text(rows: list[list[object]], names: list[str] = NAMES, sep: str = ",") -> str:
    return "\n".join([sep.join(names), *(sep.join(map(str, row)) for row in rows)]) + "\n"


PLAIN = text(X.tolist())


WRITTEN = [["2024-01-05", "05/02/2024", "March 5 2024", "05.04.24"][i % 4] for i in range(30)]


READ = {  # what is read without more ado: its bytes, and words of the page
    "packed.csv.gz": (gzip.compress(PLAIN.encode()), "30 rows x 5 columns   CSV, comma"),
    "my table (1).csv": (PLAIN.encode(), 'Next:  lowdim "my table (1).csv"'),
    "utf16.csv": (PLAIN.encode("utf-16"), "decimal point, UTF-16"),
    "excel.csv": (
        text([[str(v).replace(".", ",") for v in r] for r in X.tolist()], sep=";").encode(),
        "CSV, semicolon, decimal comma",
    ),
    "twice.csv": (text(X.tolist(), list("aabbc")).encode(), "LD140 changed  Header 'a' appears 2 times"),
    "percent.csv": (text([[f"{v}%" for v in r] for r in X.tolist()]).encode(), "LD118"),
    "money.csv": (
        text([[f'"${1000 * r[0]:,.2f}"', f"€{r[1]}", *r[2:]] for r in X.tolist()]).encode(),
        "Unit signs were removed from 2 columns",
    ),
    "thousands.csv": (
        text([[f'"{1000 * v:,.1f}"' for v in r] for r in X.tolist()]).encode(),
        "Thousands separators were removed from 5 columns",
    ),
    "mixed_dates.csv": (
        text([[d, *r] for d, r in zip(WRITTEN, X.tolist(), strict=True)], ["when", *NAMES]).encode(),
        "1 column is not a number and was set aside as a label: when",
    ),
    "sideways.csv": (
        text([[n, *X[:, j]] for j, n in enumerate(NAMES)], ["", *(f"s{i}" for i in range(30))]).encode(),
        "lowdim help LD180, LD161",
    ),
}


@pytest.mark.parametrize("name", READ)
def test_what_can_be_read_is_read(lowdim, name):
    data, words = READ[name]
    (lowdim.folder / name).write_bytes(data)
    said = lowdim("check", name)
    assert said.code == 0 and words in said.out, said.out + said.err
    numbers = [line for line in said.out.split("\n") if " number  " in line]
    assert len(numbers) == (30 if name == "sideways.csv" else 5)
    assert "e+0" not in said.out  # no exponent for an ordinary number


def test_values_survive_their_units(lowdim):
    from lowdim import read

    (lowdim.folder / "money.csv").write_bytes(READ["money.csv"][0])
    np.testing.assert_allclose(read("money.csv").X, X * [1000, 1, 1, 1, 1], rtol=1e-12)
    (lowdim.folder / "percent.csv").write_bytes(READ["percent.csv"][0])
    np.testing.assert_array_equal(read("percent.csv").X, X)


@pytest.mark.parametrize("cells", [["5", "5 %"], ["5 %", "$5"], ["5 %%", "6 %%"], ["5 kg", "6 kg"]], ids=str)
def test_a_unit_is_taken_out_only_where_it_is_one(cells):
    import pyarrow as pa

    from lowdim.table.cells import without_units

    column = pa.array(cells * 3)
    assert without_units(column, np.zeros(6, dtype=bool)) == (column, "")


@pytest.mark.parametrize(
    ("name", "data", "code", "says"),
    [
        ("head.csv", b"a,b,c\n", 4, "the file holds names and nothing else"),
        ("one.csv", b"5\n", 4, "LD160"),
        ("-", None, 3, "it cannot come through a pipe"),
        ("https://example.org/t.csv", None, 3, "it is an address"),
        ("nowhere.csv", None, 3, "does not exist"),
        ("head.cvs", b"", 3, "is empty"),
    ],
)
def test_what_cannot_be_read_is_said(lowdim, name, data, code, says):
    if data is not None:
        (lowdim.folder / name).write_bytes(data)
    said = lowdim("check", name)
    assert said.code == code and says in said.err and "  fix     " in said.err and said.out == ""


def test_a_sideways_table_is_turned_by_its_fix(lowdim):
    (lowdim.folder / "s.csv").write_bytes(READ["sideways.csv"][0])
    assert "rows and columns swapped?  --transpose" in lowdim("check", "s.csv").out
    said = lowdim("check", "s.csv", "--transpose")
    assert said.code == 0 and "LD161" not in said.out and all(f"  {n}  " in said.out for n in NAMES)


def test_every_copy_is_named_and_many_messages_are_five(lowdim):
    """At most 5 messages of a kind, then how many more."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 7)).round(3)
    names = [f"{n}{k}" for n in "abcdefg" for k in range(3)]
    rows = [[(k + 1) * z + k for z in row for k in range(3)] for row in Z.tolist()]
    (lowdim.folder / "m.csv").write_text(text(rows, names))
    said = lowdim("check", "m.csv")
    assert "LD185 changed  'a1' is 2 a0 + 1 and was left out" in said.out
    assert said.out.count("LD185 changed  ") == 6 and "LD185 changed  and 9 more (lowdim check --all)" in said.out
    assert lowdim("check", "m.csv", "--all").out.count("and was left out") == 14
    assert "LD185" not in lowdim("check", "m.csv", "--drop", ",".join(n for n in names if n[1] != "0")).out


def test_a_missing_file_is_found_by_the_name_that_is_meant(lowdim, made):
    shutil.copy(made / "small.csv", lowdim.folder / "digester.csv")
    said = lowdim("check", "digster.csv")
    (meant,) = re.findall(r"did you mean (\S+) \?", said.err)
    assert said.code == 3 and "LD001" in said.err and lowdim("check", meant).code == 0


def test_few_lines_come_before_an_answer_and_the_roles_come_first(lowdim):
    rng = np.random.default_rng(0)
    size = rng.normal(0, 1, (60, 1)) + 0.4 * rng.normal(0, 1, (60, 9))
    frame = pd.DataFrame(size.round(2), columns=[f"m{k}" for k in range(9)])
    for k in range(4):
        frame[f"copy{k}"] = frame[f"m{k}"]  # four notes of one kind are one line
        frame[f"never{k}"] = k
    frame.insert(0, "who", [f"name {k}" for k in range(60)])
    frame.insert(1, "site", rng.choice(["north", "south"], 60))
    frame.to_csv(lowdim.folder / "wide.csv", index=False)
    told = lowdim("dims", "wide.csv").err.splitlines()
    before = told[: next(k for k, line in enumerate(told) if line.startswith("What to do"))]
    assert (
        told[0]
        == "9 measured; labels site; names who; left out copy0, never0, copy1, never1, copy2, never2 and 2 more."
    )
    assert len(before) <= 9 and len({line[:5] for line in before[1:]}) == len(before) - 1
    assert any(
        line.startswith("LD141 changed  'copy0' equals ") and line.endswith("(and 3 more such)") for line in told
    )
    assert lowdim("check", "wide.csv").out.count("LD141 changed  'copy") == 4
    assert lowdim("dims", "wide.csv", "--quiet").err == ""
