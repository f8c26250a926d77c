"""People at the door: one file per group of commands."""


class ReaderGone(Exception):
    """Nobody reads our output any more. Not an OSError: click would end the process for one, with exit code 1."""
