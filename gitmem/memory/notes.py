"""Notes: a plain concept with a title and a text, for what is worth a page and no fact for every prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent, UsageError
from gitmem.git.message import Message
from gitmem.memory.gate.admission import Admission
from gitmem.memory.open_buffers import OpenBuffers
from gitmem.memory.origin import source_trailer
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.paths import slug
from gitmem.version import __version__

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.origin import Origin


def write_note(
    bundle: Bundle,
    title: str,
    text: str = "",
    *,
    tags: Iterable[str] = (),
    origin: Origin,
    by_person: bool = False,
) -> tuple[str, str]:
    """A new note in `notes/`; gives its path and its commit. One of that name is not written over."""
    admission = Admission(bundle, origin=origin, by_person=by_person)
    title, text = admission.note(" ".join(title.split())), admission.note(text.strip())
    if not title:
        raise UsageError("A note needs a title.")
    listed = [admission.note(tag) for tag in tags]
    came = admission.believed("\n".join([title, text]))
    path, at = f"notes/{slug(title)}.md", bundle.now()
    bundle.part(OpenBuffers).flush()

    def work(edits: Edits) -> Message | None:
        if path in edits:
            raise InvalidContent(
                f"There is a note {path} already.", hint=f"Change it with `gitmem edit {path}`."
            )
        concept = Concept.new(
            layout.NOTE,
            f"{text}\n" if text else "",
            title=title,
            tags=listed or None,
            session=origin.session or None,
            **came.marks,
            generated={"by": f"gitmem/{__version__}", "at": at},
        )
        edits.write(path, concept.render())
        return Message("note", title, source_trailer(came.sources, origin))

    published = bundle.commit(work, purpose="note", origin=origin)
    return path, published.commit.oid if published else ""
