"""Finds the forms of a gold answer that are more than a phrase: numbers with units, dates, and so on."""
