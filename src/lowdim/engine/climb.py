"""What a climb over numbers in memory tells the monitor of its fit."""

from __future__ import annotations

from typing import Any

from lowdim.engine.fit import STOPPED, Monitor


def notify_monitor(monitor: Monitor, x: Any, value: float) -> bool:
    """Note an iteration of a climb over numbers in memory; True where someone wants it to stop."""
    monitor.see(None, None, value, True)
    return monitor.reason in STOPPED
