"""Pictures of bent models: every number in them is the model's own, by its public verbs or by hand."""

import csv

import numpy as np
import pytest
from scipy.special import softmax
from sklearn import decomposition as peers

import lowdim as ld
from lowdim.plot.analysis.traverse import BAND, traverse
from lowdim.plot.models.bottleneck import bottleneck
from lowdim.plot.models.gtm import gtm_sheet
from lowdim.plot.models.latent_variance import comes_back, latent_variance
from lowdim.plot.models.node_maps import magnification, responsibility
from lowdim.plot.of_model import DRAWN, plot_model
from lowdim.text.messages import LowdimError
from tests.conftest import need
from tests.plot.look import HOSTILE, parsed, same_twice, texts


def roll(n=120, gaps=0.0, seed=0):
    """A bent sheet in four columns, three kinds of rows along it."""
    rng = np.random.default_rng(seed)
    t, u = rng.uniform(0.5, 3.5, n), rng.uniform(-1, 1, n)
    X = np.column_stack([np.cos(t), np.sin(t), u, 0.3 * t * u]) + 0.05 * rng.standard_normal((n, 4))
    X[rng.random(X.shape) < gaps] = np.nan
    return X, np.array(["low", "mid", "high"])[np.digitize(t, [1.5, 2.5])]


@pytest.fixture(scope="module")
def sheet():
    return ld.GTM(2, grid=8, basis=4).fit(roll()[0])


@pytest.fixture(scope="module")
def process():
    return ld.GPLVM(2).fit(roll(60)[0])


@pytest.fixture(scope="module")
def sampled():
    return ld.DensityNetwork(2, n_samples=40, hidden=6, max_iter=60, tol=0.1).fit(roll()[0])


# the sheet ------------------------------------------------------------------------------------------------
def test_the_sheet_goes_through_the_nodes_of_the_model(sheet):
    X, kind = roll()
    plot = same_twice(
        lambda: gtm_sheet(
            sheet, X, columns=(0, 2), names=HOSTILE[:4], unit=[2.0, 1, 10.0, 1], color=kind, color_name="kind"
        )
    )
    assert plot.data["node"] == pytest.approx(sheet.nodes_[:, [0, 2]] * [2, 10])
    assert plot.data["row"] == pytest.approx(X[:, [0, 2]] * [2, 10]) and "8 x 8 nodes" in plot.title
    assert {"low", "mid", "high", "the sheet, and its nodes"} <= set(texts(plot))
    left = 1 - ((X - sheet.reconstruct(X)) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
    assert f"holds {100 * left:.0f}% of the variation" in plot.sentence


def test_without_columns_the_plane_is_that_of_the_principal_axes(sheet):
    X, _ = roll(gaps=0.1)
    plot = gtm_sheet(sheet, X)
    peer = peers.PCA(2).fit(sheet.impute(X))
    for part, cells in (("node", sheet.nodes_), ("row", sheet.impute(X))):
        assert np.abs(plot.data[part]) == pytest.approx(np.abs(peer.transform(cells)), abs=1e-8)
    assert f"shows {100 * peer.explained_variance_ratio_.sum():.0f}% of it" in plot.sentence
    assert plot.data["has_gaps"].tolist() == np.isnan(X).any(axis=1).tolist() and "hollow: row with gaps" in texts(plot)


def test_a_drawn_sample_gets_a_regular_grid(sampled):
    X, kind = roll(gaps=0.1)
    plot = same_twice(lambda: gtm_sheet(sampled, X, color=kind))
    assert "15 x 15 latent points" in plot.title and len(plot.data["node"]) == 225
    assert plot.data["node_place"].min() == -2.0 and plot.data["node_place"].max() == 2.0
    parsed(magnification(sampled, X))
    assert responsibility(sampled, X, 3).data["share"].shape == (40,)


# magnification --------------------------------------------------------------------------------------------
def test_the_stretch_is_that_of_small_steps(sheet):
    X, kind = roll()
    plot = same_twice(lambda: magnification(sheet, X, color=kind))
    z, h = plot.data["place"], 1e-5
    J = np.stack(
        [(sheet.inverse_transform(z + h * e) - sheet.inverse_transform(z - h * e)) / (2 * h) for e in np.eye(2)], axis=2
    )
    by_hand = np.sqrt(np.linalg.det(J.transpose(0, 2, 1) @ J))
    assert plot.data["stretch"] == pytest.approx(by_hand, rel=1e-5)
    assert plot.data["log10_stretch"] == pytest.approx(np.log10(by_hand / np.median(by_hand)), abs=1e-5)
    assert plot.data["row"] == pytest.approx(sheet.transform(X))
    assert f"between {10 ** plot.data['log10_stretch'].min():.3g} and " in plot.sentence


def test_with_one_axis_it_is_a_curve():
    X, _ = roll()
    model = ld.GTM(1, grid=12, basis=4).fit(X)
    assert magnification(model, X).data["stretch"].shape == (12,) and parsed(magnification(model)) is not None
    assert gtm_sheet(model, X).title.startswith("A sheet of 12 nodes")
    assert responsibility(model, X, 5).data["share"].sum() == pytest.approx(1.0)


# responsibility -------------------------------------------------------------------------------------------
def test_shares_are_those_of_the_nodes_densities(sheet):
    X, _ = roll()
    plot = same_twice(lambda: responsibility(sheet, X, 7, row_names=[f"r{i}" for i in range(len(X))]))
    by_hand = softmax(-((X[7] - sheet.nodes_) ** 2).sum(axis=1) / (2 * sheet.noise_variance_))
    assert plot.data["share"] == pytest.approx(by_hand, abs=1e-9)
    assert plot.data["mean"] == pytest.approx(by_hand @ sheet.grid_) == sheet.transform(X)[7]
    assert plot.data["mode"].tolist() == sheet.grid_[by_hand.argmax()].tolist() and plot.title.startswith("Row r7: ")
    held = int((np.cumsum(np.sort(by_hand)[::-1]) < 0.9).sum()) + 1
    assert f"{held} of 64 nodes hold" in plot.sentence


def test_without_a_row_the_most_spread_out_is_drawn(sheet):
    X, _ = roll(gaps=0.3)
    plot = responsibility(sheet, X)
    apart = np.linalg.norm(sheet.transform(X) - sheet.mode(X), axis=1)
    i = int(apart.argmax())
    assert f"Row {i + 1} (the most spread out of all)" in plot.sentence
    assert f"{np.isnan(X[i]).sum()} gap" in plot.sentence
    assert f"{apart[i] / (2 / 7):.3g} spacings apart" in plot.sentence
    assert "where little of the posterior is" in plot.sentence
    with pytest.raises(LowdimError, match="LD210"):
        responsibility(sheet, X, 500)


# the map of a GP-LVM --------------------------------------------------------------------------------------
def test_the_sd_of_the_map_is_the_model_s_own(process):
    names = HOSTILE[:4]
    plot = same_twice(lambda: latent_variance(process, names=names, join=True))
    d, Z = plot.data, process.embedding_
    size = np.sqrt(process.inverse_transform(Z).var(axis=0) + process.predictive_variance(Z).mean(axis=0))
    for i, j in ((0, 0), (10, 50), (59, 3)):
        var = process.predictive_variance([[d["x"][i], d["y"][j]]])[0]
        assert d["sd"][i, j] == pytest.approx(np.sqrt((var / size**2).mean()))
    assert d["row"] == pytest.approx(Z) and "first row" in texts(plot) and "Colour is 'row, in order'" in plot.sentence
    at, h = d["fastest_at"], 1e-4
    J = (
        np.stack(
            [
                (process.inverse_transform(at + h * e) - process.inverse_transform(at - h * e)) / (2 * h)
                for e in np.eye(2)
            ],
            axis=2,
        )
        / size[:, None]
    )
    steep = np.linalg.norm(J, axis=2)
    assert [names[j] for j in steep.argmax(axis=1)] == d["fastest"].tolist()
    assert d["slope"] == pytest.approx(J[np.arange(len(at)), steep.argmax(axis=1)], rel=1e-2)
    assert len(set(d["fastest"].tolist())) == len(at)


def test_a_path_that_comes_back_is_said_to(process):
    turn = np.linspace(0, 1.97 * np.pi, 40)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    assert comes_back(circle)[0] == 0 and comes_back(circle)[1] < 0.05
    assert comes_back(np.column_stack([turn, turn]))[1] > 0.3
    assert "Rows are joined" not in latent_variance(process).sentence


def test_other_axes_stay_in_the_middle():
    X = np.random.default_rng(0).standard_normal((40, 5))
    model = ld.GPLVM(3, tol=1.0).fit(X)
    plot = latent_variance(model, axes=(0, 2))
    middle = np.median(model.embedding_, axis=0)
    size = np.sqrt(
        model.inverse_transform(model.embedding_).var(axis=0) + model.predictive_variance(model.embedding_).mean(axis=0)
    )
    var = model.predictive_variance([[plot.data["x"][5], middle[1], plot.data["y"][9]]])[0]
    assert plot.data["sd"][5, 9] == pytest.approx(np.sqrt((var / size**2).mean()))
    assert "The other 1 axis" in plot.sentence
    with pytest.raises(LowdimError, match="LD210"):
        latent_variance(model, axes=(0, 3))


def test_the_robot_s_loop_closes_where_it_did():
    """Robot WiFi (Ferris, Fox and Lawrence 2007): the circuit ends where row 46 was, and the map's path too."""
    with open(need("robot_wifi") / "robot_wifi.csv", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["split"] == "train"]
    X = (np.array([[float(row[f"ap{j:02d}"] or -92) for j in range(1, 31)] for row in rows]) + 85) / 15
    truth, _ = comes_back(np.array([[float(row["x"]), float(row["y"])] for row in rows]))
    plot = latent_variance(ld.GPLVM(2).fit(X), join=True)
    found, share = comes_back(plot.data["row"])
    assert abs(found - truth) <= 5 and share < 0.05 and "the loop closes" in plot.sentence


# a walk along an axis -------------------------------------------------------------------------------------
def test_a_walk_is_the_decoder_s_and_its_band_the_noise(sheet, process):
    names = ["a", "b", "c", "d"]
    for model, noise in (
        (sheet, lambda z: np.full((len(z), 4), sheet.noise_variance_)),
        (process, process.predictive_variance),
    ):
        plot = same_twice(lambda model=model: traverse(model, 1, names, X=roll()[0]))
        middle = np.zeros(2) if model is sheet else process.embedding_.mean(axis=0)
        z = np.tile(middle, (5, 1))
        z[:, 1] = plot.data["position"]
        assert np.allclose(plot.data["mean"].T, model.inverse_transform(z), rtol=0, atol=1e-9)
        assert np.allclose(plot.data["band"].T, BAND * np.sqrt(noise(z)), rtol=1e-6, atol=0)
    assert plot.data["step"] == pytest.approx([-2, -1, 0, 1, 2])
    assert traverse(sheet, 0, names).data["position"].max() == 1.0  # where the grid ends


@pytest.mark.filterwarnings("ignore:LD201")
def test_a_walk_of_a_model_without_noise_goes_by_rows():
    X, _ = roll()
    model = ld.Autoencoder(1, hidden=(6,), max_iter=40).fit(X)
    plot = traverse(model, 0, ["a", "b", "c", "d"], X=X, unit=[1.0, 2.0, 1.0, 1.0])
    z = model.transform(X)
    assert plot.data["position"].min() >= z.min() and plot.data["position"].max() <= z.max()
    missed = np.abs(X - model.reconstruct(X))
    assert plot.data["band"][:, 0] == pytest.approx(np.quantile(missed, 0.9, axis=0) * [1, 2, 1, 1])
    inner = np.isin(plot.data["step"].round(9), [-1, 0, 1])
    assert plot.data["position"][inner] == pytest.approx(z.mean() + plot.data["step"][inner] * z.std())
    assert "made again within" in plot.sentence and any("errors" in t for t in texts(plot))


def test_a_walk_of_factors_through_a_network():
    X, _ = roll()
    model = ld.NonlinearFactorAnalysis(1, hidden=5, tol=1.0).fit(X)
    plot = traverse(model, 0, ["a", "b", "c", "d"])
    assert np.allclose(plot.data["mean"].T, model.inverse_transform(np.array([[-2.0], [-1], [0], [1], [2]])))
    assert plot.data["band"].min() >= BAND * np.sqrt(model.noise_variance_) * (1 - 1e-9)


# the bottleneck -------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:LD201")
def test_losses_are_those_of_pca_and_the_linear_autoencoder_meets_it():
    X, _ = roll()
    plot = same_twice(lambda: bottleneck(X, [1, 2, 3], model=ld.Autoencoder(hidden=(6,), max_iter=20), seeds=2))
    out = np.arange(len(X)) % 5 == 4
    for k in (1, 2, 3):
        peer = peers.PCA(k).fit(X[~out])
        left = ((X[out] - peer.inverse_transform(peer.transform(X[out]))) ** 2).sum()
        assert plot.data["pca"][k - 1] == pytest.approx(left / ((X[out] - peer.mean_) ** 2).sum(), rel=1e-9)
    assert plot.data["linear"] == pytest.approx(plot.data["pca"], abs=1e-10)
    assert "The linear autoencoder meets PCA at every width." in plot.sentence
    one = ld.Autoencoder(2, hidden=(6,), max_iter=20, random_state=1).fit(X[~out])
    left = ((X[out] - one.reconstruct(X[out])) ** 2).sum() / ((X[out] - one.mean_) ** 2).sum()
    assert plot.data["network"].shape == (3, 2) and plot.data["network"][1, 1] == pytest.approx(left, rel=1e-9)


def test_widths_and_gaps_that_cannot_be_are_refused():
    X, _ = roll(20)
    for widths in ([0], [9], []):
        with pytest.raises(LowdimError, match="LD210"):
            bottleneck(X, widths)
    with pytest.raises(LowdimError, match="LD163"):
        bottleneck(roll(20, gaps=0.2)[0])


# plots of one model ---------------------------------------------------------------------------------------
def test_every_plot_of_one_model_applies_or_says_why(sheet):
    X, kind = roll()
    table = ld.read(X)
    for name in DRAWN:
        if name in ("gtm_sheet", "magnification", "responsibility", "traverse", "trace"):
            assert plot_model(name, sheet, table).name == name
        else:
            with pytest.raises(LowdimError, match="LD494"):
                plot_model(name, sheet, table)
    linear = ld.PPCA(2).fit(X)
    for name in ("gtm_sheet", "latent_variance", "map"):
        with pytest.raises(LowdimError, match="LD494") as said:
            plot_model(name, linear, table)
        assert said.value.fix
    solid = ld.GTM(3, grid=3, basis=2).fit(X)
    with pytest.raises(LowdimError, match=r"LD494.*gtm_sheet[\s\S]*3 axes"):
        plot_model("gtm_sheet", solid, table)
    with pytest.raises(LowdimError, match=r"LD494.*traverse"):
        traverse(ld.Isomap(2).fit(X), 0, ["a", "b", "c", "d"], X=X)
    with pytest.raises(LowdimError, match=r"LD494.*traverse"):
        traverse(ld.KernelPCA(2).fit(X), 0, ["a", "b", "c", "d"])
    assert plot_model("gtm_sheet", sheet, table, color=kind).sentence.endswith("3 kinds.")


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.ModelWarning")
def test_an_analysis_draws_them_of_models_made_for_it():
    X, _ = roll(60, gaps=0.05)
    found = ld.analyse(X, budget="1s")
    for name in ("gtm_sheet", "magnification", "responsibility", "latent_variance"):
        assert found.plot.draw(name).name == name
    assert found.plot.gtm_sheet(model=ld.GTM(1, grid=9, basis=4).fit(X)).title.startswith("A sheet of 9 nodes")
    assert found.plot.traverse(model=ld.GTM(1, grid=9, basis=4).fit(X)).name == "traverse"
    net = ld.Autoencoder(hidden=(3,), max_iter=5)
    assert found.plot.bottleneck([1], model=net, seeds=1).data["linear"].shape == (1,)
