"""Files on disk: durable writes, atomic replacement, directories that survive a power cut."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable

from gitmem.errors import BundleUnusable


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: one call may take fewer than it was given."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def durable_file(path: str, data: bytes, *, mode: int = 0o644) -> None:
    """A new file whose bytes are on disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, mode)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def together(*steps: Callable[[], None]) -> None:
    """Run steps side by side: their fsyncs then share one commit of the file system's journal."""
    failures: list[OSError] = []

    def run(step: Callable[[], None]) -> None:
        try:
            step()
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(step,)) for step in steps[1:]]
    for thread in threads:
        thread.start()
    run(steps[0])
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def disk_error(error: OSError) -> BundleUnusable:
    """What to tell a person when the disk would not take a write."""
    reason = error.strerror or str(error)
    where = f" at {error.filename}" if error.filename else ""
    return BundleUnusable(
        f"The bundle can not be written ({reason}{where}); nothing was changed, so mend that and try again."
    )


def durable_directory(path: str) -> None:
    """The directory's names are on disk when this returns, where the system can do that."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows opens no directories
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def replace_file(path: str, data: bytes, *, scratch: str, mode: int = 0o644, durable: bool = False) -> None:
    """Put `data` at `path` at once: a reader sees the old file or the new one, never a part."""
    temporary = os.path.join(scratch, f"{os.getpid()}-{threading.get_ident()}-{os.path.basename(path)}"[:200])
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, mode)
    try:
        write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    try:
        move(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def move(source: str, target: str) -> None:
    """Rename, and where the two lie on different file systems copy beside the target first."""
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with open(source, "rb") as file:
            data = file.read()
        # The name is one that the bundle's exclude file covers, should we die here.
        beside = os.path.join(os.path.dirname(target), f".gitmem-tmp-{os.getpid()}")
        descriptor = os.open(
            beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, os.stat(source).st_mode & 0o777
        )
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        os.replace(beside, target)
        os.unlink(source)


def read_file(path: str) -> bytes | None:
    """The file's bytes, or None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


_BINARY: int = getattr(os, "O_BINARY", 0)
