"""Runs of what other tools produced (`fathoms import`), and runs in the formats of others (`fathoms export`).

`reading` has one module for each tool or format that is read, and `writing` one for each that is written.
What authors released with a paper is read by `fathoms/importers`, since published tables need it as well.
"""

from fathoms.hooks import Command

HOOKS = {"traces": "reading.traces.reading:read_chosen"}
COMMANDS = {
    "import": Command("importing:app", "Import answers that were made by other tools, as runs."),
    "export": Command(
        "exporting:app",
        "Write a complete copy of a run (fathoms export RUN), or what it holds for other tools.",
    ),
}
