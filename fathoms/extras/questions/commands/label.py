"""`fathoms questions label`: find all pages that hold the answers of a question set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.cli.loading import Address, Executor, cluster_at
from fathoms.cli.options import CountCalls, Json, JudgeFile, QuestionFile, ToFile
from fathoms.errors import ExitCode, some_of
from fathoms.extras.questions.commands.parsing import read_any

if TYPE_CHECKING:
    from fathoms.extras.questions.labelling import Labelled
    from fathoms.types import Document, Question


First = Annotated[
    int | None,
    typer.Option(
        "--first",
        min=1,
        help="Judge only this number of pages of a question: those that BM25 ranks first.",
        show_default="all pages",
    ),
]


def label(
    file: QuestionFile,
    pdfs: Annotated[list[Path], typer.Argument(help="The PDFs, or folders of them.", show_default=False)],
    judge: JudgeFile,
    to: ToFile = None,
    first: First = None,
    dry_run: CountCalls = False,
    executor: Executor = None,
    address: Address = "auto",
    as_json: Json = False,
) -> int:
    """Find all pages that hold the answers of a question set.

    A model judges each page of the documents of a question. It is asked by this machine; with --executor ray,
    a Ray cluster reads the PDFs. Prints what it would change, page by page, and
    how far it agrees with the evidence that the questions have; with --to, writes the questions with the new
    pages as further evidence. Evidence that the model does not find stays. Ends with exit code 1 if a PDF
    cannot be read, a page could not be judged, or a question has no page to judge. Where no page at all could
    be judged, nothing is written.
    """
    from fathoms.corpora import read_questions, refuse_existing, write_questions
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.labelling import label as find
    from fathoms.judges.of_run import read_judge
    from fathoms.models.caching import ReplyCache

    if to is not None:
        format_of(to)
        refuse_existing(to)
    questions = read_questions(file).questions
    own = read_judge(judge)
    parsed = read_any(pdfs, cluster_at(executor, address))
    if dry_run:
        console.say(_planned(questions, parsed.documents, first))
        return ExitCode.FAILED if parsed.failures else ExitCode.OK
    with opened() as cache, progress.bars() as bars:
        found = find(
            questions,
            parsed.documents,
            own,
            first=first,
            replies=ReplyCache(cache),
            on_done=partial(bars.stage, "label"),
        )
    if as_json:
        console.show_json({**_json(found), "unread": dict(parsed.failures)})
    else:
        _tell(found)
    if found.unasked:
        console.complain(
            f"there is no page to judge for {console.amount(len(found.unasked), 'question')}, because none of"
            f" the documents is among these PDFs, or these have no text: {some_of(found.unasked)}"
        )
    nothing = not found.judged and bool(found.failures or found.unasked)
    if nothing:
        why = next(iter(found.failures.values()), None)
        failed = f": all {console.amount(found.calls, 'call')} failed, the first with: {why}" if why else ""
        left = f"; {to} was not written, because nothing would have changed" if to else ""
        console.complain(f"no page was judged{failed}{left}")
    elif to is not None:
        write_questions(to, found.questions)
        console.note(f"{to}: {console.amount(len(found.questions), 'question')}")
    lacking = found.failures or found.unasked or parsed.failures
    return ExitCode.FAILED if lacking else ExitCode.OK


def _planned(questions: Sequence[Question], documents: Mapping[str, Document], first: int | None) -> str:
    """Say how many calls it takes, and how many tokens of prompts."""
    from fathoms.extras.questions.labelling import pages_to_ask, prompts_about
    from fathoms.models.caller import prompt_size

    pages = pages_to_ask(questions, documents, first)
    tokens = sum(map(prompt_size, map(prompts_about(questions, documents), pages)))
    return f"{console.amount(len(pages), 'call')}, about {tokens:,} tokens of prompts; nothing was asked"


def _tell(found: Labelled) -> None:
    """Print the changes, and how far labels and evidence agree."""
    for sign, changes in (("+", found.added), ("-", found.missed)):
        for id, places in changes.items():
            for document, page in places:
                console.say(f"{sign} {id}: {document}, page {page}")
    said = found.agreement
    if found.added or found.missed:
        console.say("+ new evidence; - evidence that the model did not find, and that stays")
    without = f", {len(found.failures)} without a label" if found.failures else ""
    console.say(f"{found.judged} of {console.amount(found.calls, 'page')} judged{without}")
    if said.known:
        shown = ("n/a" if value is None else f"{value:.2f}" for value in (said.precision, said.recall))
        precision, recall = shown
        console.say(
            f"labelled: {said.both} of {console.amount(said.known, 'judged page')} of the evidence (recall"
            f" {recall}); evidence: {said.both} of {console.amount(said.labelled, 'labelled page')}"
            f" (precision {precision})"
        )
        for modality, (right, all_of) in found.recall_by_modality.items():
            console.say(f"  {modality}: {right} of {all_of}")
    if found.unjudged:
        console.say(
            f"not judged, and in neither figure: {console.amount(found.unjudged, 'page')} of the evidence"
        )
    if found.first_pass is not None:
        console.say(f"the first pass left {found.first_pass:.2f} of the pages of the evidence to be judged")
    for item, why in list(found.failures.items())[:5]:
        console.note(f"note: {item.question}, {item.document}, page {item.page}: {why}")


def _json(found: Labelled) -> dict[str, Any]:
    """Return the same as JSON values."""
    said = found.agreement
    changes = {
        name: {id: [list(place) for place in places] for id, places in rows.items()}
        for name, rows in (("added", found.added), ("missed", found.missed))
    }
    return {
        **changes,
        "asked": found.calls,
        "failed": [
            {"id": item.question, "document": item.document, "page": item.page, "why": why}
            for item, why in found.failures.items()
        ],
        "precision": said.precision,
        "recall": said.recall,
        "evidence_pages": said.known,
        "labelled_pages": said.labelled,
        "recall_by_modality": {
            name: {"found": a, "of": b} for name, (a, b) in found.recall_by_modality.items()
        },
        "unjudged": found.unjudged,
        "unasked": list(found.unasked),
        "first_pass": found.first_pass,
    }
