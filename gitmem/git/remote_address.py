"""The address of a remote: what it names, what is refused, and how it is shown without its login."""

from __future__ import annotations

import os
import re
import shlex
import urllib.parse
from typing import TYPE_CHECKING

from gitmem.errors import RemoteError

if TYPE_CHECKING:
    from gitmem.git.repository import Repository

_LOGINS = "Keep logins in git's credential helper: `git help credentials`."
_ABOUT_US = ("/proc/", "/dev/fd/")
"""Paths that mean another place for each process."""
_SCHEMES = ("ssh", "https", "http", "git", "file")
_WITH_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# Up to the last @ before the path: a password may hold one.
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]+@")
_SCP_LOGIN = re.compile(r"^[^/@:\s]+:[^/@\s]+@(?=[^/:\s]+:)")
"""A password before the host where there is no scheme: ssh would show it to everybody, and not use it."""
_QUERY = re.compile(r"(://[^\s?#]*[?#])[^\s'\"]+")


def check_url(url: str) -> None:
    """Refuse addresses that would run a program or could be taken for an option."""
    kind = _scheme(url)
    try:
        url.encode()
    except UnicodeEncodeError:
        raise RemoteError(
            f"{shown_url(url)!a} is not UTF-8, and not the address of a git repository."
        ) from None
    if not url.strip() or url.startswith("-") or "\n" in url or "\0" in url:
        raise RemoteError(f"{shown_url(url)!r} is not the address of a git repository.")
    if "::" in url.partition("/")[0]:
        raise RemoteError(f"{shown_url(url)!r} asks for a helper program: use ssh, https or a path.")
    if kind and kind not in _SCHEMES:
        raise RemoteError(f"{kind}:// is not supported: use ssh, https or a path.")
    # Both would be arguments of a program, for everybody on this machine to see.
    if kind in ("http", "https") and re.search(r"[?#]", url):
        raise RemoteError(f"{shown_url(url)} has a query in it.", hint=_LOGINS)
    with_password = kind == "ssh" and urllib.parse.urlsplit(url).password is not None
    if with_password or _SCP_LOGIN.match(url):
        raise RemoteError(
            f"{shown_url(url)} has a password in it, which ssh does not take.", hint="Use a key."
        )


def local_path(url: str) -> str:
    """The path that an address names on this machine; empty where it names a server."""
    if (kind := _scheme(url)) == "file":
        return urllib.parse.unquote(urllib.parse.urlsplit(url).path)
    return "" if kind or ":" in url.partition("/")[0] else url


def check_place(url: str, lender: Repository) -> None:
    """Refuse an address that no git program should be given, or a path that holds no repository."""
    check_url(url)
    path = local_path(url)
    if not path or os.path.isfile(path):  # a git bundle file runs nothing
        return
    # Git runs the hooks of a repository that it pushes to. One that came with the bundle is not a remote.
    if not os.path.isabs(path) or path.startswith(_ABOUT_US) or _is_inside(path, lender):
        raise RemoteError(
            f"{path} is inside the bundle, or depends on where you are: a remote is somewhere else.",
            hint="Name it by its full path: `gitmem remote add NAME PATH`.",
        )
    if not os.path.isdir(path):
        quoted = shlex.quote(path)
        raise RemoteError(
            f"There is no directory {path}.",
            hint=f"Make it a repository: `git init --bare -b main {quoted}`.",
        )


def without_login(url: str) -> tuple[str, str, str | None]:
    """An address over HTTP without its login, and the user and password in it; others as they are."""
    parts = urllib.parse.urlsplit(url) if _scheme(url) in ("http", "https") else None
    if parts is None or "@" not in parts.netloc:
        return url, "", None
    login, _, host = parts.netloc.rpartition("@")
    user, with_password, password = (urllib.parse.unquote(part) for part in login.partition(":"))
    bare = urllib.parse.urlunsplit(parts._replace(netloc=host))
    return bare, user, password if with_password else None


def shown_url(url: str) -> str:
    """An address without the credentials in it."""
    return _QUERY.sub(r"\1***", _CREDENTIALS.sub("***@", _SCP_LOGIN.sub("***@", url)))


def without_credentials(text: str, url: str) -> str:
    """A server's or a program's complaint without what the address of `url` gives away."""
    secret = urllib.parse.urlsplit(url).password if _scheme(url) else None
    for form in {secret, urllib.parse.unquote(secret)} if secret else ():
        text = text.replace(form, "***")
    return shown_url(text)


def _scheme(url: str) -> str:
    found = _WITH_SCHEME.match(url)
    return found[1].lower() if found else ""


def _is_inside(path: str, lender: Repository) -> bool:
    real = os.path.realpath(path)
    ours = [os.path.realpath(place) for place in (lender.root, lender.git_dir) if place]
    return any(real == one or real.startswith(os.path.join(one, "")) for one in ours)
