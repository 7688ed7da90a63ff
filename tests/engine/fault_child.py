"""The process that fault drills are run in: fits that are killed, stopped and starved, each in a fork of its own.

    python tests/engine/fault_child.py FOLDER TRIALS JOB...    prints {job: figures, or the traceback}

Fits are made long by slow reads (so that a kill falls inside a fold), by slow callbacks (between folds) or by a slow
disk (while the checkpoint is being written). Forks save importing lowdim for every trial.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lowdim
from lowdim.engine.checkpoint import store as checkpoint
from lowdim.engine.fold import Run
from lowdim.sources import source as sources
from lowdim.sources.arrays import ArraySource

MODELS: dict[str, Callable[[], Any]] = {
    "PPCA": lambda: lowdim.PPCA(3),
    "krylov": lambda: lowdim.PCA(3, solver="krylov"),
    "FA": lambda: lowdim.FactorAnalysis(2, tol=0.001),
    "mixed": lambda: lowdim.MixedFactorAnalysis(2, likelihoods={"c5": "count"}, tol=0.001),
}
WAYS = ("read", "callback", "write")
SLOW = {"PPCA": WAYS, "krylov": ("read", "write"), "FA": WAYS, "mixed": WAYS}
PAUSE = {"PPCA": 0.004, "krylov": 0.012, "FA": 0.003, "mixed": 0.003}  # seconds: each fit takes about one


def table(name: str) -> Any:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 9)) + 0.5 * rng.standard_normal((500, 9)) + 3.0
    if name == "mixed":  # answers, levels and counts beside real columns
        X[:, :2], X[:, 2:4] = X[:, :2] > 3.0, np.digitize(X[:, 2:4], [1.0, 3.0, 5.0])
        X[:, 4] = np.floor(np.exp(0.5 * X[:, 4]))
    if name != "krylov":
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


class Slow(ArraySource):
    """A table that takes its time."""

    pause = 0.0

    def read(self, rows: Any) -> Any:
        time.sleep(self.pause)
        return super().read(rows)


def fit(name: str, place: Path | None, slow: str = "", engine: str = "serial", more: int = 1) -> Any:
    rows, fsync, pause = Slow(table(name), columns=None, tile=64), os.fsync, more * PAUSE[name]
    rows.pause = pause if slow == "read" else 0.0
    if slow == "write":
        os.fsync = lambda number: (time.sleep(3 * pause), fsync(number))[1]
    wait = 8 * pause if slow == "callback" else 0.0
    try:
        return MODELS[name]().fit(
            rows, run=Run(engine=engine, checkpoint=place, callback=lambda step: time.sleep(wait))
        )
    finally:
        os.fsync = fsync


def forked(work: Callable[[], Any]) -> int:
    number = os.fork()
    if number:
        return number
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def ended(number: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def saved(model: Any, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


def inside(place: Path) -> list[str]:
    return [path.name for path in place.iterdir()] if place.exists() else []


def kill(name: str, folder: Path, trials: int) -> dict[str, int]:
    """Killed at random times, then run again with another engine: the same bits."""
    plain, lasts, luck = saved(fit(name, None), folder / "plain"), {}, random.Random(17)
    for slow in SLOW[name]:
        begin = time.monotonic()
        assert ended(forked(lambda slow=slow: fit(name, folder / slow, slow))) == 0
        lasts[slow] = time.monotonic() - begin
    found = {"killed": 0, "inside a fold": 0, "while writing": 0, "with folds": 0, "same bits": 0}
    for k in range(trials):
        slow, place = SLOW[name][k % len(lasts)], folder / str(k)
        victim = forked(lambda slow=slow, place=place: fit(name, place, slow))
        time.sleep(luck.uniform(0.0, lasts[slow]))
        os.kill(victim, signal.SIGKILL)
        found["killed"] += ended(victim) == -signal.SIGKILL
        names = inside(place)
        found["inside a fold"] += checkpoint.PART in names or checkpoint.OLD in names
        found["while writing"] += any(each.startswith(".") for each in names)
        found["with folds"] += any(each[:6].isdigit() for each in names)
        engine = ("serial", "threads")[k % 2]
        again = forked(lambda place=place, engine=engine: fit(name, place, engine=engine).save(folder / "again"))
        found["same bits"] += ended(again) == 0 and (folder / "again").read_bytes() == plain
        (folder / "again").unlink()
    return found


def again(name: str, folder: Path, trials: int) -> dict[str, int]:
    """Killed again and again, each time when it has kept one fold more: it gets there."""
    plain, lives, kept = saved(fit(name, None), folder / "plain"), 0, 0
    while lives < 200:
        lives += 1
        victim = forked(lambda: fit(name, folder / "ckpt", "read").save(folder / "again"))
        while is_running(victim) and folds_kept(folder) <= kept:
            time.sleep(0.001)
        os.kill(victim, signal.SIGKILL)
        if ended(victim) == 0:
            break
        kept = folds_kept(folder)
    return {"lives": lives, "same bits": int((folder / "again").read_bytes() == plain)}


def is_running(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def folds_kept(folder: Path) -> int:
    return len(list((folder / "ckpt").glob("0*.fold")))


def ctrl_c(name: str, folder: Path, trials: int) -> dict[str, int]:
    """Ctrl-C in mid-fold: the best so far, marked; then the same fit goes on."""

    def stopped() -> None:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            model = fit(name, folder / "ckpt", "read", more=2)
        assert not model.converged_ and [str(w.message)[:5] for w in given] == ["LD211"], given
        model.save(folder / "best")

    victim = forked(stopped)
    while not (folder / "ckpt" / "000002.fold").exists():
        time.sleep(0.005)
    os.kill(victim, signal.SIGINT)
    assert ended(victim) == 0 and not lowdim.load(folder / "best").converged_
    kept = folds_kept(folder)
    plain = saved(fit(name, None), folder / "plain")
    same = saved(fit(name, folder / "ckpt"), folder / "again") == plain != (folder / "best").read_bytes()
    return {"folds kept": kept, "same bits": int(same)}


def full(name: str, folder: Path, trials: int) -> dict[str, int]:
    """Files that may not grow beyond a limit: one warning, the same model, and later the checkpoint works again."""
    plain, same, said = saved(fit(name, None), folder / "plain"), 0, 0
    limits = [0, 1000, 4000, 5000, 8000]
    for limit in limits:
        place = folder / str(limit)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            model = fit(name, place)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        codes = [str(w.message)[:5] for w in given]
        assert codes in ([], ["LD324"]), codes
        assert not any(each.startswith(".") for each in inside(place))
        said += len(codes)
        same += saved(model, folder / "again") == saved(fit(name, place), folder / "later") == plain
    return {"limits": len(limits), "warned": said, "same bits": same}


def figures(job: str, folder: Path, trials: int) -> Any:
    """What a job found, or its traceback."""
    work, _, name = job.partition(":")
    try:
        return {"kill": kill, "again": again, "ctrl_c": ctrl_c, "full": full}[work](name, folder, trials)
    except BaseException:
        return traceback.format_exc()


def main(folder: Path, trials: int, jobs: list[str]) -> None:
    sources.KEEP_CELLS = 0  # every pass reads its rows
    checkpoint.SAVE_TREE_SECONDS = 0.0
    for name in MODELS:
        fit(name, None)  # imports what a first fit does, once for all forks
    children = []
    for job in jobs:  # side by side: they wait most of their time
        (folder / job).mkdir()
        answer = folder / f"{job}.json"
        children.append(
            forked(lambda job=job, answer=answer: answer.write_text(json.dumps(figures(job, folder / job, trials))))
        )
    assert [ended(child) for child in children] == [0] * len(jobs)
    print(json.dumps({job: json.loads((folder / f"{job}.json").read_text()) for job in jobs}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
