"""The tools that a model gets, whatever agent it runs in: one table, and what each of them does."""
