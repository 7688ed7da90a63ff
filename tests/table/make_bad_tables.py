"""Makes tests/table/bad_tables: small files that people really send, and small files that mean harm.

`python -m tests.table.make_bad_tables` writes the files that are missing; with `--golden` also what is said of
each (NAME.golden: the exit code and the flags in the first line, then the messages). Read a golden before
you commit it: the test compares with it letter by letter.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
import shlex
import sys
import zipfile
from pathlib import Path

import numpy as np

from lowdim.table.read import read
from lowdim.text.errors import CheckError
from lowdim.text.messages import LowdimError
from tests.table.flags import options_from_flags

FOLDER = Path(__file__).parent / "bad_tables"


def csv(head: str, rows: list[list[object]], sep: str = ",") -> bytes:
    """A CSV from a header and rows."""
    lines = [head, *(sep.join(str(cell) for cell in row) for row in rows)]
    return ("\n".join(line for line in lines if line) + "\n").encode()


def numbers(n: int, d: int, seed: int = 0) -> list[list[object]]:
    """Rows of ordinary numbers."""
    return np.random.default_rng(seed).normal(10, 2, (n, d)).round(2).tolist()


def changed(rows: list[list[object]], cells: dict[tuple[int, int], object]) -> list[list[object]]:
    """The rows with some cells replaced; a row or column of -1 means all of them."""
    for (i, j), value in cells.items():
        for r in range(len(rows)) if i == -1 else [i]:
            for c in range(len(rows[r])) if j == -1 else [j]:
                rows[r][c] = value
    return rows


def column(rows: list[list[object]], j: int, values: list[object]) -> list[list[object]]:
    """The rows with one column replaced."""
    return [[*row[:j], value, *row[j + 1 :]] for row, value in zip(rows, values, strict=True)]


def parquet(columns: dict[str, object]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def lying_parquet() -> bytes:
    """A footer that claims 10^9 rows times as many as there are: the varint of num_rows overwritten in place."""
    n = 2**20
    data = parquet({"a": np.arange(n) // 1000 % 7.0, "b": np.arange(n) // 700 % 5.0})
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    old, new = varint(2 * n), varint(2 * (2**27 - 1))
    assert old in footer
    footer = footer.replace(old, new)
    return data[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def workbook(rows: list[list[object]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.title = "Measurements"
    for row in rows:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
    return out.getvalue()


def npy(values: object) -> bytes:
    out = io.BytesIO()
    np.save(out, values, allow_pickle=True)
    return out.getvalue()


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def wrong_files() -> dict[str, tuple[bytes, str]]:
    """Not a table at all, or one that cannot be read."""
    good = csv("a,b,c", numbers(6, 3))
    rng = np.random.default_rng(0)
    return {
        "model.pkl": (pickle.dumps({"a": [1, 2]}, protocol=4), ""),
        "pickled.csv": (pickle.dumps([1.5, 2.5], protocol=5), ""),
        "old_pickle.csv": (pickle.dumps([1.5, 2.5], protocol=0), ""),
        "login.csv": (b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n", ""),
        "rows.csv": (json.dumps([{"a": 1, "b": 2}]).encode(), ""),
        "feed.csv": (b'<?xml version="1.0"?>\n<rows/>\n', ""),
        "empty.csv": (b"", ""),
        "blank.csv": (b"\n\n  \n", ""),
        "workbook.csv": (workbook([["a", "b"], *numbers(5, 2)]), ""),
        "archive.csv": (archive({"inside.csv": good, "other.csv": good}), ""),
        "old.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64), ""),
        "text.parquet": (good, ""),
        "cut.parquet": (parquet({"a": rng.random(50), "b": rng.random(50)})[:-40], ""),
        "torn.parquet": (parquet({"a": rng.random(50), "b": rng.random(50)})[:300] + b"PAR1", ""),
        "liar.parquet": (lying_parquet(), "--memory 2GB"),
        "cut.arrow": (b"ARROW1\0\0" + bytes(range(80)), ""),
        "objects.npy": (npy(np.array([[1, None], ["a", 2]], dtype=object)), ""),
        "complex.npy": (npy(rng.random((8, 3)) + 1j * rng.random((8, 3))), ""),
        "no_columns.npy": (npy(np.zeros((8, 0))), ""),
        "cut.npy": (npy(np.zeros((20, 3)))[:-100], ""),
        "line.npy": (npy(rng.random(20)), ""),
        "cut.csv.gz": (packed(good)[:-12], ""),
        "bomb.csv.gz": (packed(b"1,2\n1,2\n" * 1_300_000 + b"2,3\n3,2\n4,4\n"), ""),
        "long_cell.csv.gz": (packed(b"a,b\n1,2\n3," + b"x" * 1_100_000 + b"\n"), ""),
        "wide.csv.gz": (packed(csv("", [[i * j % 7 for j in range(20_001)] for i in range(4)])), ""),
        "damaged.xlsx": (workbook([["a", "b"], [1, 2]])[:2000], ""),
        "sheets.xlsx": (workbook([["a", "b"], *numbers(5, 2)]), "--sheet Results"),
        "nul.csv": (good[:20] + b"\0\0" + good[20:], ""),
        "latin1.csv": ("naïf,b\n1,2\n3,4.5\n5,1\n".encode("latin-1"), "--encoding utf-8"),
        "ragged.csv": (good + b"1,2,3,4\n1,2\n", ""),
        "ragged_separator.csv": (csv("a;b", [["1,5", "2"], ["2", "3,5"], ["1,5", "2,5"], ["3", "4"]], ";"), "--sep ,"),
        "unclosed.csv": (b'name,a,b\n"x",1,2\n"y,3,4\n"z",5,6\n', ""),
        "big.csv": (csv("a,b,c", numbers(50, 3)), "--memory 2kB"),
    }


def columns_apart() -> dict[str, tuple[bytes, str]]:
    """Headers, decimal signs, labels, dates, ids."""
    a = numbers(12, 3)
    text = csv("a,b,c", numbers(12, 3))
    words = [f"w{i}" for i in range(12)]
    dates = [f"2024-01-{i + 1:02d}" for i in range(12)]
    comma = [[f"{x:.2f}".replace(".", ",") for x in row] for row in numbers(12, 3)]
    sites = ["north", "south", "north", "east"] * 3
    return {
        "no_header.csv": (csv("", changed(numbers(8, 3), {(0, 2): ""})), ""),
        "years.csv": (csv("country,1990,1991,1992", [[w, *r] for w, r in zip(words, a, strict=True)]), ""),
        "row_names.csv": (csv("a,b,c", [[w, *r] for w, r in zip(words, a, strict=True)]), ""),
        "trailing.csv": (csv("a,b,c,", [[*r, ""] for r in a]), ""),
        "comments.csv": (b"# made by hand\n#\n" + text, ""),
        "excel_sep.csv": (b"sep=;\n" + csv("a;b;c", a, ";"), ""),
        "spaces.txt": (text.replace(b",", b"   "), ""),
        "old_mac.csv": (text.replace(b"\n", b"\r"), ""),
        "utf16.csv": (("ä" + text.decode()[1:]).encode("utf-16"), ""),
        "quoted.csv": (b'name,a,b,c\n"x\ny",1,2,5\n"5"" pipe",3,4,9\nz,5,n.x.,2\nu,6,7,7\nv,8,9.5,3\n', ""),
        "twice_unclosed.csv": (b'name,a,b\n"x,1,2\ny,3,4\n"z,5,6\nu,7,8\nv,9,1\n', ""),
        "labels.csv": (
            csv(
                "site,a,operator,b",
                [[s, r[0], "ann" if r[1] > 10 else "bo", r[2]] for s, r in zip(sites, a, strict=True)],
            ),
            "",
        ),
        "almost.csv": (
            csv("conc,a,b", changed(numbers(12, 3), {(3, 0): "<0.05", (6, 0): "<0.05", (9, 0): "n.d."})),
            "",
        ),
        "almost_label.csv": (
            csv("age,a,b", changed(numbers(12, 3), {(3, 0): "22-23", (6, 0): "65+", (9, 0): "ill"})),
            "",
        ),
        "almost_often.csv": (
            csv("a,b,c,d,e,f,g", changed(numbers(10, 7), {(4, j): "o" + j * "o" + "ps" for j in range(7)})),
            "",
        ),
        "almost_same.csv": (
            csv("a,b,c", changed(numbers(12, 3), {(4, 0): "x", (7, 0): "x", (9, 2): "x"})),
            "",
        ),
        "stray_same.csv": (csv("a,b,c", changed(numbers(40, 3), {(7, 0): "rotary", (12, 2): "rotary"})), ""),
        "titles.csv": (b"Wells of the valley\nby the laboratory, 2023\n\n" + csv("a,b,c,d,e,f,g", numbers(10, 7)), ""),
        "unit_line.csv": (csv("depth,flow,level", [["m", "m3/h", "mm"], *numbers(10, 3)]), ""),
        "panel.csv": (
            csv("country,year,a,b,c", [["KLMN"[i % 4], 2001 + i // 4, *r] for i, r in enumerate(numbers(24, 3))]),
            "",
        ),
        "two_headers.csv": (csv("first,,second,", [["a", "b", "a", "b"], *numbers(10, 4)]), ""),
        "stray_word.csv": (
            csv("a,b,c", changed(numbers(40, 3), {(7, 1): "rotary", (9, 1): "rotary", (12, 2): "x"})),
            "",
        ),
        "almost_line1.csv": (csv("", [["id", 2019, 2020], *changed(numbers(9, 3), {})]), ""),
        "decimal_comma.csv": (csv("a;b;c", comma, ";"), ""),
        "decimal_mixed.csv": (csv("a;b;c", [[*r[:2], 1.25 * i] for i, r in enumerate(comma)], ";"), ""),
        "decimal_twice.csv": (csv("a;b", [[f"{i + 1},{100 + 37 * i:03d}", i * i] for i in range(9)], ";"), ""),
        "thousands.csv": (csv("a;b", [[f"{i + 1},{100 + 37 * i:03d}.50", i * i] for i in range(9)], ";"), ""),
        "units.csv": (csv("share,price,a,b", [[f"{r[0]}%", f"${r[1]}", r[2], i * i % 7] for i, r in enumerate(a)]), ""),
        "percent.csv": (csv("a,b,c", [[f"{x:.2f}%" for x in r] for r in a]), ""),
        "one_number.csv": (csv("site,a", [[s, r[0]] for s, r in zip(sites, a, strict=True)]), ""),
        "wrong_separator.csv": (csv("a;b;c", a, ";"), "--sep ,"),
        "date_asked.csv": (csv("a,b,date", [[*r[:2], d] for r, d in zip(a, dates, strict=True)]), "--columns a,b,date"),
        "label_asked.csv": (csv("a,b,site", [[*r[:2], d] for r, d in zip(a, sites, strict=True)]), "--use site"),
        "dates.csv": (
            csv("date,a,b,seen", [[d, *r[:2], d.replace("-01-", "/02/")] for r, d in zip(a, dates, strict=True)]),
            "",
        ),
        "day_first.csv": (csv("when,a,b", [[f"{i + 8}.03.2024 12:30", *r[:2]] for i, r in enumerate(a)]), ""),
        "running.csv": (csv("no,a,b", [[i + 1, *r[:2]] for i, r in enumerate(a)]), ""),
        "nested.parquet": (
            parquet({"a": np.arange(6) ** 2, "b": [float(i % 4) for i in range(6)], "list": [[1, 2]] * 6}),
            "",
        ),
        "unknown_column.csv": (csv("temp,b,c", a), "--drop tmp"),
        "names_short.csv": (csv("a,b,c", a), "--names x,y"),
        "encode_many.csv": (csv("who,a,b", [[f"p{i}", i % 7, i * i] for i in range(60)]), "--encode who"),
        "evil.csv": (
            csv(
                '\x1b[31m$(reboot),"b\x07,c",=cmd|/c calc',
                changed(numbers(12, 3), {(4, 0): "`id`", (5, 0): '"; rm -rf ~"', (6, 0): "=1+1"}),
            ),
            "",
        ),
    }


def numbers_wrong() -> dict[str, tuple[bytes, str]]:
    """Numbers that cannot be analysed, or are not what they seem."""
    a = numbers(30, 4)
    head = "a,b,c,d"
    parts = np.random.default_rng(1).dirichlet([2, 3, 4], 30) * 100
    return {
        "empty_column.csv": (csv(head, changed(numbers(30, 4), {(-1, 2): ""})), ""),
        "empty_rows.csv": (csv(head, changed(numbers(30, 4), {(7, -1): "", (11, -1): "NA"})), ""),
        "half_empty.csv": (csv(head, [[*r[:3], "" if i % 2 else r[3]] for i, r in enumerate(a)]), ""),
        "constant.csv": (csv(head, [[r[0], 1, r[2], 3, r[3]] for r in a]).replace(b"a,b,c,d", b"a,unit,b,plant,c"), ""),
        "rare.csv": (csv(head, [[*r[:3], r[3] if i in (4, 9, 11) else 0] for i, r in enumerate(numbers(90, 4))]), ""),
        "twice.csv": (csv("temp,temp,b,temp", [[r[0], r[0], r[2], r[3]] for r in a]), ""),
        "same_quantity.csv": (
            csv(
                "flow,flow_lb,c", [[r[0], (2.2 + 0.003 * (-1) ** i) * float(str(r[0])), r[2]] for i, r in enumerate(a)]
            ),
            "",
        ),
        "function.csv": (csv("flow,c,flow_f", [[r[0], r[2], 1.8 * float(str(r[0])) + 32] for r in a]), ""),
        "same_often.csv": (
            csv(
                ",".join(f"x{k}" for k in range(9)),
                [[k % 3 * 100 + (-1) ** k * (k + 1) * float(str(r[k % 2])) for k in range(9)] for r in a],
            ),
            "",
        ),
        "infinite.csv": (
            csv(head, changed(numbers(30, 4), {(3, 0): "inf", (9, 0): "Inf", (9, 2): "-inf", (5, 1): "1e999"})),
            "",
        ),
        "disguised.csv": (csv(head, changed(numbers(30, 4), {(3, 0): -999, (9, 0): "-999.0", (12, 2): -999})), ""),
        "disguised_once.csv": (csv(head, changed(numbers(30, 4), {(3, 0): -999})), ""),
        "nearly_empty.csv": (
            csv("a,b,c,late", column(numbers(60, 4), 3, [i if i < 5 else "" for i in range(60)])),
            "",
        ),
        "huge.csv": (csv("a,b,c", [[f"{r[0]}e200", *r[1:3]] for r in a]), ""),
        "log_zero.csv": (csv("a,b", [[i, r[0]] for i, r in enumerate(a)]), "--use a --log a"),
        "one_row.csv": (csv(head, a[:1]), ""),
        "two_rows.csv": (csv(head, a[:2]), ""),
        "names_only.csv": (b"a,b,c\n", ""),
        "few_rows.csv": (csv("a,b,c,d,e,f", numbers(5, 6)), ""),
        "closed.csv": (csv("sand,silt,clay,ph", [[*np.round(p, 2), r[0]] for p, r in zip(parts, a, strict=True)]), ""),
        "repeated_rows.csv": (csv(head, [*a, a[3], a[7]]), ""),
        "weight_negative.csv": (csv(head, changed(numbers(30, 4), {(5, 3): -1})), "--weight d"),
        "strict.csv": (csv("site,a,b", [["n" if i % 2 else "s", *r[:2]] for i, r in enumerate(a)]), "--strict"),
    }


def roles_of_columns() -> dict[str, tuple[bytes, str]]:
    """Numbers that are no measurements, and tables that are no rows of measurements."""
    rng = np.random.default_rng(2)
    a, n = rng.normal(10, 2, (40, 4)).round(2), np.arange(40)
    items = rng.integers(1, 6, (40, 6))
    parts = rng.uniform(1, 9, (40, 3)).round(2)
    gappy = [["" if i % 2 or not i else x for x in p[:2]] + [p[2]] for i, p in enumerate(parts)]
    towns = rng.uniform(0, 100, (6, 2))
    far = np.sqrt(((towns[:, None] - towns) ** 2).sum(axis=2)).round(1)
    users, things = np.divmod(np.arange(60), 10)
    y = np.where(rng.random((40, 9)) < 0.5, "yes", "no")
    return {
        "codes.csv": (
            csv(
                "a,b,pclass,smokes,shelf",
                [[*r[:2], i % 3 + 1, i % 2, i * i // 3 % 4] for i, r in zip(n, a, strict=True)],
            ),
            "",
        ),
        "date_parts.csv": (
            csv("year,month,a,b", [[1980 + i // 4, i * 7 % 12 + 1, *r[:2]] for i, r in zip(n, a, strict=True)]),
            "",
        ),
        "places.csv": (
            csv(
                "lat,lon,zip,a,b",
                [[*(10 * t).round(1), 10115 + i // 5, *r[:2]] for i, t, r in zip(n, parts[:, :2], a, strict=True)],
            ),
            "",
        ),
        "ranks.csv": (csv("rank,a,b", [[i * 7 % 20 + 1, *r[:2]] for i, r in zip(n, a, strict=True)]), ""),
        "totals.csv": (
            csv("w,x,y,total,c", [[*p, round(sum(p), 2), r[0]] for p, r in zip(parts, a, strict=True)]),
            "",
        ),
        "totals_gappy.csv": (
            csv("w,x,y,total,c", [[*g, round(sum(p), 2), r[0]] for g, p, r in zip(gappy, parts, a, strict=True)]),
            "",
        ),
        "items.csv": (csv("q1,q2,q3,q4,q5,q6,sex", [[*r, i % 2] for i, r in zip(n, items, strict=True)]), ""),
        "answers.csv": (
            csv("party,v1,v2,v3,v4,v5,v6,v7,v8,v9", [["rd"[i % 2], *r] for i, r in zip(n, y, strict=True)]),
            "",
        ),
        "same_fact.csv": (
            csv(
                "class,pclass,a,b",
                [[["first", "third"][i % 2], 2 * (i % 2) + 1, *r[:2]] for i, r in zip(n, a, strict=True)],
            ),
            "",
        ),
        "distances.csv": (csv("town,A,B,C,D,E,F", [["ABCDEF"[i], *row] for i, row in enumerate(far)]), ""),
        "correlations.csv": (
            csv(
                "test,A,B,C,D", [["ABCD"[i], *row] for i, row in enumerate(np.corrcoef(np.array(a, float).T).round(3))]
            ),
            "",
        ),
        "only_places.csv": (
            csv("town,latitude,longitude", [[f"t{i}", 40 + i * i % 17 / 4, 7 + i * i * i % 23 / 4] for i in range(30)]),
            "",
        ),
        "ratings.csv": (
            csv("user,item,rating", [[u, t, (u + t) % 5 + 1] for u, t in zip(users, things, strict=True)]),
            "",
        ),
    }


CASES = {**wrong_files(), **columns_apart(), **numbers_wrong(), **roles_of_columns()}


def said(name: str, flags: str = "") -> str:
    """What reading a file says: the exit code and the flags, how it was read, and every message."""
    try:
        table = read(FOLDER / name, **options_from_flags(shlex.split(flags)))
    except LowdimError as problem:
        text = str(problem.messages) if isinstance(problem, CheckError) else str(problem)
        return f"exit {problem.exit_code}  {flags}".strip() + f"\n{text}\n"
    return f"exit 0  {flags}".strip() + f"\n{table!r}\n{table.messages}".rstrip() + "\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, (data, flags) in CASES.items():
        path = FOLDER / name
        if not path.exists():
            path.write_bytes(data)
        assert path.stat().st_size < 20_000, (name, path.stat().st_size)
        if "--golden" in sys.argv:
            (FOLDER / f"{name}.golden").write_text(said(name, flags), encoding="utf-8")


if __name__ == "__main__":
    main()
