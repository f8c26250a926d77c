"""Distilling: the facts of a conversation, taken out before the host forgets it."""
