"""Tables that are simulated have the structure they claim."""

from __future__ import annotations

import numpy as np
import pytest

import lowdim as ld
from lowdim.datasets import DEMO_TABLES, digit3, load_demo


def test_three_numbers_make_the_digit():
    """The same three numbers make the same picture; its pixels' mean and centre of mass move as they say."""
    table = digit3(60)
    assert table.X.shape == (60, 256) and np.array_equal(digit3(60).X, table.X)
    image = table.images
    ink = image.sum(axis=(1, 2))
    down, right = ((image * grid).sum(axis=(1, 2)) / ink for grid in np.mgrid[:16, :16])
    for moved, said in ((right, table.freedom[:, 1]), (down, table.freedom[:, 2])):
        fit = np.polyfit(said, moved, 1)
        assert fit[0] == pytest.approx(1.0, abs=0.05) and np.std(moved - np.polyval(fit, said)) < 0.1
    assert np.abs(table.freedom).max(axis=0) == pytest.approx([25.0, 1.2, 1.2], rel=0.1)


@pytest.mark.slow
def test_the_bayesian_gplvm_finds_three_degrees_of_freedom():
    """Straight models need more: noise-free pictures lie on a bent sheet of three dimensions."""
    kept, straight = [], []
    for seed in range(3):
        table = digit3(random_state=seed)
        model = ld.BayesianGPLVM(10, random_state=seed).fit(table.X)
        kept.append(model.n_kept_)
        straight.append(ld.BayesianPCA().fit(table.X).n_kept_)
        Z = np.column_stack([np.ones(150), model.embedding_[:, :3]])
        left = table.freedom - Z @ np.linalg.lstsq(Z, table.freedom, rcond=None)[0]
        assert (left.var(axis=0) < 0.2 * table.freedom.var(axis=0)).all()  # the axes are the three, bent a little
    assert kept == [3, 3, 3] and min(straight) > 3


@pytest.mark.drill
def test_the_bayesian_gplvm_finds_three_in_twenty_tables():
    kept = [ld.BayesianGPLVM(10, random_state=seed).fit(digit3(random_state=seed).X).n_kept_ for seed in range(20)]
    assert sum(k == 3 for k in kept) >= 18


def test_groups_show_in_two_columns():
    table = load_demo("clusters", hidden=0.0)
    values = ld.PCA(7).fit(table.X).explained_variance_
    assert table.X.shape == (180, 7) and values[1] > 4 * values[2] and values[2] < 1.5
    assert ld.choose_clusters(ld.PCA(2).fit_transform(table.X)).n_clusters == 3


@pytest.mark.parametrize("name", DEMO_TABLES)
def test_every_demo_table_hides_a_tenth(name):
    table = load_demo(name)
    assert 0.08 < np.isnan(table.X).mean() < 0.12 and len(table.columns) == table.X.shape[1] and table.about
