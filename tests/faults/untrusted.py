"""Untrusted directories, one kind each: a bundle that somebody else prepared and that was unpacked here."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gitmem.memory.gate.ledger import held_id
from gitmem.state import TABLE

from tests.git.support import run_git

_NOBODY = 65534


@dataclass(frozen=True)
class Place:
    """Where a bundle lies, what is around it, and what must not happen."""

    around: Path
    """Everything of the user: a home, another bundle, files. Nothing in it may change."""
    bundle: Path
    port: int
    """Somebody listens there, and must hear nothing."""

    @property
    def git_dir(self) -> Path:
        return self.bundle / ".git"

    @property
    def state(self) -> Path:
        return self.git_dir / "gitmem"

    @property
    def canary(self) -> Path:
        return self.around / "ran"

    @property
    def program(self) -> str:
        """A command that leaves a sign."""
        return f"touch {self.canary}"

    @property
    def listener(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def script(self, path: Path) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{self.program}\ncat\n")
        path.chmod(0o755)
        return str(path)

    def configure(self, text: str) -> None:
        with (self.git_dir / "config").open("a") as file:
            file.write(text)

    def link(self, inside: str, target: Path) -> None:
        """Put a symbolic link in the place of something in the bundle."""
        path = self.bundle / inside
        if path.is_dir() and not path.is_symlink():
            path.rename(self.bundle.parent / f"was-{path.name}")
        elif path.exists():
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def note(self, **changes: object) -> None:
        """Leave the note of a commit under way, well formed and forged."""
        tip = run_git(self.bundle, "rev-parse", "main")
        values: dict[str, object] = {
            "old": run_git(self.bundle, "rev-parse", "main~1"),
            "new": tip, "paths": [], "leaves": [],
        }  # fmt: skip
        body = json.dumps({**values, **changes}).encode()
        digest = hashlib.sha256(body).hexdigest()
        (self.state / "pending").write_bytes(f"pending {digest} {len(body)}\n".encode() + body + b"\n")

    def forge_tip(self, *names: str) -> None:
        """Let `main` hold a file at a path that no tree should have."""
        blob = run_git(self.bundle, "hash-object", "-w", "--stdin", stdin=b"touched\n")
        for name in names:
            oid, mode = blob, "100644"
            for part in reversed(name.split("/")[1:]):
                oid, mode = self._tree([(mode, part, oid)]), "40000"
            entries = [(mode, name.split("/")[0], oid)]
            for line in run_git(self.bundle, "ls-tree", "main").splitlines():
                about, _, known = line.partition("\t")
                entries.append((about.split()[0].lstrip("0"), known, about.split()[2]))
            self._commit(self._tree(entries))

    def _tree(self, entries: list[tuple[str, str, str]]) -> str:
        ordered = sorted(entries, key=lambda entry: entry[1] + "/" * (entry[0] == "40000"))
        raw = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(oid) for mode, name, oid in ordered)
        return run_git(self.bundle, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)

    def _commit(self, tree: str) -> None:
        oid = run_git(self.bundle, "commit-tree", tree, "-p", "main", "-m", "flush: a change")
        (self.git_dir / "refs/heads/main").write_text(oid + "\n")


@dataclass(frozen=True)
class Kind:
    name: str
    make: Callable[[Place], object]
    merging: bool = False
    """A merge is under way, so that `doctor --fix` finishes it."""
    is_state: bool = False
    """A file of the state directory is forged: some commands read all of them."""


KINDS: list[Kind] = []


def _add(
    name: str, make: Callable[[Place], object], *, merging: bool = False, is_state: bool = False
) -> None:
    KINDS.append(Kind(name, make, merging, is_state))


# Programs that the repository's configuration names

_PROGRAMS = (
    "core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.pager", "core.editor", "core.askPass",
    "core.alternateRefsCommand", "sequence.editor", "diff.external", "diff.x.command", "diff.x.textconv",
    "filter.x.clean", "filter.x.smudge", "filter.x.process", "merge.gitmem.driver", "merge.x.driver", "gpg.program",
    "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand", "credential.helper",
    "uploadpack.packObjectsHook", "gc.recentObjectsHook", "interactive.diffFilter", "pager.gc", "pager.log",
    "remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs", "trailer.x.command", "tar.x.command",
    "man.x.cmd", "browser.x.cmd", "difftool.x.cmd", "mergetool.x.cmd",
)  # fmt: skip
_ALSO = """
[commit]
	gpgSign = true
[tag]
	gpgSign = true
[push]
	gpgSign = if-asked
[log]
	showSignature = true
[core]
	attributesFile = {attributes}
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[diff]
	tool = x
[merge]
	tool = x
"""


def _section(key: str) -> tuple[str, str]:
    first, *middle, name = key.split(".")
    return f'[{first} "{".".join(middle)}"]' if middle else f"[{first}]", name


def _names_program(key: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        attributes = place.git_dir / "more-attributes"
        attributes.write_text("* filter=x diff=x merge=x\n")
        (place.git_dir / "info/attributes").write_text("* filter=x diff=x merge=x\n")
        section, name = _section(key)
        shell = "!" if key in ("credential.helper",) else ""
        place.configure(_ALSO.format(attributes=attributes))
        place.configure(f'{section}\n\t{name} = "{shell}{place.script(place.git_dir / "evil")}"\n')

    return make


for _key in _PROGRAMS:
    _add(_key, _names_program(_key))
for _key in (
    "core.fsmonitor",
    "filter.x.smudge",
    "filter.x.clean",
    "filter.x.process",
    "merge.gitmem.driver",
):
    _add(f"{_key} in a merge", _names_program(_key), merging=True)

_SETTINGS = {
    "insteadOf ext": '[protocol "ext"]\n\tallow = always\n[url "ext::sh -c {program} %S "]\n\tinsteadOf = /\n',
    "insteadOf listener": '[url "{listener}"]\n\tinsteadOf = /\n',
    "pushInsteadOf": '[url "{listener}"]\n\tpushInsteadOf = /\n',
    "pushurl": '[remote "origin"]\n\tpushurl = {listener}\n',
    "http.proxy": "[http]\n\tproxy = {listener}\n",
    "remote.proxy": '[remote "origin"]\n\tproxy = {listener}\n',
    "bundle uri": "[fetch]\n\tbundleURI = {listener}\n[transfer]\n\tbundleURI = true\n",
    "partial clone": '[extensions]\n\tpartialClone = evil\n[remote "evil"]\n\turl = {listener}\n\tpromisor = true\n',
    "core.worktree": "[core]\n\tworktree = {around}\n",
    "include": "[include]\n\tpath = included\n",
    "includeIf": '[includeIf "gitdir:**"]\n\tpath = included\n',
    "config.worktree": "[extensions]\n\tworktreeConfig = true\n",
    "alias": "[alias]\n\tgc = !{program}\n\tfetch = !{program}\n\tpush = !{program}\n\tls-files = !{program}\n",
    "sharedRepository": "[core]\n\tsharedRepository = 0777\n",
    "templateDir": "[init]\n\ttemplateDir = {around}\n",
}  # fmt: skip


def _sets(text: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        evil = f"[core]\n\tfsmonitor = {place.script(place.git_dir / 'evil')}\n"
        (place.git_dir / "included").write_text(evil)
        (place.git_dir / "config.worktree").write_text(evil)
        place.configure(text.format(program=place.program, listener=place.listener, around=place.around))

    return make


for _name, _text in _SETTINGS.items():
    _add(_name, _sets(_text))

# Hooks

_HOOKS = (
    "pre-commit", "commit-msg", "pre-push", "post-checkout", "post-merge", "post-rewrite", "post-index-change",
    "reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "pre-merge-commit", "prepare-commit-msg",
)  # fmt: skip


def _hook(name: str) -> Callable[[Place], object]:
    return lambda place: place.script(place.git_dir / "hooks" / name)


for _name in _HOOKS:
    _add(f"hook {_name}", _hook(_name))


def _hooks_elsewhere(place: Place) -> None:
    for name in _HOOKS:
        place.script(place.git_dir / "others" / name)
    place.configure(f"[core]\n\thooksPath = {place.git_dir / 'others'}\n")


_add("core.hooksPath", _hooks_elsewhere)
_add("core.hooksPath in a merge", _hooks_elsewhere, merging=True)

# Remotes


def _remote(url: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        evil = place.git_dir / "evil.git"  # not among the files, which are committed without their modes
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(evil)], check=True)
        for name in ("pre-receive", "update", "post-receive", "reference-transaction"):
            place.script(evil / "hooks" / name)
        # As if it had never been synced: else an empty remote is refused, and nothing is sent there.
        (place.git_dir / "refs/remotes/origin/main").unlink()
        shutil.rmtree(place.state / "sync")
        place.configure(f'[uploadpack]\n\tpackObjectsHook = {place.program}\n[remote "origin"]\n')
        place.configure(f"\turl = {url.format(bundle=place.bundle, program=place.program)}\n")

    return make


for _url in (
    "./.git/evil.git", ".git/evil.git", "{bundle}/.git/evil.git", "file://{bundle}/.git/evil.git", "../b/.git/evil.git",
    "{bundle}/x/../.git/evil.git", "/proc/self/cwd/.git/evil.git", "ext::sh -c '{program}'", "--upload-pack={program}",
    "-u{program}", "ssh://-oProxyCommand={program}/x", "fd::7/x",
):  # fmt: skip
    _add(f"remote {_url}", _remote(_url))
_add(
    "remote name",
    lambda place: place.configure(f'[remote "../../../../{place.around.name}/x"]\n\turl = /tmp\n'),
)
_add(
    "remote name only",
    lambda place: (place.git_dir / "config").write_text(
        f'[remote "../../../../{place.around.name}/x"]\n\turl = /nowhere\n\tgitmemconsent = true\n'
    ),
)

# Notes of commits under way


def _note(*paths: str, forge: bool = True, **changes: Any) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        named = [path.format(around=place.around.name) for path in paths]
        if forge:
            place.forge_tip(*[path for path in named if not path.startswith("/")])
        place.note(**{"paths": named, **changes})

    return make


for _path in ("../{around}/new", "../new", "a/../../new", ".git/hooks/pre-commit", ".GIT/config", "/new"):
    _add(f"note {_path}", _note(_path))
_add("note leaves", _note("memories/MEMORY.md", leaves=["../new", ".."], forge=False))
_add("note oid", _note(old="../../../../etc/passwd", forge=False))
_add("note number", _note(old=5, new=7, forge=False))
_add("note old missing", _note("memories/MEMORY.md", old="1" * 40, forge=False))


def _other_name(place: Place) -> None:
    """A scratch directory that has a name of a file outside, as if that were a lock of ours."""
    directory = place.state / "tmp" / "1-aa"
    directory.mkdir(parents=True)
    os.link(place.around / "file", directory / "1-index")
    os.link(place.around / "file", place.git_dir / "index.lock")


_add("other name of a lock", _other_name)

# What the state directory says


def _state(name: str, text: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        path = place.state / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            text.replace("LISTENER", place.listener)
            .replace("AROUND", str(place.around))
            .replace("NEAR", place.around.name)
        )

    return make


_ENDPOINT = "{base_url: 'LISTENER', model: m, api_key_env: SECRET}"
_add("distiller", _state("config", f"distiller: {_ENDPOINT}\nflush_min_turns: 1\n"))
_add("summarizer", _state("config", f"summarizer: {_ENDPOINT}\n"))
_add("dotted endpoint", _state("config", "distiller.base_url: LISTENER\ndistiller.api_key_env: SECRET\n"))
_add("bundle_path", _state("config", "bundle_path: AROUND\n"))
_add("host link", _state("host/link", '{"home": "../../NEAR/home/.hermes"}'))
_add("host link, absolute", _state("host/link", '{"home": "AROUND/home/.hermes"}'))
_add("session", _state("session", '{"id": "../../../NEAR/x", "started": "2026-01-01T00:00:00Z"}'))
_add(
    "journal",
    _state(
        "journal/0.jsonl",
        '{"gitmem-journal": 1, "session": "../../../NEAR/x", "id": "../../../NEAR/x"}\n{"kind": 1}\n',
    ),
)


# Every file of the state directory, with each of its fields forged in turn

_SOMEBODY = "1" * 40
_NEAR, _FAR = "../../../NEAR/file", "AROUND/file"
_ENTRY = "0123456789abcdef0123456789abcdef"
_NOTE: dict[str, Any] = {
    "old": None, "new": _SOMEBODY, "paths": ["memories/MEMORY.md"], "leaves": ["log.md"],
    "was": {"memories/MEMORY.md": _SOMEBODY},
}  # fmt: skip
_AGREED = {"files": {"skills/x/SKILL.md": "text"}, "held": {"skills/x/SKILL.md": "text"}}
SAMPLES: dict[str, Any] = {
    "config": {"machine": "laptop", "bundle_path": "b", "agent_id": "hermes"},
    "pending": _NOTE,
    "cache/clocks": {"tip": _SOMEBODY, "skew": 1},
    "cache/gc": {"loose": 1, "packs": 1, "bytes": 1},
    "erased": [_SOMEBODY, "0" * 12, "2026-01-01T00:00:00Z", "ada"],
    "journal/<id>.jsonl": {"gitmem-journal": 1, "session": "s", "id": "0", "agent": "hermes"},
    "journal/<id>.new": {"gitmem-journal": 1, "session": "s", "id": "0"},
    "journal/<id>.damaged": {"gitmem-journal": 1, "session": "s", "id": "0"},
    "session": {"id": "s"},
    "ledger": {
        _ENTRY: {
            "remote": "origin", "waits": True, "late": True, "dropped": True, "retracted": True, "kept": "why",
            "released": {"at": "2026-01-01T00:00:00Z", "by": "ada"},
            "rejected": {"at": "2026-01-01T00:00:00Z", "by": "ada", "tip": _SOMEBODY},
        },
        "memories/MEMORY.md": {"at": 1, "held": [_ENTRY], "gone": [_ENTRY]},
        "machine laptop": {"at": "2026-01-01T00:00:00Z", "by": "ada"},
    },
    "held/<id>": {
        "text": "a held fact", "destination": {"kind": "file", "path": "notes/x.md"}, "reasons": ["why"],
        "origin": {"Session": "s"}, "turns": ["0123456789ab"], "at": "2026-01-01T00:00:00Z",
    },
    "pulled": [_SOMEBODY, _SOMEBODY, "origin"],
    "sync/<remote>.json": {"last_success": "2026-01-01T00:00:00Z", "error": "x", "snapshots": {"now": _SOMEBODY}},
    "host/link": {"home": "../../around/home/.hermes"},
    "cache/skills": {"tree": _SOMEBODY, "skills": {"x": {"path": "skills/x/SKILL.md", "name": "x"}}},
    "connections/<name>.base": {
        "directory": "AROUND/directory", "flat": False, **_AGREED, "text": "mine", "used": {"0": 1},
    },
    "connections/<agent>.json": {
        "file": "f", "start": 0, "added": "x", "removed": "y", "after": "1" * 64, "is_new": True,
    },
    "last-seen": {"client": _SOMEBODY},
}  # fmt: skip
"""By the pattern of the state table: a JSON value, or a list of the words of a text."""
NOT_READ = {"lock", "sqlite"}
"""Formats of which nothing is read as a name: what they are replaced with is in the kinds below."""


def _forged(value: Any) -> list[tuple[str, Any]]:
    """The value once for each field and key in it, that one leading outside; a word says which."""
    if isinstance(value, dict):
        found: list[tuple[str, Any]] = []
        for key, inside in value.items():
            others = {name: one for name, one in value.items() if name != key}
            found += [(f"{key}.{where}", {**others, key: one}) for where, one in _forged(inside)]
            found.append((f"name of {key}", {**others, _NEAR: inside}))
        return found
    if isinstance(value, list):
        return [
            (f"{at}.{where}", [*value[:at], one, *value[at + 1 :]])
            for at, inside in enumerate(value)
            for where, one in _forged(inside)
        ]
    return [("far", _FAR) if isinstance(value, str) and len(value) % 2 else ("near", _NEAR)]


def _plants(pattern: str, value: Any) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        text = " ".join(map(str, value)) if isinstance(value, list) else json.dumps(value)
        text = text.replace("AROUND", str(place.around)).replace("NEAR", place.around.name)
        key = "0"
        if pattern.startswith("held/") and {"text", "destination"} <= value.keys():
            forged = json.loads(text)
            key = held_id(str(forged["text"]), dict(forged["destination"]))  # as if it had been held so
        path = place.state / pattern.replace("<id>", key).replace("<remote>", "origin")
        if pattern.endswith("/"):
            path.mkdir()
            for number in range(4):
                (path / str(number)).write_text("planted\n")
            (path / "packed-refs").write_text("# pack-refs with: sorted \n")
            path = path / "manifest"
        elif pattern == "pending":
            body = text.encode()
            text = f"pending {hashlib.sha256(body).hexdigest()} {len(body)}\n{text}\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return make


for _pattern, _value in SAMPLES.items():
    for _where, _one in _forged(_value):
        _add(f"forged {_pattern} {_where}", _plants(_pattern, _one), is_state=True)


def _beside(place: Place, name: str) -> None:
    """A finished git directory where an erase would leave one."""
    path = place.bundle / name
    shutil.copytree(place.git_dir, path)
    (path / "gitmem" / "journal").mkdir(parents=True, exist_ok=True)
    (path / "gitmem" / "journal" / "0.jsonl").write_text('{"gitmem-journal": 1, "session": "s", "id": "0"}\n')
    (path / "config").write_text(
        "[core]\n\tfsmonitor = touch AROUND/made\n".replace("AROUND", str(place.around))
    )


def _instead(place: Place, name: str) -> None:
    _beside(place, name)
    shutil.rmtree(place.git_dir)


def _linked(place: Place, name: str) -> None:
    place.link(name, place.around / "directory")


for _name in (".gitmem-tmp-git-git", ".gitmem-tmp-git-old-git"):
    for _what, _plant in (("beside", _beside), ("instead", _instead), ("link", _linked)):
        _add(f"{_name} {_what}", partial(_plant, name=_name))
UNKNOWN = {
    name.pattern
    for name in TABLE
    if name.format not in NOT_READ and name.pattern not in ("tmp/", "fetch-<random>/")
} - {re.sub("^cache/.*", "cache/<what>", one) for one in SAMPLES}

# Links

_FILES = (
    "pending", "locks/bundle", "locks/gc", "locks/sync", "cache/gc",
    "index.db", "index.new.db", "locks/index", "pulled", "cache/clocks", "session", "ledger",
)  # fmt: skip


def _links(inside: str, target: str) -> Callable[[Place], None]:
    return lambda place: place.link(inside, place.around / target)


_DIRECTORIES = (
    "gitmem", "gitmem/tmp", "gitmem/locks", "gitmem/sync", "gitmem/journal", "gitmem/host", "gitmem/held", "gitmem/cache",
    "refs", "refs/tags", "refs/remotes", "refs/tags/snapshot", "objects", "objects/pack", "logs", "logs/refs", "info",
)  # fmt: skip
for _name in _FILES:
    _add(f"link gitmem/{_name}", _links(f".git/gitmem/{_name}", "file"))
for _name in _DIRECTORIES:
    _add(f"link {_name}/", _links(f".git/{_name}", "directory"))
for _name in (
    "logs/HEAD",
    "logs/refs/heads/main",
    "index.lock",
    "hooks/gitmem",
    "hooks/pre-commit",
    "config.lock",
):
    _add(f"link {_name}", _links(f".git/{_name}", "file"))
for _name in ("lock", "x", "git-x/objects", "git-x/refs/heads"):
    _add(f"link in scratch {_name}", _links(f".git/gitmem/tmp/1-aa/{_name}", "directory"))
for _name in ("memories", "sessions", "notes"):
    _add(f"link {_name}/", _links(_name, "directory"))
for _name in ("memories/MEMORY.md", "index.md", "log.md", "notes.md"):
    _add(f"link {_name}", _links(_name, "file"))
_add("git directory of another", lambda place: place.link(".git", place.around / "other/.git"))


def _git_file(place: Place) -> None:
    place.git_dir.rename(place.bundle / "was")
    (place.bundle / ".git").write_text(f"gitdir: ../{place.around.name}/other/.git\n")


_add("git file of another", _git_file)

# Somebody else's

if os.name == "posix" and os.geteuid() == 0:
    _add("owner of the bundle", lambda place: os.chown(place.bundle, _NOBODY, _NOBODY))
    _add("owner of the git directory", lambda place: os.chown(place.git_dir, _NOBODY, _NOBODY))
