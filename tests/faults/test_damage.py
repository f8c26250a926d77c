"""Torn, flipped and foreign bytes: ignored where that is safe, told in a sentence where it is not."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from gitmem.errors import GitMemError
from gitmem.git.git_directory import open_repository
from gitmem.git.housekeeping import damaged_objects, damaged_packs
from gitmem.git.packs import join_small_packs
from gitmem.git.recovery import hand_edits
from gitmem.git.repository import Repository
from gitmem.state import TMP

from tests.faults.lab import BEFORE, CHANGE, applied, die_at, forked_away
from tests.git.support import append, files_at, fsck_clean, locks_left, run_git, saved, scratch_left


def flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ (1 << position % 8)]) + data[position + 1 :]


def read_everything(repository: Repository) -> dict[str, bytes] | None:
    """Every file at every commit, or None where a GitMemError says that something is damaged."""
    fresh = open_repository(repository.root)
    try:
        files: dict[str, bytes] = {}
        current = fresh.tip()
        while current:
            tree = fresh.tree(current)
            files |= {f"{current} {path}": tree.read(path) or b"" for path, _ in tree.files()}
            parents = fresh.store.commit(current).parents
            current = parents[0] if parents else None
        return files
    except GitMemError:
        return None
    finally:
        fresh.store.close()


@pytest.mark.parametrize("suffix", [".pack", ".idx"])
def test_flipped_bit_in_a_pack(repository: Repository, suffix: str) -> None:
    """A flipped bit in a pack or its index gives a GitMemError, never a traceback and never wrong bytes."""
    for number in range(3):
        append(repository, "d/a.md", b"some text that is long enough to be compressed %d\n" % number)
    repository.store.close()
    whole = read_everything(repository)
    assert whole is not None
    noticed = 0
    for name in sorted(os.listdir(repository.store.pack_directory)):
        if not name.endswith(suffix):
            continue
        path = Path(repository.store.pack_directory, name)
        original = path.read_bytes()
        path.chmod(0o644)
        for position in random.Random(name).sample(range(len(original)), 60):
            path.write_bytes(flipped(original, position))
            found = read_everything(repository)
            assert found in (None, whole), (name, position)
            noticed += found is None
        path.write_bytes(original)

    assert noticed > 10
    assert whole == read_everything(repository)


def test_flipped_bit_in_a_loose_object(repository: Repository) -> None:
    """A flipped or cut loose object gives a GitMemError, never a traceback and never wrong bytes."""
    saved(repository, {"a.md": b"1\n"})
    Path(repository.root, "b.md").write_bytes(b"by hand, and some more of it\n" * 3)
    run_git(repository.root, "add", "b.md")
    run_git(repository.root, "commit", "--quiet", "-m", "by hand")
    whole = read_everything(repository)
    loose = [path for path in Path(repository.store.directory).glob("??/*") if path.is_file()]
    assert len(loose) == 3
    for path in loose:
        original = path.read_bytes()
        path.chmod(0o644)
        for position in range(len(original)):
            path.write_bytes(flipped(original, position))
            assert read_everything(repository) in (None, whole), (path, position)
            path.write_bytes(original[:position])
            assert read_everything(repository) is None, (path, position)
        path.write_bytes(original)


def test_damage_is_found_by_check(repository: Repository) -> None:
    """What `gitmem check` runs finds a flipped bit in the middle of a pack and of its index."""
    saved(repository, BEFORE)
    assert [*damaged_packs(repository), *damaged_objects(repository)] == []
    for suffix in (".pack", ".idx"):
        path = next(Path(repository.store.pack_directory).glob("*" + suffix))
        original = path.read_bytes()
        path.chmod(0o644)
        path.write_bytes(flipped(original, len(original) // 2))
        fresh = open_repository(repository.root)
        assert [*damaged_packs(fresh), *damaged_objects(fresh)]
        fresh.store.close()
        path.write_bytes(original)


def test_damaged_packs_are_not_joined(repository: Repository, tmp_path: Path) -> None:
    """Joining small packs leaves a damaged one where it is: what git may still repair is not thrown away."""
    for number in range(6):
        append(repository, "a.md", b"%d\n" % number)
    repository.store.close()
    directory = Path(repository.store.pack_directory)
    packs = sorted(path.stem for path in directory.glob("*.pack"))
    for suffix in (".pack", ".idx"):
        path = directory / (packs[0] + suffix)
        original = path.read_bytes()
        path.chmod(0o644)
        for position in range(0, len(original), 11):
            path.write_bytes(flipped(original, position))
            join_small_packs(
                str(directory), stem=str(tmp_path / "join"), at_least=2, largest=1 << 20, unfit=set()
            )
            assert path.read_bytes() == flipped(original, position)
        path.write_bytes(original)

    fsck_clean(repository)


def test_torn_note_is_ignored(repository: Repository) -> None:
    """A note of a commit under way that is cut, flipped or nonsense is none: the ref cannot have moved."""
    saved(repository, BEFORE)
    note = Path(repository.git_dir, "gitmem", "pending")
    forked_away(die_at, Path(repository.root), CHANGE, "objects")
    whole = note.read_bytes()
    assert whole.startswith(b"pending ")
    for lock in ("index.lock", "refs/heads/main.lock"):
        Path(repository.git_dir, lock).unlink()
    damaged = [flipped(whole, position) for position in range(len(whole) - 1)]
    damaged += [whole[:cut] for cut in range(0, len(whole) - 1, 9)]
    damaged += [
        b"",
        b"pending ",
        b"pending x 99999999\n",
        b"\xff" * 300,
        b"pending " + b"0" * 64 + b" 4\nnull\n",
    ]
    for content in damaged:
        note.write_bytes(content)
        assert repository.note.read() is None, content
    for content in damaged[:: len(damaged) // 6]:
        note.write_bytes(content)
        assert hand_edits(repository) == []
        append(repository, "a.md", b"x\n")

    fsck_clean(repository)


def test_note_that_names_a_lost_commit(repository: Repository) -> None:
    """A note whose commits are not in the repository (a restored backup) is settled without harm."""
    saved(repository, BEFORE)
    forked_away(die_at, Path(repository.root), CHANGE, "objects")
    for name in ("index.lock", "refs/heads/main.lock"):
        Path(repository.git_dir, name).unlink()
    newest = max(
        Path(repository.store.pack_directory).glob("*.pack"), key=lambda path: path.stat().st_mtime_ns
    )
    for suffix in (".idx", ".pack"):
        newest.with_suffix(suffix).unlink()

    saved(repository, {"after.md": b"x\n"})

    assert files_at(repository) == applied(BEFORE, {"after.md": b"x\n"})
    fsck_clean(repository)


@pytest.mark.parametrize("name", ["pending", "locks/bundle", "cache/gc"])
@pytest.mark.parametrize("content", [b"", b"garbage\n", b"\xff\xfe\0" * 50, b"{}", b"null", b"[1]"])
def test_garbage_in_our_state(repository: Repository, name: str, content: bytes) -> None:
    """Files of our own state that hold nonsense are ignored: everything in them can be rebuilt."""
    saved(repository, {"a.md": b"1\n"})
    damaged = Path(repository.git_dir, "gitmem", name)
    damaged.parent.mkdir(exist_ok=True)
    damaged.write_bytes(content)
    Path(repository.root, "a.md").write_bytes(b"by hand\n")
    run_git(repository.root, "add", "a.md")
    fresh = open_repository(repository.root)

    assert [edit.path for edit in hand_edits(fresh)] == ["a.md"]
    assert isinstance(fresh.lock.owner(), str)
    append(fresh, "b.md", b"x\n")
    append(fresh, "b.md", b"y\n")

    assert locks_left(fresh) == []
    assert [edit.path for edit in hand_edits(fresh)] == ["a.md"]
    fresh.store.close()


def test_leftovers_in_scratch_are_swept(repository: Repository) -> None:
    """What a dead writer left aside is gone after the next write, whatever its mode."""
    saved(repository, {"a.md": b"1\n"})
    top = Path(repository.state.path(TMP))
    directory = top / "99999-dead"
    directory.mkdir()
    for name in ("99999-1.pack", "99999-1-index", "mend-index"):
        left = directory / name
        left.write_bytes(b"x")
        left.chmod(0o400)
    os.link(repository.index_file.path, directory / "linked")
    (directory / "fetch-abc" / "objects").mkdir(parents=True)

    saved(repository, {"a.md": b"2\n"})

    assert scratch_left(repository) == []
    fsck_clean(repository)


def test_orphaned_pack_is_removed_after_a_day(repository: Repository) -> None:
    """A pack without an index, left by a kill while joining, goes when it is old; a new one may be git's."""
    directory = Path(repository.store.pack_directory)
    for name, age in (("old", 3 * 86_400), ("new", 60)):
        orphan = directory / f"pack-{name}.pack"
        orphan.write_bytes(b"PACK")
        moment = os.stat(repository.git_dir).st_mtime - age
        os.utime(orphan, (moment, moment))
    for number in range(20):
        append(repository, "a.md", b"%d\n" % number)

    assert not (directory / "pack-old.pack").exists()
    assert (directory / "pack-new.pack").exists()
    (directory / "pack-new.pack").unlink()
    fsck_clean(repository)
