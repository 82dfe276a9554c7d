"""Makes `damage` and `hostile_reader` importable, for the tests and for the parser that names the latter."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
