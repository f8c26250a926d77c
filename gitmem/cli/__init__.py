"""People at the door: one file per group of commands."""
