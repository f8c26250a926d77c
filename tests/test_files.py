"""Files that belong to other programs are replaced at once, with the mode they had, or left as they are."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from gitmem.files import WRITE, read_part, replacement, write_all, write_open


def test_a_replacement_has_the_mode_of_the_old_file(tmp_path: Path) -> None:
    """A private file stays private; a new one gets the mode that is asked for, whatever the umask."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"before")
    old.chmod(0o600)
    for path in (old, new):
        with replacement(str(path), b"after", mode=0o755) as put:
            put()
    assert [b"after", b"after"] == [old.read_bytes(), new.read_bytes()]
    assert [0o600, 0o755] == [stat.S_IMODE(path.stat().st_mode) for path in (old, new)]
    assert ["new", "old"] == sorted(os.listdir(tmp_path))


def test_a_replacement_that_is_not_put_leaves_nothing(tmp_path: Path) -> None:
    """Whoever thinks better of it, or fails, finds the old file and nothing beside it."""
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with replacement(str(path), b"after"):
        pass
    with pytest.raises(ValueError, match="no"), replacement(str(path), b"after"):
        raise ValueError("no")
    assert b"before" == path.read_bytes()
    assert ["file"] == os.listdir(tmp_path)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A write that the system cuts short removes what it began."""
    path = tmp_path / "file"
    path.write_bytes(b"before")
    code = (
        "import resource, signal, sys\n"
        "from gitmem.files import replacement, write_open\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "for attempt in (lambda: replacement(sys.argv[1], b'x' * 5000).__enter__(),\n"
        "                lambda: write_open(sys.argv[1] + '-new', b'x' * 5000)):\n"
        "    try:\n        attempt()\n    except OSError:\n        continue\n    sys.exit(1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert 0 == done.returncode
    assert b"before" == path.read_bytes()
    assert ["file"] == os.listdir(tmp_path)


def test_a_part_is_read_while_others_append(tmp_path: Path) -> None:
    """What is read goes from one place to another, also of a file that somebody removed."""
    path = tmp_path / "journal"
    descriptor, _ = write_open(str(path), b"head\n", flags=WRITE | os.O_APPEND | os.O_CREAT | os.O_EXCL)
    try:
        write_all(descriptor, b"one\ntwo\n")
        path.unlink()
        assert b"one\n" == read_part(descriptor, 5, 9)
        assert b"head\none\ntwo\n" == read_part(descriptor, 0, 1 << 30)
    finally:
        os.close(descriptor)
