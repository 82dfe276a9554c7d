"""Making a question set from documents: `fathoms build`.

A draft is a question with its whole history: every verdict about it, and the reason if it was dropped. Each
stage is one module; `build` runs them in order.
"""

from __future__ import annotations
