"""Writes what a run retrieved in the formats of other tools, and its verdicts as labelled claims."""

from __future__ import annotations

from fathoms.exporters.beir import write_beir
from fathoms.exporters.hits import write_hits
from fathoms.exporters.rankings import Level, Rankings, rankings_of
from fathoms.exporters.trec import write_trec

__all__ = ["Level", "Rankings", "rankings_of", "write_beir", "write_hits", "write_trec"]
