"""Notices: what an operation has to say beside its result, as values. Their wording is here and nowhere else.

A program looks at `kind` and `subject`; a person reads `str(notice)`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that a person may want to know."""

    kind: str
    subject: str = ""
    """What it is about: a path, a name, an id."""
    detail: str = ""
    """What was seen there."""

    def __str__(self) -> str:
        """The sentence for a person; `{quoted}` in it is the subject as an argument of a command."""
        quoted = shlex.quote(self.subject)
        return WORDS[self.kind].format(subject=self.subject, detail=self.detail, quoted=quoted)


WORDS = {
    "as-of-merge": "main never was at {subject}: searched as of {detail}, the merge that brought it.",
    "call-not-recorded": "A call of {subject} was not recorded: {detail}",
    "clock-behind": "The clock says {subject}, and the newest commit is of {detail}: one of them is wrong. "
    "If it is the clock, set it: what is written now has its date.",
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
        "all else for main. `git checkout main` brings both together."
    ),
    "hidden-came": "{subject} is not shown to agents: {detail}.",
    "hook-foreign": "The git hook {subject} is not gitmem's and was left alone. See `gitmem check`.",
    "host-entry-held": "An entry of {subject} is kept out of the versioned memory as {detail}.",
    "host-entry-refused": "An entry of {subject} is not versioned: {detail}",
    "host-file-emptied": "{detail} at once, and no agent said why. `gitmem revert {quoted}` brings them back.",
    "host-file-left": "{detail} Until then gitmem leaves {subject} alone.",
    "host-followed": (
        "Brought along for {subject}: {detail}. "
        "Running sessions keep their current prompt; new sessions see the change."
    ),
    "host-left-behind": "The files of {subject} were not brought along: {detail}",
    "index-behind": "The search index is being brought up to date in the background: the newest is not found yet.",
    "index-private": "Searched without the index on disk: {detail}.",
    "index-rebuilt": "The search index is rebuilt: {detail}.",
    "journal-damaged": "In a journal that was left behind: {detail}",
    "journal-kept": "{detail}",
    "machine-unknown": "What {subject} added on {detail} counts as unconfirmed. If it is a machine of yours, run "
    "`gitmem remote confirm {quoted}`, once.",
    "many-removed": "{subject} at once, by hand or by another program: `gitmem revert {detail}` brings them back.",
    "kept-part": "{subject}: {detail} was changed again since, so it stays.",
    "kept-rewritten": "{subject}: rewritten since, so it stays.",
    "kept-wording": "{subject}: changed again since, so the later wording stays ({detail}).",
    "meaning-behind": "Search by meaning does not know {subject} texts yet: it learns them while it is used.",
    "model-answer": "{detail}",
    "person-removed": "{subject}: a person removed {detail!r}, so an agent does not bring it back.",
    "plan-steps-open": "{subject} is finished with open steps: {detail}.",
    "recall-not-noted": "What was recalled was not noted ({detail}).",
    "records-hidden": "{subject} takes back {detail} of sessions that are here: agents do not get them any more.",
    "rule-ignored": "A rule in {subject} is ignored: {detail}",
    "rules-not-accepted": "{subject} has rules that are not accepted on this machine. "
    "Look at it, then run `gitmem scan --accept-rules`.",
    "secret-came": "{subject} seems to hold a secret ({detail}).",
    "secret-found": "{subject}, which came from a remote, seems to hold a secret ({detail}).",
    "secret-redacted": "A secret that was written into {subject} is redacted: {detail}",
    "setting-ignored": "`{subject}` in {detail} is ignored: a memory may be another person's. "
    "Set it in $HERMES_HOME/gitmem.yaml or in the environment.",
    "skill-file-both": "{subject} was changed here and in a linked directory: what it was here is kept as {detail}.",
    "skill-file-held": "{subject} is kept out of the versioned memory as {detail}.",
    "skill-file-refused": "A file of the skill {subject} is not versioned: {detail}",
    "skill-file-unwritable": "The skill file {subject} cannot be written ({detail}).",
    "skill-file-withheld": "{subject} is not written for the agent: the scanner flags it. See `gitmem scan`.",
    "skill-left": "{subject} in a directory of skills is not versioned: {detail}",
    "snapshot-moved": "The snapshot {subject!r} was moved on {detail}: yours stays as it is. "
    "If that was meant, run `gitmem snapshot --delete {quoted}` and `gitmem sync`.",
    "branch-erased": "The branch {subject} on the remote had a history that was {detail}: it is deleted there, and only "
    "what else it held is kept.",
    "branch-refused": "{subject} takes no branch of this machine ({detail}): allow it to push branches in/*, or many "
    "machines that sync at once wait for each other.",
    "branch-waits": "The branch {subject} on the remote is left out: {detail}",
    "snapshot-twice": "Another machine has a snapshot {subject!r} too: it is called {detail!r} here.",
    "step-was-done": "Step {subject} was done already; nothing was changed.",
    "flood": "{subject} brings {detail} at once, more than the store has room for: they count as unconfirmed. "
    "See `gitmem review`; `gitmem undo` takes the sync back.",
    "sync-hidden": "What {subject} brought is hidden on this machine only. `gitmem revert ID` takes a commit back "
    "everywhere.",
    "taken-kept": "{subject} takes {detail} away; they stay until a person looks. See `gitmem review`.",
    "turn-cut-short": "The last session ended in the middle of a turn: what the user said is kept.",
    "work-tree-behind": "{detail}",
}
