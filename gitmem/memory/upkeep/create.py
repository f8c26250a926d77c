"""Making a bundle: the repository, its skeleton from the templates, its git hooks."""

from __future__ import annotations

import os

from gitmem import resources
from gitmem.config import Config
from gitmem.errors import BundleNotFound, BundleUnusable
from gitmem.git.message import Message
from gitmem.git.repository import Repository
from gitmem.git.setup import begin_on_main, make_repository, open_repository, remove_repository
from gitmem.memory.bundle import Work
from gitmem.memory.edits import Edits
from gitmem.memory.memory import Memory
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.version import __version__
from gitmem.world import World

_SKELETON = {
    layout.MEMORY: "templates/bundle/memories/MEMORY.md",
    layout.USER: "templates/bundle/memories/USER.md",
    layout.CONFIG_AGENT: "templates/bundle/config/agent.md",
    layout.INDEX: "templates/bundle/index.md",
    ".gitignore": "templates/bundle/dot_gitignore",
}
_OUR_HOOK = b"gitmem hook "


def create(
    world: World,
    root: str,
    *,
    config: Config,
    separate_git_dir: str | None = None,
    command: str = "gitmem",
) -> tuple[Memory, bool]:
    """A bundle at `root`, and whether it was made now; one that is there already is left as it is.

    `command` is how the git hooks call gitmem.
    """
    try:
        repository = open_repository(root)
    except BundleNotFound:
        repository = make_repository(root, separate_git_dir=separate_git_dir)
        made = True
    else:
        made = False
    bundle = Memory(repository, config, world)
    if not made and repository.tip() is None:
        _prepare(repository)
    if repository.tip() is not None:
        if layout.CONFIG_AGENT not in repository.tree(repository.tip()):
            raise BundleUnusable(
                f"{repository.root} is a git repository of something else: "
                "make the bundle in a directory of its own."
            )
        return bundle, False
    try:
        bundle.commit(_skeleton(config, bundle.now()), purpose="init", origin=bundle.origin())
    except BaseException:
        if made:
            remove_repository(repository)
        raise
    for name in install_hooks(repository, command=command):
        bundle.report(Notice("hook-foreign", name))
    bundle.take_in_edits(strict=False)
    return bundle, True


def _prepare(repository: Repository) -> None:
    """Make a repository that a person began with `git init` fit for a bundle."""
    from gitmem.git.git_config import make_safe, unsafe_settings

    others = repository.refs.under("refs/heads/")
    if others:
        raise BundleUnusable(
            f"{repository.root} is a git repository of something else (it has no branch main): "
            "make the bundle in a directory of its own."
        )
    begin_on_main(repository)
    make_safe(repository, unsafe_settings(repository))


def _skeleton(config: Config, at: str) -> Work:
    def work(edits: Edits) -> Message | None:
        for path, template in _SKELETON.items():
            edits.write(path, resources.read(template))
        agent = Concept.parse(resources.read(_SKELETON[layout.CONFIG_AGENT]))
        agent = agent.with_meta(
            title=config.agent_id,
            agent_id=config.agent_id,
            gitmem_format=layout.FORMAT,
            generated={"by": f"gitmem/{__version__}", "at": at},
        )
        edits.write(layout.CONFIG_AGENT, agent.render())
        return Message("init", f"a bundle for {config.agent_id}")

    return work


def install_hooks(repository: Repository, *, command: str = "gitmem") -> list[str]:
    """Put our git hooks and merge driver in place; gives the names of foreign hooks that were left alone."""
    from gitmem.git.git_config import set_merge_driver

    set_merge_driver(repository, f"{command} merge-driver %O %A %B %P")
    source = resources.directory("hooks")
    target = os.path.join(repository.git_dir, "hooks")
    os.makedirs(target, exist_ok=True)
    foreign = []
    for name in _bundle_hooks(source):
        path = os.path.join(target, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                if _OUR_HOOK not in file.read():
                    foreign.append(name)
                    continue
        with open(os.path.join(source, name), encoding="utf-8") as file:
            script = file.read().replace("exec gitmem ", f"exec {command} ", 1)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(script)
        os.chmod(path, 0o755)  # noqa: S103 (git runs a hook only when it is executable)
    return foreign


def hook_states(repository: Repository) -> dict[str, str]:
    """Each of our git hooks: `ours`, `missing`, `foreign`, or `broken` where the program it calls is gone."""
    states: dict[str, str] = {}
    for name in _bundle_hooks(resources.directory("hooks")):
        try:
            with open(os.path.join(repository.git_dir, "hooks", name), "rb") as file:
                script = file.read()
        except FileNotFoundError:
            states[name] = "missing"
            continue
        states[name] = _state(script) if _OUR_HOOK in script else "foreign"
    return states


def _bundle_hooks(source: str) -> list[str]:
    """Those of our hooks that a bundle has; a server's are for bare repositories."""
    from gitmem.memory.upkeep.git_hooks import NAMES

    return [name for name in sorted(os.listdir(source)) if name in NAMES]


def _state(script: bytes) -> str:
    import shlex

    call = next(
        (line for line in script.decode("utf-8", "replace").split("\n") if line.startswith("exec ")), ""
    )
    try:
        words = shlex.split(call)
    except ValueError:
        words = []
    gone = len(words) > 1 and os.path.isabs(words[1]) and not os.path.exists(words[1])
    return "broken" if gone else "ours"
