"""Notices: what an operation has to say beside its result, as values. Their wording is here and nowhere else.

A program looks at `kind` and `subject`; a person reads `str(notice)`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "as-of-merge",
    "call-not-recorded", "clock-behind", "dates-wrong", "distiller-failed", "endpoint-failed", "endpoint-unusable",
    "embeddings-sent", "endpoint-has-it",
    "entry-held", "event-redacted", "events-recovered", "file-not-committed", "flood",
    "head-elsewhere", "hidden-came",
    "hook-foreign", "host-entry-held", "host-entry-refused", "host-file-emptied", "host-file-left",
    "host-followed", "host-left-behind", "index-private", "index-rebuilt", "journal-damaged", "journal-kept",
    "kept-part", "kept-rewritten", "kept-wording", "many-removed", "model-answer", "plan-steps-open", "recall-not-noted",
    "rule-ignored", "rules-not-accepted", "secret-came", "secret-found", "secret-redacted", "setting-ignored",
    "skill-file-held",
    "skill-file-refused", "skill-file-retracted", "skill-file-unwritable", "skill-file-withheld",
    "branch-of-another", "branch-refused", "branch-waits",
    "snapshot-moved", "snapshot-twice", "step-was-done", "taken-kept", "turn-cut-short",
    "work-tree-behind",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that somebody may want to know."""

    kind: Kind
    subject: str = ""
    """What it is about: a path, a name, an id."""
    detail: str = ""
    """What was seen there."""

    @property
    def remedy(self) -> str:
        """Return what to do about it, where anything can be done."""
        return _REMEDIES.get(self.kind, "").format(subject=shlex.quote(self.subject))  # in a command

    def __str__(self) -> str:
        said = _WORDS[self.kind].format(subject=self.subject, detail=self.detail)
        return f"{said} {self.remedy}".strip()


_WORDS: dict[Kind, str] = {
    "as-of-merge": "main never was at {subject}: searched as of {detail}, the merge that brought it.",
    "call-not-recorded": "A call of {subject} was not recorded: {detail}",
    "clock-behind": "The clock says {subject}, and the newest commit is of {detail}: one of them is wrong.",
    "dates-wrong": "What came has dates that cannot be right ({detail} on {subject}): order goes by the history.",
    "distiller-failed": "The distiller failed ({detail}); the rules were used instead.",
    "endpoint-failed": "{detail} The {subject} worked without a model.",
    "embeddings-sent": (
        "Texts of this memory are sent to {subject}, for search by meaning: what an agent may see, without secrets."
    ),
    "endpoint-has-it": "{subject} had the text, for search by meaning: what it keeps of it is not erased by this.",
    "endpoint-unusable": "{detail} The {subject} works without a model.",
    "entry-held": "An entry in {subject} is held back as {detail}.",
    "event-redacted": "A secret in what was recorded in session {subject} is redacted.",
    "events-recovered": "Recovered {detail} of a writer that ended without a flush.",
    "file-not-committed": "{detail} It is left as it is, uncommitted.",
    "head-elsewhere": (
        "HEAD is {subject} and not on main: a search answers for what is checked out if main was ever there, "
        "all else for main."
    ),
    "hidden-came": "{subject} is not shown to agents: {detail}.",
    "hook-foreign": "The git hook {subject} is somebody else's and was left alone.",
    "host-entry-held": "An entry of {subject} is kept out of the versioned memory as {detail}.",
    "host-entry-refused": "An entry of {subject} is not versioned: {detail}",
    "host-file-emptied": "{detail} at once, and no agent said why.",
    "host-file-left": "{detail} Until then gitmem leaves {subject} alone.",
    "host-followed": (
        "Brought along for {subject}: {detail}. "
        "Running sessions keep their current prompt; new sessions see the change."
    ),
    "host-left-behind": "The files of {subject} were not brought along: {detail}",
    "index-private": "Searched without the index on disk: {detail}.",
    "index-rebuilt": "The search index is rebuilt: {detail}.",
    "journal-damaged": "In a journal that was left behind: {detail}",
    "journal-kept": "{detail}",
    "many-removed": "{subject} lost {detail} at once, by hand or by another program: `gitmem undo` brings them back.",
    "kept-part": "{subject}: {detail} was changed again since, so it stays.",
    "kept-rewritten": "{subject}: rewritten since, so it stays.",
    "kept-wording": "{subject}: changed again since, so the later wording stays ({detail}).",
    "model-answer": "{detail}",
    "plan-steps-open": "{subject} is finished with open steps: {detail}.",
    "recall-not-noted": "What was recalled was not noted ({detail}).",
    "rule-ignored": "A rule in {subject} is ignored: {detail}",
    "rules-not-accepted": "{subject} has rules that nobody accepted on this machine.",
    "secret-came": "{subject} seems to hold a secret ({detail}).",
    "secret-found": "{subject}, which came from a remote, seems to hold a secret ({detail}).",
    "secret-redacted": "A secret that was written into {subject} is redacted: {detail}",
    "setting-ignored": "`{subject}` in {detail} is ignored: a bundle may come from somebody else.",
    "skill-file-held": "{subject} is kept out of the versioned memory as {detail}.",
    "skill-file-refused": "A file of the skill {subject} is not versioned: {detail}",
    "skill-file-retracted": "{subject} was taken back earlier and is taken out again.",
    "skill-file-unwritable": "The skill file {subject} cannot be written ({detail}).",
    "skill-file-withheld": "{subject} is not written for the agent: the scanner flags it.",
    "snapshot-moved": "The snapshot {subject!r} was moved on {detail}: yours stays as it is.",
    "branch-of-another": "The branch {subject} has commits that name another machine: {detail}.",
    "branch-refused": "{subject} takes no branch of this machine ({detail}): allow it to push branches in/*, or many "
    "machines that sync at once wait for each other.",
    "branch-waits": "The branch {subject} on the remote is left out: {detail}",
    "snapshot-twice": "Another machine has a snapshot {subject!r} too: it is called {detail!r} here.",
    "step-was-done": "Step {subject} was done already; nothing was changed.",
    "flood": "{subject} brings {detail} at once, more than the store has room for: they count as unconfirmed.",
    "taken-kept": "{subject} takes {detail} away; they stay until a person looks.",
    "turn-cut-short": "The last session ended in the middle of a turn: what the user said is kept.",
    "work-tree-behind": "{detail}",
}

_REMEDIES: dict[Kind, str] = {
    "clock-behind": "If it is the clock, set it: what is written now has its date.",
    "head-elsewhere": "`git checkout main` brings both together.",
    "host-file-emptied": "`gitmem revert {subject}` brings them back.",
    "hook-foreign": "See `gitmem check`.",
    "rules-not-accepted": "Look at it, then run `gitmem scan --accept-rules`.",
    "setting-ignored": "Set it in $HERMES_HOME/gitmem.yaml or in the environment.",
    "skill-file-withheld": "See `gitmem scan`.",
    "flood": "See `gitmem review`; `gitmem undo` takes the sync back.",
    "taken-kept": "See `gitmem review`.",
    "snapshot-moved": "If that was meant, run `gitmem snapshot --delete {subject}` and `gitmem sync`.",
}


def wrong_dates(found: Sequence[tuple[str, str]]) -> Notice:
    """Return what there is to say of dates that came and cannot be right: what has one, and the date."""
    what, date = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return Notice("dates-wrong", f"{what}{more}", date)
