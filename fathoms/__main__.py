"""`python -m fathoms` is the command `fathoms`."""

from fathoms.cli import entry

entry()
