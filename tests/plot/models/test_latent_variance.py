"""The map of a GP-LVM: its sd, its steepest columns and its path are the model's own."""

import csv

import numpy as np
import pytest

import lowdim as ld
from lowdim.plot.beside_points import comes_back
from lowdim.plot.models.latent_variance import latent_variance
from lowdim.text.messages import LowdimError
from tests.conftest import need
from tests.plot.from_arrays import on_table
from tests.plot.svg_checks import HOSTILE, same_twice, texts
from tests.plot.tables import roll


def test_the_sd_of_the_map_is_the_model_s_own(process):
    names = HOSTILE[:4]
    plot = same_twice(lambda: latent_variance(on_table(process, roll(60)[0], names), join=True))
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
    assert "Rows are joined" not in latent_variance(on_table(process, roll(60)[0])).sentence


def test_other_axes_stay_in_the_middle():
    X = np.random.default_rng(0).standard_normal((40, 5))
    model = ld.GPLVM(3, tol=0.01).fit(X)
    plot = latent_variance(on_table(model, X), axes=(0, 2))
    middle = np.median(model.embedding_, axis=0)
    size = np.sqrt(
        model.inverse_transform(model.embedding_).var(axis=0) + model.predictive_variance(model.embedding_).mean(axis=0)
    )
    var = model.predictive_variance([[plot.data["x"][5], middle[1], plot.data["y"][9]]])[0]
    assert plot.data["sd"][5, 9] == pytest.approx(np.sqrt((var / size**2).mean()))
    assert "The other 1 axis" in plot.sentence
    with pytest.raises(LowdimError, match="LD210"):
        latent_variance(on_table(model, X), axes=(0, 3))


@pytest.mark.slow
def test_the_robot_s_loop_closes_where_it_did():
    """Robot WiFi (Ferris, Fox and Lawrence 2007): the circuit ends where row 46 was, and the map's path too."""
    with open(need("robot_wifi") / "robot_wifi.csv", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["split"] == "train"]
    X = (np.array([[float(row[f"ap{j:02d}"] or -92) for j in range(1, 31)] for row in rows]) + 85) / 15
    truth, _ = comes_back(np.array([[float(row["x"]), float(row["y"])] for row in rows]))
    plot = latent_variance(on_table(ld.GPLVM(2).fit(X), X), join=True)
    found, share = comes_back(plot.data["row"])
    assert abs(found - truth) <= 5 and share < 0.05 and "the loop closes" in plot.sentence
