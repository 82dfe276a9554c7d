"""Golden runs: run folders of every kind, and what the commands print and write for them.

`runs/` holds the folders as a version of fathoms made them, and `outputs/` what `show`, `report`, `compare`,
`gate`, `export` and `score` make of each. `test_golden.py` compares. `python -m tests.golden` renews both.
"""
