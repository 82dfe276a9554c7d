"""Typesets the sample corpus: text in ``source/`` and figures in ``figures.py`` become PDF files."""
