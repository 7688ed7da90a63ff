"""Files written whole, or not at all: readers see the old one or the new."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import IO

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
    number = getattr(cause, "errno", None) or 0
    problem = os.strerror(number) if number else getattr(cause, "strerror", None) or str(cause)
    return error("LD304", path=os.fspath(path), problem=f"{problem}{more}", case=WRITE_CASES.get(number, ""))


class Replacement:
    """A file or folder that is written under another name, `temp`, and takes its own in one step when it is whole.

    As a context it is put there at the end, and dropped where an exception is on its way; what the system refuses is
    an OSError. With `sync` the bytes are on the disk before the name is: no power cut can leave half of them.
    """

    def __init__(self, path: str | PathLike[str], *, sync: bool = True, folder: bool = False) -> None:
        self.path, self.sync, self.folder = Path(os.path.realpath(path)), sync, folder
        old = self.path.stat().st_mode if self.path.exists() else None
        if old is not None and stat.S_ISDIR(old) != folder:
            number = errno.ENOTDIR if folder else errno.EISDIR
            raise OSError(number, os.strerror(number))
        if old is not None and not folder and not stat.S_ISREG(old):
            raise OSError(0, "what is there is not a file")
        self.mode = None if old is None else stat.S_IMODE(old)
        self._sweep()
        self._open()

    def __enter__(self) -> Path:
        return self.temp

    def __exit__(self, kind: type[BaseException] | None, *problem: object) -> None:
        try:
            if kind is None:
                self.put()
        finally:
            self.drop()

    @property
    def _stem(self) -> str:
        """How the names of temporaries begin: a hash, for the name may be as long as names can be."""
        return f".lowdim-{blake2b(os.fsencode(self.path.name), digest_size=8).hexdigest()}-"

    def _sweep(self) -> None:
        """Remove the files that killed processes left; those that are being written are locked."""
        for old in self.path.parent.glob(self._stem + "*.tmp"):
            with suppress(OSError), open(old, "rb") as stale:
                lock(stale, wait=False)
                old.unlink()

    def _open(self) -> None:
        """Make the temporary; a file is held open, and locked, until it has its name."""
        self.held: IO[bytes] | None = None
        while True:
            self.temp = self.path.parent / f"{self._stem}{secrets.token_hex(8)}.tmp"
            if self.folder:
                self.temp.mkdir()
                return
            self.held = open(self.temp, "xb")  # noqa: SIM115 - `drop` closes it
            with suppress(OSError):  # a network disk without locks: then nobody sweeps either
                lock(self.held, wait=True)
            if os.fstat(self.held.fileno()).st_nlink:  # else it was swept before it was locked
                return
            self.held.close()

    def put(self) -> None:
        """Give it its own name."""
        if self.held is None:
            self._put_folder()
            return
        if self.sync:
            os.fsync(self.held.fileno())
        if self.mode is not None:
            self.temp.chmod(self.mode)
        if os.name == "nt":  # where nothing that is open can be renamed
            self.held.close()
        os.replace(self.temp, self.path)
        if self.sync and os.name == "posix":
            place = os.open(self.path.parent, os.O_RDONLY)
            with suppress(OSError):  # some file systems cannot; the new file is whole either way
                os.fsync(place)
            os.close(place)

    def _put_folder(self) -> None:
        """A folder cannot be replaced in one step: the old one is moved aside, then removed."""
        aside = self.temp.with_suffix(".old")
        if self.path.is_dir():
            os.rename(self.path, aside)
        os.rename(self.temp, self.path)
        shutil.rmtree(aside, ignore_errors=True)

    def drop(self) -> None:
        """Remove what has not got its name."""
        if self.held is not None:
            self.held.close()
        if self.folder:
            shutil.rmtree(self.temp, ignore_errors=True)
        else:
            self.temp.unlink(missing_ok=True)


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[Path]:
    """A temporary file that takes the place of `path` once it is whole; LD304 where the system refuses."""
    check_folder(path)
    try:
        with Replacement(path, sync=False) as temp:
            yield temp
    except OSError as cause:
        raise not_written(path, cause) from cause


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
        import fcntl  # which other systems lack

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
