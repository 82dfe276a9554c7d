"""For developers of pipelines and of fathoms: a model server that answers by a script, and fails by one."""

from __future__ import annotations
