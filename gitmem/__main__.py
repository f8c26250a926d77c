"""`python -m gitmem` is the command `gitmem`."""

from __future__ import annotations

import sys

from gitmem.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
