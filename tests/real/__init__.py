"""`make verify-real` (`python -m tests.real`): runs with the real thing what the tests run with a stand-in.

`paths.yaml` lists the paths, each with what it needs, what it is expected to cost and how long it takes. A
path that runs as expected is written with its model, date and figures into `fathoms/cli/verified.json`, which
`fathoms doctor` reads, and into the last chapter of CONTRIBUTING.md.
"""
