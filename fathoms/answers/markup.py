r"""Resolves the mark-up of an answer: Markdown, HTML and LaTeX become the text that a reader sees.

| written | read |
|---|---|
| `photo**synthesis**`, `<b>red</b>` | `photosynthesis`, `red` |
| `[the page](https://example.org)` | `the page`; a gold address is searched for in the raw answer |
| `> red` at the beginning of a line | `red` |
| `max\_tokens`, `41\%`, `R&amp;D` | `max_tokens`, `41%`, `R&D` |
| `red<br>green`, `<td>a</td><td>b</td>` | two lines, two cells |
| `m<sup>2</sup>`, `m^{2}`, `m²`, `CO_2`, `H₂O`, `H~2~O` | `m2`, `m2`, `m2`, `CO2`, `H2O`, `H2O` |
| `10<sup>3</sup>`, `10^{3}`, `10³` | `10^3`, because 10³ is not 103 |
| `$5{,}592\,\text{m}$`, `\frac{1}{2}` | `5,592 m`, `1/2` |

Only known tags of HTML and commands of LaTeX are mark-up (`a<b and c>d` is not), and `$` encloses a formula
only where it cannot be a price. Emphasis is not resolved inside code, in names (`__init__`) and between
digits (`2**10`). Each step is a pattern with a replacement, so that the place of every character can be
followed.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from fathoms.answers.protected import MATH

Replace = Callable[[re.Match[str]], str]


class Step(NamedTuple):
    """A replacement, and its characters: a text without any of them has nothing to replace.

    Its pattern begins with a character or a set of them, by which Python skips other text quickly.
    """

    signs: str
    pattern: re.Pattern[str]
    replace: Replace


_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾", "0123456789+-=()")
_LETTERS_ABOVE = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", "0123456789+-=()")
_BLOCKS = "p|div|br|hr|li|ul|ol|dl|dt|dd|tr|table|thead|tbody|tfoot|h[1-6]|blockquote|pre|section|article"
_CELLS = "td|th"
_INLINE = (
    "b|i|u|s|em|strong|span|a|code|kbd|mark|small|big|font|del|ins|q|cite|abbr|tt|var|samp|details|summary"
)
_ATTRIBUTES = (
    r"(?:\s+[\w:-]{1,40}(?:\s?=\s?(?:\"[^\"<>]{0,500}\"|'[^'<>]{0,500}'|[^\s<>\"']{1,200}))){0,20}\s?/?"
)
_LETTERS = "alpha beta gamma delta epsilon eta theta kappa lambda mu nu pi rho sigma tau phi chi psi omega"
_GREEK = dict(zip(_LETTERS.split(), "αβγδεηθκλµνπρστφχψω", strict=True))
_SYMBOLS = {
    **_GREEK,
    **{"Delta": "Δ", "Omega": "Ω", "Sigma": "Σ", "Phi": "Φ", "infty": "∞", "degree": "°", "circ": "°"},
    **{"times": "×", "cdot": "·", "pm": "±", "mp": "∓", "approx": "≈", "sim": "~"},  # noqa: RUF001
    **{"leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "to": "→", "rightarrow": "→"},
    **{"ldots": "...", "dots": "...", "cdots": "...", "percent": "%", "euro": "€", "quad": " ", "qquad": " "},
    **dict.fromkeys(("left", "right", "displaystyle", "big", "Big"), ""),
}
_STYLES = (
    "text|mathrm|textbf|mathbf|textit|mathit|mathsf|mathtt|texttt|textrm|textsf|emph|underline|operatorname"
    "|boxed|fbox|mathcal|mathbb|bm|boldsymbol|mbox|unit|si|num|overline|ce|ensuremath"
)
_STYLED = re.compile(rf"\\(?:{_STYLES})\s?\{{([^{{}}\\]*)\}}")
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]*)\}\s?\{([^{}]*)\}")
_COMMAND = re.compile(r"\\(?P<name>[A-Za-z]+)\s?(?:\{\})?")
_SPACING = re.compile(r"\\[,;:! ]|(?<!\\)~")
_BRACED = re.compile(r"\{([^{}\\]*)\}")
_DEPTH = 4
"""How many braces inside one another are resolved."""


def _fraction(match: re.Match[str]) -> str:
    return f"{match[1]}/{match[2]}"


def _first(match: re.Match[str]) -> str:
    return match[1]


def _symbol(match: re.Match[str]) -> str:
    """Write the symbol of a command; an unknown command keeps its name."""
    return _SYMBOLS.get(match["name"], match["name"])


def _formula(match: re.Match[str]) -> str:
    """Write a formula as text."""
    return latex_text(match[0].strip("$").removeprefix("\\(").removesuffix("\\)").removeprefix("\\["))


def latex_text(text: str) -> str:
    """Return what LaTeX without its delimiters stands for, as plain text."""
    text = text.removesuffix("\\]").replace("\\%", "%").replace("\\$", "$").replace("{,}", ",")
    text = text.replace("\\_", "_").replace("\\&", "&").replace("\\#", "#").replace("^{\\circ}", "°")
    text = _SPACING.sub(" ", text.replace("^\\circ", "°"))
    for _ in range(_DEPTH):
        before = text
        text = _STYLED.sub(_first, _FRACTION.sub(_fraction, text))
        text = _SCRIPT.sub(_script, text)
        if text == before:
            break
    text = _COMMAND.sub(_symbol, text)
    return _BRACED.sub(_first, _BRACED.sub(_first, text))


def _script(match: re.Match[str]) -> str:
    """Write `^{2}` and `_2`: a power after a digit, else a part of the name or of the unit."""
    inner = match["braced"] if match["braced"] is not None else match["one"]
    if match["sign"] == "_":
        # an index in words, as in `x_{language}`, is a word of its own
        return inner if re.fullmatch(r"[\w+-]{1,2}", inner) else f" {inner}"
    before = match.string[match.start() - 1 : match.start()]
    return f"^{inner}" if before.isdigit() or not re.fullmatch(r"[\d+-]{1,4}", inner) else inner


_SCRIPT = re.compile(r"(?P<sign>[\^_])(?:\{(?P<braced>[^{}\\]*)\}|(?P<one>[\w+]))(?<![\^_]\^)")


def _superscript(match: re.Match[str]) -> str:
    """Write superscript digits: a power after a digit, else a part of the unit or the name."""
    plain = match[0].translate(_SUPERSCRIPTS)
    return f"^{plain}" if match.string[match.start() - 1 : match.start()].isdigit() else plain


def _tag_script(match: re.Match[str]) -> str:
    """Return the text of a `<sup>` or `<sub>` element: `^2` for a power, and else what stands in it."""
    before = match.string[match.start() - 1 : match.start()]
    is_power = match[1].lower() == "sup" and before.isdigit() and not match[2].isalpha()
    return f"^{match[2]}" if is_power else match[2]


def _entity(match: re.Match[str]) -> str:
    return html.unescape(match[0])


def _nothing(match: re.Match[str]) -> str:
    return ""


def _emphasis(match: re.Match[str]) -> str:
    """Remove the marks of emphasis around a text, except in names and between digits."""
    inner, mark, text = match["inner"], match["mark"], match.string
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if mark[0] == "_" and (before.isalnum() or after.isalnum() or (len(mark) > 1 and inner.isidentifier())):
        return match[0]
    if before.isdigit() and inner[:1].isdigit():
        return match[0]
    return inner


def _fence(match: re.Match[str]) -> str:
    """Keep the content of fenced code, without the fences and the name of the language."""
    return match["code"]


STEPS: tuple[Step, ...] = (
    Step("$\\", MATH, _formula),
    Step("\\", _STYLED, _first),
    Step("\\", _FRACTION, _fraction),
    Step(
        "\\",
        re.compile(r"\\(?:times|cdot|pm|approx|leq|geq|neq|degree|circ|mu|percent)\b\s?"),
        lambda m: _SYMBOLS[m[0][1:].strip()],
    ),
    Step("\\", re.compile(r"\\(?<=\d\\)[,;:](?=[A-Za-z%°µ])"), lambda _: " "),
    Step("^", re.compile(r"\^(?<=[^\W\d_]\^)(?<![^\W\d_]{3}\^)(\d{1,2})(?![\w^])"), _first),
    Step("{", re.compile(r"(?<=\d)\{,\}(?=\d)"), lambda _: ","),
    Step("&", re.compile(r"&(?:[A-Za-z]{2,12}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});"), _entity),
    Step("<", re.compile(r"<(sup|sub)>([\w+\u2212-]{1,12})</\1>", re.IGNORECASE), _tag_script),
    Step("<", re.compile(rf"</?(?:{_BLOCKS}){_ATTRIBUTES}>", re.IGNORECASE), lambda _: "\n"),
    Step("<", re.compile(rf"</?(?:{_CELLS}){_ATTRIBUTES}>", re.IGNORECASE), lambda _: " | "),
    Step(
        "<",
        re.compile(
            rf"</?(?:{_INLINE}|sup|sub){_ATTRIBUTES}>|<!--[^<>]{{0,1000}}-->"
            rf"|</?co(?::\s?\d{{1,3}}(?:,\s?\d{{1,3}}){{0,9}})?>",
            re.IGNORECASE,
        ),
        _nothing,
    ),
    Step(
        "`",
        re.compile(r"```[ \t]*[\w+#.-]{0,20}[ \t]*\n(?P<code>(?:[^`]|`(?!``))*?)\n?[ \t]*(?:```|\Z)"),
        _fence,
    ),
    Step(
        "[",
        re.compile(
            r"[!\[](?:(?<=\[)|(?<=!)\[)([^\[\]\n]{0,500})\]\([^()\s]{1,1000}(?:\s\"[^\"\n]{0,200}\")?\)"
        ),
        _first,
    ),
    Step(
        "*", re.compile(r"(?P<mark>\*\*{0,2}+)(?=[^\s*])(?P<inner>[^*\n]++)(?<=\S)(?P=mark)(?!\*)"), _emphasis
    ),
    Step(
        "_",
        re.compile(r"(?P<mark>_(?<![\w\\]_)_?+)(?=[^\s_])(?P<inner>[^_\n]++)(?<=\S)(?P=mark)(?!\w)"),
        _emphasis,
    ),
    Step("~", re.compile(r"~~(?=\S)([^~\n]++)~~"), _first),
    Step("~", re.compile(r"~(?<=\w~)([\w+-]{1,4})~"), _first),
    Step(">", re.compile(r"(?m)>(?<=^>)(?:[ \t]?>)*[ \t]+(?=[^\W\d])"), _nothing),
    Step("#", re.compile(r"(?m)#(?<=^#)#{0,5}[ \t]+"), _nothing),
    Step(
        "|",
        re.compile(r"(?m)^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*$"),
        _nothing,
    ),
    Step("\\", re.compile(r"\\([_*`\[\]()#+.!|{}~>$%&-])"), _first),
    Step("⁰¹²³⁴⁵⁶⁷⁸⁹", re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+"), _superscript),
    Step(
        _LETTERS_ABOVE,
        re.compile(f"(?<=\\d)[{_LETTERS_ABOVE}]+"),
        lambda m: unicodedata.normalize("NFKC", m[0]),
    ),
    Step("₀₁₂₃₄₅₆₇₈₉", re.compile(r"[₀₁₂₃₄₅₆₇₈₉₊₋]+"), lambda m: m[0].translate(_SUBSCRIPTS)),
)
_SIGNS = frozenset("".join(step.signs for step in STEPS))
_ASCII_SIGNS = frozenset(filter(str.isascii, _SIGNS))


def steps_for(text: str) -> list[Step]:
    """Return the steps that may find something in a text, in order."""
    present = {sign for sign in (_ASCII_SIGNS if text.isascii() else _SIGNS) if sign in text}
    return [step for step in STEPS if not present.isdisjoint(step.signs)] if present else []


def plain(text: str) -> str:
    """Return a text without its mark-up."""
    for step in steps_for(text):
        text = step.pattern.sub(step.replace, text)
    return text
