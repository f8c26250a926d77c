"""The verbs of the product: capture, the curated store, sessions, plans, history, undo."""
