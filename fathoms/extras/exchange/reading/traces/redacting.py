"""Takes e-mail addresses, telephone numbers and IBANs out of traces before anything of them is stored.

They are found by their form: names and postal addresses are not. Each is replaced by its kind, as `[email]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from fathoms.extras.exchange.reading.traces.span import Seen

_EMAIL = re.compile(r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b")
_PHONE = re.compile(
    r"(?<![\w.,-])(?:"
    r"(?:\+|00)\d[\d ()./-]{5,18}\d"  # international
    r"|\(?0\d{1,5}[)/ -]{1,2}\d[\d ./-]{3,14}\d"  # with a leading zero
    r"|0\d{8,12}"
    r"|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}"  # of North America
    r")(?![\w-])"
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b")


def _is_iban(text: str) -> bool:
    """Whether the check digits of an IBAN are right (ISO 7064)."""
    plain = re.sub(r"[ -]", "", text)
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _iban(found: re.Match[str]) -> str:
    """Return what stands in the place of a text that has the form of an IBAN."""
    text = found[0]
    # the words after an IBAN may have its form too
    ends = (at for at in range(len(text), 14, -1) if at == len(text) or text[at] in " -")
    end = next((at for at in ends if _is_iban(text[:at])), None)
    return text if end is None else f"[iban]{text[end:]}"


KINDS: dict[str, Callable[[str], str]] = {
    "email": lambda text: _EMAIL.sub("[email]", text),
    "iban": lambda text: _IBAN.sub(_iban, text),
    "phone": lambda text: _PHONE.sub("[phone]", text),
}
"""What can be taken out, in the order in which it is: the digits of an IBAN look like a telephone number."""


def redacted(span: Seen, kinds: Collection[str]) -> Seen:
    """Return a span without some kinds of personal data in any text of it that may be stored."""
    if not kinds:
        return span

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            for kind in KINDS:
                value = KINDS[kind](value) if kind in kinds else value
            return value
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    return replace(
        span,
        said=tuple(one._replace(text=plain(one.text)) for one in span.said),
        tool=span.tool and span.tool.model_copy(update=plain(span.tool.model_dump())),
        **{
            name: plain(getattr(span, name)) for name in ("answer", "documents", "error", "session", "labels")
        },
    )
