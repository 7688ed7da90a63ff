"""Tables that ship are the ones the texts use; real ones are read only if they are those."""

import csv

import numpy as np
import pytest

from lowdim.datasets import cities, faithful, load, load_demo
from lowdim.datasets.real import REAL_TABLES
from lowdim.text.errors import FileError, OptionError
from tests.references.tables import columns, numbers


def test_what_ships_is_the_texts_table(need):
    assert np.array_equal(faithful().X, numbers(need("old_faithful") / "old_faithful.csv"))
    place = need("city_distances")
    with (place / "uscities10_miles.csv").open(newline="") as lines:
        held = np.array([row[1:] for row in csv.reader(lines)][1:], dtype=float)
    assert np.array_equal(cities().X, held)
    where = np.column_stack([numbers(place / "uscities10_coordinates.csv", [n])[:, 0] for n in ("lat", "lon")])
    np.testing.assert_allclose(cities().extra["place"], where, atol=6e-4)


def test_cities_lie_in_a_plane():
    """Straight lines on the globe: two eigenvalues carry nearly all, as [Lawrence2012] 3.5 wants of a map."""
    D = cities().X
    assert np.array_equal(D, D.T) and not D.diagonal().any()
    H = np.eye(10) - 0.1
    values = np.linalg.eigvalsh(-0.5 * H @ D**2 @ H)[::-1]
    assert (
        values[:2] == pytest.approx([9.58e6, 1.69e6], rel=0.003) and values[:2].sum() > 0.99 * values[values > 0].sum()
    )


SIZES = {"oil": (1000, 12), "stick_man": (55, 102), "wifi": (215, 30), "six": (64, 57), "roads": (54, 54)}


@pytest.mark.parametrize("name", SIZES)
def test_real_tables_are_read(name, data_dir, need):
    need(REAL_TABLES[name].file)
    table = load(name, folder=data_dir)
    assert table.X.shape == SIZES[name] and len(table.columns) == SIZES[name][1]
    assert all(len(values) == len(table.X) for values in table.extra.values())


@pytest.mark.parametrize(("name", "shape", "part"), [("author_maps", (55, 2), "stick_mvu_k7"),
                                                     ("author_networks", (400, 2), "oil_dnet5_w1")])  # fmt: skip
def test_what_an_author_saved_is_read(name, shape, part, data_dir, need):
    need(REAL_TABLES[name].file)
    held = load(name, folder=data_dir)
    assert held.X.shape == shape and held.extra[part].shape[0] in (2, 55)


def test_the_folder_may_be_the_files_own(need, monkeypatch):
    folder = need("oil_flow")
    monkeypatch.setenv("LOWDIM_DATA", str(folder))
    split = columns(folder / "oil_flow.csv")["split"]
    assert len(load("oil").X) == split.count("train")


def test_a_table_that_is_not_there_says_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv("LOWDIM_DATA", raising=False)
    with pytest.raises(FileError, match=r"LD330.*no folder is named") as missing:
        load("oil")
    assert "GPmat" in missing.value.fix and "LOWDIM_DATA" in missing.value.fix
    with pytest.raises(FileError, match=r"LD330.*has no oil_flow/oil_flow.csv"):
        load("oil", folder=tmp_path)


def test_another_file_of_that_name_is_refused(tmp_path):
    (tmp_path / "oil_flow.csv").write_text("x01\n1\n")
    with pytest.raises(FileError, match="LD331"):
        load("oil", folder=tmp_path)


def test_unknown_names_are_refused():
    with pytest.raises(OptionError, match=r"LD210[^|]*faithful"):
        load("gold")


@pytest.mark.parametrize("seed", range(3))
def test_the_pumps_wrong_cell_is_the_one_that_is_said(seed):
    """Two digits swapped in a cell that is never hidden, inside the range of its column; all else is as it was."""
    table = load_demo("pump", random_state=seed)
    wrong = np.argwhere(~np.isnan(table.X) & (table.truth != table.X))
    assert wrong.tolist() == [[139, 2]] and table.columns[2] == "power" and "row 140" in table.about
    right, written = f"{table.truth[139, 2]:.1f}", f"{table.X[139, 2]:.1f}"
    assert written == right[1] + right[0] + right[2:] and written != right
    assert table.truth[:, 2].min() < table.X[139, 2] < table.truth[:, 2].max()


def test_the_pumps_readings_follow_two_causes():
    """Eigenvalues of the correlations: two above the mean, as many as the simulator has causes."""
    values = np.linalg.eigvalsh(np.corrcoef(load_demo("pump").truth.T))[::-1]
    assert (values > 1.0).sum() == 2 and values[:2].sum() > 0.95 * 8
