"""European road distances: the map of 48 cities in [Lawrence2012] 3, and the distances that are typed wrong in it."""

import numpy as np
import pandas as pd
import pytest

from lowdim import ClassicalMDS, procrustes, robust_map
from lowdim.text.messages import LowdimWarning

CENTRE = (52.0, 10.0)  # of the Lambert azimuthal equal-area projection: that of European statistics (ETRS89-LAEA)
SUSPECT = [("Wien", "Zagreb"), ("Warszawa", "Zagreb"), ("Basel", "Lisboa"), ("Berlin", "Frankfurt")]


def lambert(lat, lon):
    """Lambert azimuthal equal-area coordinates in km (Snyder 1987, eq. 24-2 to 24-4, sphere of 6371 km)."""
    phi, lam = np.radians(lat), np.radians(lon) - np.radians(CENTRE[1])
    at = np.radians(CENTRE[0])
    k = np.sqrt(2.0 / (1.0 + np.sin(at) * np.sin(phi) + np.cos(at) * np.cos(phi) * np.cos(lam)))
    up = np.cos(at) * np.sin(phi) - np.sin(at) * np.cos(phi) * np.cos(lam)
    return 6371.0 * np.column_stack([k * np.cos(phi) * np.sin(lam), k * up])


@pytest.fixture(scope="module")
def cities():
    from tests.conftest import need

    folder = need("city_distances")
    roads = pd.read_csv(folder / "europe54_road_km.csv", index_col=0)
    where = pd.read_csv(folder / "europe54_coordinates.csv")
    assert list(where.city) == list(roads.index)
    keep = (roads.notna().all(axis=1) & (roads.index != "Hammerfest")).to_numpy()
    return roads.iloc[keep, keep], where[keep], roads


def test_48_cities(cities):
    roads, where, _ = cities
    assert roads.shape == (48, 48)
    with pytest.warns(LowdimWarning) as given:
        model = ClassicalMDS(2, metric="precomputed").fit(roads)
    assert {str(w.message)[:5] for w in given} == {"LD411", "LD412"}
    assert model.eigenvalues_ == pytest.approx([4.0697e7, 2.1512e7], rel=1e-4)
    assert model.n_negative_ == 22
    assert model.negative_share_ == pytest.approx(0.174, abs=5e-4)
    assert "negative eigenvalues: 22, 17.4% of the spread" in repr(model)
    truth = lambert(where.lat.to_numpy(), where.lon.to_numpy())
    assert 1 - procrustes(model.embedding_, truth).error >= 0.965
    plain = where[["lon", "lat"]].to_numpy()
    assert 1 - procrustes(model.embedding_, plain).error < 0.92  # the projection matters
    assert np.abs(model.transform(roads) - model.embedding_).max() <= 1e-8 * np.abs(model.embedding_).max()


def test_the_robust_map_names_the_wrong_roads(cities):
    roads, where, _ = cities
    found = robust_map(roads)
    truth = lambert(where.lat.to_numpy(), where.lon.to_numpy())
    assert found.converged and 1 - procrustes(found.embedding, truth).error >= 0.975
    top = [{s.first, s.second} for s in found.suspects(10, roads.index)]
    for first, second in SUSPECT:
        assert any({name.split()[0] for name in pair} == {first, second} for pair in top), (first, second)


def test_all_54_cities_with_their_unknown_roads(cities):
    found = robust_map(cities[2])
    assert found.converged and np.isfinite(found.embedding).all() and found.embedding.shape == (54, 2)
