"""Open a repository, or make a new one that plain git and gitmem both take for a normal one."""

from __future__ import annotations

import contextlib
import os
import re
import shlex

from gitmem.errors import BundleNotFound, BundleUnusable
from gitmem.files import TEMPORARY, disk_error, durable_directory, read_file, replace_file, write_new
from gitmem.git import safe_directory
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.permissions import close_to_others, make_directories, make_directory
from gitmem.state import LocalState
from gitmem.world import World

_NOBODY = World()
"""A world that allows nothing: whoever opens without one works on the user's own directories only."""

_FOREIGN_FORMAT = re.compile(
    rb"^[ \t]*(objectformat[ \t]*=[ \t]*\"?sha256|refstorage[ \t]*=[ \t]*\"?(?!files))",
    re.IGNORECASE | re.MULTILINE,
)


def git_dir_of(root: str) -> str | None:
    """The git directory of a work tree: `.git`, or where a `.git` file points."""
    dot_git = os.path.join(root, ".git")
    if os.path.isdir(dot_git):
        return os.path.abspath(dot_git)
    content = read_file(dot_git) if os.path.isfile(dot_git) else None
    if content is None:
        return None
    text = content.decode("utf-8", "replace").strip()
    if not text.startswith("gitdir: "):
        raise BundleUnusable(f"{dot_git} is not a git link.", hint="Remove it, or run `gitmem init`.")
    target = os.path.normpath(os.path.join(root, text.removeprefix("gitdir: ").strip()))
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


def open_repository(root: str, world: World = _NOBODY) -> Repository:
    """The repository whose work tree is `root`; refused where it is not the user's own, or leads elsewhere."""
    root = os.path.abspath(root)
    git_dir = git_dir_of(root)
    if git_dir is None:
        if os.path.isfile(os.path.join(root, "HEAD")) and os.path.isdir(os.path.join(root, "objects")):
            how = f"Clone it with `gitmem clone {shlex.quote(root)} DIR` and use the clone."
            raise BundleUnusable(f"{root} is a bare repository.", hint=how)
        raise BundleNotFound(f"There is no bundle in {root}.", hint="Make one with `gitmem init`.")
    safe_directory.check(root, git_dir, world)
    _refuse_apart(root, git_dir)
    if (common := read_file(os.path.join(git_dir, "commondir"))) is not None:
        main = _main_work_tree(os.path.join(git_dir, common.decode("utf-8", "replace").strip()))
        how = f"Work there: `cd {shlex.quote(main)}`, then the same command."
        raise BundleUnusable(f"{root} is a linked work tree; gitmem works in the main one, {main}.", hint=how)
    if not os.path.isfile(os.path.join(git_dir, "HEAD")):
        raise BundleUnusable(f"{git_dir} is not a git repository (it has no HEAD); restore it from a backup.")
    if _FOREIGN_FORMAT.search(read_file(os.path.join(git_dir, "config")) or b""):
        raise BundleUnusable(
            f"{root} has another object or ref format: gitmem works with SHA-1 objects and refs in files."
        )
    repository = _repository(root, git_dir, world)
    # Backups leave empty directories out, and git takes a directory without these for no repository.
    for name in ("objects", "refs"):
        path = os.path.join(git_dir, name)
        if not os.path.isdir(path):
            with contextlib.suppress(OSError):
                make_directories(path)
    return repository


def _repository(root: str, git_dir: str, world: World) -> Repository:
    return Repository(root, git_dir, world.env) if world.env else Repository(root, git_dir)


def _refuse_apart(root: str, git_dir: str) -> None:
    """Refuse two file systems: a file is written in the git directory and renamed to its place."""
    if _device(root) != _device(git_dir):
        raise BundleUnusable(
            f"{root} and its git directory {git_dir} are on two file systems.",
            hint="Keep the git directory beside the files, and let the file `.git` name it there.",
        )


def _device(path: str) -> int:
    """The file system of what is at a path, or will be."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.stat(path).st_dev


def _main_work_tree(git_dir: str) -> str:
    """The work tree that a git directory is for; the git directory itself where nothing beside it says which."""
    git_dir = os.path.realpath(git_dir)
    root = git_dir.removesuffix(".git").rstrip(
        os.sep
    )  # `root/.git`, or `root.git` as `--separate-git-dir` has it here
    found = git_dir_of(root) if root != git_dir and os.path.isdir(root) else None
    return root if found is not None and os.path.realpath(found) == git_dir else git_dir


CONFIGURATION = """[core]
	repositoryformatversion = 0
	sharedRepository = 0600
	filemode = false
	bare = false
	logallrefupdates = true
	autocrlf = false
	splitIndex = false
	untrackedCache = false
	fsmonitor = false
	preloadIndex = false
	fsync = all
[feature]
	manyFiles = false
[index]
	version = 2
	threads = 1
	skipHash = false
[gc]
	auto = 0
	reflogExpire = never
[transfer]
	fsckObjects = true
"""


# Files are bytes: no line ending, keyword, filter or encoding is ever changed on the way. Here they
# outrank whatever a `.gitattributes` that came from elsewhere might say.
ATTRIBUTES = "* -text -ident -filter -working-tree-encoding\n*.md merge=gitmem\n"


def has_attributes(repository: Repository) -> bool:
    """Return whether `info/attributes` ends with ours, so that nothing outranks them."""
    path = os.path.join(repository.git_dir, "info", "attributes")
    return (read_file(path) or b"").decode("utf-8", "replace").endswith(ATTRIBUTES)


def write_attributes(repository: Repository) -> None:
    """Put our attributes at the end of `info/attributes`: there they outrank what stands before."""
    path = os.path.join(repository.git_dir, "info", "attributes")
    before = (read_file(path) or b"").decode("utf-8", "surrogateescape")
    between = "" if not before or before.endswith("\n") else "\n"
    make_directories(os.path.dirname(path))
    data = (before + between + ATTRIBUTES).encode("utf-8", "surrogateescape")
    replace_file(path, data, scratch=repository.scratch, durable=True)


_EXCLUDE = f"{TEMPORARY}*\n"


def make_repository(root: str, *, separate_git_dir: str | None = None, world: World = _NOBODY) -> Repository:
    """Make an empty repository with its work tree at `root`, ready for the first commit; it is its owner's alone."""
    root = os.path.abspath(root)
    git_dir = os.path.abspath(separate_git_dir) if separate_git_dir else os.path.join(root, ".git")
    _refuse_apart(root, git_dir)
    try:
        _make_top(root)
        _make_top(git_dir, is_ours=True)
        for name in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info", "hooks"):
            make_directories(os.path.join(git_dir, *name.split("/")))
        make_directories(LocalState(git_dir).directory)
        for name, content in (
            ("config", CONFIGURATION),
            ("info/exclude", _EXCLUDE),
            ("info/attributes", ATTRIBUTES),
            ("HEAD", f"ref: {BRANCH}\n"),
        ):
            path = os.path.join(git_dir, *name.split("/"))
            write_new(path, content.encode(), durable=True)
            durable_directory(os.path.dirname(path))
        if separate_git_dir:
            _link(root, git_dir)
    except OSError as error:
        raise disk_error(error) from error
    return _repository(root, git_dir, world)


def _make_top(path: str, *, is_ours: bool = False) -> None:
    """Make a directory for the work tree or git; one that was there, and is not ours, stays as open as it was."""
    if not os.path.isdir(path):
        make_directories(os.path.dirname(path))
        make_directory(path)
    elif is_ours or not os.listdir(path):
        close_to_others(path)


def remove_repository(repository: Repository) -> None:
    """Take back a repository whose making failed before its first commit."""
    import shutil

    shutil.rmtree(repository.git_dir, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(repository.root, ".git"))


def begin_on_main(repository: Repository) -> None:
    """Let HEAD of a repository without commits name the branch that gitmem writes to."""
    head = os.path.join(repository.git_dir, "HEAD")
    replace_file(head, f"ref: {BRANCH}\n".encode(), scratch=repository.scratch, durable=True)
