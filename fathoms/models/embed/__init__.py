"""Models that turn texts into vectors, and the process in which local ones work."""
