"""What every test shares: a reproducible hypothesis profile and the way to the real data."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings

settings.register_profile("lowdim", derandomize=True, deadline=None)
settings.load_profile("lowdim")

# A shell starts what runs in the background with Ctrl-C ignored, and children inherit that: tests send it to both.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]


# Folders whose files share what is dear to make: the pages of a report, a run, drawn plots.
TOGETHER = {"tests/browser": "report", "tests/report": "report", "tests/cli": "cli", "tests/plot": "plot"}
# What takes long, the longest first: begun last, one of them would keep one worker when the other is done.
LONG = (
    "tests/laws",
    "tests/cli",
    "tests/judge/compare",
    "tests/adversarial",
    "tests/sources/dask",
    "tests/plot",
    "tests/models/base",
    "tests/report",
    "tests/browser",
    "tests/engine/test_faults.py",
    "tests/models/gaussian_process",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay to the end: the garbage collector would walk them again and again (a sixth of the
    time of tests/plot and tests/report)."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first; the rest stays in its order."""
    rank = {path: k for k, path in enumerate(LONG)}
    items.sort(key=lambda item: next((rank[p] for p in LONG if item.nodeid.startswith(p)), len(LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers, the tests of a file (or of a folder of TOGETHER) go to one, so fixtures are made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFixture(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            return TOGETHER.get("/".join(file.split("/")[:2]), file)

    config.option.loadscopereorder = False  # not by the number of tests: it says little of how long they take
    return ByFixture(config, log)


def data_dir() -> Path:
    """The folder of real data: LOWDIM_DATA, else ../shared/data beside the repository."""
    return Path(os.environ.get("LOWDIM_DATA", ROOT / "../shared/data"))


def need(name: str) -> Path:
    """The path of a real data set below `data_dir()`; the test is skipped where it is absent."""
    path = data_dir() / name
    if not path.exists():
        pytest.skip("real data not found: set LOWDIM_DATA")
    return path


@pytest.fixture(name="data_dir")
def _data_dir() -> Path:
    return data_dir()


@pytest.fixture(name="need")
def _need() -> Callable[[str], Path]:
    """`need` for a test that takes it as an argument: `def test_oil(need): need("oil_flow")`."""
    return need


def sparse_table(shape: tuple[int, int], density: float, rng: np.random.Generator) -> sp.csr_array:
    """A sparse table of uniform cells: SciPy's own has another word for its generator in every other version."""
    cells = rng.choice(shape[0] * shape[1], size=round(density * shape[0] * shape[1]), replace=False)
    return sp.csr_array((rng.random(len(cells)), np.divmod(cells, shape[1])), shape=shape)
