"""Words and the comparison of texts."""
