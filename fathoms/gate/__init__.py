"""Judges whether a run is worse than a baseline: settings, limits, tests, and how the verdict is shown."""
