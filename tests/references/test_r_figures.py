"""R's own output: princomp and factanal (factor_analysis/README.md).

Where factors sit on the bound R's optimiser stops a little early: those figures are held to 1e-3.
"""

import warnings

import numpy as np
import pytest

import lowdim
from tests.references.tables import numbers

HARMAN = {1: (611.4412, 20), 2: (75.73754, 13), 3: (22.80903, 7), 4: (4.629741, 2)}
ABILITY = {1: (75.17959, 9), 2: (6.106617, 4)}
ABILITY_UNIQUE = (0.45522261, 0.58933256, 0.21817889, 0.76941674, 0.05244117, 0.33358975)


@pytest.fixture
def read(need):
    return lambda name: numbers(need("factor_analysis") / f"{name}.csv")


def from_covariance(C, n, q, **how):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*LD204")  # a Heywood case, in R as here
        return lowdim.FactorAnalysis(q, **how).fit(lowdim.Moments(n, np.zeros(len(C)), C))


@pytest.mark.parametrize(
    "name, sd",
    [
        ("usarrests", (82.890847, 14.069560, 6.424204, 2.457837)),
        ("stackloss", (13.596589, 4.676077, 2.617533, 1.366320)),
    ],
)
def test_princomp(read, name, sd):
    X = read(name)
    found = np.sqrt(lowdim.PCA().fit(X).explained_variance_ * (len(X) - 1) / len(X))  # princomp divides by n
    np.testing.assert_allclose(found, sd, atol=1.1e-6)


def test_princomp_of_correlations(read):
    model = lowdim.PCA(standardize=True).fit(read("usarrests"))
    sd, share = np.sqrt(model.explained_variance_), model.explained_variance_ratio_
    np.testing.assert_allclose(sd, (1.5748783, 0.9948694, 0.5971291, 0.4164494), atol=1e-7)
    np.testing.assert_allclose(share, (0.6200604, 0.2474413, 0.0891408, 0.04335752), atol=1e-7)
    loadings = np.array(
        [
            [0.536, 0.418, 0.341, 0.649],
            [0.583, 0.188, 0.268, 0.743],
            [0.278, 0.873, 0.378, 0.134],
            [0.543, 0.167, 0.818, 0.089],
        ]
    )
    found = np.abs(model.components_.T)
    np.testing.assert_allclose(found[:, :3], loadings[:, :3], atol=6e-4)
    np.testing.assert_allclose(found[:3, 3], loadings[:3, 3], atol=6e-4)


@pytest.mark.parametrize("q", HARMAN)
def test_harman_body_measures(read, q):
    found = from_covariance(read("harman23_cor"), 305, q).goodness_of_fit_
    assert (found.dof, found.statistic) == (HARMAN[q][1], pytest.approx(HARMAN[q][0], rel=2e-7 if q < 4 else 2e-6))


def test_harman_figures_beside_the_chi_squares(read):
    R = read("harman23_cor")
    assert from_covariance(R, 305, 4).goodness_of_fit_.p_value == pytest.approx(0.0988, abs=6e-5)
    loadings = from_covariance(R, 305, 1).components_[0]
    np.testing.assert_allclose(loadings, (0.918, 0.930, 0.900, 0.902, 0.490, 0.413, 0.351, 0.446), atol=6e-4)


@pytest.mark.parametrize("q", ABILITY)
def test_ability(read, q):
    found = from_covariance(read("ability_cov"), 112, q).goodness_of_fit_
    assert (found.dof, found.statistic) == (ABILITY[q][1], pytest.approx(ABILITY[q][0], rel=2e-6))


def test_ability_uniquenesses_do_not_depend_on_units(read):
    C = read("ability_cov")
    for table in (C, C / np.sqrt(np.outer(np.diag(C), np.diag(C)))):
        np.testing.assert_allclose(from_covariance(table, 112, 2).uniquenesses_, ABILITY_UNIQUE, atol=2e-5)


def test_swiss_rotations(read):
    R = np.corrcoef(read("swiss").T)
    with pytest.warns(UserWarning, match="c4"):  # Education, a Heywood case: its uniqueness is 0.005
        plain = lowdim.FactorAnalysis(2).fit(lowdim.Moments(47, np.zeros(6), R))
    varimax = lowdim.rotate(plain.components_.T, "varimax", normalize=False).loadings
    np.testing.assert_allclose((varimax**2).sum(axis=0), (2.297, 1.496), atol=1e-3)
    np.testing.assert_allclose(varimax[3, 0], 0.997, atol=6e-4)
    np.testing.assert_allclose(varimax[4], (-0.117, 0.962), atol=6e-4)
    # R's promax starts from the loadings factanal had already turned, with Kaiser's rows
    promax = from_covariance(R, 47, 2, rotation="promax").components_
    np.testing.assert_allclose((promax**2).sum(axis=1), (2.574, 1.686), atol=1e-3)


def test_toy_of_the_factanal_help_page():
    """m1 of R's help: three factors in six columns, three of them on the bound."""
    v1 = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 4, 5, 6]
    v2 = [1, 2, 1, 1, 1, 1, 2, 1, 2, 1, 3, 4, 3, 3, 3, 4, 6, 5]
    v3 = [3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 4, 6]
    v4 = [3, 3, 4, 3, 3, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 5, 6, 4]
    v5 = [1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 6, 4, 5]
    v6 = [1, 1, 1, 2, 1, 3, 3, 3, 4, 3, 1, 1, 1, 2, 1, 6, 5, 4]
    X = np.array([v1, v2, v3, v4, v5, v6], dtype=float).T
    with pytest.warns(UserWarning, match="LD204") as said:
        model = lowdim.FactorAnalysis(3, rotation="varimax", scores="bartlett").fit(X)
    assert sum("LD204" in str(w.message) for w in said) == 3
    np.testing.assert_allclose(model.uniquenesses_, (0.005, 0.101, 0.005, 0.224, 0.084, 0.005), atol=6e-4)
    loadings = model.components_ / X.std(axis=0)
    np.testing.assert_allclose(np.sort(np.abs(loadings[:, 0])), (0.182, 0.267, 0.944), atol=6e-4)
    scores = np.sort(np.abs(model.transform(X)[0])) * np.sqrt(17 / 18)  # R standardises by n - 1
    np.testing.assert_allclose(scores, np.sort((0.9039949, 0.9308984, 0.9475392)), atol=1e-3)


def test_olive_oils_reach_the_better_optimum(need):
    """factanal of the eight fatty acids, three factors: chi-square 940.73; a run that ends on the bound has 963.57."""
    acids = ["palmitic", "palmitoleic", "stearic", "oleic", "linoleic", "linolenic", "arachidic", "eicosenoic"]
    X = numbers(need("fresh_tables") / "rd_olive.csv", acids)
    with pytest.warns(UserWarning, match="LD204"):
        test = lowdim.FactorAnalysis(3).fit(X).goodness_of_fit_
    assert test.statistic == pytest.approx(940.73, abs=0.006)
    assert test.dof == 7
