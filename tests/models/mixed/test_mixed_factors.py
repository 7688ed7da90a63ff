"""Factor analysis of mixed columns: what it agrees with, what it finds, what it refuses."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import chi2, norm

import lowdim
from lowdim import BayesianPCA, FactorAnalysis, MixedFactorAnalysis, ProbabilisticPCA, Run, laws
from lowdim.models.mixed.predictions import probabilities
from lowdim.sources.arrays import as_source
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.conftest import need
from tests.models.mixed.simulated import amounts_table, mixed_table, true_params
from tests.models.power_cut import resumed
from tests.oracles.mixed import grid

SMALL = mixed_table(0, n=60, q=2, gaps=0.15, sizes=(2, 2, 1, 1, 1))
SMALL_MODEL = MixedFactorAnalysis(2, likelihoods=SMALL.kinds, tol=3e-4)


@pytest.mark.parametrize("law", [law for law in laws.LAWS if law not in MixedFactorAnalysis._laws_broken])
def test_laws_hold_for_columns_of_all_kinds(law):
    laws.LAWS[law](SMALL_MODEL, SMALL.X)


def test_a_table_of_reals_is_that_of_factor_analysis():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 7)) + rng.standard_normal((200, 7))
    X[rng.random(X.shape) < 0.1] = np.nan
    ours, theirs = MixedFactorAnalysis(2, tol=1e-9).fit(X), FactorAnalysis(2, tol=1e-9).fit(X)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-8)
    assert np.allclose(ours.impute(X), theirs.impute(X), atol=1e-4)
    assert np.allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-3)
    gaussian = ProbabilisticPCA(2, standardize=True, tol=1e-9).fit(X)
    assert MixedFactorAnalysis(2, noise="one", tol=1e-9).fit(X).objective_ == pytest.approx(
        gaussian.objective_, rel=1e-8
    )


def test_relevance_keeps_the_axes_of_bayesian_pca():
    rng, angle = np.random.default_rng(1), np.pi * np.arange(8) / 8
    X = rng.standard_normal((300, 2)) @ np.array([np.cos(angle), np.sin(angle)]) + 0.5 * rng.standard_normal((300, 8))
    ours, theirs = MixedFactorAnalysis(5, noise="one", ard=True).fit(X), BayesianPCA(5, standardize=True).fit(X)
    assert ours.n_components_ == theirs.n_components_ == 2
    assert np.allclose(ours.reconstruct(X), theirs.reconstruct(X), atol=0.02)


@pytest.mark.parametrize(
    ("linear", "options"),
    [(ProbabilisticPCA, {"noise": "one"}), (FactorAnalysis, {}), (BayesianPCA, {"noise": "one", "ard": True})],
)
def test_linear_models_with_likelihoods_are_cases_of_the_mixed_one(linear, options):
    made = linear(3, likelihoods="auto")
    assert type(made) is MixedFactorAnalysis
    assert made.get_params() == MixedFactorAnalysis(3, **options).get_params()
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0] * 10, "b": ["x", "y", "y", None] * 10, "c": [1, 0, 0, 1] * 10})
    some = linear(n_components=1, likelihoods={"c": "yes/no"}, tol=1e-4).fit(frame)
    assert some.likelihoods_ == ("ordinal", "yes/no", "yes/no") and some.tol == 1e-4
    assert some.impute(frame)["b"].isin(["x", "y"]).all()
    assert linear(likelihoods="auto").n_components == {"FactorAnalysis": 1, "BayesianPCA": 8}.get(linear.__name__, 2)
    with pytest.raises(LowdimError, match="LD219") as refused:
        linear(2, likelihoods="auto", standardize=True)
    assert "leave it out" in str(refused.value)
    with pytest.raises(LowdimError, match="LD104") as refused:
        linear(1).fit(frame)
    assert "'b'" in str(refused.value) and "ld.MixedFactorAnalysis" in str(refused.value)


# simulated truth ----------------------------------------------------------------------------------------------------
def recovery(seed):
    """How near a fit comes to what its table was drawn from: weights that are not real, positions, hidden labels."""
    truth = mixed_table(seed)
    model = MixedFactorAnalysis(3, likelihoods=truth.kinds).fit(truth.X)
    own = true_params(model.params_, model.frame_, truth)
    names = [int(name.split("=")[0][1:]) - 1 for name in model.component_names_]
    kept = [g for g, j in enumerate(names) if truth.kinds[j] in ("yes/no", "ordinal", "count")]
    posterior = model.posterior(truth.X)
    U, _, Vt = np.linalg.svd(posterior.mean.T @ truth.z)
    Q = U @ Vt
    W, true_W = (model.components_.T @ Q)[kept], own.W[kept]
    off, cov = truth.z - posterior.mean @ Q, Q.T @ posterior.cov @ Q
    inside = np.abs(off) < norm.ppf(0.95) * np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
    D2 = np.einsum("ni,nij,nj->n", off, np.linalg.inv(cov), off)
    return model, {
        "slope": float((W * true_W).sum() / (true_W**2).sum()),
        "error": float(np.linalg.norm(W - true_W) / np.linalg.norm(true_W)),
        "intervals": float(inside.mean()),
        "regions": float((chi2.ppf(0.9, 3) > D2).mean()),
        "loss": log_loss(model, model.params_, truth) - log_loss(model, own, truth),
    }


def log_loss(model, params, truth):
    """Mean -log probability of the hidden yes/no and label cells, with these parameters."""
    block = model.frame_.inward(as_source(truth.X).block(0))
    shares, losses = probabilities(params, model._posterior(params, block)), []
    for j, kind in enumerate(truth.kinds):
        if kind in ("yes/no", "label"):
            hidden, levels = np.flatnonzero(np.isnan(truth.X[:, j])), params.columns.levels[j].tolist()
            losses.append(-np.log(shares[j][hidden, [levels.index(x) for x in truth.full[hidden, j]]]))
    return float(np.concatenate(losses).mean())


def test_simulated_weights_positions_and_labels_are_found():
    model, found = recovery(2)
    assert model.converged_ and model.n_iter_ <= 80
    assert 0.93 <= found["slope"] <= 1.07 and found["error"] <= 0.14 and found["loss"] <= 0.012, found
    assert 0.87 <= found["intervals"] <= 0.93 and 0.87 <= found["regions"] <= 0.93, found


@pytest.mark.slow
def test_simulated_truth_is_found_on_average():
    found = [recovery(seed)[1] for seed in range(10)]
    mean = {name: np.mean([one[name] for one in found]) for name in found[0]}
    assert 0.96 <= mean["slope"] <= 1.04 and mean["error"] <= 0.12 and max(one["loss"] for one in found) <= 0.012
    assert 0.88 <= mean["intervals"] <= 0.92 and 0.88 <= mean["regions"] <= 0.92
    assert sum(0.87 <= one["regions"] <= 0.93 for one in found) >= 9


@pytest.mark.drill
def test_relevance_finds_three_dimensions():
    found = []
    for seed in range(20):
        truth = mixed_table(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)
            found.append(MixedFactorAnalysis(6, likelihoods=truth.kinds, ard=True).fit(truth.X).n_components_)
    assert found.count(3) >= 18, found


# columns that can be told without error -----------------------------------------------------------------------------
def test_separable_columns_keep_finite_weights():
    """A Guttman scale: each column is a threshold of the same order of rows."""
    order = np.arange(200)[:, None]
    X = (order > np.linspace(10, 190, 12)).astype(float)
    model = MixedFactorAnalysis(1).fit(X)
    assert model.likelihoods_ == ("yes/no",) * 12
    assert np.abs(model.components_).max() < 8 and np.abs(model.intercepts_).max() < 10
    assert abs(np.corrcoef(model.transform(X)[:, 0], order[:, 0])[0, 1]) > 0.95
    labels = MixedFactorAnalysis(1, likelihoods="label").fit(np.repeat(np.arange(4.0), 30)[:, None] * np.ones(3))
    assert np.abs(labels.components_).max() < 8 and np.isfinite(labels.objective_)


@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize("q", [1, 2])
def test_weights_of_separable_columns_stay_below_eight_however_many_rows(n, q):
    """Without the barrier they are 11 at 2,000 rows and 19 at 20,000, and grow on."""
    order = np.arange(n)[:, None]
    model = MixedFactorAnalysis(q).fit((order > np.linspace(0.05 * n, 0.95 * n, 12)).astype(float))
    lengths = np.linalg.norm(model.components_, axis=0)
    assert 5.0 < lengths.max() < 8.0 and model.converged_ and model.n_iter_ <= 80
    assert np.isfinite(model.objective_) and np.isfinite(model.intercepts_).all()


@pytest.mark.parametrize("kind", ["label", "ordinal", "yes/no"])
def test_columns_that_another_tells_without_error_keep_finite_weights(kind):
    level = np.arange(1000) % (2 if kind == "yes/no" else 4)
    X = np.column_stack([level, level, level + 0.01 * np.sin(np.arange(1000.0))])
    model = MixedFactorAnalysis(1, likelihoods=[kind, kind, "real"]).fit(X)
    assert np.linalg.norm(model.components_, axis=0).max() < 8.0 and np.isfinite(model.score(X))
    X[::7, 0] = np.nan
    assert (model.impute(X)[::7, 0] == level[::7]).mean() > 0.9


def test_plain_steps_do_not_fall():
    """Without extrapolation the penalised bound rises pass by pass."""
    from lowdim.engine.fit import em
    from lowdim.models.mixed.first_look import first_look, start, survey_sites

    for seed in range(3):
        truth = mixed_table(seed, n=200, sizes=(3, 3, 2, 1, 2))
        model = MixedFactorAnalysis(2, likelihoods=truth.kinds, max_iter=40)
        source = as_source(truth.X)
        survey = survey_sites(source, Run(), first_look(source, Run()), tuple(truth.kinds))
        begin = start(survey, 2, 0.3, False, np.random.default_rng(0))
        history = np.array(em(model, begin, survey.source, Run(), mix=False, halve=0).history)
        assert (np.diff(history) >= -1e-8 * np.abs(history[1:])).all()


def test_plain_steps_towards_the_barrier_do_not_fall():
    from lowdim.engine.fit import em
    from lowdim.models.mixed.first_look import first_look, start, survey_sites

    X = (np.arange(600)[:, None] > np.linspace(30, 570, 8)).astype(float)
    X = np.column_stack([X, X[:, :4].sum(axis=1)])
    source = as_source(X)
    survey = survey_sites(source, Run(), first_look(source, Run()), ("yes/no",) * 8 + ("ordinal",))
    begin = start(survey, 1, 0.3, False, np.random.default_rng(0))
    fit = em(MixedFactorAnalysis(1, max_iter=25), begin, survey.source, Run(), mix=False, halve=0)
    history = np.array(fit.history)
    assert (np.diff(history) >= -1e-8 * np.abs(history[1:])).all() and 6.0 < np.abs(fit.params.W).max() < 8.0


# exact posteriors of real votes -------------------------------------------------------------------------------------
def votes():
    table = pd.read_csv(need("uci") / "house_votes_1984.csv").drop(columns="Class")
    return table[table.notna().any(axis=1)].reset_index(drop=True)


def test_votes_agree_with_an_exact_grid():
    table = votes()
    model = MixedFactorAnalysis(2).fit(table)
    assert set(model.likelihoods_) == {"yes/no"} and model.n_iter_ <= 80
    codes = table.apply(lambda column: column.map({"n": 0.0, "y": 1.0})).to_numpy()
    rows, bounds = np.arange(0, len(table), 20), model.score_samples(table)
    bare = model.params_._replace(V=np.zeros_like(model.params_.V))
    hidden = codes.copy()
    hidden[np.arange(len(codes)), np.arange(len(codes)) % 16] = np.nan  # one more gap in each row, to be filled
    block = model.frame_.inward(as_source(hidden).block(0))
    shares, gaps, errors = probabilities(bare, model._posterior(bare, block)), [], []
    for i in rows:
        gaps.append(grid(bare, codes[i], points=81)[0] - bounds[i])
        _, _, _, z, weight = grid(bare, hidden[i], points=81)
        for j in np.flatnonzero(np.isnan(hidden[i])):
            eta = z @ bare.W[j] + bare.b[j]
            errors.append(abs(shares[j][i, 0] - weight @ expit(eta)))
    assert min(gaps) >= -1e-6 and np.mean(gaps) < 0.05
    assert max(errors) < 0.03 and np.mean(errors) < 0.004


# tables in, tables out ----------------------------------------------------------------------------------------------
def people(n=150, seed=0):
    """A frame of every type that pandas has for what is no real number, with gaps."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    level = np.digitize(z + 0.5 * rng.standard_normal(n), [-0.5, 0.5])
    frame = pd.DataFrame(
        {
            "height": z + 0.5 * rng.standard_normal(n),
            "smokes": pd.array(z + rng.logistic(size=n) > 0, dtype="boolean"),
            "town": pd.Categorical(np.array(["York", "Bath", "Hull"])[level]),
            "size": pd.Categorical(np.array(["S", "M", "L"])[level], categories=["S", "M", "L"], ordered=True),
            "sex": np.where(z + rng.logistic(size=n) > 0, "f", "m"),
            "visits": pd.array(rng.poisson(np.exp(0.5 * z + 1)), dtype="Int64"),
            "weight": (2 * z + rng.standard_normal(n)).astype("float32"),
        },
        index=[f"row {i}" for i in range(n)],
    )
    full = frame.copy()
    for name in frame.columns:
        frame.loc[rng.random(n) < 0.15, name] = (
            None if name == "sex" else pd.NA if name in ("smokes", "visits") else np.nan
        )
    return frame, full


KINDS = {"visits": "count"}


def test_pandas_frames_come_back_as_they_were(tmp_path):
    frame, full = people()
    model = MixedFactorAnalysis(1, likelihoods=KINDS).fit(frame)
    assert model.likelihoods_ == ("real", "yes/no", "label", "ordinal", "yes/no", "count", "real")
    filled, std, shares = model.impute(frame, return_std=True, return_proba=True)
    assert filled.dtypes.equals(frame.dtypes) and filled.index.equals(frame.index) and not filled.isna().any().any()
    seen = frame.notna().to_numpy()
    assert filled.where(seen).equals(frame) and ((std == 0) == seen).all()
    assert set(shares) == {"smokes", "town", "size", "sex"}
    for name, share in shares.items():
        assert np.allclose(share.sum(axis=1), 1) and share.shape[1] == len(model.levels_[list(frame).index(name)])
    hidden = frame["town"].isna().to_numpy()
    best = [model.levels_[2][k] for k in shares["town"][hidden].argmax(axis=1)]
    assert filled["town"][hidden].tolist() == best and (filled["town"] == full["town"])[hidden].mean() > 0.6
    draws = model.impute(frame, draws=2)
    assert all(drawn.dtypes.equals(frame.dtypes) and drawn.where(seen).equals(frame) for drawn in draws)
    assert model.reconstruct(frame).dtypes.equals(frame.dtypes)
    model.save(tmp_path / "m.lowdim")
    back = lowdim.load(tmp_path / "m.lowdim")
    assert back.impute(frame).equals(filled) and back.score(frame) == model.score(frame)
    assert set(model.sample(20)[:, 2]) <= {"York", "Bath", "Hull"} and model.inverse_transform([[0.0]])[0, 4] in (
        "f",
        "m",
    )


def test_polars_and_arrow_frames_come_back_as_they_were():
    frame, _ = people()
    plain = {name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame.columns}
    types = {"town": pl.Categorical, "size": pl.Enum(["S", "M", "L"]), "visits": pl.Int32, "smokes": pl.Boolean}
    table = pl.DataFrame({name: pl.Series(name, cells, dtype=types.get(name)) for name, cells in plain.items()})
    ours = MixedFactorAnalysis(1, likelihoods=KINDS).fit(frame)
    model = MixedFactorAnalysis(1, likelihoods={**KINDS, "size": "ordinal"}).fit(table)
    filled = model.impute(table)
    assert filled.schema == table.schema and filled.null_count().sum_horizontal()[0] == 0
    assert filled["town"].to_list() == ours.impute(frame)["town"].tolist()
    arrow = model.impute(table.to_arrow())
    assert arrow.schema == table.to_arrow().schema and arrow.column("sex").to_pylist() == filled["sex"].to_list()


def test_order_of_levels_and_columns_does_not_matter():
    frame, _ = people()
    model = MixedFactorAnalysis(1, likelihoods=KINDS).fit(frame)
    other = frame[frame.columns[::-1]].copy()
    other["town"] = other["town"].cat.reorder_categories(["Hull", "York", "Bath"])
    assert np.array_equal(model.transform(other), model.transform(frame))


@pytest.mark.slow
def test_draws_have_the_probabilities_that_are_published():
    frame, _ = people()
    model = MixedFactorAnalysis(1, likelihoods=KINDS).fit(frame)
    filled = np.array([drawn["town"] == "York" for drawn in model.impute(frame, draws=60)]).mean(axis=0)
    hidden = frame["town"].isna().to_numpy()
    share = model.probabilities(frame)["town"][hidden, model.levels_[2].index("York")]
    assert abs(filled[hidden].mean() - share.mean()) < 0.05
    assert (
        np.abs(filled[hidden] - share).max() < 5 * np.sqrt(0.25 / 60) and np.corrcoef(filled[hidden], share)[0, 1] > 0.9
    )


# where rows live ------------------------------------------------------------------------------------------------------
def test_a_fit_that_died_goes_on_to_the_same_bits(tmp_path):
    resumed(SMALL_MODEL, SMALL.X, tmp_path / "fit.ckpt", 3)


def test_dask_gives_the_same_bits():
    da = pytest.importorskip("dask.array")
    one = MixedFactorAnalysis(2, likelihoods=SMALL.kinds, tol=3e-4).fit(SMALL.X)
    two = MixedFactorAnalysis(2, likelihoods=SMALL.kinds, tol=3e-4).fit(da.from_array(SMALL.X, chunks=(16, 8)))
    assert np.array_equal(one.components_, two.components_) and np.array_equal(one.history_, two.history_)


# what cannot be -------------------------------------------------------------------------------------------------------
def test_labels_and_values_never_seen_are_gaps_with_a_warning():
    frame, _ = people()
    model = MixedFactorAnalysis(1, likelihoods=KINDS).fit(frame)
    other = frame.copy()
    other["sex"] = other["sex"].replace("f", "x")
    with pytest.warns(LowdimWarning, match="LD504"):
        filled = model.impute(other)
    assert (filled["sex"] == "x").sum() == (other["sex"] == "x").sum()
    counts = MixedFactorAnalysis(1, likelihoods=["ordinal", "yes/no", "real"]).fit(
        np.column_stack([np.arange(60) % 4, np.arange(60) % 2, np.arange(60.0)])
    )
    with pytest.warns(LowdimWarning, match=r"LD506(.|\n)*: 7 \(row 1\)"):
        odd = counts.transform([[7.0, 1.0, 3.0]])
    assert np.array_equal(odd, counts.transform([[np.nan, 1.0, 3.0]]))


@pytest.mark.filterwarnings("error")
def test_new_rows_whose_labels_are_of_another_type_come_back_filled():
    """An empty column of a file is one of numbers, and a small batch has categories of its own."""
    frame, _ = people()
    model = MixedFactorAnalysis(1, likelihoods=KINDS).fit(frame)
    few, known = frame.head(6).copy(), set(frame["town"].dropna())
    few["town"] = np.nan
    assert set(model.impute(few)["town"]) <= known
    few["town"] = pd.Series([None] * 6, dtype="category", index=few.index)
    for filled in (model.impute(few), *model.impute(few, draws=2), model.reconstruct(few)):
        assert set(filled["town"]) <= known and filled["town"].dtype == "category"


def test_columns_of_whole_numbers_are_whole_in_new_rows_too(tmp_path):
    frame, _ = people()
    rng = np.random.default_rng(0)
    frame["years"] = pd.array(rng.integers(20, 80, len(frame)), dtype="Int64")
    model = MixedFactorAnalysis(1, likelihoods={"years": "real"}).fit(frame)
    model.save(tmp_path / "m.lowdim")
    for own in (model, lowdim.load(tmp_path / "m.lowdim")):
        for rows in (own.sample(5), own.inverse_transform([[0.3], [1.0]])):
            assert all(type(cell) is int for cell in rows[:, -1]) and type(rows[0, 0]) is float


def test_empty_cells_of_labels_are_gaps():
    frame, _ = people()
    blank = frame.assign(town=frame["town"].astype(object).where(frame["town"].notna(), ""))
    one, two = (MixedFactorAnalysis(1, likelihoods=KINDS).fit(table) for table in (frame, blank))
    assert set(two.levels_[2]) == set(one.levels_[2]) and two.objective_ == pytest.approx(one.objective_)
    assert two.impute(blank)["town"].tolist() == one.impute(frame)["town"].tolist()


@pytest.mark.parametrize(
    ("column", "kind", "code"),
    [
        (np.arange(300.0), "label", "LD500"),
        (np.where(np.arange(300) % 2, 1e9, 3.0), "count", "LD501"),
        (np.arange(300) / 2, "count", "LD501"),
        (-np.arange(300.0), "positive", "LD501"),
        (np.arange(300.0) % 3, "yes/no", "LD501"),
        (np.arange(300.0), "nonsense", "LD210"),
    ],
)
def test_kinds_that_the_values_do_not_allow_are_refused(column, kind, code):
    X = np.column_stack([column, np.sin(np.arange(300.0))])
    with pytest.raises(LowdimError, match=code):
        MixedFactorAnalysis(1, likelihoods=[kind, "real"]).fit(X)


def test_ten_thousand_labels_and_mixed_cells_are_refused():
    frame = pd.DataFrame({"id": [f"id{i}" for i in range(10_000)], "x": np.arange(10_000.0)})
    with pytest.raises(LowdimError, match="LD500"):
        MixedFactorAnalysis(1).fit(frame)
    with pytest.raises(LowdimError, match="LD505"):
        MixedFactorAnalysis(1).fit(pd.DataFrame({"a": ["x", 3.0, "y", "x"], "b": [1.0, 2.0, 3.0, 4.0]}))
    with pytest.raises(LowdimError, match="LD103"):
        MixedFactorAnalysis(1, likelihoods={"zzz": "real"}).fit(frame[["x"]].assign(y=1.0 * np.arange(10_000) ** 2))


def test_one_level_and_empty_levels_are_said():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_normal(50), "y": rng.standard_normal(50), "one": ["a"] * 50})
    frame.loc[3, "one"] = None
    with pytest.warns(LowdimWarning, match="LD130") as said:
        model = MixedFactorAnalysis(1).fit(frame)
    assert not [word for word in ("scale", "standardize") if word in str(said[0].message)]  # it has neither
    assert model.impute(frame)["one"].tolist() == ["a"] * 50 and model.probabilities(frame)["one"].min() == 1.0
    frame["size"] = pd.Categorical(rng.choice(["S", "L", "XL"], 50), categories=["S", "M", "L", "XL"], ordered=True)
    with pytest.warns(LowdimWarning, match="LD503"):
        model = MixedFactorAnalysis(1).fit(frame.drop(columns="one"))
    assert model.levels_[2] == ("S", "L", "XL")


def test_counts_and_positive_columns_come_back_in_their_range():
    rng = np.random.default_rng(1)
    z = rng.standard_normal(400)
    X = np.column_stack(
        [rng.poisson(np.exp(z)), np.exp(z + 0.3 * rng.standard_normal(400)), z + rng.standard_normal(400)]
    )
    X[:, 1] = np.where(rng.random(400) < 0.05, 0.0, X[:, 1])
    full = X.copy()
    X[rng.random(X.shape) < 0.2] = np.nan
    X[np.isnan(X).all(axis=1), 2] = 0.0
    model = MixedFactorAnalysis(1, likelihoods=["count", "positive", "real"]).fit(X)
    filled, gaps = model.impute(X), np.isnan(X)
    assert (filled[:, 0] == np.round(filled[:, 0])).all() and (filled[:, :2] >= 0).all()
    assert np.corrcoef(filled[gaps[:, 1], 1], full[gaps[:, 1], 1])[0, 1] > 0.5
    drawn = model.impute(X, draws=3)
    assert (drawn[:, :, 0] == np.round(drawn[:, :, 0])).all() and (drawn[:, :, :2] >= -1e-9).all()
    rows = model.sample(4000, random_state=1)
    assert np.allclose(rows.mean(axis=0)[[0, 2]], np.nanmean(full, axis=0)[[0, 2]], atol=0.25)


def test_score_of_positive_columns_is_in_the_units_of_the_table():
    """A density in other units: 1,000 times larger cells lose log 1,000 each."""
    rng = np.random.default_rng(2)
    X = np.exp(rng.standard_normal((100, 1)) + 0.3 * rng.standard_normal((100, 3)))
    one = MixedFactorAnalysis(1, likelihoods="positive").fit(X)
    two = MixedFactorAnalysis(1, likelihoods="positive").fit(1000 * X)
    assert one.score(X) - two.score(1000 * X) == pytest.approx(3 * np.log(1000), abs=1e-6)


def clusters(n=240, seed=0):
    """Three groups of rows, far apart in three real columns, and the label of the group; a tenth hidden."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    centres = np.array([[0.0, 0.0, 3.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    full = np.column_stack([centres[group] + rng.standard_normal((n, 3)), group])
    return np.where(rng.random(full.shape) < 0.1, np.nan, full), full


def test_markers_fill_real_columns_better_where_labels_mark_clusters():
    X, full = clusters()
    hidden, errors = np.isnan(X[:, :3]), {}
    for kind in ("label", "marker"):
        model = MixedFactorAnalysis(2, likelihoods=["real"] * 3 + [kind]).fit(X)
        filled, shares = model.impute(X, return_proba=True)
        assert np.allclose(shares["c4"].sum(axis=1), 1) and set(filled[:, 3]) == {0.0, 1.0, 2.0}
        assert (filled[:, 3] == full[:, 3])[np.isnan(X[:, 3])].mean() > 0.8
        errors[kind] = np.sqrt(((filled[:, :3] - full[:, :3])[hidden] ** 2).mean())
    assert errors["marker"] < 0.97 * errors["label"]


def test_relevance_drops_what_is_not_needed():
    truth = mixed_table(3, n=400, q=1, gaps=0.1, sizes=(4, 4, 2, 0, 0))
    model = MixedFactorAnalysis(3, likelihoods=truth.kinds, ard=True).fit(truth.X)
    assert model.n_components_ == 1 and model.relevance_.shape == (1,)
    assert abs(np.corrcoef(model.transform(truth.X)[:, 0], truth.z[:, 0])[0, 1]) > 0.8


# axes that are turned ---------------------------------------------------------------------------------------------
def two_blocks(seed=0, n=600):
    """Ten answers, five of each of two independent traits."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    eta = np.repeat(z, 5, axis=1) * np.tile([2.5, 2.0, 1.5, 2.0, 3.0], 2)
    return (eta + rng.logistic(size=eta.shape) > 0) + 0.0, z


def test_turned_axes_are_those_of_the_traits_and_nothing_else_changes():
    X, z = two_blocks()
    X[::7, 3] = np.nan
    plain, turned = (MixedFactorAnalysis(2, rotation=how).fit(X) for how in (None, "varimax"))
    W = np.abs(turned.components_)
    mine = [int(W[k, :5].sum() < W[k, 5:].sum()) for k in (0, 1)]
    assert sorted(mine) == [0, 1]
    for k, trait in enumerate(mine):
        own = W[k, 5 * trait : 5 * trait + 5]
        assert own.min() > 5 * W[k, 5 - 5 * trait : 10 - 5 * trait].max()
        assert abs(np.corrcoef(turned.transform(X)[:, k], z[:, trait])[0, 1]) > 0.8
    assert turned.objective_ == plain.objective_ and np.array_equal(turned.impute(X), plain.impute(X))
    assert np.allclose(turned.score_samples(X), plain.score_samples(X), atol=1e-6)
    a, b = plain.posterior(X), turned.posterior(X)
    Q = np.linalg.lstsq(plain.components_.T, turned.components_.T, rcond=None)[0]
    assert np.allclose(Q.T @ Q, np.eye(2), atol=1e-9) and np.allclose(a.mean @ Q, b.mean, atol=1e-3)
    assert np.allclose(Q.T @ a.cov @ Q, b.cov, atol=1e-3)
    stds = (model.impute(X, return_std=True)[1] for model in (plain, turned))
    assert np.allclose(*stds, atol=1e-3)  # the doubt about the weights was turned too


def test_reals_are_turned_as_factor_analysis_turns_them():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 7)) + rng.standard_normal((300, 7))
    ours = MixedFactorAnalysis(2, rotation="varimax", tol=1e-9).fit(X)
    theirs = FactorAnalysis(2, rotation="varimax", tol=1e-9).fit(X)
    assert np.allclose(np.abs(ours.components_.T), np.abs(theirs.components_.T) / X.std(axis=0)[:, None], atol=2e-3)


def test_relevances_are_told_along_turned_axes():
    X, _ = two_blocks()
    model = MixedFactorAnalysis(4, ard=True, rotation="varimax").fit(X)
    assert model.n_components_ == 2 and (model.relevance_ > 0).all()
    assert (np.abs(model.components_) > 0.8).sum(axis=0).tolist() == [1] * 10


# few rows -------------------------------------------------------------------------------------------------------------
def test_intervals_hold_in_tables_of_few_rows():
    """The curvature of the weights says too little of their doubt there; cells held out say how much."""
    off = {True: [], False: []}
    amounts = ["real"] * 4 + ["amount"] * 3
    mixed = mixed_table(60, n=60, q=2, gaps=0.0, sizes=(4, 2, 2, 1, 1))
    tables = [(amounts_table(seed, 50, gaps=0.0)[1], amounts, 1) for seed in (1, 2)] + [(mixed.full, mixed.kinds, 2)]
    for full, kinds, q in tables:
        held = {True: [], False: []}
        for seed in range(10):
            hidden = np.random.default_rng(seed).random(full.shape) < 0.12
            X = np.where(hidden, np.nan, full)
            for calibrate, found in held.items():
                model = MixedFactorAnalysis(q, likelihoods=kinds, calibrate=calibrate, tol=1e-3).fit(X)
                low, high = (model.quantile(X, share)[:, :4] for share in (0.05, 0.95))
                found += ((full[:, :4] >= low) & (full[:, :4] <= high))[hidden[:, :4]].tolist()
                cells = model.predict_cells(X)  # the same interval by its standard deviation
                wide = 1.6448536 * np.sqrt(cells.var + cells.noise)[:, :4]
                assert np.allclose(cells.mean[:, :4] + wide, high, rtol=1e-5, atol=1e-5)
        for calibrate, found in held.items():
            off[calibrate].append(abs(np.mean(found) - 0.9))
    assert max(off[True]) < 0.03 < min(off[False])


def test_draws_are_as_wide_as_intervals():
    truth = mixed_table(103, n=45, q=2, gaps=0.12, sizes=(6, 2, 1, 0, 0))
    model = MixedFactorAnalysis(2, likelihoods=truth.kinds).fit(truth.X)
    low, high = (model.quantile(truth.X, share)[:, :6] for share in (0.05, 0.95))
    drawn = np.array(model.impute(truth.X, draws=200))[:, :, :6]
    within = ((drawn >= low) & (drawn <= high))[:, np.isnan(truth.X[:, :6])].mean()
    assert model.params_.inflation > 1.0 and within == pytest.approx(0.9, abs=0.03)
