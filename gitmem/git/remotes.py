"""Remotes: where a bundle is synced to, kept in git's own configuration so that plain git knows them too."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gitmem.errors import InvalidContent, UnknownRevision
from gitmem.files import disk_error, read_file
from gitmem.git.refs import check_ref_name
from gitmem.git.repository import Repository

if TYPE_CHECKING:
    from dulwich.config import ConfigFile

Mode = Literal["both", "pull-only", "push-only"]
MODES: tuple[Mode, ...] = ("both", "pull-only", "push-only")
_MAY_NAME_REMOTES = re.compile(rb"\[(remote|include)", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote by name. `consent` says that a person agreed to send this memory there."""

    name: str
    url: str
    mode: Mode = "both"
    consent: bool = False
    shared: bool = False
    """Whether others write to it: what comes from there is unconfirmed here."""

    @property
    def pulls(self) -> bool:
        return self.mode != "push-only"

    @property
    def pushes(self) -> bool:
        return self.mode != "pull-only"


class Remotes:
    """The remotes of one repository."""

    def __init__(self, repository: Repository) -> None:
        self._path = os.path.join(repository.git_dir, "config")
        self._refs = repository.refs

    def all(self) -> list[Remote]:
        # Buys "`initialize`": most bundles have no remote, and only dulwich reads git's configuration.
        if not _MAY_NAME_REMOTES.search(read_file(self._path) or b""):
            return []
        config = self._read()
        names = [
            section[1].decode("utf-8", "replace") for section in config.sections() if _is_remote(section)
        ]
        return [self._of(config, name) for name in names if _is_fit(name)]

    def get(self, name: str) -> Remote:
        for remote in self.all():
            if remote.name == name:
                return remote
        names = ", ".join(remote.name for remote in self.all())
        raise UnknownRevision(
            f"There is no remote {name!r}.",
            hint=f"The remotes are: {names}." if names else "Add one with `gitmem remote add NAME URL`.",
        )

    def save(self, remote: Remote) -> None:
        """Add a remote, or change what is known of it."""
        from gitmem.git.transport import check_url

        check_url(remote.url)
        if not _NAME.fullmatch(remote.name):
            raise InvalidContent(
                f"{remote.name!r} cannot be the name of a remote: use letters, digits, '-' and '_'."
            )
        config = self._read()
        section = (b"remote", remote.name.encode())
        config.set(section, b"url", remote.url.encode())
        config.set(section, b"fetch", f"+refs/heads/main:refs/remotes/{remote.name}/main".encode())
        config.set(section, b"gitmemmode", remote.mode.encode())
        config.set(section, b"gitmemconsent", b"true" if remote.consent else b"false")
        config.set(section, b"gitmemshared", b"true" if remote.shared else b"false")
        self._write(config)

    def remove(self, name: str) -> Remote:
        remote = self.get(name)
        config = self._read()
        del config[b"remote", name.encode()]
        self._write(config)
        return remote

    def _of(self, config: ConfigFile, name: str) -> Remote:
        section = (b"remote", name.encode())

        def value(key: bytes) -> str:
            try:
                return config.get(section, key).decode("utf-8", "replace")
            except KeyError:
                return ""

        mode = value(b"gitmemmode")
        return Remote(
            name,
            value(b"url"),
            next((known for known in MODES if known == mode), "both"),
            value(b"gitmemconsent") == "true",
            value(b"gitmemshared") == "true",
        )

    def _read(self) -> ConfigFile:
        from dulwich.config import ConfigFile

        try:
            return ConfigFile.from_path(self._path)
        except FileNotFoundError:
            return ConfigFile()
        except (ValueError, OSError) as error:
            raise InvalidContent(
                f"{self._path} cannot be read as git configuration ({error}): repair it."
            ) from error

    def _write(self, config: ConfigFile) -> None:
        data = io.BytesIO()
        config.write_to_file(data)
        try:
            self._refs.replace("config", data.getvalue())
        except OSError as error:
            raise disk_error(error) from error


def _is_fit(name: str) -> bool:
    """Return whether a name that somebody wrote into git's configuration is one: files are named after remotes."""
    try:
        check_ref_name(f"refs/remotes/{name}/main")
    except InvalidContent:
        return False
    return True


def _is_remote(section: tuple[bytes, ...]) -> bool:
    return len(section) == 2 and section[0].lower() == b"remote"
