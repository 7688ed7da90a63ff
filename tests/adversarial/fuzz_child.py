"""The process in which spoilt files are read: one fork for each kind, watched from outside.

    python -m tests.adversarial.fuzz_child FOLDER FIRST COUNT KIND...     prints {kind: figures} as JSON

A fork that dies or hangs is the finding; the next one goes on behind the file that it died of. Forks save importing
lowdim for every file. Nothing outside a fork's own folder may be written to, and nothing started or connected to.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.text.messages import LowdimError
from tests.adversarial.crafted import crafted
from tests.adversarial.good_files import GOOD, opened, path_of, reading, spoil

MOST_SECONDS, MOST_BYTES = 60, 2 << 30
NOW = struct.Struct("<qdd")  # what a fork is at: the number of the file, and clock and CPU when it began
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
STARTS = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "socket.connect", "shutil.unpack_archive")
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate")
Trial = Callable[[int, Path], Any]  # the number of a file and a folder of its own: makes it and reads it


def watch(folder: Path, wrong: list[str]) -> None:
    """From now on, while something is being read, note whatever touches anything outside the folder."""
    inside = str(folder)

    def inside_of(place: str) -> bool:
        return os.path.abspath(place).startswith(inside) or "__pycache__" in place

    def hook(event: str, facts: Any) -> None:
        if not reading:
            return
        if event == "open" and isinstance(facts[2], int) and facts[2] & WRITES and isinstance(facts[0], str | bytes):
            place = os.fsdecode(facts[0])
            if not inside_of(os.path.realpath(place)) and place != os.devnull:
                wrong.append(f"writes to {place}")
        elif event in CHANGES:
            place = facts[1] if event == "os.rename" else facts[0]
            if isinstance(place, str | bytes | Path) and not inside_of(os.fsdecode(place)):
                wrong.append(f"{event} {os.fsdecode(place)}")
        elif event.startswith(STARTS):
            wrong.append(f"{event} {facts}")

    sys.addaudithook(hook)


def work(trial: Trial, folder: Path, first: int, last: int, at: mmap.mmap, notes: Path) -> None:
    """Try files in this process; what is wrong goes into a file, line by line, so that a crash loses none of it."""
    tempfile.tempdir = str(folder)
    wrong: list[str] = []
    watch(folder, wrong)
    with notes.open("a") as said:
        for number in range(first, last):
            place, began = folder / "trial", time.process_time()
            at[:] = NOW.pack(number, time.time(), began)
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            word = ended(trial, number, place)
            took = time.process_time() - began
            for problem in [*wrong, *([] if word in ("read", "refused") else [word])]:
                said.write(json.dumps(["wrong", number, problem]) + "\n")
            wrong.clear()
            said.write(json.dumps(["end", number, word if word in ("read", "refused") else "wrong", took]) + "\n")
            said.flush()
        said.write(json.dumps(["peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10]) + "\n")


def ended(trial: Trial, number: int, place: Path) -> str:
    """How one file ended."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            word = "refused" if trial(number, place) is None else "read"
        except LowdimError as problem:
            word = "refused" if problem.code and problem.fix else f"no remedy: {problem}"
        except BaseException as problem:
            word = f"{type(problem).__name__}: {problem}"[:300]
    bare = [str(w.message) for w in given if issubclass(w.category, RuntimeWarning)]
    return f"bare warning: {bare[0]}" if bare and word in ("read", "refused") else word


def drive(trial: Trial, folder: Path, first: int, count: int) -> dict[str, Any]:
    """The figures of `count` trials in forks."""
    folder.mkdir(parents=True)
    folder = folder.resolve()
    notes, at, crashes = folder.with_suffix(".notes"), mmap.mmap(-1, NOW.size), list[list[Any]]()
    last = first + count
    while first < last:
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            work(trial, folder, first, last, at, notes)
            os._exit(0)
        status = wait(child, at)
        if status == 0:
            break
        number = NOW.unpack(at[:])[0]
        crashes.append([number, "hangs" if status == -signal.SIGXCPU else f"ends the process ({status})"])
        first = number + 1
    return figures(notes, crashes)


def wait(child: int, at: mmap.mmap) -> int:
    """The exit status of a fork, which is ended where one file takes a minute of CPU, or waits for ever."""
    at[:] = NOW.pack(0, time.time(), 0.0)
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        _, since, began = NOW.unpack(at[:])
        if cpu_seconds(child) - began > MOST_SECONDS * 1.5 or time.time() - since > MOST_SECONDS * 20:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGXCPU
        time.sleep(0.1)


def cpu_seconds(process: int) -> float:
    """The CPU that a process has used: on a busy machine a clock tells of the others."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def figures(notes: Path, crashes: list[list[Any]]) -> dict[str, Any]:
    """What the forks wrote down, counted."""
    lines = [json.loads(line) for line in notes.read_text().splitlines()]
    ends = [line for line in lines if line[0] == "end"]
    slow = [[line[1], f"takes {line[3]:.0f} s"] for line in ends if line[3] > MOST_SECONDS]
    peak = max((line[1] for line in lines if line[0] == "peak"), default=0)
    wrong = [line[1:] for line in lines if line[0] == "wrong"] + crashes + slow
    if peak > MOST_BYTES:
        wrong.append([-1, f"{peak >> 20} MB of memory"])
    return {
        "files": len(ends) + len(crashes),
        "read": sum(line[2] == "read" for line in ends),
        "refused": sum(line[2] == "refused" for line in ends),
        "wrong": wrong,
        "megabytes": peak >> 20,
        "slowest": max((line[3] for line in ends), default=0.0),
    }


def spoiling(kind: str, good: Path) -> Trial:
    """Trials of one kind: the k-th spoilt copy of a good file."""

    def trial(number: int, place: Path) -> Any:
        bad = place / good.name
        spoil(kind, good, bad, np.random.default_rng([number, list(GOOD).index(kind)]))
        return opened(kind, bad)

    return trial


def of_case(trials: list[Any], number: int, place: Path) -> Any:
    """A crafted file, made and read."""
    return trials[number](place)


def main(folder: Path, first: int, count: int, kinds: list[str]) -> None:
    found = {}
    for kind in kinds:
        place = folder / kind.replace(" ", "_")
        if kind == "crafted":
            cases = crafted()
            names = list(cases)
            trials = [cases[name] for name in names]
            found[kind] = drive(partial(of_case, trials), place, 0, len(names) if count < 0 else count)
            found[kind]["wrong"] = [[names[k] if k >= 0 else k, words] for k, words in found[kind]["wrong"]]
            continue
        good = path_of(kind, folder / f"good_{place.name}")
        good.parent.mkdir(parents=True)
        GOOD[kind](good)
        opened(kind, good)  # a good one is read, and imports what its kind needs
        found[kind] = drive(spoiling(kind, good), place, first, count)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
