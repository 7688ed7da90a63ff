"""Labels that mark clusters of real columns are found by hidden cells, and others stay labels."""

import numpy as np
import pandas as pd
import pytest

from lowdim import FactorAnalysis, MixedFactorAnalysis, stream
from lowdim.text.messages import no_warnings
from tests.conftest import need


def penguins():
    frame = pd.read_csv(need("real_tables/penguins.csv"))
    real = [c for c in frame if frame[c].dtype.kind == "f"]
    return frame[["species", "island", *real, "sex"]], real


def zeros_and_ones(frame):
    """A column for each label but the last, gaps as gaps."""
    parts = [frame[[c for c in frame if frame[c].dtype.kind == "f"]]]
    for name in ("species", "island", "sex"):
        own = {f"{name}={v}": (frame[name] == v) + 0.0 for v in sorted(frame[name].dropna().unique())[:-1]}
        parts.append(pd.DataFrame(own).mask(frame[name].isna()))
    return pd.concat(parts, axis=1)


@pytest.mark.slow
def test_species_of_penguins_is_a_marker_and_its_real_columns_are_filled_as_factor_analysis_does():
    """Three hidings, within 2 % of its errors; as labels, errors are larger by a fifth."""
    frame, real = penguins()
    errors = {"auto": [], "label": [], "codes": []}
    for seed in range(3):
        hidden = (np.random.default_rng(seed).random(frame.shape) < 0.1) & frame.notna().to_numpy()
        seen = frame.mask(hidden)
        model = MixedFactorAnalysis(3).fit(seen)
        assert model.likelihoods_ == ("marker", "label", *["real"] * 4, "yes/no")
        codes = zeros_and_ones(seen)
        plain = MixedFactorAnalysis(3, likelihoods={"species": "label", "island": "label"}).fit(seen)
        fills = {
            "auto": model.impute(seen)[real],
            "label": plain.impute(seen)[real],
        }
        with no_warnings():  # a Heywood case: species is told by the others
            fills["codes"] = pd.DataFrame(FactorAnalysis(3).fit(codes).impute(codes), columns=list(codes))[real]
        for who, filled in fills.items():
            off = ((filled.to_numpy() - frame[real].to_numpy()) / frame[real].std().to_numpy()) ** 2
            errors[who].append(off[hidden[:, 2:6]])
    auto, label, codes = (np.concatenate(errors[who]) for who in errors)
    assert np.sqrt(auto.mean()) < min(0.44, 1.02 * np.sqrt(codes.mean())) and np.sqrt(label.mean()) > 0.49


def cut(seed=0, n=300):
    """One dimension behind five real columns, and a label that cuts it into three: no clusters."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    frame = pd.DataFrame(z[:, None] + 0.4 * rng.standard_normal((n, 5)), columns=[*"abcde"])
    return frame.assign(label=np.array(["low", "mid", "top"])[np.digitize(z, [-0.43, 0.43])])


def test_a_label_that_cuts_a_dimension_stays_one():
    assert MixedFactorAnalysis(1).fit(cut()).likelihoods_[-1] == "label"


def clusters(n=240):
    """Three tight groups in five columns of two dimensions."""
    rng = np.random.default_rng(0)
    group = np.arange(n) % 3
    z = np.array([[0.0, 3.0], [2.6, -1.5], [-2.6, -1.5]])[group] + 0.5 * rng.standard_normal((n, 2))
    X = z @ rng.normal(0, 1, (2, 5)) + 0.5 * rng.standard_normal((n, 5))
    return pd.DataFrame(X, columns=[*"abcde"]).assign(group=np.array(["u", "v", "w"])[group])


def test_what_is_asked_for_is_kept_and_numbers_are_no_labels(tmp_path):
    frame = clusters()
    assert MixedFactorAnalysis(2).fit(frame).likelihoods_[-1] == "marker"
    assert MixedFactorAnalysis(2, likelihoods={"group": "label"}).fit(frame).likelihoods_[-1] == "label"
    numbers = frame.assign(group=frame.group.map({"u": 0, "v": 1, "w": 2}))
    numbers.to_csv(tmp_path / "t.csv", index=False)
    assert MixedFactorAnalysis(2).fit(stream(tmp_path / "t.csv")).likelihoods_[-1] == "ordinal"
    asked = MixedFactorAnalysis(2, likelihoods={"group": "marker"}).fit(stream(tmp_path / "t.csv"))
    found = MixedFactorAnalysis(2).fit(frame)
    assert asked.objective_ == pytest.approx(found.objective_, rel=1e-9)  # found in memory, asked for of a file


def test_indicators_have_no_prior_of_their_noise_but_a_bound():
    model = MixedFactorAnalysis(2).fit(clusters())
    share = model.params_.psi[-2:]
    assert (share >= 0.01).all() and share.min() < 0.05
    filled, sd, shares = model.impute(clusters().assign(group=None), return_std=True, return_proba=True)
    assert (filled.group == clusters().group).mean() > 0.97 and np.isfinite(sd).all()
    assert np.allclose(shares["group"].sum(axis=1), 1.0)
