"""Contestants on one table, taking turns; the best time of each, and what it reached."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

ROUNDS = 7
PATIENCE = 12.0  # seconds a contestant may use in all its rounds
REST = 0.15  # BLAS threads spin for a while after their work; the next contestant must not pay for it
PEERS = ("scikit-learn", "statsmodels", "ppca-rs", "vbpca-py")


class Run(NamedTuple):
    """The best seconds of a contestant by the clock and of all its threads, how often it ran, and its answer."""

    seconds: float
    cpu: float
    rounds: int
    answer: Any

    def with_older(self, old: Run | None) -> Run:
        """The better of two runs."""
        if old is None:
            return self
        return Run(min(self.seconds, old.seconds), min(self.cpu, old.cpu), old.rounds + 1, self.answer)


def contest(entries: Mapping[str, Callable[[], Any]], threads: int, rounds: int = ROUNDS) -> dict[str, Run]:
    """Every contestant in turn, `rounds` times or until its patience is used up."""
    best: dict[str, Run] = {}
    used = dict.fromkeys(entries, 0.0)
    with threadpool_limits(threads):
        for _ in range(rounds):
            for name, job in entries.items():
                if used[name] < PATIENCE:
                    run = timed(job)
                    used[name] += run.seconds
                    best[name] = run.with_older(best.get(name))
    return best


def timed(job: Callable[[], Any]) -> Run:
    time.sleep(REST)
    begin, cpu = time.perf_counter(), time.process_time()
    answer = job()
    return Run(time.perf_counter() - begin, time.process_time() - cpu, 1, answer)


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += ["| " + " | ".join(map(word, row)) + " |" for row in rows]
    return "\n".join(lines)


def word(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    if value == 0.0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    return f"{value:.1e}"


def times(runs: Mapping[str, Run], **more: Callable[[Any], Any]) -> str:
    """Seconds, ratio to the first contestant, CPU seconds, and further columns made from each answer."""
    first = next(iter(runs.values())).seconds
    rows = [
        (name, run.seconds, run.seconds / first, run.cpu, run.rounds, *(f(run.answer) for f in more.values()))
        for name, run in runs.items()
    ]
    names = (key.replace("_", " ") for key in more)
    return table(("contestant", "seconds", "times ours", "CPU s", "runs", *names), rows)


def machine(command: str, peers: tuple[str, ...] = PEERS) -> str:
    """Where, when and with what a run was made."""
    blas = {f"{lib['internal_api']} {lib['version']}" for lib in threadpool_info() if lib["user_api"] == "blas"}
    rows = [
        ("date", date.today().isoformat()),
        ("commit", commit()),
        ("command", f"`{command}`"),
        ("machine", f"{processor()}, {len(os.sched_getaffinity(0))} cores, {platform.system()}"),
        ("python", platform.python_version()),
        ("numpy", np.__version__),
        ("BLAS", ", ".join(sorted(blas))),
        *((name, installed(name)) for name in ("scipy", *peers)),
        ("load before", f"{os.getloadavg()[0]:.2f}"),
    ]
    return "\n".join(f"- {name}: {text}" for name, text in rows)


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def commit() -> str:
    here = Path(__file__).parent
    try:
        how = {"cwd": here, "capture_output": True, "text": True, "check": True}
        name = subprocess.run(["git", "describe", "--always"], **how)
        changed = subprocess.run(["git", "status", "--porcelain", "--", "../src"], **how).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name.stdout.strip() + "+" * bool(changed)


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
