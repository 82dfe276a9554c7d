"""The shared cache: what one machine has made of documents, for all others, at an fsspec address.

It is a second layer behind the cache of each machine (`fathoms/runs/cache.py`), and optional. Only what
follows from documents lies in it, under fingerprints of all that it depends on, so it is never stale; losing
it costs only time. A reader needs one request for a hit and lists nothing. A write replaces an object whole,
so readers see the old bytes or the new ones, and two writers of the same key write the same.
"""

from fathoms.runs.shared.folders import packed_files, unpacked_files
from fathoms.runs.shared.places import VARIABLE, address_of_environment, checked_address
from fathoms.runs.shared.store import SharedStore, seal

__all__ = [
    "VARIABLE",
    "SharedStore",
    "address_of_environment",
    "checked_address",
    "packed_files",
    "seal",
    "unpacked_files",
]
