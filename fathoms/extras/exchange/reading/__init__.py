"""Reads the result files and traces of other tools, as records that are scored and reported like our own."""
