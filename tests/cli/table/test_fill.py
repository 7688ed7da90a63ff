"""`lowdim fill`: the table that came, cell for cell, but for the gaps."""

from __future__ import annotations

import csv
import json
import shlex
import shutil

import numpy as np
import pytest

import lowdim as ld
from lowdim.text.messages import LowdimError
from tests.cli.calls import rows_of
from tests.cli.conftest import small_table, write_csv
from tests.conftest import need
from tests.judge.fills.test_engines import groups
from tests.judge.mixed.test_mixed_cells import survey


def records(path, sep: str = ",", encoding: str = "utf-8") -> list[list[str]]:
    with open(path, encoding=encoding, newline="") as file:
        return list(csv.reader(file, delimiter=sep))


def changed(old: list[list[str]], new: list[list[str]]) -> dict[tuple[int, int], tuple[str, str]]:
    """The cells in which two tables of one shape differ."""
    assert [len(row) for row in old] == [len(row) for row in new]
    return {
        (i, j): (a, b)
        for i, (x, y) in enumerate(zip(old, new, strict=True))
        for j, (a, b) in enumerate(zip(x, y, strict=True))
        if a != b
    }


def mixed(tmp_path, *, sep=",", decimal=".", header=True, newline="\n", encoding="utf-8", name="t.csv", gap=""):
    """Ids, dates, a constant, an empty column, labels with gaps, numbers written in odd ways, an empty row."""
    X = small_table()
    rows = [["who", "when", "always", "x1", "nothing", "x2", "x3", "x4", "Größe"]] if header else []
    for i, x in enumerate(X):
        cells = [gap if np.isnan(v) else f"{v:.4f}".replace(".", decimal) for v in x[:4]]
        label = "" if i % 9 == 0 else "ab "[i % 3] + "ü"
        rows.append([f"r-{i:03}", f"2024-01-{i % 28 + 1:02}", f"5{decimal}00", cells[0], "", *cells[1:], label])
    rows[12][3:4] = ["+0" + decimal + "250"]
    rows.insert(20, ["r-x", "2024-02-01", "", gap, "", gap, gap, gap, "empty"])
    with open(tmp_path / name, "w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=sep, lineterminator=newline).writerows(rows)
    return rows


def test_fill_writes_the_table_with_nothing_else_changed(lowdim, made):
    said = lowdim("fill", made / "small.csv", "-o", "out.csv", "--intervals", "--multiple", "2", "--quiet")
    X, names = small_table(), [f"x{k}" for k in range(1, 7)]
    assert said.code == 0 and "gaps filled from" in said.out and "skill*" in said.out and said.err == ""
    assert "Wrote out.csv, out.lower.csv, out.upper.csv, out.mask.csv, out.1.csv, out.2.csv" in said.out
    read = {
        word: np.array([[float(r[n]) for n in names] for r in rows_of(lowdim.folder / f"out{word}.csv")])
        for word in ("", ".lower", ".upper", ".mask", ".1", ".2")
    }
    gap = np.isnan(X)
    assert np.array_equal(read[".mask"], gap.astype(float)) and np.isfinite(read[""]).all()
    for word in ("", ".lower", ".upper", ".1", ".2"):
        assert np.array_equal(read[word][~gap], X[~gap]), word
    assert (read[".lower"][gap] < read[""][gap]).all() and (read[""][gap] < read[".upper"][gap]).all()
    assert (read[".1"][gap] != read[".2"][gap]).all()
    assert "Do not analyse" not in said.out
    assert "For statistics use --multiple 20" in lowdim("fill", made / "small.csv", "-o", "o.csv").out


def test_fill_keeps_labels_and_names(lowdim, tmp_path):
    X = small_table()
    lines = ["who,site,a,b,c,d,e,f"] + [
        f"r{i},{'ab'[i % 2]}," + ",".join("" if np.isnan(v) else f"{v:.4f}" for v in x) for i, x in enumerate(X)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert lowdim("fill", "t.csv", "-o", "o.csv", "--id", "who", "--quiet").code == 0
    out = rows_of(tmp_path / "o.csv")
    assert list(out[0]) == ["who", "site", "a", "b", "c", "d", "e", "f"]
    assert out[1]["who"] == "r1" and out[1]["site"] == "b"


@pytest.mark.parametrize(
    ("sep", "decimal", "newline", "encoding"),
    [
        (",", ".", "\n", "utf-8"),
        (";", ",", "\r\n", "cp1252"),
        ("\t", ",", "\n", "utf-16"),
        (",", ",", "\n", "utf-8-sig"),
    ],
)
def test_every_column_in_its_place_and_every_seen_cell_as_it_stood(lowdim, tmp_path, sep, decimal, newline, encoding):
    rows = mixed(tmp_path, sep=sep, decimal=decimal, newline=newline, encoding=encoding, gap="NA")
    said = lowdim("fill", "t.csv", "-o", "o.csv", "--intervals", "--id", "who", "--quiet")
    assert said.code == 0, said.err
    found = {word: records(tmp_path / f"o{word}.csv", sep, encoding) for word in ("", ".lower", ".upper", ".mask")}
    numbers = (3, 5, 6, 7)
    gaps = {(i, j) for i, row in enumerate(rows) for j in numbers if row[j] == "NA" and row[0] != "r-x"}
    words = {(i, 8) for i, row in enumerate(rows) if row[8] == ""}
    for word in ("", ".lower", ".upper"):
        assert set(changed(rows, found[word])) == (gaps if word else gaps | words), word  # a label has no interval
    assert {found[""][i][j] for i, j in words} <= {row[8] for row in rows[1:]} - {"", "empty"}
    for i, j in gaps:
        low, fill, high = (float(found[word][i][j].replace(",", ".")) for word in (".lower", "", ".upper"))
        assert low < fill < high and len(found[""][i][j].strip("-0.,").replace(decimal, "")) <= 7
        assert decimal in found[""][i][j]
    assert found[".mask"][0] == rows[0]
    ones = {(i, j) for i, row in enumerate(found[".mask"]) for j, cell in enumerate(row) if i and cell == "1"}
    assert ones == gaps | words
    assert {cell for row in found[".mask"][1:] for cell in row} == {"0", "1"}
    assert "gaps in when" not in said.out and "nothing (" in said.out
    assert "was left out (LD121): it has no place on the map; its gaps are left." in said.out
    ends = (tmp_path / "o.csv").read_bytes().decode(encoding)
    assert ends.count("\r\n") == (len(rows) if newline == "\r\n" else 0)


@pytest.mark.parametrize(("sep", "decimal"), [(",", "."), (";", ",")])
def test_fills_have_the_unit_of_their_column_and_can_be_read_again(lowdim, sep, decimal):
    forms = ("{} mg/L", "{} °C", "$ {}", "{} %", "{}")
    X = small_table()[:, :5]
    lines = [sep.join(["x1", "x2", "x3", "x4", "x5"])]
    for i, row in enumerate(X):
        cells = [
            "" if np.isnan(v) else f.format(f"{v:.3f}".replace(".", decimal)) for f, v in zip(forms, row, strict=True)
        ]
        lines.append(sep.join("" if (i + j) % 9 == 0 else cell for j, cell in enumerate(cells)))
    (lowdim.folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    before = ld.read(lowdim.folder / "t.csv")
    assert before.d == 5 and (before.X < 0).any(axis=0).all()
    assert lowdim("fill", "t.csv", "-o", "out.csv", "--intervals").code == 0
    old = records(lowdim.folder / "t.csv", sep)
    middle, low, high = (ld.read(lowdim.folder / f"out{part}.csv").X for part in ("", ".lower", ".upper"))
    assert not {a for a, _ in changed(old, records(lowdim.folder / "out.csv", sep)).values()} - {""}
    gap = np.isnan(before.X)
    assert ((low < middle) & (middle < high))[gap].all() and (middle == before.X)[~gap].all()


def test_no_header_in_no_header_out(lowdim, tmp_path):
    rows = mixed(tmp_path, header=False)
    assert lowdim("fill", "t.csv", "-o", "o.csv", "--no-header", "--quiet").code == 0
    out = records(tmp_path / "o.csv")
    differ = changed(rows, out)
    assert len(out) == len(rows) and differ and all(a == "" for a, _ in differ.values())
    assert all(b in ("aü", "bü", " ü") if j == 8 else float(b) for (_, j), (_, b) in differ.items())


def test_no_gaps_is_said_and_the_same_bytes_are_written(lowdim, tmp_path):
    X = np.nan_to_num(small_table(), nan=0.125)
    path = write_csv(tmp_path / "t.csv", X)
    path.write_bytes(path.read_bytes().replace(b"x1", b'"x1"').rstrip(b"\n"))  # what a writer of our own would not keep
    said = lowdim("fill", "t.csv", "-o", "o.csv", "--intervals", "--quiet")
    assert said.code == 0 and said.out.startswith("No gaps: nothing to fill.\n")
    assert "o.csv is t.csv as it came" in said.out
    assert (tmp_path / "o.csv").read_bytes() == path.read_bytes() == (tmp_path / "o.upper.csv").read_bytes()
    assert {c for row in records(tmp_path / "o.mask.csv")[1:] for c in row} == {"0"}
    told = json.loads(lowdim("fill", "t.csv", "-o", "o.csv", "--json").out)
    assert told["sentence"] == "No gaps: nothing to fill." and told["wrote"] == ["o.csv"]


def test_formulas_are_still_made_harmless(lowdim, tmp_path):
    rows = mixed(tmp_path, sep=";", decimal=",")
    rows[3][8], rows[4][8], rows[5][8], rows[0][8] = "=cmd()", "-", "+1 (2)", "@x"
    for gaps in (True, False):
        if not gaps:
            rows = [[cell or "0,5" if j in (3, 5, 6, 7) else cell for j, cell in enumerate(row)] for row in rows]
        with open(tmp_path / "t.csv", "w", newline="") as file:
            csv.writer(file, delimiter=";").writerows(rows)
        assert lowdim("fill", "t.csv", "-o", "o.csv", "--id", "who", "--quiet").code == 0
        out = records(tmp_path / "o.csv", ";")
        assert [out[i][8] for i in (0, 3, 4, 5)] == ["'@x", "'=cmd()", "-", "'+1 (2)"]
        assert all(
            out[i][j] == cell
            for i, row in enumerate(rows)
            for j, cell in enumerate(row)
            if cell.startswith("-") and j != 8
        )  # "-1,5" is a number, not a formula


@pytest.mark.parametrize("name", ["o.parquet", "o.XLSX", "o.csv.gz", "o.npy"])
def test_an_ending_that_is_not_text_is_refused_before_any_work(lowdim, made, name):
    said = lowdim("fill", made / "small.csv", "-o", name)
    assert said.code == 2 and "LD309" in said.err and "CSV" in said.err and not list(lowdim.folder.iterdir())
    fix = said.err.split("  fix ")[1].split()
    assert lowdim("fill", made / "small.csv", *fix, "--quiet").code == 0


def test_a_folder_that_is_not_there_is_named(lowdim, made):
    said = lowdim("fill", made / "small.csv", "-o", "no/such/o.csv")
    assert said.code == 2 and "LD304" in said.err and "no/such" in said.err
    assert "make the folder" in said.err and "space" not in said.err


def test_other_kinds_of_file_come_out_as_csv(lowdim, tmp_path):
    import pandas as pd

    X = small_table()
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(1, 7)])
    frame.insert(0, "day", pd.date_range("2024-01-01", periods=len(X)).date)
    frame["n"], frame["note"] = np.arange(len(X)) % 7, ["a,b", None] * (len(X) // 2)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.drop(columns="day").to_excel(tmp_path / "t.xlsx", index=False)
    np.save(tmp_path / "t.npy", X)
    for name in ("t.parquet", "t.xlsx", "t.npy"):
        assert lowdim("fill", name, "-o", "o.csv", "--quiet").code == 0, name
        out = records(tmp_path / "o.csv")
        first = 0 if name == "t.npy" else 1
        if first:
            assert out[0] == [c for c in frame.columns if c != "day" or name == "t.parquet"]
        assert len(out) - first == len(X)
        offset = 1 if name == "t.parquet" else 0
        values = np.array([[float(cell) for cell in row[offset : offset + 6]] for row in out[first:]])
        loss = 1e-14 if name == "t.xlsx" else 0.0  # of the sheet, which keeps fewer digits
        assert np.allclose(values[~np.isnan(X)], X[~np.isnan(X)], rtol=loss, atol=0.0)
        if name == "t.parquet":
            assert out[1][0] == "2024-01-01" and [r[7] for r in out[1:4]] == ["0", "1", "2"] and out[1][8] == "a,b"


def test_tabs_for_a_tsv_and_tables_on_their_side(lowdim, tmp_path):
    X = small_table()
    write_csv(tmp_path / "t.csv", X)
    assert lowdim("fill", "t.csv", "-o", "o.tsv", "--quiet").code == 0
    assert records(tmp_path / "o.tsv", "\t")[0] == [f"x{k}" for k in range(1, 7)]
    old = records(tmp_path / "t.csv")
    with open(tmp_path / "side.csv", "w", newline="") as file:
        csv.writer(file).writerows(zip(*old, strict=True))
    assert lowdim("fill", "side.csv", "-o", "o.csv", "--transpose", "--no-header", "--quiet").code == 0
    assert all(a == "" for a, _ in changed(old, records(tmp_path / "o.csv")).values())


def test_the_proposed_logarithm_works_when_pasted(lowdim, tmp_path):

    shutil.copy(need("missing_small/airquality.csv"), tmp_path / "air quality.csv")
    said = lowdim("fill", "air quality.csv", "-o", "o.csv", "--intervals", "--no-log")
    assert "of Ozone are outside the values seen (1 .. 168): try --log Ozone" in said.out
    before = [float(row[0]) for row in records(tmp_path / "o.csv")[1:]]
    line = next(line for line in said.out.split("\n") if line.startswith("As logarithms:"))
    words = shlex.split(line.removeprefix("As logarithms:"))
    assert words[0] == "lowdim"
    again = lowdim(*words[1:])
    assert again.code == 0 and "As logarithms:" not in again.out and "own unit" in again.out
    old, low, new, high = (
        records(tmp_path / name) for name in ("air quality.csv", "o.lower.csv", "o.csv", "o.upper.csv")
    )
    gaps = set(changed(old, new))
    assert min(before) == 0 < min(float(low[i][0]) for i, j in gaps if j == 0)
    assert all(float(low[i][j]) < float(new[i][j]) < float(high[i][j]) for i, j in gaps)


def test_encoded_labels_stay_labels(lowdim, tmp_path):
    rows = mixed(tmp_path)
    said = lowdim("fill", "t.csv", "-o", "o.csv", "--id", "who", "--encode", "Größe", "--quiet")
    assert said.code == 0
    filled = records(tmp_path / "o.csv")
    differ, place = changed(rows, filled), rows[0].index("Größe")
    assert differ and {j for _, j in differ} <= {place, 3, 5, 6, 7}
    labels = {row[place].strip() for row in rows[1:]} - {""}
    assert {row[place].strip() for row in filled[1:]} == labels


def test_fills_name_the_map_they_are_not_of(lowdim, made, monkeypatch):
    monkeypatch.chdir(made)
    out = lowdim.folder / "o.csv"
    assert "; the map uses 2." in lowdim("fill", "small.csv", "-o", out, "--quiet").out
    monkeypatch.chdir(lowdim.folder)
    alone = lowdim("fill", made / "small.csv", "-o", out, "--quiet").out
    assert "Fills use their own model (" in alone and "the map uses" not in alone


def test_the_table_itself_is_not_overwritten(lowdim):
    """LD312: what was measured must not be lost; the name that the message proposes works."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 1)) + 0.3 * rng.standard_normal((60, 4))
    X[5, 1] = np.nan
    text = "a,b,c,d\n" + "\n".join(",".join("" if v != v else f"{v:.6f}" for v in row) for row in X) + "\n"
    file = lowdim.folder / "t.csv"
    file.write_text(text)
    said = lowdim("fill", "t.csv", "-o", "t.csv")
    assert said.code == 2 and "LD312" in said.err and file.read_text() == text
    assert lowdim("fill", "t.csv", "-o", "t.filled.csv").code == 0


def test_gaps_that_go_with_values_are_told(lowdim):
    """LD124: where b is missing whenever a is high, its fills may be biased."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1)) + 0.5 * rng.standard_normal((200, 4))
    X[X[:, 0] > 0.8, 1] = np.nan
    file = lowdim.folder / "t.csv"
    file.write_text("a,b,c,d\n" + "\n".join(",".join("" if v != v else f"{v:.6f}" for v in r) for r in X) + "\n")
    said = lowdim("fill", "t.csv", "-o", "f.csv")
    assert said.code == 0 and "LD124 note  Missing values are not random: 'b' is missing more often where" in said.err
    assert " is high" in said.err


def test_the_stack_is_named_and_is_that_of_python(lowdim):
    """Two groups with lines of their own: what fills them, as text, as JSON and by `lowdim.fill`."""
    X, gap = groups(100, 4)
    X[gap] = np.nan
    file = lowdim.folder / "t.csv"
    file.write_text("a,b,c,d\n" + "\n".join(",".join("" if v != v else f"{v:.6f}" for v in r) for r in X) + "\n")
    told = json.loads(lowdim("fill", "t.csv", "-o", "o.csv", "--json", "--budget", "0.3s").out)
    engines = {one["engine"]: one for one in told["engines"]}
    assert told["engine"] == "stack" and told["error"] < engines["linear model"]["error"]
    assert sum(one["share"] for one in engines.values()) == pytest.approx(1.0)
    assert any(one["error"] is None and "of the budget of 0.3 s is left" in one["why"] for one in engines.values())
    first = file.with_name("o.csv").read_bytes()
    said = lowdim("fill", "t.csv", "-o", "o.csv", "--budget", "0.3s")
    gain = f"Error on hidden cells {told['error']:.3f} SD; linear model alone {engines['linear model']['error']:.3f}."
    assert "gaps filled by a stack: " in said.out and gain in said.out
    assert gain in told["fills_from"] and file.with_name("o.csv").read_bytes() == first
    by_python = ld.fill(file, budget=0.3)
    assert by_python.error == told["error"]
    assert by_python.write(file.with_name("p.csv")) == [file.with_name("p.csv")]
    assert file.with_name("p.csv").read_bytes() == first


def test_python_writes_what_the_command_writes(lowdim, tmp_path):
    """Every file of the command; and what cannot be written is refused."""
    mixed(tmp_path, sep=";", decimal=",", encoding="cp1252")
    assert lowdim("fill", "t.csv", "-o", "a.csv", "--intervals", "--multiple", "1", "--quiet").code == 0
    fills = ld.fill(tmp_path / "t.csv", budget=1e-3)
    wrote = fills.write(tmp_path / "b.csv", intervals=True, multiple=1)
    words = ["", ".lower", ".upper", ".mask", ".probability", ".1"]
    assert [path.name for path in wrote] == [f"b{word}.csv" for word in words]
    for word in words:
        assert (tmp_path / f"a{word}.csv").read_bytes() == (tmp_path / f"b{word}.csv").read_bytes(), word
    for path, code in ((tmp_path / "t.csv", "LD312"), (tmp_path / "b.parquet", "LD309")):
        with pytest.raises(LowdimError, match=code):
            fills.write(path)
    with pytest.raises(LowdimError, match="path"):
        ld.fill(small_table(), engines="straight").write(tmp_path / "c.csv")


def test_a_file_is_read_and_hashed_once(lowdim, made, monkeypatch):
    from lowdim.table import open_file
    from lowdim.table import read as reading

    seen = []
    for module, name in ((reading, "find_file"), (open_file, "file_digest")):
        own = getattr(open_file, name)
        monkeypatch.setattr(module, name, lambda *given, own=own, name=name: (seen.append(name), own(*given))[1])
    assert lowdim("fill", made / "small.csv", "-o", "o.csv").code == 0
    assert sorted(seen) == ["file_digest", "find_file"]


def votes(n: int = 200, seed: int = 0) -> list[list[str]]:
    """Seven answers that one trait drives, a fifth of them missing, and a party; one row of nothing but its party."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    yes = (2.5 * z[:, None] * [1, 1, -1, -1, 1, 1, 1] + rng.logistic(size=(n, 7))) > 0
    gap = rng.random((n, 7)) < 0.2
    gap[:, 0] = False
    gap[5] = True
    cells = np.where(gap, "", np.where(yes, "y", "n"))
    return [
        ["party", *(f"V{k}" for k in range(1, 8))],
        *([f"p{int(a > 0)}", *r] for a, r in zip(z, cells, strict=True)),
    ]


@pytest.mark.slow
def test_words_are_filled_with_labels_and_their_probabilities(lowdim, tmp_path):
    """A table of answers, without being told to encode them: no gap is left, also where a row has only its party."""
    rows = votes()
    with open(tmp_path / "t.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    said = lowdim("fill", "t.csv", "-o", "o.csv", "--intervals", "--multiple", "1", "--budget", "60s")
    assert said.code == 0, said.err
    gaps = {(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell == ""}
    assert f"{len(gaps)} labels filled" in said.out and "Row 6 has no measured value" in said.out
    for word in ("", ".1"):
        out = records(tmp_path / f"o{word}.csv")
        new = changed(rows, out)
        assert set(new) == gaps and {b for _, b in new.values()} == {"y", "n"}
    for word in (".lower", ".upper"):  # a label has no interval
        assert changed(rows, records(tmp_path / f"o{word}.csv")) == {}
    assert "o.probability.csv" in said.out
    head, *shares = records(tmp_path / "o.probability.csv")
    assert head == [f"V{k}={word}" for k in range(1, 8) for word in "ny"] and len(shares) == len(rows) - 1
    filled = records(tmp_path / "o.csv")
    for i, j in gaps:
        p = {word: float(shares[i - 1][head.index(f"V{j}={word}")]) for word in "ny"}
        assert sum(p.values()) == pytest.approx(1.0, abs=2e-4) and filled[i][j] == max(p, key=p.get)
    seen = next(i for i in range(1, 100) if rows[i][3] == "y")
    assert shares[seen - 1][head.index("V3=y")] == "1"
    party = {row[0]: np.mean([r[1] == "y" for r in rows[1:] if r[0] == row[0] and r[1]]) for row in rows[1:]}
    assert float(shares[5][head.index("V1=y")]) == pytest.approx(party[rows[6][0]], abs=0.12)  # all that is known of it
    told = json.loads(lowdim("fill", "t.csv", "-o", "o.csv", "--json", "--budget", "60s").out)
    facts = {c["column"]: c for c in told["labels"]}
    assert list(facts) == [f"V{k}" for k in range(1, 8)] and facts["V3"]["right"] > facts["V3"]["usual"]
    assert "mixed model" in facts["V3"]["engine"] or "regressions" in facts["V3"]["engine"]
    assert told["fills_from"] == ""


def test_the_main_job_says_which_engine_filled_a_label(lowdim, tmp_path):
    with open(tmp_path / "t.csv", "w", newline="") as file:
        csv.writer(file).writerows(votes(80))
    assert lowdim("fit", "t.csv", "--budget", "1s", "--quiet").code == 0
    fills = rows_of(tmp_path / "t.run" / "fills.csv")
    assert list(fills[0]) == ["row", "column", "fill", "lower", "upper", "sd", "outside", "engine", "probability"]
    assert {f["fill"] for f in fills} == {"y", "n"} and {f["column"] for f in fills} == {f"V{k}" for k in range(2, 8)}
    assert all(0.5 <= float(f["probability"]) <= 1.0 and f["lower"] == "" for f in fills)
    assert {word for f in fills for word in f["engine"].split(", ")} <= {"mixed model", "rows alike", "frequencies"}


def test_numbers_that_are_answers_get_probabilities(lowdim, tmp_path):
    """Each line of levels sums to one; a yes/no fill is the likelier answer, that of a scale its middle level."""
    frame, _ = survey(2, n=80, gaps=0.1)
    frame.astype(float).to_csv(tmp_path / "items.csv", index=False)
    done = lowdim("fill", "items.csv", "-o", "out.csv", "--intervals", "--no-log")
    assert done.code == 0 and "out.probability.csv" in done.out
    told, filled = rows_of(tmp_path / "out.probability.csv"), rows_of(tmp_path / "out.csv")
    gaps, checked = frame.isna(), 0
    for name in frame.columns:
        names = [key for key in told[0] if key.startswith(f"{name}=")]
        assert len(names) == (2 if name.startswith("v") else 5)
        for i, line in enumerate(told):
            share = np.array([float(line[key]) for key in names])
            assert share.sum() == pytest.approx(1.0, abs=3e-4)
            levels = np.array([float(key.split("=")[1]) for key in names])
            fill = float(filled[i][name])
            if not gaps.loc[i, name]:
                assert share[levels == fill][0] == 1.0
                continue
            below, upto = share[levels < fill].sum(), share[levels <= fill].sum()
            assert below <= 0.5001 and upto >= 0.4999
            checked += 1
    assert checked == int(gaps.to_numpy().sum())


def test_gaps_are_filled_by_copies_and_those_left_have_a_true_reason(lowdim, tmp_path):
    rng = np.random.default_rng(3)
    x, big = rng.standard_normal(120).round(2), rng.integers(10**8, 10**9, 120)
    rows = [["x", "again", "big", "yes", "sign", "unit", "town", "none"]]
    for k, (v, b) in enumerate(zip(x.tolist(), big.tolist(), strict=True)):
        rows.append([f"{v}", f"{v}", f"{b}", "yn"[v > 0], "+-"[v > 0], "cm", f"t{k}", ""])
    rows[3][0] = rows[4][1] = rows[5][1] = rows[6][3] = rows[7][4] = rows[8][4] = rows[9][5] = rows[10][6] = ""
    with open(tmp_path / "t.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    said = lowdim("fill", "t.csv", "-o", "o.csv", "--intervals")
    assert said.code == 0, said.err
    new = {key: b for key, (_, b) in changed(rows, records(tmp_path / "o.csv")).items()}
    assert new == {
        (3, 0): rows[3][1],
        **{(i, 1): rows[i][0] for i in (4, 5)},
        (6, 3): "yn"[int(x[5] > 0)],
        **{(i, 4): "+-"[int(x[i - 1] > 0)] for i in (7, 8)},
        (9, 5): "cm",
    }
    assert said.out.startswith("1 gap filled by what their copies say.") and "1 by its copy again" in said.out
    assert "Left as they are: gaps in town (1; 119 values in 119 cells), none (120; empty)." in said.out


def test_rows_that_hold_labels_only_are_filled_from_them(lowdim, tmp_path):
    rng = np.random.default_rng(4)
    z = rng.standard_normal(150)
    rows = [["x", "y", "side"]]
    for v in z.tolist():
        x, y = (v + 0.2 * rng.standard_normal(2)).round(2).tolist()
        rows.append([f"{x}", f"{y}", "low" if v < 0 else "high"])
    rows[5][:2] = rows[9][:2] = ["", ""]
    rows[12] = ["", "", ""]
    with open(tmp_path / "t.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    said = lowdim("fill", "t.csv", "-o", "o.csv", "--intervals")
    new = changed(rows, records(tmp_path / "o.csv"))
    assert set(new) == {(i, j) for i in (5, 9) for j in (0, 1)}
    assert all((float(b) > 0) == (rows[i][2] == "high") for (i, _), (_, b) in new.items())
    assert "Rows 5, 9 have no measured value: their numbers were filled from their category columns" in said.out
    assert "Row 12 has no measured value and was left out" in said.out
