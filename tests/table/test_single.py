"""What one column is by its name and its values, and the near misses that must stay measurements."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.table.kinds import kind_of, missed_ties, name_words

rng = np.random.default_rng(0)
N = 300
other = np.random.default_rng(1)
KEYS = rng.choice(10**7, N, replace=False).astype(float)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("ID", KEYS, "id"),
        ("ID", np.r_[KEYS[:250], KEYS[:50]], "id"),
        ("hospitalID", KEYS, "id"),
        ("user_id", rng.integers(1, 30, N) * 1.0, "key"),
        ("userId", np.repeat(np.arange(30.0), 10), "key"),
        ("patient", rng.permutation(N) + 1.0, "id"),
        ("capital", rng.permutation(4000)[:N] * 1.0, "numbering"),
        ("code", rng.permutation(500)[:N] * 1.0, "id"),
        ("x", np.arange(1.0, N + 1), "counter"),
        ("x", np.arange(N) * 0.25, "counter"),
        ("x", np.arange(N, 0.0, -1), "counter"),
        ("x", rng.permutation(N) * 0.25, "numbering"),
        ("time", rng.permutation(N) * 0.25, "time"),
        ("Zensus-Nr.", np.r_[KEYS[:290], KEYS[:10]] % 10**6, "id"),
        ("n", rng.integers(2000, 8000, N) * 1.0, "weight"),
        ("N", rng.integers(2000, 8000, N) * 1.0, ""),
        ("symboling", rng.integers(-2, 4, N) * 1.0, "code"),
        (
            "BL.Cig.Day",
            rng.choice([1.0, 4, 5, 10, 12, 15, 20, 30], N, p=[0.1, 0.1, 0.2, 0.3, 0.05, 0.05, 0.1, 0.1]),
            "",
        ),
        ("sale.day", rng.integers(1, 32, N) * 1.0, "day"),
        ("index", np.tile(np.arange(1.0, 51), 6), "group counter"),
        ("stratum", np.r_[1.0:84, 1:74, 75:84, 1:84], "group counter"),
        ("pooled.stratum", rng.integers(1, 64, N) * 1.0, "code"),
        ("time", np.arange(N) * 0.25, "time"),
        ("time_s", np.cumsum(rng.exponential(1, N)), "time"),
        ("timestamp", rng.integers(9e8, 1.5e9, N) * 1.0, "time stamp"),
        ("year", rng.integers(1989, 2014, N) * 1.0, "year"),
        ("model_year", rng.integers(70, 82, N) * 1.0, "year"),
        ("YearBuilt", rng.integers(1880, 2010, N) * 1.0, "year"),
        ("yearbuilt", rng.integers(1880, 2010, N) * 1.0, "year"),
        ("independence_year", np.r_[rng.integers(1800, 1995, N - 2), -1523, -660] * 1.0, "year"),
        ("Month", rng.integers(5, 10, N) * 1.0, "month"),
        ("day", rng.integers(1, 32, N) * 1.0, "day"),
        ("hour", rng.integers(0, 24, N) * 1.0, "hour"),
        ("Yr.Built", np.r_[other.integers(1880, 2010, N - 1), 2207] * 1.0, "year"),
        ("date", 2000 + np.tile(np.arange(60), 5) / 12, "time"),
        ("date", other.integers(1900, 2010, N) * 1.0, "time"),
        ("dep_time", other.integers(5, 24, N) * 100.0 + other.integers(0, 60, N), "time of day"),
        ("sid", np.repeat(np.arange(1.0, 31), 10), "key"),
        ("district", other.choice(80_000, N, replace=False) * 1.0, "id"),
        ("country_code", other.choice(500, N) * 1.0, "key"),
        ("cowcode2", other.integers(1, 90, N) * 1.0, "code"),
        ("flight", other.integers(1, 90, N) * 1.0, "code"),
        ("zip", rng.integers(10000, 99999, N) * 1.0, "area"),
        ("census.tract", rng.integers(1, 99, N) * 1.0, "area"),
        ("world_rank", rng.integers(1, 160, N) * 1.0, "rank"),
        ("survived", rng.integers(0, 2, N) * 1.0, "yes/no"),
        ("sex", rng.integers(1, 3, N) * 1.0, "yes/no"),
        ("pclass", rng.choice([1.0, 2, 3], N, p=[0.25, 0.2, 0.55]), "code"),
        ("cylinders", rng.choice([3.0, 4, 5, 6, 8], N, p=[0.02, 0.5, 0.02, 0.2, 0.26]), "code"),
        ("lesion_type1", rng.choice([300.0, 2208, 3111, 3205, 11300, 41110, *range(4000, 4040)], N), "code"),
        ("lesion2", rng.choice([0, 1400.0, 3111, 3112, 6112, 7111], N), "code"),
        ("sibsp", rng.choice([0.0, 1, 2, 3, 4, 5, 8], N, p=[0.68, 0.23, 0.04, 0.02, 0.01, 0.01, 0.01]), "count"),
        ("number", rng.choice([1.0, 2, 3, 4], N), "count"),
        ("fiber", np.repeat([0.0, 2, 3, 4, 5, 6, 7], [29, 16, 12, 6, 6, 7, 1]), "count"),
        ("Monat", rng.integers(1, 13, N) * 1.0, "month"),
        ("mois", rng.integers(1, 13, N) * 1.0, "month"),
        ("survey.weight", (lambda w: w / w.mean())(rng.uniform(0.5, 2, N)), "weight"),
        ("ref", np.repeat(np.arange(1.0, 101), 3) * 7, "key"),
        ("edema", other.choice([0, 0.5, 1.0], N), "code"),
    ],
)
def test_it_is_what_a_person_would_call_it(name, values, kind):
    assert kind_of(name, values).word == kind


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("population", np.round(np.exp(rng.normal(15, 2, N)))),
        ("salary", rng.integers(20_000, 90_000, N) * 1.0),
        ("salary", np.round(rng.normal(50_000, 9_000, N), -2)),
        ("body_mass_g", np.round(rng.normal(4200, 800, N) / 25) * 25),
        ("price", rng.choice(10**6, N, replace=False) * 1.0),
        ("age", rng.integers(18, 90, N) * 1.0),
        ("age", rng.integers(11, 17, N) * 1.0),
        ("age", rng.integers(1, 6, N) * 1.0),
        ("years_experience", rng.integers(0, 40, N) * 1.0),
        ("days", rng.integers(1, 31, N) * 1.0),
        ("hours_per_week", rng.integers(1, 53, N) * 1.0),
        ("day_length", rng.normal(12, 2, N)),
        ("temperature", rng.integers(36, 42, N) * 1.0),
        ("citric.acid", rng.integers(0, 80, N) * 1.0),
        ("solid", rng.integers(0, 500, N) * 1.0),
        ("grid", rng.normal(0, 1, N)),
        ("score", rng.choice([0.0, 5, 10], N)),
        ("dose", rng.choice([0.5, 1.0, 2.0], N)),
        ("displacement", rng.choice(np.round(rng.normal(200, 80, 60)), N)),
        ("latency", rng.integers(1, 80, N) * 1.0),
        ("time", rng.normal(10, 2, N)),
        ("reaction_time", rng.normal(300, 50, N)),
        ("Cig.Day", rng.choice([0.0, 1, 2, 3, 5, 10, 20], N, p=[0.8, 0.05, 0.05, 0.025, 0.025, 0.025, 0.025])),
        ("weight", rng.normal(70, 9, N)),
        ("air_time", other.integers(20, 700, N) * 1.0),
        ("run_time", other.integers(1500, 2200, N) * 1.0),
        ("run_time", other.normal(1900, 50, N)),
        ("heat_index", rng.integers(60, 110, N) * 1.0),
        ("MonthlyCharges", rng.normal(60, 20, N)),
        ("wavelength", rng.normal(500, 20, N)),
    ],
)
def test_a_measurement_stays_one(name, values):
    assert kind_of(name, values).word in ("", "count")


def test_few_rows_or_few_values_say_nothing():
    assert kind_of("group", np.array([1.0, 2, 1, 2, 1])).word == ""
    assert kind_of("a", np.array([np.nan, 1.0, np.nan])).word == ""
    assert kind_of("a", rng.permutation(np.r_[np.arange(8.0), np.arange(8.0)])).word == ""  # eight values in 16 rows


def test_distinct_by_chance_is_no_name():
    """Of 400 columns of wide whole numbers that happen to be all different, none is taken for a name."""
    draws = [np.random.default_rng(seed).integers(0, 10**6, 100) * 1.0 for seed in range(400)]
    all_different = [v for v in draws if len(np.unique(v)) == 100]
    assert len(all_different) > 300 and not any(kind_of("x", v).word for v in all_different)
    assert missed_ties(np.random.default_rng(1).permutation(300) + 1.0) > 100


def test_words_of_a_name():
    assert name_words("pf_ss_women") == ["pf", "ss", "women"] and name_words("ID") == ["id"]
    assert name_words("PassengerId") == ["passenger", "id"] and name_words("X1856") == ["x"]


def test_years_that_are_not_called_so_are_known_by_their_numbers() -> None:
    line = rng.integers(1963, 2016, N) * 1.0
    assert kind_of("earliest_credit_line", line).word == "year"
    for near in (line * 2, line + 0.5, line + 100, rng.integers(100, 3000, N) * 1.0, rng.choice([1950.0, 2000], N)):
        assert kind_of("earliest_credit_line", near).word != "year"
    assert kind_of("calories", rng.choice(np.arange(1900, 2030, 10), N) * 1.0).word != "year"
