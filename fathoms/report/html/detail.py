"""Converts one question of one run to the form that the page reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from fathoms.answers import Reading
from fathoms.errors import StoreError
from fathoms.metrics.phrase_places import PhrasePlace, phrase_places, places_in_answer
from fathoms.metrics.phrase_recall import Hyphens, Match
from fathoms.metrics.profiles import PROFILES, SCORER_HYPHENS, Profile
from fathoms.metrics.stages import STAGES
from fathoms.report.grouping import label
from fathoms.report.html.claims import cost_of, documents_of, shown_claims
from fathoms.report.html.places import Drawn, Passage, Phrases, Sought, Unread
from fathoms.report.html.texts import MARKED, Marker, Pool, brief
from fathoms.report.lost import loss_sentence
from fathoms.report.metrics_table import page_metrics, reason
from fathoms.report.read_answer import read_answer
from fathoms.runs.run import Run
from fathoms.text.amounts import duration, figure, measured
from fathoms.types import HISTORY, Box, Citation, Document, Evidence, GoldPhrase, Question, Reply
from fathoms.types.run.figures import ProfileFigures
from fathoms.types.run.rows import (
    AnswerScores,
    AttachedFile,
    MetricScore,
    ScoredQuestion,
    ScoredRepeat,
    ShownHit,
    ShownMessage,
    ShownPiece,
    ShownPrompt,
)

Json = dict[str, Any]


class Pictures(Protocol):
    """Registers the pictures that the page shows of one run. `page` and `file` return the key of a picture,
    `None` if there can be none."""

    def page(self, document: str, number: int | None, gold: bool) -> str | None:
        """Register a page of a document; `gold` says whether it is a gold page."""

    def file(self, path: Path, gold: bool) -> str | None:
        """Register a picture in a file, such as a figure that was cut out of its page."""

    def seek(self, key: str, sought: Sought) -> int:
        """Register what is to be found on a page, and return the number of its places."""


class NoPictures:
    """Stands for the pictures of a page that shows none."""

    def page(self, document: str, number: int | None, gold: bool) -> str | None:
        """Return `None`: the page of the document is not shown."""

    def file(self, path: Path, gold: bool) -> str | None:
        """Return `None`: the picture is not shown."""

    def seek(self, key: str, sought: Sought) -> int:
        """Return a number without any places."""
        return -1


@dataclass(frozen=True)
class Background:
    """What the details of all questions of a run need: the pictures, the parsed documents, and of its profile
    the name, the figures, and the units of the metrics that are shown."""

    profile: str
    pictures: Pictures
    figures: ProfileFigures
    documents: Mapping[str, Document]
    units: Mapping[str, str]


def background(run: Run, profile: str, pictures: Pictures) -> Background:
    """Collect the background of the details of a run."""
    figures = run.summary.profiles.get(profile) or ProfileFigures()
    units = {name: found.unit for name, found in page_metrics(run, profile).items()}
    return Background(profile, pictures, figures, documents_of(run), units)


QUOTE, REFERENCE, REASON = 400, 2000, 600
"""The characters shown of a quote or phrase, of the reference answer, and of an explanation."""
MOST_PAGES = 3
"""The most pages of a retrieved text that are shown."""
MOST_BOXES = 30
"""The most boxes of a retrieved text that are drawn on the picture of its page."""
LEAST = 40
"""Retrieved texts of fewer characters are not searched for in the prompt: they may occur by chance."""


def rule_of(profile: str, repeat: ScoredRepeat) -> tuple[Match, Hyphens]:
    """Return how a profile matches phrases in this answer; `released` uses the rules of `released-code`."""
    known: dict[str, Profile] = {item.name: item for item in PROFILES}
    found = known.get(profile, known["released-code"])
    scorer = repeat.fingerprints.get("scorer", "") if found.follows_scorer else ""
    return found.match, SCORER_HYPHENS.get(scorer, found.hyphens)


def detail(view: ScoredQuestion, pool: Pool, of: Background) -> Json:
    """Return the question with all its repeats; its long texts are stored in `pool`, and its figures are
    texts."""
    question = view.question
    phrases = list(dict.fromkeys(phrase for variant in question.answers for phrase in variant))
    shown = {
        "question": pool.add(question.text),
        "reference": brief(question.reference, REFERENCE),
        "answers": [[str(phrase) for phrase in variant] for variant in question.answers],
        "answers_in_text": [
            brief(text, REFERENCE) for text in (question.short_answer, question.long_answer) if text
        ],
        "claims": [brief(claim, REASON) for claim in question.reference_claims],
        "metadata": {key: label(value) for key, value in question.metadata.items() if key != HISTORY},
        **({"history": label(question.metadata[HISTORY])} if HISTORY in question.metadata else {}),
        "phrases": list(map(str, phrases)),
        "files": question.files,
        "evidence": [
            _place(item)
            | {"thumbnail": of.pictures.page(item.document, item.page, True)}
            | ({"boxes": _boxes([item.bbox])} if item.bbox else {})
            for item in question.evidence
        ],
        "repeats": [_repeat(repeat, question, phrases, pool, of) for repeat in view.repeats],
    }
    return shown | {"sheets": _sheets(shown, phrases, rule_of(of.profile, view.repeats[0]), of)}


def _sheets(
    shown: Json,
    phrases: Sequence[GoldPhrase],
    rule: tuple[Match, Hyphens],
    of: Background,
) -> Json:
    """Return the pages that have a picture, by key: gold ones with the numbers of the places of the phrases
    and of what the parser of this run left out, then those that were retrieved."""
    gold = [(one["thumbnail"], one["document"], one["page"], True) for one in shown["evidence"]]
    hits = [
        (key, hit["document"], page, False)
        for repeat in shown["repeats"]
        for hit in repeat["hits"] or ()
        for key, page in zip(hit.get("places", ()), hit["pages"], strict=False)
    ]
    sheets: Json = {}
    for key, document, page, is_gold in [*gold, *hits]:
        if key is None or key in sheets:
            continue
        sheets[key] = {"document": document, "page": page, "gold": is_gold}
        if phrases:
            sheets[key]["phrases"] = of.pictures.seek(key, Phrases(tuple(phrases), *rule))
        if is_gold and (read := _read(of.documents, document, page)) is not None:
            sheets[key] |= {
                "unread": of.pictures.seek(key, Unread(read)),
                "drawn": of.pictures.seek(key, Drawn()),
            }
    return sheets


def _read(documents: Mapping[str, Document], name: str, page: int) -> str | None:
    """Return the text of a page as the parser of a run read it; `None` if that is not known."""
    try:
        found = documents.get(name)
    except StoreError:  # of a damaged document
        return None
    return next((one.text for one in found.pages if one.number == page), None) if found else None


def _place(item: Evidence | Citation) -> Json:
    """Return a place in the documents, from the evidence or from a citation."""
    return {"document": item.document, "page": item.page, "quote": brief(item.quote, QUOTE)}


def _cited(item: Citation) -> Json:
    """Return a place that the answer cites, and the ranks of the retrieved chunks that it names."""
    return _place(item) | {"label": brief(item.label, QUOTE), "ranks": item.ranks}


def _repeat(
    repeat: ScoredRepeat,
    question: Question,
    phrases: Sequence[GoldPhrase],
    pool: Pool,
    of: Background,
) -> Json:
    """Return one answer or failure with its scores, retrieved texts and prompt."""
    match, hyphens = rule_of(of.profile, repeat)
    marker: Marker = partial(phrase_places, phrases=phrases, match=match, hyphens=hyphens)
    answer, scores, hits = repeat.answer or Reply(text=""), repeat.under(of.profile), repeat.hits
    cited, error = repeat.citations, repeat.error
    reading = read_answer(repeat, question, of.figures)
    of_answer = partial(_highlights, reading, phrases, hyphens) if reading else marker
    aside = [(part.start, part.end, part.kind) for part in reading.parts] if reading else ()
    return {
        "repeat": repeat.repeat,
        "answer": pool.add(answer.text, of_answer, aside) if repeat.answer else None,
        "reasoning": pool.add(answer.reasoning) if answer.reasoning else None,
        "stop_reason": answer.stop_reason,
        "usage": answer.usage.model_dump() if repeat.answer else None,
        "cost": cost_of(answer.cost),
        "latency": measured(answer.latency, "seconds"),
        "first_token": None if answer.first_token is None else duration(answer.first_token),
        "refusal": brief(answer.refusal, REASON),
        "cached": answer.cached,
        "prompt_cut": answer.prompt_cut,
        "loss": brief(loss_sentence(question, repeat), REASON),
        "error": error and {"kind": error.kind, "message": pool.add(error.message)},
        "seed": repeat.seed,
        "finished": repeat.finished,
        "citations": None if cited is None else [_cited(item) for item in cited],
        "attempts": repeat.attempts,
        "timings": {stage: duration(seconds) for stage, seconds in repeat.timings.items()},
        "scores": _scores(scores),
        "metrics": [
            _metric(name, found, of.units[name]) for name, found in repeat.metrics.items() if name in of.units
        ],
        "claims": shown_claims(repeat, question, of.documents),
        "funnel": list(_funnel(scores)) or None,
        "left_out": scores.funnel.left_out if scores.funnel else None,
        "hits": None if hits is None else [_hit(hit, question, pool, marker, of.pictures) for hit in hits],
        "rounds": [
            {
                "query": pool.add(one.query),
                "calls": one.calls,
                "hits": [_hit(hit, question, pool, marker, of.pictures) for hit in one.hits],
            }
            for one in repeat.rounds
        ],
        "tools": [
            {
                **{name: pool.add(getattr(one, name)) for name in ("name", "arguments", "result")},
                "error": one.error and pool.add(one.error),
                "seconds": one.seconds,
            }
            for one in repeat.tools
        ],
        "prompt": _prompt(repeat.prompt, hits or (), pool),
    }


def _highlights(
    reading: Reading, phrases: Sequence[GoldPhrase], hyphens: Hyphens, text: str
) -> list[PhrasePlace]:
    """Return the places of the phrases in the beginning of an answer."""
    found = places_in_answer(reading, phrases, hyphens) if len(reading.raw) <= MARKED else []
    return [mark for mark in found if mark.end <= len(text)]


def _scores(scores: AnswerScores) -> Json:
    """Return the scores of the answer, with their explanations."""
    return {
        "correctness": figure(scores.correctness),
        "hallucination": scores.hallucination,
        "abstained": scores.abstained,
        "label": scores.abstention,
        "missed": [brief(phrase, QUOTE) for phrase in scores.missed or ()],
        "why": {name: brief(value, REASON) for name, value in (scores.why or {}).items()},
    }


def _metric(name: str, score: MetricScore, unit: str) -> Json:
    """Return the score of the answer by one metric, with its parts and its explanation."""
    return {
        "name": name,
        "value": measured(score.get("value"), unit),
        "parts": _texts(score.get("parts", {})),
        "why": _texts(score.get("why", {})),
    }


def _texts(values: Mapping[str, Any]) -> Json:
    """Return parts or reasons of a score, figures and lists of them as texts."""

    def text(value: Any) -> Any:
        if isinstance(value, float):
            return figure(value)
        return brief(reason(value) if isinstance(value, list) else value, REASON)

    return {name: text(value) for name, value in values.items()}


def _funnel(scores: AnswerScores) -> Iterator[Json]:
    """Yield each known stage with its recall, loss and gain, and the phrases that were lost there."""
    funnel = scores.funnel
    if not funnel or funnel.left_out:
        return
    for stage in STAGES:
        if (recall := funnel.recall(stage)) is not None:
            yield {
                "stage": stage,
                "recall": figure(recall),
                "lost": figure(funnel.lost.get(stage)),
                "gained": figure(funnel.gained.get(stage)),
                "missed": [brief(phrase, QUOTE) for phrase, place in funnel.missed.items() if place == stage],
            }


def _hit(hit: ShownHit, question: Question, pool: Pool, marker: Marker, pictures: Pictures) -> Json:
    """Return the data of one retrieved text: its rank, source, score and whether its page is gold."""
    gold = is_gold(question, hit.document, hit.pages) if hit.gold is None else hit.gold
    found: Json = {
        "rank": hit.rank,
        "document": hit.document,
        "pages": hit.pages,
        "score": None if hit.score is None else f"{float(f'{hit.score:.3g}'):g}",
        "text": pool.add(hit.text, marker) if hit.text else None,
        "gold": gold,
        "thumbnail": None,
    }
    if hit.gold is None and hit.document:
        found["thumbnail"] = pictures.page(hit.document, hit.pages[0] if hit.pages else None, bool(gold))
        if found["thumbnail"]:
            found["places"] = dict(_places(hit, hit.document, bool(gold), pictures))
    if hit.image is not None:
        found["picture"] = pictures.file(hit.image, bool(gold))
    if hit.gold is not None:
        found["quote"] = True
    if found["thumbnail"] and hit.heatmap:
        found["heatmap"] = hit.heatmap.model_dump(mode="json")
    if hit.header:
        found["header"] = pool.add(hit.header, marker)
    return found | ({"modality": hit.modality} if hit.modality else {})


def _places(
    hit: ShownHit, document: str, gold: bool, pictures: Pictures
) -> Iterator[tuple[str, list[list[int]] | int | None]]:
    """Yield the first pages of a retrieved text by the keys of their pictures, each with the boxes that the
    parser gave, or else with the number of the places at which the text is found; `None` for a whole page."""
    for page in hit.pages[:MOST_PAGES]:
        if key := pictures.page(document, page, gold):
            boxes = _boxes(one.bbox for one in hit.boxes if one.page == page)
            sought = Passage(hit.text) if hit.text and hit.modality in ("", "text") else None
            yield key, boxes or (pictures.seek(key, sought) if sought else None)


def _boxes(found: Iterable[Box]) -> list[list[int]]:
    """Return boxes in whole points, without those that are not finite."""
    return [list(map(round, box)) for box in found if all(map(isfinite, box))][:MOST_BOXES]


def is_gold(question: Question, document: str | None, pages: Sequence[int]) -> bool | None:
    """Return whether any of these pages is gold, or the document is if its gold pages are not given.

    It is `None` if the document is not known, or if gold pages are given but those retrieved are not known.
    """
    if document is None:
        return None
    gold = [item.page for item in question.evidence if item.document == document]
    if not question.evidence:
        return document in question.files
    if not gold or None in gold:
        return bool(gold)
    return bool(set(pages).intersection(gold)) if pages else None


def _prompt(prompt: ShownPrompt | None, hits: Sequence[ShownHit], pool: Pool) -> Json | None:
    """Return the prompt, with references in place of the retrieved texts."""
    if not prompt:
        return None
    fields: Json = {
        "messages": [_message(message, hits, pool) for message in prompt.messages],
        "cuts": [f"{cut.chunk}: {cut.dropped} of {cut.length} characters did not fit" for cut in prompt.cuts],
        "tokens": prompt.tokens,
        "budget": prompt.budget,
    }
    parts = [
        {
            "messages": [_message(message, hits, pool) for message in part.prompt.messages],
            "reply": pool.add(part.reply.text),
            **({"of": f"{part.document}: {part.state}"} if part.document else {}),
        }
        for part in prompt.parts
    ]
    return fields | ({"parts": parts} if parts else {})


def _message(message: ShownMessage, hits: Sequence[ShownHit], pool: Pool) -> Json:
    """Return one message of the prompt, with the names of the attached files.

    If the message has an order of its own, its images and files are also named at their places between the
    texts.
    """
    files, images = list(map(_file_name, message.files)), list(map(_image_name, message.images))
    fields: Json = {"role": message.role, "parts": list(_parts(message.text, hits, pool))}
    if message.parts:
        fields["parts"] = [shown for piece in message.parts for shown in _piece(piece, hits, pool)]
    return fields | ({"attached": [*files, *images]} if files or images else {})


def _file_name(file: AttachedFile) -> str:
    """Return the name of an attached PDF, with its pages."""
    return f"{file.document}, pages {', '.join(map(str, file.pages))}"


def _image_name(image: str) -> str:
    """Return the name of an image without its folder."""
    return image.replace("\\", "/").rpartition("/")[2]


def _piece(piece: ShownPiece, hits: Sequence[ShownHit], pool: Pool) -> Iterator[Json]:
    """Return a text as `_parts` does, and an image or a file as its name in brackets."""
    if piece.kind == "text":
        yield from _parts(piece.text, hits, pool)
    else:
        name = _image_name(piece.image) if piece.kind == "image" else _file_name(piece.file)
        yield pool.add(f"[{name}]")


def _parts(text: str, hits: Sequence[ShownHit], pool: Pool) -> Iterator[Json]:
    """Split a message into texts and references to the retrieved texts that it contains verbatim."""
    done = 0
    found = [(text.find(hit.text), len(hit.text), hit.rank) for hit in hits if len(hit.text) >= LEAST]
    for start, length, rank in sorted(place for place in found if place[0] >= 0):
        if start < done:
            continue
        if start > done:
            yield pool.add(text[done:start])
        yield {"hit": rank}
        done = start + length
    if done < len(text):
        yield pool.add(text[done:])
