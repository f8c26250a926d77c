"""Hermes at the door: its memory provider, its files, and how it is installed."""
