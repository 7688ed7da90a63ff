"""Work that nobody asked for by itself: trials, resampled tables, starts. Its quirks are not the table's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from lowdim.text.messages import LowdimWarning


@contextmanager
def no_warnings() -> Iterator[None]:
    """No warnings of ours inside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        yield
