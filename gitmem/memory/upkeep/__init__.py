"""Upkeep: make or clone a bundle, its git hooks, its checks."""
