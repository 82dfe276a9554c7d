"""Masking of secrets in everything that is written or shown.

Secrets in a configuration are recognised by their names or their shape. Secrets in responses of a server or
pipeline are recognised by their values, which are known. Every pattern here takes linear time, because a
server decides how long the text is and it is searched on the event loop.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")

_LEAST = 8
"""The fewest characters of a secret; shorter values would be found in any text."""
HIDDEN = "***"

_NAME = re.compile(
    r"(^|[_-])(api[_-]?keys?|keys?|tokens?|secrets?|passwords?|passwd|pwd|passphrases?|credentials?|auth"
    r"|authorization|cookies?|jwt|bearer|signature|sig)$",
    re.I,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONGEST_NAME = 200
_ADDRESS_ONLY = {"code", "session", "sessionid", "ticket", "sas"}
"""URL parameters that are secrets in a URL but ordinary words elsewhere."""
_AUTHORITY = re.compile(r"://([^\s/?#\"'<>]*)")
_PARAMETER = re.compile(r"(?<=[?&#])([^=&#?\s]{1,200})=([^&#\s\"'<>]+)")

_KEY_SHAPE = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|hf|gsk|xai|r8|nvapi|pplx|gh[opsur]|github_pat|glpat|xox[a-z])[-_](?=[^\s\"']{0,64}?[0-9])"
    r"|AKIA|ASIA|AIza|ya29\.|eyJ(?=[\w-]{10,2000}\.)"
    r")[\w+/=.~%&-]{10,}"
)
"""The shapes of well-known vendors' keys and of JSON web tokens."""
_HEADER_SHAPE = re.compile(r"\b(?:bearer|basic)\s{1,9}[\w+/=.~-]{8,}", re.I)
_RANDOM = re.compile(r"(?=[^\s]*[0-9])(?=[^\s]*[a-z])(?=[^\s]*[A-Z])[A-Za-z0-9_-]{32,}")


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a secret: `api_key`, `accessToken`, `Authorization`, `X-Auth`.

    The name of a key that holds only a variable's name (`api_key_env`) is not.
    """
    return len(name) <= _LONGEST_NAME and bool(_NAME.search(_CAMEL.sub("_", name)))


def looks_like_key(value: str) -> bool:
    """Whether a value is a key by its shape alone: `sk-...`, `ghp_...`, `Bearer ...`, a JSON web token."""
    return bool(_KEY_SHAPE.search(value) or _HEADER_SHAPE.search(value))


def is_key_in_path(address: str) -> bool:
    """Whether a path segment of a URL is a key, by its shape or because it looks random."""
    path = re.split(r"[?#]", address, maxsplit=1)[0].partition("://")[2].split("/")[1:]
    return any(looks_like_key(part) or _RANDOM.fullmatch(part) for part in path)


def without_shapes(text: str) -> str:
    """Replace what looks like a key, logins in URLs and secret URL parameters by `***`."""
    return without_logins(_HEADER_SHAPE.sub(HIDDEN, _KEY_SHAPE.sub(HIDDEN, text)))


def without_logins(text: str) -> str:
    """Replace users and passwords in URLs, and secret URL parameters, by `***`."""
    if "://" not in text and "?" not in text and "&" not in text and "#" not in text:
        return text
    return _PARAMETER.sub(_parameter, _AUTHORITY.sub(_authority, text))


def _authority(found: re.Match[str]) -> str:
    """The server part of a URL, with a login before it masked."""
    login, at, server = found[1].rpartition("@")
    return f"://{HIDDEN}@{server}" if at and login else found[0]


def _parameter(found: re.Match[str]) -> str:
    """A URL parameter, masked where it is a secret."""
    secret = is_secret_name(found[1]) or found[1].lower() in _ADDRESS_ONLY or looks_like_key(found[2])
    return f"{found[1]}={HIDDEN}" if secret else found[0]


# ----- known secrets

_DASHES = "\u2010-\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63"
"""What a program that sets type writes for a hyphen."""
_PASSED_OVER = rf"[^\s\x20-\x5b\x5d-\x7e\uff01-\uff5e{_DASHES}]*+"
"""Matches what may stand between two letters of a secret: characters that are removed before a text is shown
(zero-width, control, non-ASCII), and backslashes of quoting. Full-width letters and dashes may be letters."""
_HYPHENS = rf"[-{_DASHES}]*+"
"""Matches hyphens between two letters of a secret that are none."""
_FULL_WIDTH = 0xFEE0
"""The distance of the full-width letters of Unicode from those of ASCII."""
_ESCAPED_TOO = (
    r"(?:[^\s\x20-\x5b\x5d-\x7e]"
    r"|(?<=\\)u(?i:005c|(?!00[2-7])[0-9a-f]{4})|(?<=\\)x(?i:5c|[89a-f][0-9a-f])"
    r"|%(?:25)*+(?i:5c|[89a-f][0-9a-f])"
    r"|&(?:amp;)*+\#(?:92|1[3-9][0-9]|[2-9][0-9]{2}|[0-9]{4,7}|[xX](?i:5c|[89a-f][0-9a-f]|[0-9a-f]{3,6}));)*+"
)
"""The same for a secret that itself has non-ASCII letters or backslashes, including their escaped forms."""
_ENTITIES = {'"': "quot", "'": "apos", "<": "lt", ">": "gt"}
_ENCODED = "+/-_"
_AROUND = 3
"""Base64 characters beside an encoded secret that may hold some of its bits."""


class Mask:
    """Replaces secrets by `***`, also where they are escaped (JSON, URLs, HTML, octal and Unicode escapes),
    encoded in base64 (also twice), base32 or hexadecimal, written in full-width letters or with other dashes,
    or have hyphens or invisible characters between their letters.

    Takes time linear in the text: patterns never backtrack within a letter or between two (atomic groups and
    possessive quantifiers).
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        long = sorted({secret for secret in secrets if len(secret) >= _LEAST}, key=len, reverse=True)
        self._plain = [needle for secret in long for needle in (secret, *_hexadecimal(secret))]
        self._base32 = [needle for secret in long for needle in _base32(secret)]
        self._spelt = [secret.replace("-", "") for secret in long]
        self._base64 = [needle for secret in long for needle in _base64(secret)]
        self._secrets = tuple(long)

    @property
    def is_empty(self) -> bool:
        """Whether there is no secret."""
        return not self._secrets

    def text(self, text: str) -> str:
        """Mask the secrets in a text."""
        if not self._secrets:
            return text
        if "\\" in text or "%" in text or "&" in text or not (text.isascii() and text.isprintable()):
            text = _escaped(self._secrets).sub(HIDDEN, text)
        elif "-" in text:
            bare = text.replace("-", "")
            if any(secret in bare for secret in self._spelt):
                text = _escaped(self._secrets).sub(HIDDEN, text)
        for needle in self._plain:
            if needle in text:
                text = text.replace(needle, HIDDEN)
        for needle in self._base64:
            if needle in text:
                text = _encoded(needle).sub(HIDDEN, text)
        for needle in self._base32:
            if needle in text:
                text = re.sub(rf"[A-Za-z2-7]{{0,2}}{needle}[A-Za-z2-7=]{{0,8}}+", HIDDEN, text)
        return text

    def inside(self, value: Any) -> Any:
        """Mask the secrets in all texts of a value, including the keys of mappings; numbers are unchanged."""
        if not self._secrets:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.inside(key): self.inside(child) for key, child in value.items()}
        if isinstance(value, list):
            return [self.inside(child) for child in value]
        return tuple(map(self.inside, value)) if type(value) is tuple else value


@lru_cache(maxsize=64)
def mask_of(secrets: frozenset[str]) -> Mask:
    """The mask of some secrets, cached because every reply needs one."""
    return Mask(secrets)


def _hexadecimal(secret: str) -> tuple[str, str]:
    """A secret in hexadecimal digits, in lower and upper case."""
    digits = secret.encode("utf-8", "replace").hex()
    return digits, digits.upper()


def _base64(secret: str) -> Iterator[str]:
    """A secret as it appears inside base64 after 0, 1 or 2 other bytes, in both alphabets; only the
    characters that hold nothing but its bits."""
    once = set(_base64_once(secret))
    yield from once
    # an Authorization header that is quoted inside another encoded text
    yield from {twice for inner in once for twice in _base64_once(inner)}


def _base64_once(text: str) -> Iterator[str]:
    """A text inside base64, whatever stands before it."""
    data = text.encode("utf-8", "replace")
    for shift in range(3):
        coded = base64.b64encode(bytes(shift) + data).decode()
        first, last = -(-shift * 8 // 6), (shift + len(data)) * 8 // 6
        inner = coded[first:last]
        yield from {inner, inner.translate(str.maketrans("+/", "-_"))}


def _base32(secret: str) -> Iterator[str]:
    """A secret as it appears inside base32 after 0 to 4 other bytes, in upper and lower case; only the
    characters that hold nothing but its bits."""
    data = secret.encode("utf-8", "replace")
    for shift in range(5):
        coded = base64.b32encode(bytes(shift) + data).decode()
        inner = coded[-(-shift * 8 // 5) : (shift + len(data)) * 8 // 5]
        yield from (inner, inner.lower())


@lru_cache(maxsize=256)
def _encoded(inner: str) -> re.Pattern[str]:
    """A pattern for base64 that holds a secret, including adjacent characters that hold some of its bits."""
    around = rf"[A-Za-z0-9{re.escape(_ENCODED)}=]{{0,{_AROUND}}}+"
    return re.compile(rf"(?:(?<![A-Za-z0-9{re.escape(_ENCODED)}]){around})?{re.escape(inner)}{around}")


@lru_cache(maxsize=64)
def _escaped(secrets: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for the secrets, with each letter plain or escaped and invisible characters in between."""
    patterns = []
    for secret in secrets:
        letters = [letter for letter in secret if " " <= letter <= "~" and letter != "\\"]
        between = _PASSED_OVER if len(letters) == len(secret) else _ESCAPED_TOO
        if len(letters) >= _LEAST:
            first, *others = letters
            rest = [between + ("" if letter == "-" else _HYPHENS) + _letter(letter) for letter in others]
            patterns.append(_letter(first) + "".join(rest))
        patterns.append(re.escape(secret))
    return re.compile("|".join(patterns))


def _letter(letter: str) -> str:
    """A pattern of one letter: itself, `\\u0041`, `\\u{41}`, `\\U00000041`, `\\x41`, `\\101`, `%41`, `%2541`,
    `&#65;`, `&#x41;`, `&lt;`, in full width, and any dash for a hyphen."""
    code = ord(letter)
    digits = f"(?i:{code:02x})"
    number = rf"\#(?:0{{0,5}}+{code}|[xX]0{{0,5}}+{digits})"
    if letter == "&":
        entity = rf"&(?:amp;)*+(?:{number};)?+"
    else:
        named = f"|{_ENTITIES[letter]}" if letter in _ENTITIES else ""
        entity = rf"&(?:amp;)*+(?:{number}{named});"
    percent = "%(?:25)*+" if letter == "%" else f"%(?:25)*+{digits}"
    octal = f"0?{code:03o}"
    longer = rf"u\{{0{{0,4}}+{digits}\}}|U000000{digits}"
    escape = rf"\\?(?<=\\)(?:u00{digits}|x{digits}|{longer}|{octal})"
    wide = chr(code + _FULL_WIDTH) if letter != " " else "\u3000"
    plain = rf"|{wide}" if letter in "%&" else rf"|{re.escape(letter)}|{wide}"
    if letter == "-":
        plain += f"|[{_DASHES}]"
    return f"(?>{escape}|{percent}|{entity}{plain})"  # atomic: `\\x78` is not an x followed by 78


# ----- what this process knows

_registered: set[str] = set()
_seen: dict[object, object] | None = None
_secrets: list[str] = []
_RANDOM_LENGTH = 12
_FOLDERS = ("PWD", "OLDPWD")
"""Variables of every shell that hold the working directory, and no password."""


def register_secrets(*secrets: str) -> None:
    """Register secrets that a configuration of this process uses, so that nothing written contains them."""
    _registered.update(secret for secret in secrets if len(secret) >= _LEAST)


def environment_secrets() -> list[str]:
    """The values of all environment variables whose names are those of secrets, or that hold a login in a
    URL."""
    global _seen, _secrets
    # Going through `os.environ` decodes every variable, which would take a tenth of the time of a reply.
    data = getattr(os.environ, "_data", None)
    if data is None or data != _seen:
        found = [value for name, value in os.environ.items() if _is_secret_variable(name, value)]
        _seen, _secrets = None if data is None else dict(data), found
    return list(_secrets)


@lru_cache(maxsize=1024)
def _is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable holds a secret; cached because all variables are looked at for every reply."""
    named = is_secret_name(name) and name not in _FOLDERS
    return named or without_logins(value) != value


def known_mask() -> Mask:
    """Masks every secret that this process knows, for the log, the terminal and error messages."""
    return mask_of(frozenset({*_registered, *environment_secrets()}))


def record_mask() -> Mask:
    """Masks secrets in what is stored and scored: those that configurations use, and those of the environment
    that look random. Others stay, because a variable `SORT_KEY=document` must not change an answer."""
    return mask_of(frozenset({*_registered, *filter(_looks_random, environment_secrets())}))


@lru_cache(maxsize=1024)
def _looks_random(value: str) -> bool:
    """Whether a value is unlikely to occur in an answer by chance."""
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return len(value) >= _RANDOM_LENGTH and mixed and not any(map(str.isspace, value))


def without_known(noun: M, mask: Mask | None = None) -> M:
    """Mask known secrets in all texts of a stored value; returns the same object where there are none."""
    mask = mask or record_mask()
    if mask.is_empty:
        return noun
    data = noun.model_dump()
    clean = mask.inside(data)
    return noun if clean == data else noun.model_validate(clean)
