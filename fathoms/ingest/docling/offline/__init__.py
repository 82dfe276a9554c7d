"""A layout model and a table model for Docling that need no download from a model hub."""
