"""Erase: what must be gone from the history too."""
