"""The version of gitmem, in a module of its own: everybody writes it down, and nobody imports more for that."""

__version__ = "0.1.0.dev0"
