"""Executors: where the work on a corpus is done, on this machine or on the workers of a Ray cluster.

A `Work` says what is done with an item, such as a document that is parsed; an `Executor` does it with many
items at once and gives the results in the order of the items. The results are the same whoever does the work,
and in whatever order it is completed.
"""

from fathoms.executors.local import LocalExecutor
from fathoms.executors.work import Cluster, Executor, OnDone, OnPage, Packed, Pool, Ready, Work, undisturbed

__all__ = [
    "Cluster",
    "Executor",
    "LocalExecutor",
    "OnDone",
    "OnPage",
    "Packed",
    "Pool",
    "Ready",
    "Work",
    "undisturbed",
]
