"""Memory for an agent loop of one's own: providers, the manager that speaks to them, and the life of a turn."""
