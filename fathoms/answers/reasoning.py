"""Finds the reasoning that a model writes before or between the parts of its answer.

It is written between tags (`<think>...</think>`, `[THINK]...[/THINK]`, in any case), of which chat templates
may have put the opening one into the prompt, or into the channels of gpt-oss. Tags in code, in quotation
marks or in the middle of a sentence that talks about them are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fathoms.answers.protected import code_spans

_NAMES = "think|thinking|reasoning|thought|thoughts|analysis|scratchpad|reflection"
# It begins with a set of characters, by which Python skips other text quickly.
_TAG = re.compile(
    rf"[<\[◁](?:(?<=<)\|?(?P<close>/)?(?:\w{{1,12}}:|ant_?)?(?:{_NAMES})\s{{0,3}}\|?>"
    r"|(?<=\[)(?P<close2>/)?(?:THINK|THINKING|REASONING)\]|(?<=◁)(?P<close3>/)?think▷)",
    re.IGNORECASE,
)
_CHANNEL = re.compile(r"(?:<\|start\|>\w{0,20})?<\|channel\|>(?P<name>\w{1,20})[^<]{0,200}<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start)\|>")
# What is left of the channels where a server leaves out the special tokens.
_BARE_CHANNELS = re.compile(
    r"\s*analysis(?=[A-Z\"'])(?P<thought>.*)assistantfinal(?P<answer>.*)\Z", re.DOTALL
)
_QUOTES = "\"'`“”‘’«»"  # noqa: RUF001
_OPENING = "“‘«"  # noqa: RUF001
_CLOSING = "”’»"  # noqa: RUF001
_QUOTATION = 300
"""The most characters in which the marks before a tag are counted."""
_SHORT = 12
"""The most characters between two tags in one line that a sentence about tags may have: `<think> and
</think>`."""

REASONING = ("reasoning", "thinking", "thought")
"""The types of content parts that hold reasoning."""

Span = tuple[int, int]


def reasoning_spans(text: str) -> tuple[list[Span], bool]:
    """Return the stretches of reasoning with their tags, in order, and whether the last one has no end.

    Such a text was cut while the model was still reasoning: it has no answer.
    """
    if "<|channel|>" in text:
        return _channels(text)
    if text.lstrip()[:8] == "analysis" and (bare := _BARE_CHANNELS.match(text)):
        return [(0, bare.start("answer"))], False
    if not _TAG.search(text):
        return [], False
    return _tagged(text)


def _tagged(text: str) -> tuple[list[Span], bool]:
    """Find the reasoning between tags."""
    code = code_spans(text)
    spans: list[Span] = []
    opened: int | None = None
    for tag in _TAG.finditer(text):
        if _is_quoted(text, tag, opened or 0) or (opened is None and tag.start() in code):
            continue
        closes = tag["close"] or tag["close2"] or tag["close3"]
        if not closes and opened is None:
            opened = tag.start()
        elif closes and opened is not None:
            if spans or not _is_talked_about(text, opened, tag):
                spans.append((opened, tag.end()))
            opened = None
        elif closes:
            # The prompt ended with the opening tag: everything before is reasoning.
            spans = [(0, tag.end())]
    if opened is not None and _begins_line(text, opened):
        return [*spans, (opened, len(text))], True
    return spans, False


def _is_quoted(text: str, tag: re.Match[str], since: int) -> bool:
    """Return whether a tag stands in quotation marks or backticks of the text from `since` on."""
    before, after = text[tag.start() - 1 : tag.start()], text[tag.end() : tag.end() + 1]
    if not (before and after and before in _QUOTES and after in _QUOTES):
        return False
    # `It says "41"</think>"41" is right`: the mark before the tag ends another quotation
    near = text[max(since, tag.start() - _QUOTATION) : tag.start()]
    return before in _OPENING or (before not in _CLOSING and near.count(before) % 2 == 1)


def _is_talked_about(text: str, opened: int, tag: re.Match[str]) -> bool:
    """Return whether two tags only stand in a sentence about them."""
    between = text[opened : tag.start()].partition(">")[2].strip()
    return not _begins_line(text, opened) and "\n" not in between and len(between) <= _SHORT


def _begins_line(text: str, at: int) -> bool:
    """Return whether nothing but white space stands before a place in its line."""
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _channels(text: str) -> tuple[list[Span], bool]:
    """Find the channels of gpt-oss that are not the final one, and the marks around that."""
    spans: list[Span] = []
    done, has_final = 0, False
    for mark in _CHANNEL.finditer(text):
        if mark.start() < done:
            continue
        end = _CHANNEL_END.search(text, mark.end())
        stop = end.start() if end else len(text)
        if mark["name"] == "final":
            spans.append((done, mark.end()))
            has_final = True
            done = stop
    if not has_final:
        return [(0, len(text))], True
    return ([*spans, (done, len(text))] if done < len(text) else spans), False


def split_reasoning(text: str) -> tuple[str, str]:
    """Split a reply into (reasoning, answer), both without the tags' white space around them.

    If the reasoning was cut off before its end, the answer is empty.
    """
    spans, is_cut = reasoning_spans(text)
    if not spans:
        return "", text
    thoughts = "\n\n".join(_without_tags(text[start:end]) for start, end in spans)
    outside = [text[start:end] for start, end in _rest(spans, len(text))]
    answer = "".join(outside)
    return thoughts.strip(), "" if is_cut and not answer.strip() else answer.lstrip()


def _without_tags(thought: str) -> str:
    """Return reasoning without its tags."""
    return _CHANNEL_END.sub("", _CHANNEL.sub("", _TAG.sub("", thought))).strip()


def _rest(spans: Sequence[Span], end: int) -> Iterator[Span]:
    """Yield what lies between the spans."""
    done = 0
    for start, stop in spans:
        if start > done:
            yield done, start
        done = stop
    if done < end:
        yield done, end


def _is_part(value: Any) -> bool:
    """Return whether a value is a content part: an object with a type or a text."""
    return isinstance(value, dict) and any(isinstance(value.get(key), str) for key in ("type", "text"))


def split_parts(content: Any) -> tuple[str, str] | None:
    """Split a message of content parts into (reasoning, answer), by their types; `None` if it is no list of
    parts with texts.

    Parts of type `reasoning` or `thinking` are reasoning, as OpenAI, Anthropic, Mistral and Cohere send them.
    """
    if not isinstance(content, list) or not content or not all(map(_is_part, content)):
        return None
    found: dict[bool, list[str]] = {True: [], False: []}
    for part in content:
        kind = part.get("type")
        is_thought = kind in REASONING or part.get("thought") is True
        value = part.get(str(kind)) if is_thought and part.get("text") is None else part.get("text")
        if isinstance(value, list):
            value = "".join(str(one.get("text") or "") for one in value if isinstance(one, dict))
        if isinstance(value, str):
            found[is_thought].append(value)
    return "\n\n".join(found[True]), "".join(found[False])
