"""`gitmem sync`, `remote`, `clone` and `fold`: this memory on other machines."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import asdict, replace
from typing import Any

import click

from gitmem.cli.app import App
from gitmem.cli.options import TRANSPORT, command, flag, once
from gitmem.cli.terminal import count, green, safe, stages, yellow
from gitmem.errors import GitMemError, UsageError
from gitmem.files import make_directories


@command(
    click.argument("name", default="", metavar="[REMOTE]"),
    flag("--dry-run", help="Only say what this agent would start and stop believing."),
    flag("--allow-unrelated", help="Join a memory that has no commit in common with this one."),
    flag("--accept-erasure", help="Erase here too, for good, what was erased on another machine."),
    flag("--yes", "leave_out", help="Then leave out unsent commits that hold it."),
    once("--forget-erasure", metavar="RECEIPT", help="Let a history come back that was erased."),
    flag("--due", help="Sync with every remote that is due, one after the other."),
    flag("--background", help="Start it for every remote that is due, and do not wait."),
    once("--to", "to_file", metavar="FILE", help="Write this memory into a git bundle file instead."),
    once("--from", "from_file", metavar="FILE", help="Take in a git bundle file instead."),
    *TRANSPORT,
)
def sync(
    app: App,
    name: str,
    forget_erasure: str,
    due: bool,
    background: bool,
    to_file: str,
    from_file: str,
    **how: Any,
) -> None:
    """Bring this memory and a remote together: fetch, check, merge, push.

    A sync that is done exits with 0, also where it leaves something for `gitmem review`; the answer says so. It exits
    with 3 where the scanner held back what the remote sent.

    \b
    gitmem sync
    gitmem sync origin --dry-run
    """
    if to_file and from_file:
        raise UsageError("Choose one of --to and --from.")
    if how["accept_erasure"]:
        app.need_a_person("accepts an erase of another machine", script=how["leave_out"])
    if forget_erasure:
        from gitmem.memory.erase.erased_list import forget_erasure as forget

        app.need_a_person("lets an erased history come back")
        commits = forget(app.bundle.state, forget_erasure)
        told = f"{count(commits, 'commit')} may come back."
        app.answer(
            {"forgotten_commits": commits}, told if commits else f"There is no receipt {forget_erasure} here."
        )
    elif background:
        from gitmem.memory.sync.remote_state import start_due

        started, _ = start_due(app.bundle)
        told = f"started: {', '.join(started)}" if started else "No remote is due."
        app.answer({"started_remotes": started}, told)
    elif to_file:
        from gitmem.memory.sync.outgoing import write_file

        commits = write_file(app.whole_bundle, app.world.path(to_file))
        app.answer({"file": to_file, "commit_count": commits}, f"{to_file}: {commits} commits")
    elif due:
        _sync_all_due(app, how["transport"], how["timeout"])
    else:
        file = app.world.path(from_file) if from_file else ""
        with stages() as progress:
            done = app.bundle.sync(name, from_file=file, progress=progress, **how)
        app.show(done)


def _sync_all_due(app: App, transport: str, timeout: float) -> None:
    """One remote that fails stops no other; its error is the command's."""
    from gitmem.memory.sync.remote_state import all_due

    synced, failure = [], None
    for name in all_due(app.bundle):
        try:
            synced.append(app.bundle.sync(name, transport=transport, timeout=timeout, wait=0))
        except GitMemError as error:
            failure = failure or error
    app.show({"synced": synced}, none="" if failure else "No remote is due.")
    if failure is not None:
        raise failure
    app.refuse_held([name for done in synced for name in done.held])


@command(
    click.argument("where", default="", metavar="[REMOTE|REPOSITORY]"),
    flag("--list", "listing", help="List the branches of machines, the longest unused first."),
    once("--forget", metavar="MACHINE", help="Delete the branch of a machine that is gone."),
    *TRANSPORT,
)
def fold(app: App, where: str, listing: bool, forget: str, transport: str, timeout: float) -> None:
    """Fold the branches of machines into main, on a remote or in a bare repository here.

    Each machine has a branch with what it sent, in/MACHINE. Every sync folds what main lacks of them; on a server
    `gitmem hook install` makes each push do it, and a timer can.

    \b
    gitmem fold
    gitmem fold /srv/memory.git
    gitmem fold --list
    gitmem fold --forget old-laptop
    """
    from gitmem.git.git_directory import is_bare
    from gitmem.memory.sync import server
    from gitmem.memory.sync.remote_refs import RemoteRefs

    if listing:
        branches = RemoteRefs(app.bundle, where, timeout=timeout, prefer=transport).branches()
        app.out.json({"branches": [asdict(one) for one in branches]})
        for one in branches:
            ahead = f", {count(one.commit_count, 'commit')} not in main yet" if one.commit_count else ""
            app.out.line(f"in/{safe(one.machine)}: last commit {one.last_commit[:10]}{ahead}")
        if not branches:
            app.out.line("No machine has a branch there.")
    elif forget:
        RemoteRefs(app.bundle, where, timeout=timeout, prefer=transport).forget_branch(forget)
        app.answer({"forgotten": forget}, f"The branch of {forget} is gone.")
    elif where and is_bare(path := app.world.path(where)):
        made = server.fold_here(path)
        document = {"main": made.main, "branch_count": made.branches, "waiting_branches": list(made.left_out)}
        app.answer(document, green("folded "), count(made.branches, "branch", "branches"))
        for sentence in made.left_out:
            app.warn(sentence)
    else:
        with stages() as progress:
            done = app.bundle.sync(where, transport=transport, timeout=timeout, progress=progress, fold=True)
        app.show(done)


# --- remotes ---------------------------------------------------------------------------------------------


@click.group()
def remote() -> None:
    """Add, list and remove remotes: any git server, by ssh, https or a path.

    \b
    gitmem remote add origin git@host:me/memory.git
    gitmem remote add team https://host/team.git --pull-only
    gitmem remote list
    """


@command(
    click.argument("name"),
    click.argument("url"),
    click.option(
        "--pull-only", "mode", flag_value="pull-only", help="Only take from it: a team's shared facts."
    ),
    click.option("--push-only", "mode", flag_value="push-only", help="Only send to it: a backup."),
    flag("--shared", help="Others write to it: what they add is unconfirmed here."),
    flag("--yes", help="Agree, without being asked, to send this memory there."),
    of=remote,
)
def add(app: App, name: str, url: str, mode: Any, shared: bool, yes: bool) -> None:
    """Add a remote. What leaves this machine is said, and asked about, once."""
    from gitmem.git.git_settings import Remote, Remotes
    from gitmem.git.remote_address import check_url, local_path, shown_url

    bundle = app.bundle
    check_url(url)
    if local_path(url) == url:  # a path counts from here, and later syncs start elsewhere
        url = app.world.path(url)
    wanted = Remote(name, url, mode or "both", shared=shared)
    if wanted.pushes:
        transcripts = sum(path.startswith("sessions/") for path in bundle.list_concepts("sessions"))
        app.out.line(
            f"Syncing sends this whole memory and its history to {shown_url(url)}, "
            f"{count(transcripts, 'file')} of conversations among them. "
            "To keep later conversations out, set `transcripts: off`."
        )
        asks = not yes and sys.stdin.isatty() and not app.out.is_json
        wanted = replace(wanted, consent=click.confirm("Send it there?") if asks else yes)
    Remotes(bundle.repository).save(wanted)
    app.answer(wanted, f"{name}: {shown_url(url)} ({wanted.mode})")
    if wanted.pushes and not wanted.consent:
        app.out.line(yellow(f"Nothing will be sent yet: run `{wanted.agreeing}` to agree."))


@command(of=remote, name="list")
def list_(app: App) -> None:
    """List the remotes."""
    from gitmem.git.git_settings import Remotes

    app.show({"remotes": Remotes(app.bundle.repository).all()})


@command(click.argument("name"), of=remote)
def remove(app: App, name: str) -> None:
    """Remove a remote. What it holds stays there, and what came from it stays here."""
    from gitmem.git.git_settings import Remotes
    from gitmem.memory.sync.remote_state import forget_remote

    gone = Remotes(app.bundle.repository).remove(name)
    forget_remote(app.bundle, name)
    app.answer(gone, f"{name} removed")


@command(click.argument("name"), of=remote)
def forget(app: App, name: str) -> None:
    """Forget where a remote stood when it was last seen, after it was emptied or rewritten on purpose."""
    from gitmem.git.git_settings import Remotes
    from gitmem.memory.sync.remote_state import forget_remote

    one = Remotes(app.bundle.repository).get(name)
    forget_remote(app.bundle, name)
    app.answer(one, f"What was seen of {name} is forgotten.")


@command(
    click.argument("machine"), flag("--revoke", help="Say that it is not, or no longer, yours."), of=remote
)
def confirm(app: App, machine: str, revoke: bool) -> None:
    """Say that a machine is yours: what it sends counts as what you said here. What others send is unconfirmed.

    \b
    gitmem remote confirm laptop
    """
    from gitmem.okf.paths import slug

    app.need_a_person("says which machines are theirs")
    name, ledger = slug(machine), app.bundle.ledger
    if not revoke:
        ledger.confirm_machine(name, app.world.person or "human")
    elif not ledger.disown_machine(name):
        raise UsageError(f"You have not confirmed a machine {name} here.")
    told = f"{name} is {'not ' if revoke else ''}a machine of yours."
    app.answer({"machine": name, "is_own": not revoke}, told)


# --- clone -----------------------------------------------------------------------------------------------


@command(
    click.argument("url"),
    click.argument("directory", default=""),
    flag("--hermes", help="Clone into a Hermes home (DIRECTORY, else ~/.hermes) and install."),
    TRANSPORT[0],
)
def clone(app: App, url: str, directory: str, hermes: bool, transport: str) -> None:
    """Make a memory of what a remote holds, ready to sync with it; without DIRECTORY in one named like the remote.

    \b
    gitmem clone git@host:me/memory.git mem
    gitmem clone git@host:me/memory.git --hermes
    """
    from gitmem.hosts.hermes.home import choose_home
    from gitmem.hosts.hermes.profile import install
    from gitmem.memory.upkeep.clone import clone as make_clone
    from gitmem.memory.upkeep.clone import is_free

    home = choose_home(app.world, path=app.world.path(directory) if directory else "") if hermes else None
    target = home.bundle if home else app.world.path(directory or _directory_of(url))
    if not is_free(target):
        raise GitMemError(f"{target} is there already and is not empty: choose another place.")
    if home:
        make_directories(os.path.dirname(target))
    done = make_clone(
        app.world,
        url,
        target,
        config=app.config_of(None),
        python=sys.executable,
        separate_git_dir=home.git_dir if home else None,
        prefer=transport,
    )
    with done:
        done.index.current()
        tip, held = done.tip, [one.id for one in done.ledger.held()]
    installed = install(home, app.world) if home else None
    for warning in (*done.warnings, *(installed.warnings if installed else ())):
        app.warn(warning)
    steps = [what for state, what in installed.steps if state == "done"] if installed else []
    document = {"bundle": done.root, "commit": tip, "held": held, "steps": steps}
    app.answer(document, f"Created a memory in {done.root}: {tip[:8]}")
    if installed:
        app.tell(installed, title="Hermes home")
    app.refuse_held(held, done)


def _directory_of(url: str) -> str:
    """The directory that a clone without one goes to, as git names it: the last part of the address."""
    from gitmem.git.remote_address import shown_url

    place = url.split("?", maxsplit=1)[0].split("#", maxsplit=1)[0].rstrip("/").removesuffix("/.git")
    name = re.split(r"[/:\\]", place)[-1].removesuffix(".git").removesuffix(".bundle")
    if name.strip(". ") == "" or "@" in name:
        raise UsageError(
            f"No directory can be derived from {shown_url(url)!r}.", hint="Name the directory for the memory."
        )
    return name
