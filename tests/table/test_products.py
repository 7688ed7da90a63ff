"""Products and ratios of two columns: found to the rounding of the file, and nothing that is only close to one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lowdim.table.read import read
from lowdim.table.relations import find_products

rng = np.random.default_rng(0)
PEOPLE, AREA = rng.integers(2_000, 900_000, 80) * 1.0, rng.uniform(3, 60, 80).round(2)
INCOME, TAX = rng.normal(40, 6, 80).round(3), rng.normal(800, 60, 80).round(1)


def words(**columns: np.ndarray) -> dict[str, str]:
    names = list(columns)
    return {names[p.column]: p.words for p in find_products(np.column_stack([*columns.values()]), names)}


def test_products_ratios_and_percentages() -> None:
    assert words(a=INCOME, b=TAX, ab=(INCOME * TAX).round(2)) == {"ab": "a x b"}
    assert words(people=PEOPLE, area=AREA, dense=(PEOPLE / AREA).round(1)) == {"dense": "people / area"}
    some = (PEOPLE * rng.uniform(0.1, 0.9, 80)).round()
    assert words(all=PEOPLE, some=some, perc=(100 * some / PEOPLE).round(4)) == {"perc": "100 some / all"}


def test_what_is_called_a_rate_was_made_wherever_it_stands() -> None:
    share = (100 * AREA / INCOME).round(5)
    assert words(perc_built=share, built=AREA, land=INCOME) == {"perc_built": "100 built / land"}


def test_a_product_of_a_product_is_found_and_nothing_is_made_of_itself() -> None:
    ab = INCOME * TAX
    assert words(a=INCOME, b=TAX, c=AREA, ab=ab, abc=ab * AREA) == {"ab": "a x b", "abc": "c x ab"}
    assert words(rate=INCOME, ratio=TAX, share=ab) == {"share": "rate x ratio"}


@pytest.mark.parametrize("noise", [0.001, 0.03])
def test_a_close_relation_is_no_identity(noise: float) -> None:
    near = INCOME * TAX * np.exp(noise * rng.standard_normal(80))
    assert words(a=INCOME, b=TAX, ab=near) == {}


def test_a_factor_must_be_felt_and_coarse_numbers_prove_nothing() -> None:
    assert words(a=INCOME, one=np.full(80, 1.0) + 1e-5 * rng.standard_normal(80).round(1), b=INCOME) == {}
    small = rng.integers(1, 20, (2, 80)) * 1.0
    assert words(a=small[0] / 10, b=small[1] / 10, ab=(small[0] * small[1] / 100).round(1)) == {}


def test_gaps_and_zeros_are_borne() -> None:
    a, b = INCOME.copy(), TAX.copy()
    a[:9], b[5:20] = 0.0, np.nan
    assert words(a=a, b=b, ab=(a * b).round(2)) == {"ab": "a x b"}


def test_a_table_names_what_it_leaves_out_and_why() -> None:
    frame = pd.DataFrame({"people": PEOPLE, "area": AREA, "dense": (PEOPLE / AREA).round(1), "x": INCOME})
    table = read(frame)
    assert table.names == ("people", "area", "x")
    assert "'dense' is people / area and was left out" in [m.what for m in table.messages]
    assert "dense" in read(frame, use="dense").names
