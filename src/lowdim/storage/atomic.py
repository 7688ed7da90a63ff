"""Files written whole, or not at all: readers see the old one or the new."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import IO, Any

from lowdim.text.messages import LowdimError, error

WRITE_CASES = {  # of "LD304", by what the system says
    errno.ENOENT: "no folder",
    errno.ENOTDIR: "a file, not a folder",
    errno.EISDIR: "a folder, not a file",
    errno.EEXIST: "a file is there",
    errno.EACCES: "not allowed",
    errno.EPERM: "not allowed",
    errno.ENOSPC: "disk full",
    errno.EFBIG: "disk full",
}


def check_folder(path: str | PathLike[str]) -> Path:
    """A path whose folder exists: to be asked before long work."""
    path = Path(path)
    if not path.parent.is_dir():
        raise error("LD304", path=path, problem=f"there is no folder '{path.parent}'", case="no folder")
    return path


def not_written(path: str | PathLike[str], cause: OSError | ValueError, more: str = "") -> LowdimError:
    """The error of a file or folder that the system would not write."""
    problem = getattr(cause, "strerror", None) or str(cause)
    case = WRITE_CASES.get(getattr(cause, "errno", None) or 0, "")
    return error("LD304", path=os.fspath(path), problem=f"{problem}{more}", case=case)


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place once it is whole; an older file stays otherwise."""
    path = check_folder(path)
    temp = path.with_name(f".lowdim-{os.getpid()}-{path.name}")
    try:
        yield temp
        os.replace(temp, path)
    except OSError as cause:
        raise not_written(path, cause) from cause
    finally:
        temp.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Whether a process of this number is there."""
    if os.name != "posix" or process <= 0:
        return process > 0
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def lock(file: IO[bytes], wait: bool) -> None:
    """Mark a file as in use until it is closed or its process dies; OSError if another did."""
    if os.name == "posix":  # elsewhere a file that is open cannot be removed anyway
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _temporary(target: Path) -> tuple[Path, IO[bytes]]:
    """A new file beside the target; those that a killed process left behind are swept."""
    stem = f".lowdim-{blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}-"
    for old in target.parent.glob(stem + "*.tmp"):
        with suppress(OSError), open(old, "rb") as stale:
            lock(stale, wait=False)
            old.unlink()
    while True:
        path = target.parent / f"{stem}{secrets.token_hex(8)}.tmp"
        file = open(path, "xb")  # noqa: SIM115 - it outlives this function
        with suppress(OSError):  # a network disk without locks: then nobody sweeps either
            lock(file, wait=True)
        if os.fstat(file.fileno()).st_nlink:  # else it was swept before it was locked
            return path, file
        file.close()


def replace(target: Path, parts: Iterable[Any]) -> None:
    """Write beside the target, then take its place in one step: readers see the old file or the new."""
    old = target.stat() if target.exists() else None
    if old and not stat.S_ISREG(old.st_mode):
        raise OSError(0, "what is there is not a file")
    temp, file = _temporary(target)
    try:
        with file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
            if old:
                temp.chmod(stat.S_IMODE(old.st_mode))
            if os.name == "nt":
                file.close()
            os.replace(temp, target)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        with suppress(OSError):  # some file systems cannot; the new file is whole either way
            os.fsync(folder)
        os.close(folder)
