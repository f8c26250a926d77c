"""Open files of a journal: begin one, write all of a line, read a part while others append."""

from __future__ import annotations

import os

from gitmem.memory.capture.writerlock import WRITE, remove


def begin(path: str, head: bytes) -> int:
    """A new file with its first line; its descriptor."""
    descriptor = os.open(path, WRITE | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        write_all(descriptor, head)
    except OSError:
        os.close(descriptor)
        remove(path)
        raise
    return descriptor


def write_all(descriptor: int, data: bytes) -> None:
    done = os.write(descriptor, data)
    while done < len(data):  # a disk that is nearly full takes a part
        done += os.write(descriptor, data[done:])


if hasattr(os, "pread"):

    def read_part(descriptor: int, path: str, start: int, end: int) -> bytes:  # noqa: ARG001 - the other one's
        """A part of an open file, also of one that somebody has removed."""
        parts: list[bytes] = []
        while start < end and (part := os.pread(descriptor, min(end - start, 1 << 24), start)):
            parts.append(part)
            start += len(part)
        return b"".join(parts)

else:  # Windows, where nobody can remove a file that is open

    def read_part(descriptor: int, path: str, start: int, end: int) -> bytes:  # noqa: ARG001 - the same
        with open(path, "rb") as file:  # of its own: a push may move the other one's position
            file.seek(start)
            return file.read(end - start)
