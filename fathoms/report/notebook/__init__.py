"""Shows runs, comparisons and verdicts in notebooks."""
