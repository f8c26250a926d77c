"""The tools that a model gets, in every agent: one table, and what each of them does."""
