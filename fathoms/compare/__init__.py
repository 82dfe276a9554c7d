"""Compare runs with one another and gate them against a baseline, paired by question."""
