"""`lowdim compare`: the table, the sentences, the same as JSON."""

from __future__ import annotations

import json


def test_compare_says_a_table_and_a_sentence_for_every_question(lowdim, made, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = lowdim("compare", made / "small.csv", "-m", "ppca,fa", "--dims", "2", "--quiet")
    assert said.code == 0 and said.err == "" and max(map(len, said.out.split("\n"))) <= 80
    assert said.out.startswith("4 methods on small.csv: 2 dimensions, 60 rows, ")
    for words in (
        "\npca ",
        "\nppca ",
        "\nfa ",
        "\nrandom ",
        "To fill gaps: ",
        "To see groups: ",
        "agree on ",
        "– (no density)",
        "± is the spread",
    ):
        assert words in said.out, words


def test_compare_as_json(lowdim, made):
    told = json.loads(lowdim("compare", made / "small.csv", "--dims", "1", "--json", "--quiet").out)
    assert [row["method"] for row in told["rows"]] == ["pca", "ppca", "fa", "random"] and told["seeds"] == 5
    first, last = told["rows"][0]["measures"], told["rows"][-1]["measures"]
    assert len(first["rmse"]["values"]) == 5 and first["rmse"]["mean"] > 0 and last["density"]["mean"] is None
    assert last["density"]["why"] == "no density" and told["agreement"]["pca ppca"] <= 1 and told["sentences"]


def test_compare_tells_each_method_as_it_ends(lowdim, made):
    said = lowdim("compare", made / "small.csv", "-m", "ppca", "--dims", "1")
    assert "[ok] ppca" in said.err and "[ok] random" in said.err


def test_compare_judges_coordinates_made_elsewhere(lowdim, made, tmp_path):
    rows = (made / "small.csv").read_text().splitlines()[1:]
    (tmp_path / "xy.csv").write_text("x,y\n" + "\n".join(f"{i % 7},{i * 0.1}" for i in range(len(rows))) + "\n")
    asked = ("compare", made / "small.csv", "-m", "mds", "--dims", "2", "--quiet", "--map", tmp_path / "xy.csv")
    said = lowdim(*asked)
    assert said.code == 0 and "3 methods and 1 map made elsewhere" in said.out and "\nxy.csv " in said.out
    assert "– (coordinates only)" in said.out and "\nxy.csv (2 axes, made elsewhere) keeps " in said.out
    told = json.loads(lowdim(*asked, "--json").out)["rows"][-1]
    assert told["measures"]["trust"]["values"] and told["measures"]["rmse"]["why"] == "coordinates only"
    (tmp_path / "xy.csv").write_text("x,y\n1,2\n")
    said = lowdim(*asked)
    assert said.code == 4 and f"1 lines in xy.csv, but {len(rows)} rows" in said.err


def test_compare_refuses_before_it_works(lowdim, made):
    said = lowdim("compare", made / "small.csv", "-m", "ppca,tsne")
    assert said.code == 2 and "LD290" in said.err and "use one of ppca, pca, fa" in said.err
    assert lowdim("compare", made / "small.csv", "--seeds", "2").code == 2
    assert lowdim("compare", "nowhere.csv").code == 3
