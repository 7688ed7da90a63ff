"""What a job asks of its process is given back."""

from __future__ import annotations

import gc

import pytest

from lowdim.jobs.process import SELDOM, seldom_collected


def test_python_collects_as_before_whatever_ends_a_report():
    gc.enable()  # whoever ran before in this process may have turned it off
    before = gc.get_threshold()
    with pytest.raises(KeyboardInterrupt), seldom_collected():
        assert gc.get_threshold() == SELDOM and gc.isenabled()
        raise KeyboardInterrupt
    assert gc.get_threshold() == before
