"""The command `gitmem`, also as `python -m gitmem`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one command and give its exit code."""
    if "sync" in sys.argv:
        import os

        from gitmem.cli.sync_fast_path import answered

        try:
            if answered(sys.argv[1:], os.environ):
                return 0
        except KeyboardInterrupt:
            sys.stderr.write("gitmem: interrupted.\n")
            return 130
    from gitmem.cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
