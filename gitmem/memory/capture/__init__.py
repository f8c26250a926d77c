"""Capture: events on their way from a journal on disk to a commit, and the sessions they belong to."""
