"""Converts the view of one question in one run (`questions/<id>.json`) to the form that the page reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from fathoms.metrics.marks import marks
from fathoms.metrics.phrase_recall import Hyphens, Match
from fathoms.metrics.profiles import PROFILES, SCORER_HYPHENS, Profile
from fathoms.metrics.stages import STAGES
from fathoms.report.html.texts import Marker, Pool, brief

Json = dict[str, Any]
Picture = Callable[[str, int | None, bool], str | None]
"""A function of a document, a page number and whether the page is gold. It returns the key of the page's
picture, or `None` if there can be no picture."""
QUOTE, REFERENCE, REASON = 400, 2000, 600
"""The characters shown of a quote or phrase, of the reference answer, and of an explanation."""
LEAST = 40
"""Retrieved texts shorter than this many characters are not searched for in the prompt, as they may occur
there by chance."""


def rule_of(profile: str, repeat: Mapping[str, Any]) -> tuple[Match, Hyphens]:
    """Return how a profile matches phrases in this answer; `released` scores use the rules of
    `released-code`."""
    known: dict[str, Profile] = {item.name: item for item in PROFILES}
    found = known.get(profile, known["released-code"])
    scorer = (repeat.get("fingerprints") or {}).get("scorer", "") if found.follows_scorer else ""
    return found.match, SCORER_HYPHENS.get(scorer, found.hyphens)


def phrases_of(question: Mapping[str, Any]) -> list[str]:
    """Return the gold phrases of all answer variants in order, without duplicates."""
    variants = question.get("answers") or ()
    return list(dict.fromkeys(str(phrase) for variant in variants for phrase in variant))


def detail(view: Mapping[str, Any], profile: str, pool: Pool, picture: Picture) -> Json:
    """Return the question with all its repeats; its long texts are stored in `pool`."""
    question = view["question"]
    phrases = phrases_of(question)
    return {
        "question": pool.add(str(question.get("text") or "")),
        "reference": brief(question.get("reference"), REFERENCE),
        "answers": question.get("answers") or [],
        "phrases": phrases,
        "files": question.get("files") or [],
        "evidence": [
            _place(item) | {"thumbnail": picture(str(item.get("document")), item.get("page"), True)}
            for item in question.get("evidence") or ()
        ],
        "repeats": [
            _repeat(repeat, question, phrases, profile, pool, picture) for repeat in view.get("repeats") or ()
        ],
    }


def _place(item: Mapping[str, Any]) -> Json:
    """Return a place in the documents, from the evidence or from a citation."""
    return {key: item.get(key) for key in ("document", "page")} | {"quote": brief(item.get("quote"), QUOTE)}


def _repeat(
    repeat: Mapping[str, Any],
    question: Mapping[str, Any],
    phrases: Sequence[str],
    profile: str,
    pool: Pool,
    picture: Picture,
) -> Json:
    """Return one answer or failure with its scores, retrieved texts and prompt."""
    match, hyphens = rule_of(profile, repeat)
    marker: Marker = partial(marks, phrases=phrases, match=match, hyphens=hyphens)
    answer, scores = repeat.get("answer") or {}, (repeat.get("scores") or {}).get(profile) or {}
    hits, cited = repeat.get("hits"), repeat.get("citations")
    return {
        "repeat": repeat.get("repeat", 0),
        "answer": pool.add(str(answer.get("text") or ""), marker) if answer else None,
        "reasoning": pool.add(answer["reasoning"]) if answer.get("reasoning") else None,
        **{key: answer.get(key) for key in ("stop_reason", "usage", "cost", "latency", "first_token")},
        "refusal": brief(answer.get("refusal"), REASON),
        "cached": bool(answer.get("cached")),
        "prompt_cut": answer.get("prompt_cut"),
        "error": _error(repeat.get("error"), pool),
        **{key: repeat.get(key) for key in ("seed", "finished")},
        "citations": None if cited is None else [_place(item) for item in cited],
        "attempts": repeat.get("attempts", 1),
        "timings": repeat.get("timings") or {},
        "scores": _scores(scores),
        "funnel": list(_funnel(scores)) or None,
        "left_out": (scores.get("funnel") or {}).get("left_out"),
        "hits": None if hits is None else [_hit(hit, question, pool, marker, picture) for hit in hits],
        "prompt": _prompt(repeat.get("prompt"), hits or (), pool),
    }


def _error(error: Mapping[str, Any] | None, pool: Pool) -> Json | None:
    """Return the failure; its message may be long, so it is stored in the pool."""
    if not error:
        return None
    return {"kind": error.get("kind"), "message": pool.add(str(error.get("message") or ""))}


def _scores(scores: Mapping[str, Any]) -> Json:
    """Return the scores of the answer, with their explanations."""
    same = {key: scores.get(key) for key in ("correctness", "hallucination", "abstained")}
    return {
        **same,
        "label": scores.get("abstention"),
        "missed": [brief(phrase, QUOTE) for phrase in scores.get("missed") or ()],
        "why": {name: brief(value, REASON) for name, value in (scores.get("why") or {}).items()},
    }


def _funnel(scores: Mapping[str, Any]) -> Iterator[Json]:
    """Yield each known stage with its recall, loss and gain, and the phrases that were lost there."""
    funnel = scores.get("funnel") or {}
    missed = funnel.get("missed") or {}
    if funnel.get("left_out"):
        return
    for stage in STAGES:
        if funnel.get(stage) is not None:
            yield {
                "stage": stage,
                "recall": funnel[stage],
                "lost": (funnel.get("lost") or {}).get(stage),
                "gained": (funnel.get("gained") or {}).get(stage),
                "missed": [brief(phrase, QUOTE) for phrase, place in missed.items() if place == stage],
            }


def _hit(
    hit: Mapping[str, Any], question: Mapping[str, Any], pool: Pool, marker: Marker, picture: Picture
) -> Json:
    """Return one retrieved text."""
    document, pages = str(hit.get("document") or ""), hit.get("pages") or []
    gold = is_gold(question, document, pages)
    found = {
        "rank": hit.get("rank"),
        "document": document,
        "pages": pages,
        "score": hit.get("score"),
        "text": pool.add(hit["text"], marker) if hit.get("text") else None,
        "gold": gold,
        "thumbnail": picture(document, pages[0] if pages else None, bool(gold)),
    }
    if hit.get("header"):
        found["header"] = pool.add(hit["header"], marker)
    return found | ({"modality": hit["modality"]} if hit.get("modality") else {})


def is_gold(question: Mapping[str, Any], document: str, pages: Sequence[int]) -> bool | None:
    """Return whether any of these pages is gold, or the document is if its gold pages are not given.

    It is `None` if gold pages are given but it is not known which pages were retrieved.
    """
    evidence = question.get("evidence") or [{"document": name} for name in question.get("files") or ()]
    gold = [item.get("page") for item in evidence if item.get("document") == document]
    if not gold or None in gold:
        return bool(gold)
    return bool(set(pages).intersection(gold)) if pages else None


def _prompt(prompt: Mapping[str, Any] | None, hits: Sequence[Mapping[str, Any]], pool: Pool) -> Json | None:
    """Return the prompt, with references in place of the retrieved texts."""
    if not prompt:
        return None
    made: Json = {
        "messages": [_message(message, hits, pool) for message in prompt.get("messages") or ()],
        "cuts": [_cut(cut) for cut in prompt.get("cuts") or ()],
        "tokens": prompt.get("tokens"),
        "budget": prompt.get("budget"),
    }
    parts = [
        {
            "messages": [_message(message, hits, pool) for message in part["prompt"].get("messages") or ()],
            "reply": pool.add(str(part["reply"].get("text") or "")),
        }
        for part in prompt.get("parts") or ()
    ]
    return made | ({"parts": parts} if parts else {})


def _message(message: Mapping[str, Any], hits: Sequence[Mapping[str, Any]], pool: Pool) -> Json:
    """Return one message of the prompt, with the names of the attached files."""
    files = [
        f"{file.get('document')}, pages {', '.join(map(str, file.get('pages') or ()))}"
        for file in message.get("files") or ()
    ]
    images = [str(image).replace("\\", "/").rpartition("/")[2] for image in message.get("images") or ()]
    made = {"role": message.get("role"), "parts": list(_parts(str(message.get("text") or ""), hits, pool))}
    return made | ({"attached": [*files, *images]} if files or images else {})


def _parts(text: str, hits: Sequence[Mapping[str, Any]], pool: Pool) -> Iterator[Json]:
    """Split a message into texts and references to the retrieved texts that it contains verbatim."""
    done = 0
    for start, end, rank in _places(text, hits):
        if start < done:
            continue
        if start > done:
            yield pool.add(text[done:start])
        yield {"hit": rank}
        done = end
    if done < len(text):
        yield pool.add(text[done:])


def _places(text: str, hits: Sequence[Mapping[str, Any]]) -> list[tuple[int, int, int]]:
    """Return the start, end and rank of each retrieved text in a message, from left to right."""
    places = []
    for hit in hits:
        held = hit.get("text") or ""
        at = text.find(held) if len(held) >= LEAST else -1
        if at >= 0:
            places.append((at, at + len(held), hit["rank"]))
    return sorted(places)


def _cut(cut: Mapping[str, Any]) -> str:
    """Describe context that did not fit into the prompt."""
    return f"{cut.get('chunk')}: {cut.get('dropped')} of {cut.get('length')} characters did not fit"
