"""Reads what an answer says: reasoning, envelope, citations and furniture are set aside, mark-up is resolved.

`read` is pure, asks no model and takes time linear in the length of the answer. The raw answer is kept, and
every place in what was read leads back to its place there.

The order is: reasoning, envelope, citations, furniture, mark-up. Nothing inside code or formulas is a
citation or emphasis. Except for reasoning, what would leave nothing of an answer is not set aside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from fathoms.answers import furniture, markup
from fathoms.answers.citations import markers
from fathoms.answers.protected import code_spans
from fathoms.answers.reasoning import reasoning_spans
from fathoms.text.tracing import Traced
from fathoms.types import Hit

PartKind = Literal[
    "reasoning", "envelope", "citation", "sources", "offer", "disclaimer", "confidence", "opening"
]
SETTABLE: tuple[PartKind, ...] = (
    "citation",
    "sources",
    "offer",
    "disclaimer",
    "confidence",
    "opening",
    "envelope",
)
"""The kinds that a configuration may keep in the answer."""
_FIELDS = ("answer", "response", "output", "result", "final_answer")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})+')
_ANSWER_TAG = re.compile(
    r"<(?:final_)?answer>(?P<inner>.*?)(?:(?P<end></(?:final_)?answer>)|\Z)", re.IGNORECASE | re.DOTALL
)
_FINAL = re.compile(r"(?m)^[ \t>#*_]*final answer[*_ \t]*[:：][*_ \t]*(?=\S)", re.IGNORECASE)  # noqa: RUF001
_FENCE = re.compile(r"\s*```[ \t]*(?:json)?[ \t]*\n(?P<inner>\s*\{.*\})\s*```", re.IGNORECASE | re.DOTALL)
_NOTE_SIGN = re.compile(
    r"(?:(?<=[^\W\d_]{4})|(?<=[.,;:!?)\"”]))[¹²³⁴⁵⁶⁷⁸⁹⁰](?:[,˒]? ?[¹²³⁴⁵⁶⁷⁸⁹⁰])*(?![⁺⁻\w])"
    r"|(?:(?<=[^\W\d_]{4})|(?<=[.,;:!?)\"”]))(?:<sup>\d{1,2}(?:, ?\d{1,2}){0,9}</sup>|⁽[¹²³⁴⁵⁶⁷⁸⁹⁰]{1,3}⁾)"
    r"|⟦\d{1,3}(?:, ?\d{1,3}){0,9}⟧|\ue200[^\ue200\ue201\n]{1,300}\ue201|<ref>[^<>\n]{1,200}</ref>"
    r"|<a\s[^<>]{1,200}>\[?\d{1,3}\]?</a>"
    r"|<cite>\s?\[?\d{1,3}(?:, ?\d{1,3}){0,9}\]?\s?</cite>"
    r"|<sources>(?:\s{0,9}<source>[^<>]{1,200}</source>){1,50}\s{0,9}</sources>"
    r"|<grok:render[^<>]{0,200}>(?:<argument[^<>]{0,100}>[^<>]{0,40}</argument>){0,5}</grok:render>"
    r"|\[REF\][\d, ]{1,40}\[/REF\]"
    r"|\[\\\[\d{1,3}\\\]\]\([^()\s]{1,1000}\)"
)
_WORD = re.compile(r"\w")
# Numbers that are no part of what is said: of pages, of headings, of the items of a list.
_RANGE = r"\d{1,5}(?:\s*(?:[-–,&]|and|to|bis)\s*\d{1,5})*"  # noqa: RUF001
_PAGE_NUMBERS = re.compile(
    rf"[PpSs](?<!\w.)(?i:(?<=p)(?:age[:=]|ages?|p?\.|g\.?)|(?<=s)eiten?|(?-i:(?<=S))\.)\s*(?i:{_RANGE})"
)
_PLACE_NUMBERS = re.compile(
    r"\((?:(?:see|cf\.?|from|in) )?(?:sections?|sec\.|§|chapters?|tables?|tab\.|figures?|figs?\.|appendix"
    r"|annex)\s?\d{1,3}(?:\.\d{1,3}){0,3}(?:\s*(?:[-–,&]|and)\s*\d{1,3}(?:\.\d{1,3}){0,3}){0,5}\)",  # noqa: RUF001
    re.IGNORECASE,
)
_CITED_NUMBERS = re.compile(r"[\[【(]\s*\^?\d{1,3}(?:\s*[-–,;&]\s*\d{1,3})*\s*[\]】)](?=\W|\Z)(?<![)])")  # noqa: RUF001
_HEADING_NUMBERS = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+(?:(?:chapter|section|part"
    r"|step)[ \t]+)?\d{1,3}(?:\.\d{1,3}){0,3}[.):]?(?=[ \t]+\S)"
    r"|(?:\*\*|__)(?:(?:chapter|section|part"
    r"|step)[ \t]+)?\d{1,3}(?:\.\d{1,3}){0,3}[.):](?=[ \t]+[^*_\n]+(?:\*\*|__):?[ \t]*$))",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM_NUMBERS = re.compile(r"(?m)^[ \t]*\d{1,3}[.)][ \t]+(?=\S)")
_FILES = re.compile(r"(?<![\w-])[\w-]{1,80}\.(?:pdf|docx?|pptx?|xlsx?|html?|csv|txt|md)\b", re.IGNORECASE)
_FILE_HINT = re.compile(r"\.(?:pdf|docx?|pptx?|xlsx?|html?|csv|txt|md)\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_SUPERSCRIPT = re.compile(
    r"[¹²³⁴⁵⁶⁷⁸⁹⁰⟦\ue200<[](?:(?<![<[])|(?i:sup>|cite>|ref>|a\s|sources>|grok:|REF\])|\\\[)"
)


class Part(NamedTuple):
    """A stretch `start:end` of the raw answer that is no part of what it says."""

    kind: PartKind
    start: int
    end: int


class _Edit(NamedTuple):
    """A stretch of a text and what replaces it; without a kind, it is a part of what is said."""

    start: int
    end: int
    new: str
    kind: PartKind | None


class Reading:
    """An answer that was read once: its text without reasoning and sources, and where each part stood.

    - `raw` is the answer as it came, and `text` what it says, with its mark-up.
    - `only_reasoning` is true if the model was cut, or ended, before it gave an answer; `text` is empty then.
    - `is_null` is true if the answer is an envelope that gives `null` as the answer.
    - `cited` says that citations were set aside whose brackets might have been text, because it is not known
      what could be cited.
    """

    def __init__(
        self,
        raw: str,
        text: str,
        layers: Sequence[Sequence[_Edit]] = (),
        *,
        only_reasoning: bool = False,
        is_null: bool = False,
        knows_hits: bool = True,
    ) -> None:
        self.raw = raw
        self.text = text
        self.only_reasoning = only_reasoning
        self.is_null = is_null
        self._layers = layers
        self._knows_hits = knows_hits

    @property
    def cited(self) -> bool:
        """Whether citations were set aside although it is unknown what was retrieved."""
        return not self._knows_hits and any(
            edit.kind == "citation" for layer in self._layers for edit in layer
        )

    @cached_property
    def plain(self) -> str:
        """What the answer says, without mark-up."""
        return markup.plain(self.text)

    @cached_property
    def numbers(self) -> str:
        """The plain text in which numbers of pages, headings, list items and citations are blank."""
        text = self.text
        if not _DIGIT.search(text):
            return self.plain
        if "#" in text or "*" in text or "_" in text:
            text = _HEADING_NUMBERS.sub(_digits_blank, text)
        text = _PLACE_NUMBERS.sub(_digits_blank, _PAGE_NUMBERS.sub(_digits_blank, text))
        if _FILE_HINT.search(text):
            text = _FILES.sub(_digits_blank, text)
        if "\n" in text and len(_ITEM_NUMBERS.findall(text)) > 1:
            text = _ITEM_NUMBERS.sub(_digits_blank, text)
        if ("[" in text or "【" in text) and not any(sign in text for sign in "`$\\"):
            text = _CITED_NUMBERS.sub(_brackets_blank, text)
        return self.plain if text == self.text else markup.plain(text)

    @cached_property
    def unreasoned(self) -> str:
        """The raw answer without its reasoning alone, in which a phrase that the reading itself would change
        is searched for."""
        spans, _ = reasoning_spans(self.raw)
        if not spans:
            return self.raw
        return "" if self.only_reasoning else _edited(self.raw, [_Edit(*span, "", None) for span in spans])

    def aside(self, *kinds: PartKind) -> str:
        """Return the parts of some kinds that were set aside, each on a line of its own."""
        return "\n".join(self.raw[part.start : part.end] for part in self.parts if part.kind in kinds)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The stretches of the raw answer that were set aside, in order."""
        if not self._layers:
            return ()
        found = []
        traced = Traced.of(self.raw)
        for layer in self._layers:
            found += [Part(edit.kind, *traced.span(edit.start, edit.end)) for edit in layer if edit.kind]
            traced = traced.spliced(edit[:3] for edit in layer)
        return tuple(sorted(found, key=lambda part: part.start))

    def trace(self) -> Traced:
        """Return `text` with the place of each character in the raw answer."""
        traced = Traced.of(self.raw)
        for layer in self._layers:
            traced = traced.spliced(edit[:3] for edit in layer)
        return traced

    def trace_plain(self) -> Traced:
        """Return `plain` with the place of each character in the raw answer."""
        traced = self.trace()
        for step in markup.steps_for(traced.text):
            traced = traced.sub(step.pattern, step.replace)
        return traced


def read(answer: str, hits: Sequence[Hit] | None = None, keep: Collection[str] = ()) -> Reading:
    """Read an answer. `hits` are what was retrieved for it, `None` where that is unknown; `keep` are the
    kinds of parts that are not set aside."""
    if not _may_have_parts(answer) and not furniture.may_have(answer):
        return Reading(answer, answer)
    layers: list[list[_Edit]] = []
    spans, is_cut = reasoning_spans(answer)
    text = answer
    if spans:
        layers.append([_Edit(start, end, "", "reasoning") for start, end in spans])
        text = _edited(text, layers[-1])
        if is_cut or not text.strip():
            return Reading(answer, "", layers, only_reasoning=True)
    is_null = False
    for _ in range(_MOST_ENVELOPES):
        # An envelope is looked for first, as it ends after its answer, and then without what follows it.
        opened = None if "envelope" in keep else _envelope(text)
        if opened is None:
            before = text
            text = _without(text, _furniture(text, keep), layers)
            if citations := _citations(text, hits, keep):
                is_at_end = citations[-1].end >= len(text.rstrip()) - 2
                text = _without(text, citations, layers)
                if is_at_end:
                    text = _without(text, _furniture(text, {*keep, "opening"}), layers)
            opened = None if "envelope" in keep or text == before else _envelope(text)
        if opened is None:
            break
        edits, is_null = opened
        layers.append(edits)
        text = _edited(text, edits)
        if is_null:
            break
    return Reading(
        answer, text, [layer for layer in layers if layer], is_null=is_null, knows_hits=hits is not None
    )


_MOST_ENVELOPES = 3
_SIGNS_OF_PARTS = "<[{(^"
_OTHER_SIGNS_OF_PARTS = re.compile(r"[【⟦◁\ue200\u00b2\u00b3\u00b9\u2070-\u2079]")


def _may_have_parts(answer: str) -> bool:
    """Return whether an answer may have anything but furniture: cheap, and wrong only by saying yes."""
    if any(sign in answer for sign in _SIGNS_OF_PARTS):
        return True
    if not answer.isascii() and _OTHER_SIGNS_OF_PARTS.search(answer):
        return True
    lower = answer.lower()
    return "analysis" in lower or "final answer" in lower


def _without(text: str, edits: list[_Edit], layers: list[list[_Edit]]) -> str:
    """Apply edits, as long as they leave something of the text."""
    if not edits:
        return text
    rest = _edited(text, edits)
    if not _WORD.search(rest):
        # Furniture that is all there is, is the answer: first what stands nearest to the end is set aside.
        edits = [edit for edit in edits if edit.kind == "citation"]
        rest = _edited(text, edits)
        if not edits or not _WORD.search(rest):
            return text
    layers.append(edits)
    return rest


def _furniture(text: str, keep: Collection[str]) -> list[_Edit]:
    """Find the furniture at both ends of a text."""
    begin, end = len(text) - len(text.lstrip()), len(text)
    openings = [] if "opening" in keep else list(furniture.opening(text, begin))
    after = openings[-1].end if openings else begin
    found: list[_Edit] = []
    for piece in furniture.closing(text, end):
        # the only statement of an answer stays; a greeting is none, but before sources it may be one
        least = begin if piece.kind in ("sources", "confidence") else after
        if piece.kind in keep or not _WORD.search(text, least, piece.start):
            break
        found.append(_Edit(piece.start, piece.end, "", piece.kind))
        end = piece.start
    for piece in openings:
        if not _WORD.search(text, piece.end, end):
            break
        found.append(_Edit(piece.start, piece.end, "", "opening"))
    return sorted(found)


def _citations(text: str, hits: Sequence[Hit] | None, keep: Collection[str]) -> list[_Edit]:
    """Find the citations in a text, with the space before them, where nothing else would follow it."""
    if "citation" in keep:
        return []
    spans = [span for span, _ in markers(text, hits)]
    if ("<" in text or "[\\" in text or "[REF]" in text or not text.isascii()) and _SUPERSCRIPT.search(text):
        spans = sorted([*spans, *(note.span() for note in _NOTE_SIGN.finditer(text))])
    found: list[_Edit] = []
    for start, end in _joined(text, spans):
        before, after = text[start - 1 : start], text[end : end + 1]
        if text[start - 1 : end].startswith("]") and text[end : end + 1] == "(":
            continue
        while before in (" ", "\u00a0") and (not after or after in " .,;:!?)\n"):
            start -= 1
            before = text[start - 1 : start]
        new = " " if before.isalnum() and after.isalnum() else ""
        found.append(_Edit(start, end, new, "citation"))
    return found


def _joined(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join citations that stand side by side: `[1][2]`, `[1], [2]`; a link as citation takes its target."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if text[end : end + 1] == "(" and (target := _TARGET.match(text, end)):
            end = target.end()
        if found and start < found[-1][1]:
            continue
        if found and text[found[-1][1] : start].strip(" ,;") == "" and start - found[-1][1] <= 3:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


_TARGET = re.compile(r"\([^()\s]{1,1000}\)")


def _envelope(text: str) -> tuple[list[_Edit], bool] | None:
    """Find the answer in an envelope: a JSON object with one field that holds it, a tag, or the words
    "Final answer:". Returns the edits that leave it, and whether it is null; `None` without an envelope."""
    if (tagged := _tagged_answer(text)) is not None:
        return _only(text, *tagged), False
    inner, at = text, 0
    if fence := _FENCE.fullmatch(text.strip()):
        at = text.index(fence["inner"])
        inner = fence["inner"]
    if inner.lstrip().startswith("{") and inner.rstrip().endswith("}"):
        return _in_json(text, inner, at)
    finals = list(_FINAL.finditer(text)) if "inal" in text or "INAL" in text else []
    if finals and _WORD.search(text[: finals[-1].start()]):
        return _only(text, finals[-1].end(), len(text)), False
    return None


def _tagged_answer(text: str) -> tuple[int, int] | None:
    """Find what stands in the last tag for an answer that is not in code, and that ends or begins a line."""
    if "nswer>" not in text and "NSWER>" not in text:
        return None
    code, found = code_spans(text), None
    for tag in _ANSWER_TAG.finditer(text):
        begins_line = not text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()].strip()
        if tag["inner"].strip() and tag.start() not in code and (tag["end"] or begins_line):
            found = tag.span("inner")
    return found


def _in_json(text: str, inner: str, at: int) -> tuple[list[_Edit], bool] | None:
    """Find the answer in a JSON object."""
    try:
        value = json.loads(inner, strict=False)
    except (ValueError, RecursionError):
        return None
    named = [(str(key), value[key]) for key in value if str(key).lower() in _FIELDS]
    if len(named) != 1:
        return None
    name, found = named[0]
    if found is None:
        return [_Edit(0, len(text), "", "envelope")], True
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        return None
    pattern = re.compile(
        re.escape(json.dumps(name, ensure_ascii=False))
        + r'\s*:\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>-?[\d.eE+-]+))',
        re.DOTALL,
    )
    written = pattern.search(inner)
    if written is None:
        return None
    group = "text" if written["text"] is not None else "number"
    start, end = at + written.start(group), at + written.end(group)
    edits = _only(text, start, end)
    escapes = [
        _Edit(start + one.start(), start + one.end(), _unescaped(one[0]), None)
        for one in _ESCAPE.finditer(text[start:end])
    ]
    return sorted([*edits, *escapes]), False


def _unescaped(escape: str) -> str:
    """Return the characters of escapes in JSON."""
    try:
        return str(json.loads(f'"{escape}"'))
    except ValueError:
        return escape


def _only(text: str, start: int, end: int) -> list[_Edit]:
    """Return the edits that leave only a stretch of a text."""
    found = [_Edit(0, start, "", "envelope"), _Edit(end, len(text), "", "envelope")]
    return [edit for edit in found if edit.start < edit.end]


def _edited(text: str, edits: Iterable[_Edit]) -> str:
    """Apply edits, which are in order and do not overlap."""
    pieces, done = [], 0
    for start, end, new, _ in edits:
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


def _digits_blank(match: re.Match[str]) -> str:
    """Replace the digits of a match by spaces."""
    return re.sub(r"\d", " ", match[0])


def _brackets_blank(match: re.Match[str]) -> str:
    """Blank numbers in square brackets; those in round brackets are text, and so is an interval from 0."""
    is_text = match[0].startswith("(") or re.search(r"(?<!\d)0+(?!\d)", match[0])
    return match[0] if is_text else _digits_blank(match)
