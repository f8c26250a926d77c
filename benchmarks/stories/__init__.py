"""Stories that the real host plays: what is planted, what is taken back, and what has to stay."""
