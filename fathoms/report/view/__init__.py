"""Shows all runs of a folder on a local page: `fathoms view`.

`server` serves the list of runs (`folder`) and, for some of them, the page of `report.html` (`viewed`), which
then asks for each part when it is looked at. Nothing is ever written.
"""
