"""The process in which faults are tried: signals, full disks, folders that may not be written to, others at work.

    python -m tests.adversarial.fault_child FOLDER [whole:]KIND=TRIALS...     prints {kind: figures} as JSON

A run of another table's column is there before each trial. After it there must be the old run or the new one, whole, or
a folder that says by its code that it is neither; the table is what it was; and the same command, given again, ends as
if nothing had happened.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lowdim
from lowdim.cli.entry import run as command
from lowdim.text.messages import LowdimError

NOBODY = 65534
JOBS: dict[str, tuple[str, ...]] = {"": ("-m", "ppca"), "whole": ()}  # one model, and the main job


def quietly(*words: str) -> tuple[int, str]:
    """The exit code of a command in this process, and what it printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = command([*words, "--json"])
    return code, said.getvalue()


def forked(work: Callable[[], Any]) -> int:
    """A child that does this and leaves with what it returns."""
    number = os.fork()
    if number:
        return number
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os._exit(int(work() or 0))
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException:
        os._exit(99)


def ended(number: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def table(path: Path, rows: int = 24) -> bytes:
    """A table with gaps, in a file."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((rows, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((rows, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    lines = [",".join("" if np.isnan(v) else f"{v:.4f}" for v in row) for row in X]
    path.write_text("a,b,c,d,e\n" + "\n".join(lines) + "\n")
    return path.read_bytes()


def files(folder: Path) -> dict[str, bytes]:
    """What a folder holds; the time and the command of a run are not compared."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".csv", ".lowdim")}


class Trials:
    """A table, the run that is there before, and the one that is being made."""

    def __init__(self, folder: Path, job: tuple[str, ...]) -> None:
        folder.mkdir()
        self.folder, self.job, self.luck = folder, job, random.Random(11)
        self.table, self.place = folder / "table.csv", folder / "run"
        self.data = table(self.table)
        self.old, self.new = self._made("1"), self._made("2")
        begin = time.monotonic()
        assert ended(forked(self.fit)) == 0
        self.lasts = time.monotonic() - begin

    def _made(self, dims: str) -> dict[str, bytes]:
        shutil.rmtree(self.place, ignore_errors=True)
        code, said = quietly("fit", str(self.table), *self.job, "--dims", dims, "-o", str(self.place))
        assert code == 0, said
        shutil.copytree(self.place, self.folder / f"run{dims}", dirs_exist_ok=True)
        return files(self.place)

    def fit(self) -> int:
        return quietly("fit", str(self.table), *self.job, "--dims", "2", "-o", str(self.place))[0]

    def again(self) -> None:
        """The old run in its place."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.folder / "run1", self.place)

    def kept(self, codes: tuple[int, ...], code: int) -> str:
        """What is there after a trial: "old", "new", "torn" (and said so), or what is wrong."""
        if code not in codes:
            return f"left with {code}"
        if self.table.read_bytes() != self.data:
            return "the table has changed"
        try:
            lowdim.load(lowdim.load_run(self.place).model_file)
        except LowdimError as problem:
            word = "torn" if problem.code else f"no code: {problem}"
        else:
            found = files(self.place)
            word = "old" if found == self.old else "new" if found == self.new else "neither the old run nor the new"
        if self.fit() != 0 or files(self.place) != self.new:
            return "the same command does not end as before"
        left = [path.name for path in self.place.iterdir() if path.name.startswith(".")]
        return f"left behind: {left}" if left else word

    # one trial of each kind ------------------------------------------------------------------------------
    def stopped(self, number: int, codes: tuple[int, ...]) -> str:
        child = forked(self.fit)
        time.sleep(self.luck.uniform(0.0, self.lasts))
        os.kill(child, number)
        return self.kept(codes, ended(child))

    def kill(self) -> str:
        return self.stopped(signal.SIGKILL, (0, -signal.SIGKILL))

    def term(self) -> str:
        return self.stopped(signal.SIGTERM, (0, -signal.SIGTERM))

    def ctrl_c(self) -> str:
        return self.stopped(signal.SIGINT, (0, 130))

    def full(self) -> str:
        largest = max(map(len, self.new.values()))

        def starved() -> int:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.luck.randrange(largest), resource.RLIM_INFINITY))
            return self.fit()

        return self.kept((2,), ended(forked(starved)))

    def read_only(self) -> str:
        def as_nobody() -> int:
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            return self.fit()

        for path in [self.place, *self.place.iterdir()]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        code = ended(forked(as_nobody))
        self.place.chmod(0o755)
        return self.kept((2,), code)

    def two_writers(self) -> str:
        pair = [forked(self.fit) for _ in range(2)]
        codes = [ended(child) for child in pair]
        return self.kept((0,), max(codes))

    def changed(self) -> str:
        """Somebody writes to the table while it is read: what was read is one state of it, or it is refused."""
        shutil.rmtree("streamed", ignore_errors=True)
        child = forked(lambda: quietly("fit", str(self.table), "--dims", "1", "--stream", "-o", "streamed")[0])
        time.sleep(self.luck.uniform(0.0, self.lasts))
        other = self.data.replace(b"\n0.", b"\n1.") if self.luck.random() < 0.5 else self.data + b"1,2,3,4,5\n"
        self.table.write_bytes(other)
        code = ended(child)
        self.table.write_bytes(self.data)
        return self.kept((0, 3, 4), code)


def main(folder: Path, wanted: dict[str, int]) -> None:
    of, found = {}, {}
    os.chdir(folder)
    folder.chmod(0o755)
    for title, count in wanted.items():
        job, _, kind = title.rpartition(":")
        trials = of[job] if job in of else of.setdefault(job, Trials(folder / (job or "model"), JOBS[job]))
        ends: dict[str, int] = {}
        for _ in range(count):
            trials.again()
            word = getattr(trials, kind)()
            ends[word] = ends.get(word, 0) + 1
        found[title] = ends
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), {word.partition("=")[0]: int(word.partition("=")[2]) for word in sys.argv[2:]})
