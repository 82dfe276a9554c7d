"""The hash by which the content security policy of a page allows its script and no other."""

from __future__ import annotations

import base64
import hashlib


def script_hash(script: str) -> str:
    """Return the hash of a script as the policy has it, such as `sha256-...`."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
