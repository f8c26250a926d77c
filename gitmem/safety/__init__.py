"""Pure: the scanner and its rule files, secrets, unicode, the recall fence."""
