"""The curated store: MEMORY.md and USER.md, the prompt block, the archive, and the host's own files."""
