"""Writes what a run retrieved in the formats of other tools, and its verdicts as labelled claims."""
