"""People accept, mend or drop the questions of a set on a local page: `fathoms questions edit`.

What they decide is appended to `NAME-edits.jsonl` beside the set `NAME.json` at once; the set itself changes
only when it is written. `server` serves the page, `session` knows what everybody has decided.
"""

from __future__ import annotations

from fathoms.extras.questions.editing.session import Editing, Material
from fathoms.extras.questions.editing.standing import Summary

__all__ = ["Editing", "Material", "Summary"]
