"""Files on disk: their owner's alone, written whole, replaced at once, and what survives a power cut."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from _queue import SimpleQueue
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from gitmem.errors import BundleUnusable, ConfigError, InvalidContent

PRIVATE = 0o600
_DIRECTORY = 0o700
_OTHERS = 0o077
"""Modes of what gitmem makes: its owner's alone, whatever the umask says."""

_NO_LINK = os.O_NOFOLLOW
READ = os.O_RDONLY | _NO_LINK
WRITE = os.O_RDWR | _NO_LINK
"""How files that only we write are opened: never through a link."""

# Files that a crash may leave in the work tree have this name, which the bundle's exclude file covers.
TEMPORARY = ".gitmem-tmp-"


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: one call may take fewer than it was given."""
    done = os.write(descriptor, data)
    while done < len(data):  # a disk that is nearly full takes a part
        done += os.write(descriptor, memoryview(data)[done:])


def create(path: str, flags: int, mode: int = PRIVATE) -> int:
    """Open a file that may be made by that, and return its descriptor; of `mode` the owner's part counts."""
    return os.open(path, flags, mode & ~_OTHERS)


def make_directory(path: str) -> None:
    """Make a directory, as `os.mkdir` does."""
    os.mkdir(path, _DIRECTORY)


def make_directories(path: str) -> None:
    """Make a directory and those above it, where there are none."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above and above != path:
        make_directories(above)
    try:
        make_directory(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def make_missing(*directories: str) -> None:
    """Make those of some directories that are missing, but nothing above them: a bundle that was removed stays removed."""
    for directory in directories:
        with contextlib.suppress(FileExistsError):
            make_directory(directory)


def close_to_others(path: str) -> None:
    """Take from a file or directory that another program made what its mode gives to others."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path, follow_symlinks=False).st_mode & 0o777
        if mode & _OTHERS:
            os.chmod(path, mode & ~_OTHERS)


def open_to_others(*tops: str) -> Iterator[str]:
    """Yield what is below these directories and open to other users; no link is followed."""
    for top in tops:
        for directory, folders, files in os.walk(top):
            for path in (os.path.join(directory, name) for name in (*folders, *files)):
                with contextlib.suppress(OSError):
                    if not os.path.islink(path) and os.stat(path).st_mode & _OTHERS:
                        yield path


class DiskGroup:
    """Files that go to disk together.

    Buys "times the floor": all are written before any is waited for, and then they are waited for side by side,
    so that their fsyncs share one commit of the file system's journal.
    """

    def __init__(self) -> None:
        self._ours: list[int] = []
        self._waiting: list[int] = []
        self._begun = 0
        self._answers: SimpleQueue[OSError | None] = SimpleQueue()

    def __enter__(self) -> DiskGroup:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.wait()
        finally:
            for descriptor in self._ours:
                os.close(descriptor)

    def write(self, path: str, data: bytes, *, mode: int = PRIVATE, in_place: bool = False) -> None:
        """Write a file; `in_place` leaves what stands behind `data` in an older, longer file."""
        flags = os.O_WRONLY | os.O_CREAT | _NO_LINK | (0 if in_place else os.O_TRUNC)
        descriptor = create(path, flags, mode)
        self._ours.append(descriptor)
        write_all(descriptor, data)
        self.add(descriptor)

    def add(self, descriptor: int) -> None:
        """Take in a file that was written already; the caller closes it."""
        self._waiting.append(descriptor)

    def add_directory(self, path: str) -> None:
        """Take in the names of a directory that may be gone already."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            self._ours.append(os.open(path, os.O_RDONLY))
            self.add(self._ours[-1])

    def start(self) -> None:
        """Let the disk begin, while the caller goes on with something else."""
        descriptors, self._waiting = self._waiting, []
        self._begun += len(descriptors)
        for descriptor in descriptors:
            _in_background(partial(_flush, descriptor, self._answers))

    def wait(self) -> None:
        """Every byte of the group is on disk when this returns."""
        # All are waited for before a failure is raised: the caller closes its files then.
        answers = [self._answers.get() for _ in range(self._begun)]
        self._begun = 0
        for error in answers:
            if error is not None:
                raise error

    def flush(self) -> None:
        """Put the group on disk at once."""
        self.start()
        self.wait()


def _flush(descriptor: int, answers: SimpleQueue[OSError | None]) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        answers.put(error)
    else:
        answers.put(None)


_THREADS = 4
_jobs: list[SimpleQueue[Callable[[], object]]] = []
"""The queue of the threads that wait for the disk, once they are started; a forked child has none of its parent's.

Buys "times the floor": they are kept, because starting a thread costs more than an fsync. They are daemons: an executor of
the standard library is waited for when the interpreter ends, which is not a library's choice.
"""
os.register_at_fork(after_in_child=_jobs.clear)


def _in_background(job: Callable[[], object]) -> None:
    """Do something that raises nothing in a thread that is kept; at once where the process can start none."""
    if not _jobs:
        jobs: SimpleQueue[Callable[[], object]] = SimpleQueue()
        try:
            for _ in range(_THREADS):
                threading.Thread(target=_work, args=(jobs,), name="gitmem-disk", daemon=True).start()
        except RuntimeError:  # it is about to end
            job()
            return
        _jobs.append(jobs)
    _jobs[0].put(job)


def _work(jobs: SimpleQueue[Callable[[], object]]) -> None:
    while True:
        jobs.get()()


def hold_replaced(path: str) -> list[int]:
    """Hold a file open that is about to be replaced, for `close_later`; nothing where that does not work."""
    if hasattr(os, "O_PATH"):
        with contextlib.suppress(OSError):
            return [os.open(path, os.O_PATH | os.O_NOFOLLOW)]
    return []


def close_later(descriptors: Sequence[int]) -> None:
    """Close files while the caller goes on: closing a removed file frees it, which takes long."""
    for descriptor in descriptors:
        _in_background(partial(os.close, descriptor))


def disk_error(error: OSError) -> BundleUnusable:
    """Return what to tell a person when the disk would not take a write."""
    reason = error.strerror or str(error)
    where = f" at {error.filename}" if error.filename else ""
    return BundleUnusable(
        f"The bundle cannot be written ({reason}{where}); nothing was changed, so repair that and try again."
    )


def durable_directory(path: str) -> None:
    """The directory's names are on disk when this returns, where the system can do that."""
    with _opened(path, os.O_RDONLY) as descriptor:
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise


_MANY = 64


def make_durable(root: str, paths: Sequence[str]) -> None:
    """Files below `root`, those that are still there, are on disk with their names when this returns."""
    if len(paths) > _MANY and _durable_file_system(root):
        return
    directories = {root}
    for path in paths:
        full = os.path.join(root, *path.split("/"))
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            with _opened(full, os.O_RDONLY | _NO_LINK) as descriptor:
                os.fsync(descriptor)
            while (full := os.path.dirname(full)) not in directories:
                directories.add(full)
    for directory in directories:
        durable_directory(directory)


def _durable_file_system(path: str) -> bool:
    """Put all of the file system of `path` on disk; False where the system has no call for that."""
    import ctypes

    try:
        call = ctypes.CDLL(None).syncfs
    except (AttributeError, OSError, TypeError):  # not Linux
        return False
    with _opened(path, os.O_RDONLY) as descriptor:
        return bool(call(descriptor) == 0)


@contextlib.contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    descriptor = create(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def append_to(path: str, data: bytes, *, durable: bool = False) -> None:
    """Add to the end of a file, which is made where there is none."""
    with _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK) as descriptor:
        write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)


def replace_file(
    path: str, data: bytes, *, scratch: str, mode: int = PRIVATE, durable: bool = False
) -> os.stat_result:
    """Put `data` at `path` at once: a reader sees the old file or the new one, never a part.

    Gives the stat of what was written, taken before anybody else could change it.
    """
    temporary = os.path.join(scratch, f"{os.getpid()}-{threading.get_ident()}-file")
    try:
        written = write_new(temporary, data, mode=mode, durable=durable)
        os.replace(temporary, path)
        return written
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def about(path: str) -> Iterator[None]:
    """An error of the system in here names `path`: that of a scratch file beside it helps no reader."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), path) from error


@contextlib.contextmanager
def replacement(
    path: str, data: bytes, *, mode: int = 0o644, durable: bool = True
) -> Iterator[Callable[[], None]]:
    """A file written beside another program's, to be put in its place by calling what is given.

    It has the mode of the file that it replaces, or `mode` where there is none. A caller that follows links gives
    the path behind them.
    """
    import tempfile

    directory = os.path.dirname(path)
    with about(path):
        os.makedirs(directory, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".gitmem_", suffix=".tmp")
    try:
        with about(path):
            try:
                write_all(descriptor, data)
                if durable:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        with contextlib.suppress(OSError):
            mode = os.stat(path).st_mode & 0o777
        with contextlib.suppress(OSError):  # a file system without modes
            os.chmod(temporary, mode)
        yield partial(os.replace, temporary, path)
    finally:
        remove_file(temporary)


def write_new(path: str, data: bytes, *, mode: int = PRIVATE, durable: bool = False) -> os.stat_result:
    """Write a file that no other process knows of; gives its stat."""
    descriptor, written = write_open(path, data, mode=mode)
    try:
        if durable:
            os.fsync(descriptor)
        return written
    finally:
        os.close(descriptor)


_ANEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK


def write_open(
    path: str, data: bytes, *, mode: int = PRIVATE, flags: int = _ANEW
) -> tuple[int, os.stat_result]:
    """Write a file that no other process knows of; gives its descriptor, which is still open, and its stat."""
    descriptor = create(path, flags, mode)
    try:
        write_all(descriptor, data)
        return descriptor, os.fstat(descriptor)
    except BaseException:
        os.close(descriptor)
        remove_file(path)
        raise


def read_file(path: str) -> bytes | None:
    """The file's bytes, or None where there is none; raises OSError for a pipe or a device, which may have no end."""
    try:
        with os.fdopen(_open_file(path, 0), "rb", buffering=0) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _open_file(path: str, flags: int) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return descriptor


def open_regular(path: str, *, follow: bool = False) -> int:
    """Open a file of another program to read it; raises InvalidContent for a pipe or a device, which may have no end.

    A link is refused unless it is to be followed.
    """
    try:
        return _open_file(path, 0 if follow else _NO_LINK)
    except OSError as error:
        reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise InvalidContent(f"{path} cannot be read ({reason}).") from error


def read_regular(path: str) -> bytes:
    """Read a file of another program; raises InvalidContent for anything but a regular file."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read()


def remove_file(path: str) -> None:
    """Remove a file that may be gone already."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def read_part(descriptor: int, start: int, end: int) -> bytes:
    """Read a part of an open file, while others append to it and also when somebody has removed it."""
    parts: list[bytes] = []
    while start < end and (part := os.pread(descriptor, min(end - start, 1 << 24), start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


_LARGEST_SETTINGS = 8 << 20


def read_settings(path: str, name: str) -> str:
    """Read a file of settings, also behind a link, as dotfiles often are; empty where there is none.

    A pipe, which would wait for ever, and a file without end are refused.
    """
    if not os.path.exists(path):
        return ""
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            data = file.read(_LARGEST_SETTINGS + 1)
        if len(data) <= _LARGEST_SETTINGS:
            return data.decode()
        reason = f"{name} is too large for a file of settings."
    except InvalidContent as error:
        reason = f"{name} is not a file of settings: {error}"
    except UnicodeDecodeError:
        reason = f"{name} is not UTF-8."
    raise ConfigError(reason, hint="Correct the file, or move it away.")
