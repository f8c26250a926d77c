"""The search index: the only room that knows SQLite. It holds nothing that the tree does not say."""
