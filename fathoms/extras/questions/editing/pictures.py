"""Pictures of pages for the page of edits, rendered in child processes and kept in memory."""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from fathoms.errors import DocumentError

WIDTH = 1100
"""The width of a picture in pixels."""
KEPT = 60
"""How many pictures are kept; each has about 200 kB."""


class PagePictures:
    """Renders pages when they are first asked for, one at a time."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths
        self._kept: OrderedDict[tuple[str, int], dict[str, Any]] = OrderedDict()
        self._lock = Lock()

    def page(self, document: str, number: int) -> dict[str, Any]:
        """Return the picture of a page as a data URL and its size in points, or in `error` why there is
        none."""
        with self._lock:
            if (document, number) not in self._kept:
                self._kept[document, number] = self._rendered(document, number)
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end((document, number))
            return self._kept[document, number]

    def _rendered(self, document: str, number: int) -> dict[str, Any]:
        """Render a page."""
        from fathoms.pdf.thumbnails import page_thumbnails

        try:
            made = page_thumbnails(self._paths[document], [number], WIDTH).get(number)
        except DocumentError as error:
            return {"error": error.detail}
        if made is None:
            return {"error": "this page does not exist, or cannot be rendered"}
        picture = f"data:image/jpeg;base64,{base64.b64encode(made.jpeg).decode('ascii')}"
        return {"picture": picture, "width": made.size[0], "height": made.size[1]}
