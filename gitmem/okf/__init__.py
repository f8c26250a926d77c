"""Pure: bytes to concepts and entries and back; paths; generated pages."""
