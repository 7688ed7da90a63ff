"""New rows on an old map: against the posterior written out with plain linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import PPCA, analyse, read
from lowdim.jobs.apply import _sizes, rescaled
from lowdim.jobs.apply import place as place_on
from lowdim.jobs.run_tables import placed_fills
from lowdim.judge.fills.calibration import MapCalibration
from lowdim.judge.maps.table_map import table_map
from lowdim.text.messages import LowdimError
from tests.cli.conftest import small_table, write_csv

NAMES = tuple(f"x{k}" for k in range(1, 7))


@pytest.fixture(scope="module")
def model():
    return PPCA(2, standardize=True).fit(small_table())


def place(model, names, new, **how):
    """New rows on the map of a model of these columns."""
    return place_on(table_map(model, names), new, **how)


def oracle(model, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[z | x_seen] and its covariance from W, mu, sigma2 of the fitted model, in the table's units."""
    seen = ~np.isnan(x)
    sd = np.asarray(model.frame_.unit)
    W, mu, s2 = np.asarray(model.components_).T * sd[:, None], np.asarray(model.mean_), model.noise_variance_ * sd**2
    S = W[seen] @ W[seen].T + np.diag(s2[seen])
    gain = np.linalg.solve(S, W[seen]).T
    return gain @ (x - mu)[seen], np.eye(W.shape[1]) - gain @ W[seen]


def test_positions_and_ellipses_are_the_posteriors(model):
    X = small_table(seed=4)[:9]
    found = place(model, NAMES, dict_frame(X))
    whole = np.linalg.det(oracle(model, np.zeros(6))[1])
    for i, x in enumerate(X):
        mean, cov = oracle(model, x)
        assert np.allclose(np.linalg.norm(np.asarray(found.scores)[i]), np.linalg.norm(mean), rtol=1e-6)
        assert np.isclose(found.larger[i], (np.linalg.det(cov) / whole) ** 0.25, rtol=1e-6)
    assert np.allclose(found.larger[~np.isnan(X).any(axis=1)], 1.0)


def dict_frame(X: np.ndarray):
    import pandas as pd

    return pd.DataFrame(X, columns=list(NAMES))


def test_an_array_without_names_is_placed_by_position(model):
    X = small_table(seed=4)[:5]
    assert np.array_equal(place(model, NAMES, X).scores, place(model, NAMES, dict_frame(X)).scores)
    with pytest.raises(LowdimError, match="LD220"):
        place(model, NAMES, X[:, :4])


def test_one_row_constant_columns_and_copies_are_all_kept(model):
    one = place(model, NAMES, dict_frame(np.full((1, 6), 0.5)))
    assert len(one.X) == 1 and not np.isnan(one.X).any()
    same = place(model, NAMES, dict_frame(np.full((5, 6), 0.5)))
    assert np.array_equal(same.X, np.full((5, 6), 0.5)) and np.allclose(same.scores, np.asarray(one.scores)[0])


def test_order_and_strangers_do_not_matter(model):
    X = small_table(seed=4)[:6]
    frame = dict_frame(X)
    turned = frame[list(NAMES[::-1])].assign(other=1.0)
    a, b = place(model, NAMES, frame), place(model, NAMES, turned)
    assert np.array_equal(a.scores, b.scores) and [m.code for m in b.messages] == ["LD222", "LD223"]
    known = place(model, NAMES, turned, aside=("other",))  # a label of the map's own table
    assert [m.code for m in known.messages] == ["LD223"]


def test_a_row_without_any_number_is_said_to_lie_in_the_middle(model):
    X = small_table(seed=4)[:6]
    X[[1, 4]] = np.nan
    found = place(model, NAMES, dict_frame(X))
    (said,) = (m for m in found.messages if m.code == "LD225")
    assert said.what == "2 new rows without any number that the map knows: 2, 5"
    assert np.allclose(found.places.z[[1, 4]], 0.0) and np.allclose(found.places.sd[[1, 4]], 1.0)
    assert "LD225" not in [m.code for m in place(model, NAMES, dict_frame(X[[0, 2]])).messages]


def test_an_absent_column_is_a_gap(model):
    frame = dict_frame(small_table(seed=4)[:6])
    hidden = frame.assign(x3=np.nan)
    a, b = place(model, NAMES, frame.drop(columns="x3")), place(model, NAMES, hidden)
    assert np.array_equal(a.scores, b.scores) and [m.code for m in a.messages] == ["LD220", "LD223"]
    with pytest.raises(LowdimError, match="LD220"):
        place(model, NAMES, frame.rename(columns=lambda name: f"other {name}"))


def test_rescaled_columns_are_named():
    model = PPCA(2, standardize=True).fit(small_table() + 10.0)
    frame = dict_frame(small_table(seed=4)[:9] + 10.0)
    frame["x2"] *= 1000.0
    assert [m.code for m in place(model, NAMES, frame).messages if "x2" in m.what] == ["LD221"]
    frame["x5"] *= 1000.0
    (note,) = (m for m in place(model, NAMES, frame).messages if m.code == "LD221")
    assert note.what.startswith("2 columns of the new rows look rescaled: x2, x5; their middles are about ")


def test_an_absurd_row_among_few_makes_no_column_rescaled(model):
    """The table's middles are near 0: many times such a middle is within the columns' spread."""
    X = small_table(seed=4)[:9]
    for rows in (np.r_[X[:2], np.full((2, 6), 1e8)], np.r_[X, np.full((1, 6), -1e8)]):
        assert "LD221" not in [m.code for m in place(model, NAMES, rows).messages]
    off = PPCA(2, standardize=True).fit(small_table() + 10.0)
    for rows in (np.full((4, 6), 1e8), np.full((9, 6), -1e8)):  # too few, and of the other sign
        assert "LD221" not in [m.code for m in place(off, NAMES, rows).messages]


def test_a_row_from_elsewhere_is_outside(model):
    X = small_table()[20:26]
    X[2, 4] = 9.0
    found = place(model, NAMES, dict_frame(X))
    assert [r.name for r in found.odd.rows] == ["3"] and "outside the table's experience" in found.sentence


def test_labels_that_shape_axes_have_the_codes_that_they_had(tmp_path):
    """Three sites in the first table, two in the new rows: codes mean what they meant."""
    X = small_table()
    rows = [f"{'abc'[i % 3]}," + ",".join("" if np.isnan(v) else repr(float(v)) for v in x) for i, x in enumerate(X)]
    head = "site," + ",".join(NAMES)
    (tmp_path / "t.csv").write_text("\n".join([head, *rows]))
    (tmp_path / "new.csv").write_text("\n".join([head, *rows[:2]]))
    table = read(tmp_path / "t.csv", encode="site", log=())
    found = analyse(table, dims=2, budget="1s")
    assert table.names[0] == "site" and table.code_labels[0] == ("a", "b", "c")
    placed = found.apply(tmp_path / "new.csv")
    assert placed.X[:, 0].tolist() == [0.0, 1.0]
    (tmp_path / "new.csv").write_text("\n".join([head, rows[2], rows[1]]))
    assert found.apply(tmp_path / "new.csv").X[:, 0].tolist() == [2.0, 1.0]
    (tmp_path / "new.csv").write_text("\n".join([head, *rows[:2]]))
    assert np.allclose(placed.scores, np.asarray(found.scores)[:2])


def test_logarithms_are_taken_again(tmp_path):
    X = np.exp(small_table())
    found = analyse(read(write_csv(tmp_path / "t.csv", X), log=("x1", "x2")), dims=2, budget="1s")
    placed = found.apply(write_csv(tmp_path / "n.csv", X[:4]))
    assert np.array_equal(placed.scores, np.asarray(found.scores)[:4])


def test_files_and_tables_are_the_same_to_it(model, tmp_path):
    X = small_table(seed=4)[:20]
    path = write_csv(tmp_path / "n.csv", X)
    a, b = place(model, NAMES, path), place(model, NAMES, read(path))
    assert np.array_equal(a.scores, b.scores) and a.row_names == b.row_names


def test_intervals_are_those_of_the_calibration(model):
    X = small_table(seed=4)[:9]
    half = tuple(1.0 + 0.1 * k for k in range(6))
    found = place(model, NAMES, X, calibration=MapCalibration(0.8, half, 4))
    gap = np.isnan(X)
    assert np.array_equal(found.upper - found.filled, (found.filled + found.sd * half) - found.filled)
    assert np.array_equal(found.lower[~gap], X[~gap]) and (found.lower[gap] < found.filled[gap]).all()
    assert found.calibrated and found.level == 0.8 and "LD223" not in [m.code for m in found.messages]
    assert "the map's model (2 dimensions)" in found.own_model
    assert "4 dimensions" not in found.own_model  # where a run's own gaps are filled by a stack, these are not its own
    plain = place(model, NAMES, X)
    assert not plain.calibrated and [m.code for m in plain.messages] == ["LD223"]
    assert np.allclose((plain.upper - plain.filled)[gap], 1.6448536 * plain.sd[gap])
    assert place(model, NAMES, np.nan_to_num(X)).messages == ()


def test_frames_in_frames_out(model):
    import pandas as pd
    import polars as pl

    X = small_table(seed=4)[:5]
    plain = place(model, NAMES, X)
    frame = dict_frame(X).set_index(pd.Index(list("abcde"), name="who"))
    found = place(model, NAMES, frame)
    for name in ("filled", "lower", "upper"):
        part = getattr(found, name)
        assert isinstance(part, pd.DataFrame) and part.index.equals(frame.index) and tuple(part.columns) == NAMES
        assert np.array_equal(part.to_numpy(), getattr(plain, name)) and isinstance(getattr(plain, name), np.ndarray)
    assert list(found.scores.columns) == ["axis1", "axis2"] and list(found.scores.index) == list("abcde")
    assert np.array_equal(found.scores.to_numpy(), plain.scores)
    other = place(model, NAMES, pl.DataFrame(X, schema=list(NAMES)))
    assert isinstance(other.scores, pl.DataFrame) and other.filled.columns == list(NAMES)
    assert np.array_equal(other.filled.to_numpy(), plain.filled)
    read_first = place(model, NAMES, read(frame))
    assert read_first.filled.index.equals(frame.index)
    assert placed_fills(found).split("\r\n")[1].startswith("b,x1,")


def test_shown_in_four_lines_and_as_a_small_table(model):
    X = small_table(seed=4)[:30]
    found = place(model, NAMES, X)
    assert len(repr(found).split("\n")) <= 4 and found.sentence.split("\n")[0] in repr(found)
    assert repr(found).startswith("30 new rows x 6 columns on 2 axes, ") and "not calibrated" in repr(found)
    page = found._repr_html_()
    assert len(page) < 25_000 and "<script" not in page and page.count("<tr>") == 21 and "and 10 more rows" in page


@pytest.mark.parametrize(
    ("times", "called"),
    [(29.9, False), (30.1, True), (1 / 29.9, False), (1 / 30.1, True), (-30.1, False), (1.0, False)],
)
def test_a_column_is_called_rescaled_from_thirty_times(times, called):
    notes = rescaled(np.full((5, 1), 2.0 * times), np.array([2.0]), np.array([1.9]), ("a",))
    assert [m.code for m in notes] == (["LD221"] if called else [])


def test_a_column_around_zero_or_without_cells_is_not_called_rescaled():
    X = np.array([[1000.0, np.nan, 1000.0, 1000.0]] * 5)
    middle, spread = np.array([0.0, 1.0, 0.9, np.nan]), np.array([0.0, 0.1, 1.0, 0.1])
    assert rescaled(X, middle, spread, ("a", "b", "c", "d")) == ()


def test_sizes_of_ellipses_in_words():
    larger = ([1.01], [1.4, 2.2], [1.0, 1.02, 1.01], [1.0, 1.2, 2.6], [1.2] * 1200)
    assert [_sizes(np.array(parts)) for parts in larger] == [
        "1 has gaps: its ellipse is hardly larger.",
        "2 have gaps: their ellipses are 1.4x and 2.2x larger.",
        "3 have gaps: their ellipses are hardly larger.",
        "3 have gaps: their ellipses are up to 2.6x larger.",
        "1,200 have gaps: their ellipses are 1.2x larger.",
    ]
