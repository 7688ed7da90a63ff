"""Calling the command in this process and as a process of its own."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lowdim.cli.entry import run

SOURCE = Path(__file__).resolve().parents[2] / "src"


class Said(NamedTuple):
    """What a call left behind."""

    code: int
    out: str
    err: str


class Command:
    """`lowdim` in this process, in a folder of its own."""

    def __init__(self, capsys, folder: Path) -> None:
        self.capsys, self.folder = capsys, folder

    def __call__(self, *arguments: object) -> Said:
        self.capsys.readouterr()
        code = run([str(a) for a in arguments])
        said = self.capsys.readouterr()
        assert "Traceback" not in said.err
        return Said(code, said.out, said.err)


def in_process(*arguments: object, cwd: Path) -> Said:
    """`lowdim` in this process and another folder, for fixtures that several tests share."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(a) for a in arguments])
    assert "Traceback" not in err.getvalue()
    return Said(code, out.getvalue(), err.getvalue())


def rows_of(path: Path) -> list[dict[str, str]]:
    """The records of a CSV."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"}


def child(*arguments: object, cwd: Path, code: str = "from lowdim.cli import main; main()") -> Said:
    """`lowdim` as a process of its own, where the process is what is tested: signals, imports, closed pipes."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Said(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def exploring(folder: Path, *arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`lowdim explore` as a process of its own, and the line with its address."""
    code = "from lowdim.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "explore", *map(str, arguments), "--no-browser"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
