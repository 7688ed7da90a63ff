"""Free memory is known on every system."""

from __future__ import annotations

import builtins

import psutil
import pytest

from lowdim.storage.memory import free_memory


def test_free_memory_is_what_the_system_says():
    assert free_memory() == pytest.approx(psutil.virtual_memory().available, rel=0.5)


def test_without_proc_it_is_asked_of_psutil(monkeypatch):
    def nowhere(path, *more):
        if path == "/proc/meminfo":
            raise FileNotFoundError(path)
        return real(path, *more)

    real = builtins.open
    monkeypatch.setattr(builtins, "open", nowhere)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 12_345})())
    assert free_memory() == 12_345
