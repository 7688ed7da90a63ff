"""What the tests in a browser share: one browser, and one server of the run with an odd row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lowdim.explorer.endpoints import Endpoints
from lowdim.explorer.server import ExploreServer, serving
from tests.browser.chrome import Chrome, running
from tests.explorer import subjects


@pytest.fixture(scope="session")
def chrome() -> Iterator[Chrome]:
    with running() as found:
        yield found


@pytest.fixture(scope="session")
def odd() -> Iterator[ExploreServer]:
    with serving(Endpoints(subjects.odd())) as server:
        yield server
