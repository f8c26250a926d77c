"""Sync: fetch, check, merge and push; when a remote is tried again; the checks of a server."""
