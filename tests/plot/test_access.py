"""Plots of an analysis, and of one model and its table: each applies or says why."""

import warnings

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.judge.compare.map_quality import judge_map
from lowdim.plot.access import plot_model
from lowdim.plot.registry import descriptions, every_plot
from lowdim.text.errors import OptionError
from lowdim.text.messages import LowdimError
from tests.plot.svg_checks import parsed
from tests.plot.tables import bishop, roll


def test_every_plot_of_one_model_applies_or_says_why(sheet):
    X, kind = roll()
    table = ld.read(X)
    for name in (row.name for row in every_plot() if row.needs == "model"):
        if name in ("gtm_sheet", "magnification", "traverse", "trace", "rebuilt"):
            assert plot_model(name, sheet, table).name == name
        else:
            with pytest.raises(LowdimError, match="LD216"):
                plot_model(name, sheet, table)
    assert plot_model("columns", sheet, table).name == "columns"  # of the table alone
    linear = ld.PPCA(2).fit(X)
    assert plot_model("map", linear, table).data["position"] == pytest.approx(linear.transform(X))
    for name in ("gtm_sheet", "latent_variance", "scree"):
        with pytest.raises(LowdimError, match="LD216") as said:
            plot_model(name, linear, table)
        assert said.value.fix
    solid = ld.GTM(3, grid=3, basis=2).fit(X)
    with pytest.raises(LowdimError, match=r"LD216.*gtm_sheet[\s\S]*3 axes"):
        plot_model("gtm_sheet", solid, table)
    with pytest.raises(LowdimError, match=r"LD216.*traverse"):
        plot_model("traverse", ld.Isomap(2).fit(X), table)
    assert plot_model("gtm_sheet", sheet, table, color=kind).sentence.endswith("3 kinds.")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lowdim.text.errors.ModelWarning")
def test_an_analysis_draws_them_of_models_made_for_it():
    X, _ = roll(60, gaps=0.05)
    found = ld.analyse(X, budget="1s")
    for name in ("gtm_sheet", "magnification", "latent_variance"):
        assert found.plot.draw(name).name == name
    assert found.plot.gtm_sheet(model=ld.GTM(1, grid=9, basis=4).fit(X)).title.startswith("A sheet of 9 nodes")
    assert found.plot.traverse(model=ld.GTM(1, grid=9, basis=4).fit(X)).name == "traverse"


@pytest.mark.slow
def test_bound_plots(tmp_path):
    path = tmp_path / "t.csv"
    X = bishop()[:80, :5]
    path.write_text("a,b,c,d,e\n" + "\n".join(",".join(f"{v:.5f}" for v in row) for row in X))
    found = ld.analyse(ld.read(path), dims=2, budget="1s")
    assert {"hinton", "relevance", "mixture"} <= descriptions().keys() <= set(dir(found.plot))
    kept = ld.BayesianPCA().fit(X / X.std(axis=0, ddof=1))
    plot = found.plot.relevance()  # of a Bayesian model that is made for it
    assert plot.data["kept"].sum() == kept.kept_.sum()
    assert found.plot.relevance(model=ld.BayesianPCA(3).fit(found.table.X)).data["axis"].shape == (3,)
    for name, model in (("relevance", found.model), ("mixture", None)):
        with pytest.raises(OptionError, match="LD216"):
            found.plot.draw(name, model=model)
    with pytest.raises(AttributeError):
        getattr(found.plot, "no_such")  # noqa: B009 - not a name that is there
    assert "Parameters" in found.plot.map.__doc__ and found.plot.map.__name__ == "map_of_analysis"
    parsed(found.plot.draw("mixture", model=ld.KMeans(2).fit(found.table.X)))
    parsed(found.plot.draw("hinton"))


def test_every_plot_of_an_analysis_can_be_drawn(equal_rows):
    """Gaps, and rows that are equal: the map is judged over common cells."""
    found, X = equal_rows, equal_rows.table.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ld.messages.LowdimWarning)
        for name in ("shepard", "neighbors", "trust", "versus", "dist_matrix"):
            plot = found.plot.draw(name)
            assert plot.name == name and plot.sentence.endswith(".")
        sd = np.nanstd(X, axis=0, ddof=1)
        decoded = found.model.reconstruct(X) / sd
        assert found.plot.trust().data["trust"] == pytest.approx(judge_map(X / sd, decoded).row_trust, abs=1e-9)
        mine = found.posterior.mean[:, ::-1]
        assert found.plot.versus(mine).data["moved"].max() >= 0 and found.plot.shepard(mine).data["stress"] > 0


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")  # three kinds are three pieces
def test_another_map_has_labels_that_shape_axes_in_zeros_and_ones():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 1)) + 0.3 * rng.standard_normal((60, 4))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        kind=np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    )
    frame.loc[4, "a"] = None
    found = ld.analyse(ld.read(frame, encode=["kind"]), dims=2, budget="1s")
    filled = np.column_stack([found.fills.filled[:, :4], *(frame.kind == word for word in found.table.code_labels[4])])
    other = ld.Isomap(2).fit_transform(
        filled / np.std(found.table.in_ones().X, axis=0, ddof=1, where=~np.isnan(found.table.in_ones().X))
    )
    assert found.plot.versus().data["moved"] == pytest.approx(found.plot.versus(other).data["moved"], rel=1e-6)
