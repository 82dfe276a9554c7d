"""Which pipeline is best for these documents: a race between candidates that asks few of the questions."""
