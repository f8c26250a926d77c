"""Open a repository, or make one beside its place and put it there at once, finished.

Plain git and gitmem both take it for a normal one. A process that dies while it makes one leaves a directory that nothing
obeys, and that the next one to make a repository there removes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shlex
import shutil
from collections.abc import Iterator

from gitmem.errors import BundleBusy, BundleNotFound, BundleUnusable
from gitmem.files import (
    TEMPORARY,
    DiskGroup,
    close_to_others,
    disk_error,
    durable_directory,
    make_directories,
    make_directory,
    make_durable,
    read_file,
    remove_file,
    write_new,
)
from gitmem.git import safe_directory
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.state import JOURNAL, LOCKS, TMP, LocalState
from gitmem.world import World

_NOBODY = World()
"""A world that allows nothing: without one only the user's own directories are opened."""

_HERE = -100
_SWAP = 2
"""AT_FDCWD, and RENAME_EXCHANGE of Linux, which is RENAME_SWAP of macOS."""

_FOREIGN_FORMAT = re.compile(
    rb"^[ \t]*(objectformat[ \t]*=[ \t]*\"?sha256|refstorage[ \t]*=[ \t]*\"?(?!files))",
    re.IGNORECASE | re.MULTILINE,
)


def git_dir_of(root: str) -> str | None:
    """The git directory of a work tree: `.git`, or where a `.git` file points."""
    dot_git = os.path.join(root, ".git")
    put_back(dot_git)
    if os.path.isdir(dot_git):
        return os.path.abspath(dot_git)
    content = read_file(dot_git) if os.path.isfile(dot_git) else None
    if content is None:
        return None
    text = content.decode("utf-8", "replace").strip()
    if not text.startswith("gitdir: "):
        raise BundleUnusable(f"{dot_git} is not a git link.", hint="Remove it, or run `gitmem init`.")
    target = os.path.normpath(os.path.join(root, text.removeprefix("gitdir: ").strip()))
    put_back(target)
    if not os.path.isdir(target):
        raise BundleUnusable(
            f"The git directory {target} that {dot_git} names is gone; restore it from a backup."
        )
    return os.path.abspath(target)


def rejoin(root: str) -> bool:
    """Put back the link to a git directory that lies beside its work tree; whether it was missing.

    `hermes backup` leaves out everything that is named `.git`, files too: what it brings back is a work tree
    without the link, and its history beside it. The caller knows that the place is the user's own: a repository that
    was cloned may hold two such directories, and plain git obeys the configuration of the second one.
    """
    git_dir = f"{root}.git"
    if os.path.lexists(os.path.join(root, ".git")) or not LocalState(git_dir).is_there:
        return False
    try:
        _link(root, git_dir)
    except OSError as error:
        raise disk_error(error) from error
    return True


def _link(root: str, git_dir: str) -> None:
    link = f"gitdir: {os.path.relpath(git_dir, root)}\n"
    write_new(os.path.join(root, ".git"), link.encode(), durable=True)
    durable_directory(root)


def is_bare(path: str) -> bool:
    """Return whether a directory is a bare git repository, or a git directory."""
    return os.path.isfile(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects"))


def open_repository(root: str, world: World = _NOBODY) -> Repository:
    """The repository whose work tree is `root`; refused where it is not the user's own, or leads elsewhere."""
    root = os.path.abspath(root)
    git_dir = git_dir_of(root)
    if git_dir is None:
        if is_bare(root):
            how = f"Clone it with `gitmem clone {shlex.quote(root)} DIR` and use the clone."
            raise BundleUnusable(f"{root} is a bare repository.", hint=how)
        raise BundleNotFound(f"There is no bundle in {root}.", hint="Make one with `gitmem init`.")
    safe_directory.check(root, git_dir, world)
    _refuse_apart(root, git_dir)
    if (common := read_file(os.path.join(git_dir, "commondir"))) is not None:
        main = os.path.realpath(os.path.join(git_dir, common.decode("utf-8", "replace").strip()))
        raise BundleUnusable(
            f"{root} is a linked work tree; gitmem works in the main one, {main.removesuffix('/.git')}.",
            hint="Change to that directory (`git worktree list` names it first), then run the same command.",
        )
    if not (os.path.isfile(os.path.join(git_dir, "HEAD")) or LocalState(git_dir).is_there):
        raise BundleUnusable(f"{git_dir} is not a git repository: it has no HEAD.", hint="Restore a backup.")
    if _FOREIGN_FORMAT.search(read_file(os.path.join(git_dir, "config")) or b""):
        raise BundleUnusable(
            f"{root} has another object or ref format: gitmem works with SHA-1 objects and refs in files."
        )
    if os.path.exists(os.path.join(git_dir, "objects", "info", "alternates")):
        raise BundleUnusable(
            f"{root} borrows objects from another repository: gitmem works with its own.",
            hint="Run `git repack -ad` in it and remove `.git/objects/info/alternates`.",
        )
    # Backups leave empty directories out, and git takes a directory without these for no repository.
    for name in ("objects", "refs"):
        path = os.path.join(git_dir, name)
        if not os.path.isdir(path):
            with contextlib.suppress(OSError):
                make_directories(path)
    return Repository(root, git_dir, world.env)


def _refuse_apart(root: str, git_dir: str) -> None:
    """Refuse two file systems: a file is written in the git directory and renamed to its place."""
    if os.stat(root).st_dev != os.stat(git_dir).st_dev:
        raise BundleUnusable(
            f"{root} and its git directory {git_dir} are on two file systems.",
            hint="Keep the git directory beside the files, and let the file `.git` name it there.",
        )


_EXCLUDE = f"{TEMPORARY}*\n"


@contextlib.contextmanager
def new_repository(
    root: str, *, separate_git_dir: str | None = None, world: World = _NOBODY
) -> Iterator[Repository]:
    """A repository to commit to, which gets its place when the block ends; where that fails, nothing of it stays.

    Its commits write no files. Once it has its place the note of the last one does that: the next to write or open
    it, finishes that note.
    """
    root = os.path.abspath(root)
    git_dir = os.path.abspath(separate_git_dir) if separate_git_dir else os.path.join(root, ".git")
    is_new = not os.path.isdir(root)
    try:
        _make_top(root)
        make_directories(os.path.dirname(git_dir))
        _refuse_apart(root, os.path.dirname(git_dir))
        with beside(git_dir) as new:
            _fill(new)
            repository = Repository(root, new, world.env)
            repository.has_files = False
            try:
                yield repository
                _finish(repository)
            finally:
                repository.store.close()
            place(new, git_dir)
        if separate_git_dir:
            _link(root, git_dir)
    except BaseException as error:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(root)
        if isinstance(error, OSError):
            raise disk_error(error) from error
        raise


@contextlib.contextmanager
def beside(git_dir: str) -> Iterator[str]:
    """A new directory for what is to be at `git_dir`; what is in it at the end, old or new, is removed."""
    path = _name(git_dir)
    if not sweep_beside(git_dir):
        raise BundleBusy(f"Another process is at work on {git_dir}: wait for it to end.")
    make_directory(path)
    held = _hold(path)
    if held < 0:
        raise BundleBusy(f"Another process began to work on {git_dir} too: try again.")
    try:
        yield path
    finally:
        _remove(path, git_dir)
        os.close(held)


def _name(git_dir: str, what: str = "") -> str:
    above, name = os.path.split(git_dir)
    return os.path.join(above, f"{TEMPORARY}git-{what}{name.lstrip('.')}")


def place(new: str, at: str) -> None:
    """Put a finished git directory in its place, in one step for every reader; what was there is at `new` then."""
    if not os.path.lexists(at):
        os.rename(new, at)
    elif not _exchange(new, at):
        aside = _name(at, "old-")
        os.rename(at, aside)  # killed here: `put_back`
        os.rename(new, at)
        os.rename(aside, new)
    durable_directory(os.path.dirname(at))


def _exchange(one: str, other: str) -> bool:
    """Exchange two directories; False where the system or the file system cannot do that."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if hasattr(libc, "renameat2"):
        failed = libc.renameat2(_HERE, names[0], _HERE, names[1], _SWAP)
    elif hasattr(libc, "renamex_np"):  # macOS
        failed = libc.renamex_np(*names, _SWAP)
    else:
        return False
    if failed and (error := ctypes.get_errno()) not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(error, os.strerror(error), other)
    return not failed


def put_back(git_dir: str) -> None:
    """Put a git directory back that was moved aside for another one by a process that died before that got there."""
    aside = _name(git_dir, "old-")
    if not os.path.lexists(git_dir) and _shares_lock(aside, _name(git_dir)):
        with contextlib.suppress(OSError):  # another process has just done it
            os.rename(aside, git_dir)


def sweep_beside(git_dir: str) -> bool:
    """Remove what a dead process left beside a git directory; False where a live one is at work there.

    A journal that was begun while its directory was exchanged is kept. The caller holds the bundle lock, if there is one.
    """
    path = _name(git_dir)
    if not os.path.lexists(path):
        return True
    if os.path.islink(path) or not os.path.isdir(path):
        remove_file(path)
        return True
    held = _hold(path)
    if held < 0:
        return False
    _remove(path, git_dir)
    os.close(held)
    return True


def _remove(path: str, git_dir: str) -> None:
    """Remove a git directory beside another one, which takes over journals that it lacks."""
    if _shares_lock(path, git_dir):
        _adopt(path, git_dir)
    shutil.rmtree(path, ignore_errors=True)


def _shares_lock(one: str, other: str) -> bool:
    """Return whether two git directories are of one exchange: no tree or archive brings a link to a lock of ours."""
    locks = [os.path.join(LocalState(git_dir).path(LOCKS, "bundle")) for git_dir in (one, other)]
    try:
        first, second = map(os.lstat, locks)
    except OSError:
        return False
    return os.path.samestat(first, second)


def _adopt(old: str, new: str) -> None:
    """Link the journals of a git directory that another one lacks."""
    source, target = (LocalState(git_dir).folder(JOURNAL) for git_dir in (old, new))
    with contextlib.suppress(FileNotFoundError):
        make_directories(target)
        for name in sorted(os.listdir(source)):  # a lock after its journal
            with contextlib.suppress(FileExistsError):
                os.link(os.path.join(source, name), os.path.join(target, name), follow_symlinks=False)


def _hold(directory: str) -> int:
    """Lock a directory as long as the descriptor that is given is open; -1 where another has it, or it is not there."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.lstat(directory)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return -1


def _fill(git_dir: str) -> None:
    """Make an empty git directory."""
    from gitmem.git.git_settings import ATTRIBUTES, CONFIGURATION

    for name in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info", "hooks"):
        make_directories(os.path.join(git_dir, *name.split("/")))
    make_directories(LocalState(git_dir).directory)
    for name, content in (
        ("config", CONFIGURATION),
        ("info/exclude", _EXCLUDE),
        ("info/attributes", ATTRIBUTES),
        ("HEAD", f"ref: {BRANCH}\n"),
    ):
        write_new(os.path.join(git_dir, *name.split("/")), content.encode())


def _finish(repository: Repository) -> None:
    """Note the files that are to follow, and put all of a new repository on disk."""
    from gitmem.git.recovery import CommitNote

    git_dir, tip = repository.git_dir, repository.tip()
    if tip is not None:
        paths = [path for path, _ in repository.tree(tip).files()]
        with DiskGroup() as disk:
            repository.note.write(CommitNote(None, tip, paths), disk)
    shutil.rmtree(repository.state.path(TMP), ignore_errors=True)
    made = (os.path.join(directory, name) for directory, _, names in os.walk(git_dir) for name in names)
    make_durable(git_dir, [os.path.relpath(path, git_dir) for path in made])


def _make_top(path: str) -> None:
    """Make the directory of a work tree; one with something in it stays as open as it was."""
    if not os.path.isdir(path):
        make_directories(os.path.dirname(path))
        make_directory(path)
    elif not os.listdir(path):
        close_to_others(path)


def refuse_unusual(repository: Repository) -> None:
    """Refuse a repository that cannot be exchanged: it shares objects, lacks some, or its directory cannot be moved."""
    git_dir = repository.git_dir
    for name, what in (
        ("shallow", "holds only a part of its history"),
        ("worktrees", "has more than one work tree"),
    ):
        path = os.path.join(git_dir, *name.split("/"))
        if os.path.isfile(path) or (os.path.isdir(path) and os.listdir(path)):
            raise BundleUnusable(
                f"This bundle {what} (.git/{name}): its history cannot be exchanged.",
                hint="Make a clone with `gitmem clone`, and run the command there.",
            )
    if (
        os.path.ismount(git_dir)
        or os.path.islink(git_dir)
        or not os.access(os.path.dirname(git_dir), os.W_OK)
    ):
        raise BundleUnusable(
            f"{git_dir} is a mount point, a link, or in a directory that cannot be written: it cannot be exchanged.",
            hint="Move the memory to a directory of yours, and run the command there.",
        )


def take_away(repository: Repository) -> None:
    """Take a repository back that was put in its place just now."""
    with contextlib.suppress(OSError):
        if os.path.isfile(link := os.path.join(repository.root, ".git")):
            os.unlink(link)
    with beside(repository.git_dir) as aside:
        os.rename(repository.git_dir, aside)
