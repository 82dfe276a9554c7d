"""Runs compared with one another and with a baseline, question by question."""
