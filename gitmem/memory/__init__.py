"""What people ask for: capture, the curated store, sessions, plans, history, undo."""
