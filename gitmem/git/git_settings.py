"""Git's own settings of a bundle: those under which plain git stays right on it, its remotes, the merge of its files."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gitmem.errors import BundleUnusable, InvalidContent, UnknownRevision
from gitmem.files import disk_error, read_file
from gitmem.git import git_program
from gitmem.git.remote_address import check_url, shown_url
from gitmem.git.repository import Repository
from gitmem.world import World

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

ATTRIBUTES = "* -text -ident -filter -working-tree-encoding\n*.md merge=gitmem\n"
"""Files are bytes: no line ending, keyword, filter or encoding is ever changed on the way."""

# What breaks where one of these settings has another value.
_WANTED = {
    "core.autocrlf": ("false", "git changes line ends, so files differ from what was committed"),
    "core.splitindex": ("false", "git's index is rewritten whole at every commit"),
    "core.untrackedcache": ("false", "git's index is rewritten whole at every commit"),
    "core.fsmonitor": ("false", "git may run a program that someone else chose"),
    "feature.manyfiles": ("false", "git's index is rewritten whole at every commit"),
    "core.preloadindex": ("false", "a git commit beside one of ours is more likely to put an old index back"),
    "index.skiphash": ("false", "damage in git's index goes unseen"),
    "transfer.fsckobjects": ("true", "plain `git pull` takes in objects that git's own check refuses"),
    "gc.auto": ("0", "git cleans up in the middle of a commit; `gitmem gc` does it beside them"),
}
_FINE_WHEN_UNSET = frozenset(_WANTED) - {"gc.auto", "transfer.fsckobjects"}
_SAME = {
    "true": frozenset({"true", "yes", "on", "1"}),
    "false": frozenset({"false", "no", "off", "0", ""}),
}
_PATIENCE = 10.0

Mode = Literal["both", "pull-only", "push-only"]
MODES: tuple[Mode, ...] = ("both", "pull-only", "push-only")
_MAY_NAME_REMOTES = re.compile(rb"\[(remote|include)", re.IGNORECASE)
_NAME = re.compile(r"(?!.*(?:\.\.|\.lock\Z|\.\Z))[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
"""Of a remote: files and refs are named after it, so one with another name is left to plain git."""


class UnsafeSetting(NamedTuple):
    """A setting of the repository that should be another."""

    key: str
    value: str
    wanted: str
    why: str


def unsafe_settings(repository: Repository) -> list[UnsafeSetting]:
    """Settings in the repository's own configuration that should be others."""
    values = _values(_path(repository))
    return [
        UnsafeSetting(key, values.get(key, ""), wanted, why)
        for key, (wanted, why) in _WANTED.items()
        if (key in values or key not in _FINE_WHEN_UNSET)
        and values.get(key, "unset").lower() not in _SAME.get(wanted, {wanted})
    ]


def set_values(repository: Repository, values: Mapping[str, str]) -> None:
    """Set values in sections without a name of their own."""
    for key, value in values.items():
        section, _, name = key.partition(".")
        _change(repository, section, {name: value})


def make_safe(repository: Repository) -> None:
    """Set every unsafe setting as it should be."""
    if unsafe := unsafe_settings(repository):
        set_values(repository, {setting.key: setting.wanted for setting in unsafe})


def setting(repository: Repository, name: str) -> str:
    """A setting in the repository's own configuration; empty where it is not set."""
    return _values(_path(repository)).get(name, "")


def hooks_path(repository: Repository, world: World) -> str:
    """The directory outside the repository in which git looks for hooks; empty where it looks inside, or is missing."""
    words = git_program.command("config", "--get-all", "core.hooksPath", git_dir=repository.git_dir)
    env = {**git_program.environment(world.env), "HOME": world.home}
    try:
        done = git_program.run(words, env=env, seconds=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = "".join(done.stdout.decode("utf-8", "replace").splitlines()[:-1][-1:])  # the last is of our call
    if not found:
        return ""
    place = os.path.join(repository.root, world.home + found[1:] if found.startswith("~/") else found)
    ours = os.path.join(repository.git_dir, "hooks")
    return "" if os.path.realpath(place) == os.path.realpath(ours) else found


# Merges by plain git


def set_merge_driver(repository: Repository, command: str) -> None:
    """Configure the merge driver that the attributes name, for merges by plain git."""
    _change(repository, 'merge "gitmem"', {"name": "merge of memory entries", "driver": command})


def write_attributes(repository: Repository) -> None:
    """Put our attributes at the end of `info/attributes`: there they outrank those of a tree and those before them."""
    before = _attributes(repository)
    between = "" if not before or before.endswith("\n") else "\n"
    _write(repository, "info/attributes", before + between + ATTRIBUTES)


def merges_entries(repository: Repository) -> bool:
    """Return whether plain git merges files of a bundle by our driver, and changes no byte of them."""
    driver = _values(_path(repository), includes=True).get("merge.gitmem.driver")
    return bool(driver) and _attributes(repository).endswith(ATTRIBUTES)


def _attributes(repository: Repository) -> str:
    path = os.path.join(repository.git_dir, "info", "attributes")
    return (read_file(path) or b"").decode("utf-8", "surrogateescape")


# Remotes


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote by name. `consent` says that a person agreed to send this memory there."""

    name: str
    url: str
    mode: Mode = "both"
    consent: bool = False
    shared: bool = False
    """Whether others write to it: entries from there are unconfirmed here."""

    @property
    def agreeing(self) -> str:
        """The command by which a person agrees to it as it is; a login is left out of the address."""
        options = ["--push-only"] * (self.mode == "push-only") + ["--shared"] * self.shared
        return shlex.join(["gitmem", "remote", "add", self.name, shown_url(self.url), *options, "--yes"])

    @property
    def pulls(self) -> bool:
        return self.mode != "push-only"

    @property
    def pushes(self) -> bool:
        return self.mode != "pull-only"


class Remotes:
    """The remotes of one repository, in git's own configuration so that plain git knows them too."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def all(self) -> list[Remote]:
        # Buys "`initialize`": most bundles have no remote, and only dulwich reads git's configuration.
        if not _MAY_NAME_REMOTES.search(read_file(_path(self._repository)) or b""):
            return []
        values = _values(_path(self._repository), includes=True)
        names = dict.fromkeys(
            key.removeprefix("remote.").rpartition(".")[0] for key in values if key.startswith("remote.")
        )
        return [_remote(values, name) for name in names if _NAME.fullmatch(name)]

    def get(self, name: str) -> Remote:
        known = {remote.name: remote for remote in self.all()}
        if name not in known:
            raise UnknownRevision(
                f"There is no remote {name!r}.",
                hint=f"The remotes are: {', '.join(known)}."
                if known
                else "Add one with `gitmem remote add NAME URL`.",
            )
        return known[name]

    def save(self, remote: Remote) -> None:
        """Add a remote, or change what is known of it."""
        check_url(remote.url)
        if not _NAME.fullmatch(remote.name):
            raise InvalidContent(
                f"{remote.name!r} cannot be the name of a remote: use letters, digits, '-' and '_'."
            )
        values = {
            "url": remote.url,
            "fetch": f"+refs/heads/main:refs/remotes/{remote.name}/main",
            "gitmemmode": remote.mode,
            "gitmemconsent": "true" if remote.consent else "false",
            "gitmemshared": "true" if remote.shared else "false",
        }
        _change(self._repository, f'remote "{remote.name}"', values)

    def remove(self, name: str) -> Remote:
        remote = self.get(name)
        _change(self._repository, f'remote "{name}"', None)
        return remote


def _remote(values: Mapping[str, str], name: str) -> Remote:
    url, mode, consent, shared = (
        values.get(f"remote.{name}.{key}", "")
        for key in ("url", "gitmemmode", "gitmemconsent", "gitmemshared")
    )
    known = [one for one in MODES if one == mode] or ["both"]
    return Remote(name, url, known[0], consent == "true", shared == "true")


# The files


def quoted(text: str) -> str:
    """A text as git's configuration quotes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _path(repository: Repository) -> str:
    return os.path.join(repository.git_dir, "config")


def _values(path: str, *, includes: bool = False) -> dict[str, str]:
    """The settings of a file by their full name, the last of several; but for what is quoted, in lower case."""
    from dulwich.config import ConfigFile

    if not os.path.exists(path):
        return {}
    try:
        config = ConfigFile.from_path(path, expand_includes=includes)
    except (ValueError, OSError) as error:
        raise BundleUnusable(f"{path} cannot be read ({error}): correct it.") from error
    found: dict[str, str] = {}
    for section in config.sections():
        first, *names = (part.decode("utf-8", "replace") for part in section)
        for name, value in config.items(section):
            key = ".".join((first.lower(), *names, name.decode("utf-8", "replace").lower()))
            found[key] = value.decode("utf-8", "replace")
    return found


def _change(repository: Repository, section: str, values: Mapping[str, str] | None) -> None:
    """Set values of a section at the end of the configuration, where they outrank those before; None removes the section.

    The rest stays as it is written.
    """
    kind, _, name = section.partition(" ")
    header = re.compile(rf"\s*\[\s*(?i:{kind})\s*{re.escape(name)}\s*\]\s*")
    kept: list[str] = []
    inside, pending = False, ""
    text = (read_file(_path(repository)) or b"").decode("utf-8", "surrogateescape")
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = header.fullmatch(line) is not None
            pending = line if inside else ""
            if inside:
                continue
        elif inside and (values is None or line.partition("=")[0].strip().lower() in map(str.lower, values)):
            continue
        kept += [pending, line]
        pending = ""
    kept.append("\n" if kept and not kept[-1].endswith("\n") else "")
    if values is not None:
        kept += [f"[{section}]\n", *(f"\t{key} = {quoted(value)}\n" for key, value in values.items())]
    _write(repository, "config", "".join(kept))


def _write(repository: Repository, name: str, text: str) -> None:
    """Write a file of the git directory under git's lock on it."""
    try:
        repository.refs.replace(name, text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise disk_error(error) from error
