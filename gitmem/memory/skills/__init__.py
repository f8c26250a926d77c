"""Skills: how-to knowledge, created, patched, listed and linked to the directories of agents."""
