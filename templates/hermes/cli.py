"""`hermes gitmem ...`: the command line of gitmem on the bundle of this Hermes home."""

import argparse


def register_cli(subparser):
    """Everything behind `hermes gitmem` belongs to gitmem."""
    subparser.add_argument("gitmem_arguments", nargs=argparse.REMAINDER, metavar="COMMAND ...")
    subparser.set_defaults(func=gitmem_command)
    subparser.epilog = (
        "log, diff, blame, search, recall, snapshot, restore, revert, sync, status and all other commands: "
        "`hermes gitmem` alone lists them, `hermes gitmem COMMAND --help` explains one."
    )


def gitmem_command(args):
    """Run gitmem in this process and end with its exit code."""
    import sys

    try:
        from gitmem.hosts.hermes.command import run
    except ImportError as error:
        sys.exit(f"gitmem is not installed here ({error}): pip install hermes-gitmem")
    sys.exit(run(list(args.gitmem_arguments)))
