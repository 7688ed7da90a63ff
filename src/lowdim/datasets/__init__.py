"""Tables to learn with: simulators, scikit-learn's, small classics, and the texts' real tables from a folder."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.datasets.oil import oil_flow
from lowdim.datasets.real import load as load
from lowdim.datasets.small import KnownTable as KnownTable
from lowdim.datasets.small import cities as cities
from lowdim.datasets.small import faithful as faithful
from lowdim.datasets.turned_digit import digit3 as digit3
from lowdim.maths.linalg import Array
from lowdim.text.messages import error

# mean; what one standard deviation of load adds, what one of warmth adds; standard deviation of the noise
READINGS = {
    "flow": (50.0, 9.0, -1.0, 1.2),
    "pressure": (6.0, 0.8, -0.2, 0.12),
    "power": (48.0, 10.0, 2.5, 1.2),
    "current": (80.0, 15.0, 5.0, 2.5),
    "speed": (1450.0, 110.0, 0.0, 20.0),
    "vibration": (2.5, 0.4, 0.2, 0.12),
    "bearing": (55.0, 4.0, 6.0, 1.0),
    "outside": (15.0, 0.0, 7.0, 1.0),
}
WRONG = (139, "power", 63.8)  # 36.8 with two digits swapped: high for this hour, not for the pump
PUMP_HOURS = 240


class DemoTable(NamedTuple):
    """A table with gaps made on purpose, so that fills can be judged against the truth; the pump's has a wrong cell."""

    name: str
    about: str
    columns: tuple[str, ...]
    X: Array  # gaps are NaN
    truth: Array  # the table before cells were hidden, and with the right value in the wrong cell


def wine() -> tuple[str, tuple[str, ...], Array]:
    """Chemical analyses of 178 wines (scikit-learn's table)."""
    from sklearn.datasets import load_wine

    data = load_wine()
    names = tuple(str(name).replace("/", "_") for name in data.feature_names)
    return "chemical analyses of 178 wines from scikit-learn", names, np.asarray(data.data)


def gaussian(random_state: int = 0) -> tuple[str, tuple[str, ...], Array]:
    """A 300 x 10 Gaussian: standard deviation 1 in three directions, 0.5 in seven ([Bishop2006], section 12.2.3)."""
    rng = np.random.default_rng(random_state)
    turn = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    X = rng.standard_normal((300, 10)) * np.repeat([1.0, 0.5], [3, 7])
    return "300 simulated rows with 3 wide directions among 10", tuple(f"x{j + 1}" for j in range(10)), X @ turn.T


def oil() -> tuple[str, tuple[str, ...], Array]:
    """Three-phase flow in a pipe, simulated: 1000 rows, 12 readings."""
    flow = oil_flow()
    return "1000 simulated readings of oil, water and gas in a pipe, three flow regimes", flow.columns, flow.X


def digits() -> tuple[str, tuple[str, ...], Array]:
    """One handwritten digit of scikit-learn's, turned through 360 degrees."""
    from scipy.ndimage import rotate
    from sklearn.datasets import load_digits

    image = load_digits().images[6]
    X = np.array([rotate(image, angle, reshape=False, order=1).ravel() for angle in range(360)])
    return "a handwritten 6 turned through 360 degrees, 64 pixels", tuple(f"pixel{j + 1}" for j in range(64)), X


def pump() -> tuple[str, tuple[str, ...], Array]:
    """Readings of a pump, simulated: 240 hours, 8 readings, all of them right."""
    about = "240 simulated hours of a pump, 8 readings; in row 140 two digits of power were swapped on purpose"
    rng = np.random.default_rng(0)
    mean, load, warmth, noise = np.array(list(READINGS.values())).T
    z = rng.standard_normal((PUMP_HOURS, 2))  # its load, and how warm it is outside
    X = mean + z @ np.array([load, warmth]) + noise * rng.standard_normal((PUMP_HOURS, len(mean)))
    return about, tuple(READINGS), np.round(X, 1)


def clusters(random_state: int = 0) -> tuple[str, tuple[str, ...], Array]:
    """Three groups of 60 rows that show in two columns of seven ([Morrison2014], "Another example")."""
    rng = np.random.default_rng(random_state)
    centres = np.repeat([[0.0, 0.0], [6.0, 0.0], [3.0, 5.0]], 60, axis=0)
    X = np.hstack([centres + rng.standard_normal((180, 2)), rng.standard_normal((180, 5))])
    return "three groups of 60 rows in two columns, and five columns of noise", tuple(f"y{j + 1}" for j in range(7)), X


def digit_with_freedom() -> tuple[str, tuple[str, ...], Array]:
    """One digit turned and moved: 150 pictures of 256 pixels with three degrees of freedom."""
    table = digit3()
    return "a handwritten 3 turned and moved, 256 pixels, three degrees of freedom", table.columns, table.X


DEMO_TABLES = {
    "wine": wine, "gaussian": gaussian, "oil": oil, "digits": digits, "pump": pump, "clusters": clusters,
    "digit3": digit_with_freedom,
}  # fmt: skip


def load_demo(name: str = "wine", *, hidden: float = 0.1, random_state: int = 0) -> DemoTable:
    """A demo table with a share of its cells hidden at random.

    Parameters
    ----------
    name : {"wine", "gaussian", "oil", "digits", "pump", "clusters", "digit3"}, default "wine"
        Chemical analyses of 178 wines; 300 rows with 3 wide directions among 10; simulated flow in a pipe; a
        handwritten digit turned through 360 degrees; simulated readings of a pump, of which one is wrong (in row 140
        the power is 63.8 where it was 36.8); three groups that show in two of seven columns; a digit turned and moved.
    hidden : float, default 0.1
        Share of the cells that is hidden.
    random_state : int, default 0
        Seed of the draw.

    Returns
    -------
    DemoTable
        With `X` (NaN where cells are hidden; the wrong cell never is), `truth`, `columns`, `name` and `about`.

    Examples
    --------
    >>> table = load_demo("gaussian")
    >>> table.X.shape, int(np.isnan(table.X).sum())
    ((300, 10), 318)
    """
    if name not in DEMO_TABLES:
        raise error("LD210", option="name", value=name, allowed=f"one of {', '.join(DEMO_TABLES)}")
    about, columns, truth = DEMO_TABLES[name]()
    holes = np.random.default_rng(random_state).random(truth.shape) < hidden
    X = np.where(holes, np.nan, truth)
    if name == "pump":
        row, column, value = WRONG
        X[row, columns.index(column)] = value
    return DemoTable(name, about, columns, X, truth)
