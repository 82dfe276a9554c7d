"""Reports of runs: terminal tables, Markdown, HTML, LaTeX, CSV and JSON files, and radar plots.

This package reads the files of a run through `fathoms.runs.run`, so a report can be made without the
models, extras or documents that the run needed.
"""

PICTURED = 1_000
"""The most answers of a report that has pictures of pages without being asked for them."""
