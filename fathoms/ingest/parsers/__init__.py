"""PDF parsers: one file per parser, and the base class that they share. The union `Parser`, by which a
configuration finds them, is in `fathoms/ingest/__init__.py`."""
