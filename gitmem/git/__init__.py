"""The only room that knows git objects: trees, commits, refs, the work tree, revisions."""
