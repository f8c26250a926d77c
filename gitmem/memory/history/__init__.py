"""History: log, blame and trace; restore and revert."""
