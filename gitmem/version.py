"""The version of gitmem, in a module of its own: every writer needs it, and imports nothing more for it."""

__version__ = "0.1.0.dev0"
