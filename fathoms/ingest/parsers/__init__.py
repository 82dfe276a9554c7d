"""PDF parsers: one file per parser, and the base class that they share. Configurations find
them by `fathoms/registry.py`."""
