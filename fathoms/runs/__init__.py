"""A run on disk: its directory, journal, manifest schema and documents, and the cache that runs share."""
