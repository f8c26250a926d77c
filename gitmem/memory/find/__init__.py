"""Finding: the search index, ranking, search, recall, and the context that goes into a prompt."""
