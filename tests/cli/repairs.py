"""What a person does when a message's fix is words and not flags, done to a copy of each bad table."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

GOOD = np.random.default_rng(5).normal(10, 2, (12, 3)).round(2)
CSV = "a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in GOOD.tolist())


class Repair(NamedTuple):
    """Words of the fix, and what they ask for: from the bad file and a folder to a good file and its flags."""

    words: str
    do: Callable[[Path, Path], tuple[Path, list[str] | None]]  # flags of None: as before


def saved(name: str, data: bytes | str) -> Callable[[Path, Path], tuple[Path, None]]:
    """The table written again from where it came from."""

    def do(bad: Path, folder: Path) -> tuple[Path, None]:
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
        return folder / name, None

    return do


def edited(change: Callable[[str], str], flags: list[str] | None = None) -> Callable[[Path, Path], tuple]:
    """The same file with its text changed."""

    def do(bad: Path, folder: Path) -> tuple[Path, list[str] | None]:
        data = bad.read_bytes()
        text = (gzip.decompress(data) if bad.suffix == ".gz" else data).decode("utf-8")
        path = folder / bad.name.removesuffix(".gz")
        path.write_text(change(text), encoding="utf-8")
        return path, flags

    return do


def renamed(name: str) -> Callable[[Path, Path], tuple[Path, None]]:
    def do(bad: Path, folder: Path) -> tuple[Path, None]:
        return saved(name, bad.read_bytes())(bad, folder)

    return do


def unpacked(bad: Path, folder: Path) -> tuple[Path, None]:
    """The first file of a zip archive."""
    with zipfile.ZipFile(bad) as archive:
        name = archive.namelist()[0]
        return Path(archive.extract(name, folder)), None


def same(*flags: str) -> Callable[[Path, Path], tuple[Path, list[str]]]:
    """The same file read with these flags in place of the old ones."""
    return lambda bad, folder: (bad, list(flags))


def parquet() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table({name: GOOD[:, j] for j, name in enumerate("abc")}), out)
    return out.getvalue()


def arrow() -> bytes:
    import pyarrow as pa
    from pyarrow import feather

    out = io.BytesIO()
    feather.write_feather(pa.table({name: GOOD[:, j] for j, name in enumerate("abc")}), out)
    return out.getvalue()


def npy(values: object) -> bytes:
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def reshaped(bad: Path, folder: Path) -> tuple[Path, None]:
    return saved("shaped.npy", npy(np.load(bad).reshape(-1, 4)))(bad, folder)


def saved_part(part: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path, Path], tuple[Path, None]]:
    def do(bad: Path, folder: Path) -> tuple[Path, None]:
        return saved("real.npy", npy(part(np.load(bad))))(bad, folder)

    return do


def more_rows(text: str) -> str:
    head, *rows = text.rstrip("\n").split("\n")
    wide = head.count(",") + 1
    made = np.random.default_rng(1).normal(10, 2, (12, wide)).round(2).tolist()
    return "\n".join([head, *rows, *(",".join(map(str, row)) for row in made)]) + "\n"


def fewer_columns(text: str) -> str:
    return "".join(",".join(line.split(",")[:3]) + "\n" for line in text.splitlines())


def as_csv(records: str) -> str:
    """What a spreadsheet or a script makes of JSON records; there are too few of them, so more are measured."""
    rows = json.loads(records)
    return more_rows(",".join(rows[0]) + "\n" + "".join(",".join(str(v) for v in r.values()) + "\n" for r in rows))


def line(number: int, change: Callable[[str], str]) -> Callable[[str], str]:
    """One line of a text changed, counted from 1."""

    def do(text: str) -> str:
        lines = text.split("\n")
        return "\n".join(change(one) if k == number - 1 else one for k, one in enumerate(lines))

    return do


def unique(text: str) -> str:
    return "\n".join(dict.fromkeys(text.rstrip("\n").split("\n"))) + "\n"


def without_quote(text: str) -> str:
    """The mark that is never closed deleted, line by line."""
    return "\n".join(one.replace('"', "") if one.count('"') % 2 else one for one in text.split("\n"))


def with_quote(text: str) -> str:
    """The mark closed at the end of its cell."""
    return "\n".join(one.replace(",", '",', 1) if one.count('"') % 2 else one for one in text.split("\n"))


def mean_of_each(text: str) -> str:
    """One row for each value of the first column, without the second, which tells when."""
    head, *rows = (one.split(",") for one in text.splitlines())
    units = {row[0]: [list(map(float, other[2:])) for other in rows if other[0] == row[0]] for row in rows}
    means = [",".join([unit, *map(str, np.mean(seen, axis=0).round(3).tolist())]) for unit, seen in units.items()]
    return "\n".join([",".join([head[0], *head[2:]]), *means]) + "\n"


SAVE = Repair("save the table as CSV or Parquet", saved("again.csv", CSV))
PARQUET = Repair("save the table as CSV or Parquet", saved("again.parquet", parquet()))
ANEW = "export it again from its source"

REPAIRS: dict[tuple[str, str], list[Repair]] = {
    ("archive.csv", "LD002"): [Repair("unpack it, and give one file in it", unpacked)],
    ("blank.csv", "LD005"): [Repair("check that it was saved completely", saved("blank.csv", CSV))],
    ("empty.csv", "LD005"): [Repair("check that it was saved completely", saved("empty.csv", CSV))],
    ("bomb.csv.gz", "LD170"): [Repair("unpack it yourself", edited(lambda text: text))],
    ("cut.arrow", "LD002"): [Repair(ANEW, saved("cut.arrow", arrow()))],
    ("cut.csv.gz", "LD002"): [Repair("copy it again", saved("cut.csv.gz", gzip.compress(CSV.encode())))],
    ("cut.npy", "LD002"): [Repair(ANEW, saved("cut.npy", npy(GOOD)))],
    ("cut.parquet", "LD002"): [Repair(ANEW, saved("cut.parquet", parquet()))],
    ("torn.parquet", "LD002"): [Repair(ANEW, saved("torn.parquet", parquet()))],
    **{
        (name, "LD002"): [SAVE, PARQUET]
        for name in ("damaged.xlsx", "feed.csv", "model.pkl", "nul.csv", "old.xls", "old_pickle.csv", "pickled.csv")
    },
    ("rows.csv", "LD002"): [Repair("save the table as CSV", edited(as_csv)), PARQUET],
    ("objects.npy", "LD002"): [
        Repair("save numbers", saved("objects.npy", npy(GOOD))),
        Repair("or CSV", saved("objects.csv", CSV)),
    ],
    ("correlations.csv", "LD194"): [
        Repair("analyse the table that they were computed from", saved("rows.csv", CSV)),
        Repair("they are measurements", same("--use", "A,B,C,D")),
    ],
    ("ratings.csv", "LD193"): [Repair("the columns are measurements", same("--use", "user,item,rating"))],
    ("few_rows.csv", "LD161"): [Repair("more rows", edited(more_rows)), Repair("fewer columns", edited(fewer_columns))],
    ("line.npy", "LD100"): [Repair("Reshape your data", reshaped)],
    ("log_zero.csv", "LD116"): [
        Repair("leave 'a' as it is", same("--use", "a")),
        Repair("add a constant to it first", edited(lambda text: text.replace("\n0,", "\n0.5,"))),
    ],
    ("login.csv", "LD003"): [Repair("download the table itself", saved("login.csv", CSV))],
    ("long_cell.csv.gz", "LD172"): [
        Repair("check the quotes and the separator", edited(lambda text: more_rows(text.replace("x" * 1_100_000, "4"))))
    ],
    ("complex.npy", "LD102"): [
        Repair(word, saved_part(part)) for word, part in (("X.real", np.real), ("X.imag", np.imag), ("abs(X)", np.abs))
    ],
    ("no_columns.npy", "LD113"): [Repair("add columns of numbers", saved("no_columns.npy", npy(GOOD)))],
    ("names_only.csv", "LD160"): [Repair("add rows", edited(more_rows))],
    ("one_row.csv", "LD160"): [Repair("add rows", edited(more_rows))],
    ("names_short.csv", "LD106"): [Repair("give one name for each column", same("--names", "x,y,z"))],
    ("ragged.csv", "LD006"): [
        Repair(
            "put that cell between quotes in line 8",
            edited(
                lambda text: line(9, lambda one: "1,2,3")(line(8, lambda one: '1,2,"3,4"')(text)), ["--decimal", ","]
            ),
        )
    ],
    ("decimal_mixed.csv", "LD112"): [
        Repair("write the file with one sign", edited(lambda text: text.replace(".", ",")))
    ],
    ("panel.csv", "LD126"): [Repair("one row per country, such as its mean", edited(mean_of_each))],
    ("titles.csv", "LD017"): [
        Repair("delete them from the file", edited(lambda text: "\n".join(text.split("\n")[3:])))
    ],
    ("unit_line.csv", "LD018"): [
        Repair("leave its words empty", edited(line(2, lambda one: ",,"))),
    ],
    ("two_headers.csv", "LD018"): [
        Repair(
            "write each name in one cell of the first",
            edited(lambda text: "\n".join(["first a,first b,second a,second b", *text.split("\n")[2:]])),
        )
    ],
    ("rare.csv", "LD135"): [
        Repair("correct wrong values", edited(lambda text: re.sub(r",1(\d)\.\d\d\n", r",1\1\n", text))),
        Repair("or empty their cells", edited(lambda text: re.sub(r",1\d\.\d\d\n", ",\n", text))),
    ],
    ("repeated_rows.csv", "LD191"): [Repair("remove rows that were not measured twice", edited(unique))],
    ("text.parquet", "LD002"): [
        Repair("give it the ending of what it is", renamed("text.csv")),
        Repair("or write it again", saved("text.parquet", parquet())),
    ],
    **{
        (name, "LD007"): [
            Repair("close the quotation mark", edited(with_quote)),
            Repair("or delete it", edited(without_quote)),
        ]
        for name in ("unclosed.csv", "twice_unclosed.csv")
    },
    ("weight_negative.csv", "LD230"): [
        Repair("do not use weights", same()),
        Repair("or correct the column", edited(lambda text: text.replace(",-1\n", ",1\n"))),
    ],
    ("workbook.csv", "LD002"): [Repair("rename it to workbook.xlsx", renamed("workbook.xlsx"))],
}
