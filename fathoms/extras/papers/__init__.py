"""Reproduce published tables: compare each printed cell with the figure that fathoms computes.

A table is one YAML file (`tables/<paper>/<table>.yaml`). It holds the printed cells, the result files and the
configurations of its rows, and the known differences. The figures come from the result files or judgements
that the authors released, or from running the pipelines.
"""

from fathoms.hooks import Command

COMMANDS = {
    "reproduce": Command(
        "command:reproduce", "Print a published table next to the figures that fathoms computes."
    ),
}
