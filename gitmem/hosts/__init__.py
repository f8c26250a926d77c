"""Agents at the door."""
