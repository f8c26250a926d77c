"""Upkeep: make or clone a bundle, its git hooks, doctor, repair and verify."""
