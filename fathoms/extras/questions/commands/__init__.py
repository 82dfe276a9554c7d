"""The commands that make, check and edit question sets."""
