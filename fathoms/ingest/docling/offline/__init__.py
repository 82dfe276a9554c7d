"""A layout model and a table structure model for Docling that need no download from a model hub."""
