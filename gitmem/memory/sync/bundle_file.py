"""Sync without a network: this memory as a git bundle file, and such a file taken in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent
from gitmem.git.bundle_file import read_bundle_file, write_bundle_file
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.transport import Fetched, ThrowAway

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


def write_file(bundle: Bundle, path: str) -> int:
    """Write `main` and named snapshots into a file that plain git can also read; gives the commits in it.

    A file leaves this machine as a push does: not with a secret that was committed here.
    """
    from gitmem.git.commit_graph import only_in
    from gitmem.memory.snapshots import Snapshots
    from gitmem.memory.sync.outgoing import refuse_secrets

    refs = {BRANCH: bundle.tip}
    for snapshot in bundle.part(Snapshots).all(automatic=False):
        oid = bundle.repository.refs.read(SNAPSHOTS + snapshot.name)
        if oid:
            refs[SNAPSHOTS + snapshot.name] = oid
    refuse_secrets(bundle, only_in(bundle.repository, bundle.tip), refs.values())
    return write_bundle_file(bundle.repository, path, refs)


def fetch_file(room: ThrowAway, path: str) -> Fetched:
    """The content of such a file, into a throw-away repository."""
    if not os.path.isfile(path):
        raise InvalidContent(f"There is no file {path}.")
    return Fetched.of(read_bundle_file(room, path))
