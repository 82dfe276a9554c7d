"""Models that answer: one file per provider, and what the providers share."""
