"""Exchange: a memory from other programs, and for them."""
