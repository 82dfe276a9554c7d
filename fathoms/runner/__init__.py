"""Asks the questions of runs: planning, resuming, budgets, and writing each answer to disk."""
