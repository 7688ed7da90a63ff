"""The map's ellipses, limit and strip against linear algebra; the biplot against the table it factors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection, QuadMesh
from scipy.stats import chi2

import lowdim as ld
from lowdim.datasets.oil import oil_flow
from lowdim.models.base.results import Posterior
from lowdim.plot.access import plot_model
from lowdim.plot.beside_points import far_apart
from lowdim.plot.pictures import everyone, form_of_rows
from lowdim.text.errors import OptionError
from lowdim.text.messages import LowdimError
from tests.conftest import need
from tests.plot.from_arrays import map_rows
from tests.plot.svg_checks import HOSTILE, apart, inside, parsed, same_twice, texts


def digester():
    X = np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")
    model = ld.PPCA(5, standardize=True).fit(X)
    size = (model.components_**2).sum(axis=1)
    return X, model, size / (size.sum() + 10 * model.noise_variance_)


def posterior_of(mean, cov):
    i, j = np.tril_indices(cov.shape[1])
    return Posterior(mean, cov[:, i, j], np.zeros(len(mean)))


def test_ellipses_are_the_rows_own():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 3, 3)) * 0.3
    cov = A @ A.transpose(0, 2, 1) + 0.05 * np.eye(3)
    plot = map_rows(posterior_of(rng.normal(size=(6, 3)), cov), axes=(0, 2), shares=[0.4, 0.3, 0.1])
    for i in range(6):
        part = cov[i][np.ix_([0, 2], [0, 2])]
        values, vectors = np.linalg.eigh(part)
        np.testing.assert_allclose(plot.data["half_axis"][i], np.sqrt(chi2.ppf(0.9, 2) * values[::-1]))
        along = np.deg2rad(plot.data["angle"][i])
        assert abs(vectors[:, 1] @ [np.cos(along), np.sin(along)]) == pytest.approx(1.0)
        # a point on the drawn ellipse has the Mahalanobis distance of 90%
        end = plot.data["half_axis"][i, 0] * np.array([np.cos(along), np.sin(along)])
        assert end @ np.linalg.solve(part, end) == pytest.approx(chi2.ppf(0.9, 2))


def test_ninety_percent_of_true_positions_lie_in_their_rows_ellipse():
    rng = np.random.default_rng(1)
    W, psi = rng.normal(size=(8, 2)), 0.5
    z = rng.normal(size=(4000, 2))
    X = z @ W.T + np.sqrt(psi) * rng.normal(size=(4000, 8))
    X[:, 1:][rng.random((4000, 7)) < 0.3] = np.nan
    model = ld.PPCA(2).fit(X)
    found = model.posterior(X)
    plot = map_rows(found, shares=[0.5, 0.3], gap_rows=np.isnan(X).any(axis=1))
    turn = np.linalg.lstsq(found.mean, z, rcond=None)[0]  # the model's axes are the truth's up to a rotation
    U, _, Vt = np.linalg.svd(turn)
    off = z @ (U @ Vt).T - plot.data["position"]
    along = np.deg2rad(plot.data["angle"])
    first = (off[:, 0] * np.cos(along) + off[:, 1] * np.sin(along)) / plot.data["half_axis"][:, 0]
    second = (-off[:, 0] * np.sin(along) + off[:, 1] * np.cos(along)) / plot.data["half_axis"][:, 1]
    assert np.mean(first**2 + second**2 <= 1) == pytest.approx(0.90, abs=0.025)


def test_the_limit_holds_what_it_says():
    rng = np.random.default_rng(2)
    W = rng.normal(size=(8, 3))
    X = rng.normal(size=(5000, 3)) @ W.T + 0.7 * rng.normal(size=(5000, 8))
    model = ld.PPCA(3).fit(X)
    found = model.posterior(X)
    plot = map_rows(found, shares=[0.4, 0.3, 0.2], axes=(1, 2))
    B = np.eye(3) - found.cov[0]
    want = np.sqrt(chi2.ppf(0.95, 2) * np.linalg.eigvalsh(B[1:, 1:])[::-1])
    np.testing.assert_allclose(plot.data["limit_half_axis"], want)
    np.testing.assert_allclose(np.cov(found.mean.T, bias=True)[1:, 1:], B[1:, 1:], atol=1e-9)  # exact for PPCA
    assert plot.data["inside_limit"].mean() == pytest.approx(0.95, abs=0.01)
    t2 = np.einsum("ni,ij,nj->n", found.mean[:, 1:], np.linalg.inv(B[1:, 1:]), found.mean[:, 1:])
    assert (plot.data["inside_limit"] == (t2 <= chi2.ppf(0.95, 2))).all()


def test_the_digester_map():
    X, model, share = digester()
    gap = np.isnan(X).any(axis=1)
    plot = same_twice(
        lambda: map_rows(
            model.posterior(X),
            shares=share,
            gap_rows=gap,
            odd=[0, 27],
            row_names=[HOSTILE[0], *map(str, range(2, 97))],
        )
    )
    # axes 1-2 carry 42% of the variation, axes 3-5 another 30%, noise 28%
    assert plot.data["share"].round(2).tolist() == [0.42, 0.30, 0.28]
    assert plot.title == "Axes 1 and 2 carry 42% of the variation; 58% is not on this map"
    assert "other axes carry 30% and noise 28%" in plot.sentence and "52 rows have gaps" in plot.sentence
    assert plot.data["has_ellipse"].sum() == 40 and plot.data["has_gaps"].sum() == 52
    drawn = texts(plot)
    assert any("this row's position given its gaps" in text for text in drawn)
    assert any("T² limit: 95% of complete rows" in text for text in drawn)
    assert any("what the map leaves out" in text for text in drawn)
    assert HOSTILE[0] in drawn and "28" in drawn


def test_gap_rows_are_hollow_and_kinds_have_shapes():
    flow = oil_flow(290)
    model = ld.PPCA(2).fit(flow.X)
    gap = np.arange(290) % 5 == 0
    plot = map_rows(model.posterior(flow.X), shares=[0.5, 0.2], color=flow.regime, gap_rows=gap)
    ax = plot.figure.axes[0]
    points = [c for c in ax.collections if isinstance(c, PathCollection) and len(c.get_offsets())]
    assert len({c.get_paths()[0].vertices.tobytes() for c in points}) == 3  # a shape for every regime
    hollow = sum(len(c.get_offsets()) for c in points if (c.get_facecolor()[0][:3] == 1).all())
    assert hollow == gap.sum()
    assert {"annular", "stratified", "homogeneous", "hollow: row with gaps"} <= set(texts(plot))


def test_many_kinds_numbers_and_missing_labels():
    rng = np.random.default_rng(0)
    post = posterior_of(rng.normal(size=(60, 2)), np.tile(0.1 * np.eye(2), (60, 1, 1)))
    kinds = np.array([None, *[f"$kind {k % 20}<" for k in range(59)]], dtype=object)
    assert "others (13 kinds)" in texts(map_rows(post, shares=[0.5, 0.2], color=kinds))
    numbers = np.where(np.arange(60) % 7 == 0, np.nan, np.arange(60.0))
    plot = map_rows(post, shares=[0.5, 0.2], color=pd.Series(numbers, name="$age$"), gap_rows=np.arange(60) < 9)
    assert "$age$" in texts(plot)
    inside(plot)


def test_ellipses_and_points_give_way_to_a_density():
    rng = np.random.default_rng(0)

    def sized(n):
        post = posterior_of(rng.normal(size=(n, 2)), np.tile(0.1 * np.eye(2), (n, 1, 1)))
        return map_rows(post, shares=[0.5, 0.2], gap_rows=np.arange(n) < n // 2, odd=[1, n - 1])

    middle, large = sized(1000), sized(20_000)
    assert middle.data["has_ellipse"].sum() == 40 and middle.data["has_ellipse"][[1, 999]].all()
    assert large.data["has_ellipse"].nonzero()[0].tolist() == [1, 19_999]
    assert any(isinstance(c, QuadMesh) for c in large.figure.axes[0].collections) and len(large.svg()) < 160_000
    assert len(large.data["position"]) == 20_000


@pytest.mark.parametrize("n", [1, 3])
def test_few_rows(n):
    post = posterior_of(np.zeros((n, 2)), np.tile(np.eye(2), (n, 1, 1)))  # a row that says nothing has the prior
    plot = map_rows(post, shares=[0.0, 0.0], odd=list(range(n)), gap_rows=np.ones(n, dtype=bool))
    parsed(plot)
    assert plot.data["share"].tolist() == [0.0, 0.0, 1.0]
    apart(plot.figure.axes[0].texts)


# colour ------------------------------------------------------------------------------------------------
def test_the_longest_legend_stays_inside():
    """Many rows of which some are odd: both labels of the legend are at their longest."""
    rng = np.random.default_rng(0)
    places = posterior_of(rng.normal(size=(400, 2)), np.tile(0.1 * np.eye(2), (400, 1, 1)))
    plot = map_rows(places, shares=[0.5, 0.3], odd=list(range(143)))
    assert any(text.endswith("(143 rows); bold: odd row") for text in texts(plot))
    inside(plot)


@pytest.fixture(scope="module")
def coloured():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3)) * [3, 2, 1] @ rng.normal(size=(3, 5)) + 0.2 * rng.normal(size=(90, 5))
    X[rng.random(X.shape) < 0.08] = np.nan
    X[4] = np.nan  # an empty row is left out
    X[7, 2] += 9.0
    frame = pd.DataFrame(X, columns=list("abcde")).assign(site=[f"s{k % 12}" for k in range(90)])
    frame["day"] = pd.date_range("2020-01-01", periods=90, freq="D")
    return frame, ld.analyse(frame, dims=3, budget="1s")


def marks_of(plot):
    return [c for c in plot.figure.axes[0].collections if isinstance(c, PathCollection) and len(c.get_offsets())]


def test_a_number_column_colors_the_map_and_its_gaps_are_hollow(coloured):
    from matplotlib import colormaps

    frame, found = coloured
    plot = same_twice(lambda: found.plot.map(color="c", axes=(0, 2)))
    value = frame["c"].drop(4).to_numpy()
    np.testing.assert_array_equal(plot.data["color"], value)
    hollow, filled = marks_of(plot)
    assert len(hollow.get_offsets()) == np.isnan(value).sum() and (hollow.get_facecolor()[0][:3] == 1).all()
    seen = value[np.isfinite(value)]
    cut = colormaps["cividis_r"]((seen - seen.min()) / (seen.max() - seen.min()))
    np.testing.assert_allclose(filled.get_facecolor(), cut, atol=1e-9)
    np.testing.assert_allclose(filled.get_offsets(), found.posterior.mean[np.isfinite(value)][:, [0, 2]])
    assert "c" in texts(plot) and "hollow: gap in c" in texts(plot) and "Colour is 'c'" in plot.sentence
    assert found.odd.rows[0].name in texts(plot)  # odd rows are named


def test_a_label_column_colors_eight_kinds_and_the_others(coloured):
    frame, found = coloured
    plot = found.plot.map(color="site")
    assert "others (4 kinds)" in texts(plot) and "12 kinds, the 8 most common by name" in plot.sentence
    shapes = {c.get_paths()[0].vertices.tobytes() for c in marks_of(plot)}
    assert len(shapes) == 9
    assert found.plot.map().data["color"].tolist() == plot.data["color"].tolist()  # the first label by itself
    assert (
        plot.data["color"]
        == np.where(np.isin(frame["site"].drop(4), texts(plot)), frame["site"].drop(4), "others (4 kinds)")
    ).all()


def test_dates_and_arrays_colour_too(coloured):
    frame, found = coloured
    day = found.plot.map(color="day")
    assert day.data["color"][0] == pytest.approx(2020.0, abs=0.01) and "day (year)" in texts(day)
    own = np.arange(90.0)
    np.testing.assert_array_equal(found.plot.map(color=own).data["color"], np.delete(own, 4))
    np.testing.assert_array_equal(found.plot.map(color=np.delete(own, 4)).data["color"], np.delete(own, 4))
    assert "a" in texts(found.plot.map(color=frame["a"]))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"color": "aa"}, r"LD103 .*no column 'aa'[\s\S]*did you mean 'a'\? choose one of: a, b, c, d, e, site, day"),
        ({"color": [1, 2]}, r"LD210 .*shape \(2,\)[\s\S]*89 values, one a row"),
        ({"axes": (0, 3)}, r"LD210 .*axes=\(0, 3\)[\s\S]*from 0 \(axis 1\) to 2 \(axis 3\)"),
        ({"axes": (1, 1)}, "LD210"),
        ({"axes": 1}, "LD210"),
        ({"axes": (0, 1.5)}, "LD210"),
        ({"axes": (0, 1, 2)}, "LD210"),
        ({"labels": "all"}, "'odd', 'none'"),
        ({"labels": ["nobody"]}, "nobody"),
        ({"labels": [900]}, "900"),
    ],
)
def test_what_a_map_cannot_be_asked(coloured, how, words):
    with pytest.raises(OptionError, match=words):
        coloured[1].plot.map(**how)


def test_rows_are_named_as_asked(coloured):
    found = coloured[1]
    third, eleventh = found.table.row_names[2], found.table.row_names[10]  # the days
    named = {t.get_text() for t in found.plot.map(labels=[third, 10]).figure.axes[0].texts}
    assert {third, eleventh} <= named and third == "2020-01-03"
    assert not [t for t in found.plot.map(labels="none").figure.axes[0].texts if t.get_text()]


def test_a_long_table_in_colour_is_sampled_and_says_so():
    rng = np.random.default_rng(0)
    post = posterior_of(rng.normal(size=(9000, 2)), np.tile(0.1 * np.eye(2), (9000, 1, 1)))
    plot = map_rows(post, shares=[0.5, 0.2], color=np.arange(9000.0), odd=[1, 8])
    assert "3,002 of 9,000 rows are drawn; only 2 odd rows with an ellipse." in plot.sentence
    assert sum(len(c.get_offsets()) for c in marks_of(plot)) == 3002
    assert "drawn as a density" in map_rows(post, shares=[0.5, 0.2]).sentence


def test_rows_of_any_model_are_joined_and_pictured():
    """A circle of 2 x 3 pictures: positions are the model's own, and a picture is a row's cells."""
    turn = np.linspace(0.0, 2.0 * np.pi, 61)[:-1]
    X = np.column_stack([np.cos(turn + k) for k in range(6)]) + 0.01 * np.sin(99 * np.arange(360)).reshape(60, 6)
    table = ld.read(X)
    model = ld.Isomap(2, n_neighbors=4).fit(table.X)
    shown = plot_model("map", model, table, join=True, shape=(2, 3))
    inside(shown)
    assert shown.data["position"] == pytest.approx(model.transform(table.X)) and "the loop closes" in shown.sentence
    rows = shown.data["pictured"]
    assert 8 <= len(set(rows)) == len(rows) <= 24
    drawn = [ax.get_images()[0].get_array() for ax in shown.figure.axes[0].child_axes]
    assert all(np.array_equal(picture.ravel(), X[i - 1]) for picture, i in zip(drawn, rows, strict=True))
    with pytest.raises(LowdimError, match="LD216"):
        plot_model("map", ld.KMeans(3).fit(X), table)
    with pytest.raises(LowdimError, match=r"LD210.*shape"):
        plot_model("map", model, table, shape=(2, 4))


def test_a_mixture_with_axes_is_drawn_on_the_common_map_of_its_parts():
    rng = np.random.default_rng(0)
    angle = np.sort(rng.uniform(0, np.pi, 120))
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.03 * rng.standard_normal((120, 2))
    model, table = ld.MixtureOfPPCA(3, 1, random_state=0).fit(X), ld.read(X)
    shown = plot_model("map", model, table, join=True)
    assert shown.data["position"] == pytest.approx(model.coordinate(X, 2).places)
    assert abs(np.corrcoef(shown.data["position"][:, 0], angle)[0, 1]) > 0.98  # the arc, unbent


def test_pictures_lie_apart_and_inside():
    at = np.random.default_rng(0).uniform(size=(300, 2))
    chosen = far_apart(at, 12)
    gaps = np.linalg.norm(at[chosen, None] - at[chosen], axis=2)[np.triu_indices(12, 1)]
    assert len(set(chosen.tolist())) == 12 and gaps.min() > 0.15  # a dozen places of a unit square


def test_pixels_that_never_change_keep_their_place():
    """A column that was left out is a pixel all the same."""
    X = np.random.default_rng(0).standard_normal((30, 8))
    X[:, 3] = 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = ld.read(X)
    form = form_of_rows((2, 4), table.names, table.X, everyone=everyone(table))
    whole = form.pixels(table.X[0], 0.0).ravel()
    assert table.d == 7 and whole[3] == 0.0 and np.array_equal(np.delete(whole, 3), np.delete(X[0], 3))
