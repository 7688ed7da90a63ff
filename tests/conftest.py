"""What every test shares: a reproducible hypothesis profile and the way to the real data."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("lowdim", derandomize=True, deadline=None)
settings.load_profile("lowdim")

ROOT = Path(__file__).resolve().parents[1]


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
