"""`fathoms questions edit`: accept, mend and drop the questions of a set on a local page, or mend
a table of facts there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console
from fathoms.cli.options import Json, Pdfs
from fathoms.cli.serving import Browser, Port, serve
from fathoms.errors import ExitCode, UsageError, some_of
from fathoms.extras.questions.commands.parsing import find_documents, note_all, parsed
from fathoms.text.amounts import percent

if TYPE_CHECKING:
    from fathoms.extras.questions.editing import Material, Summary


def edit(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SET", help="A question file, a config, or a table of facts (.csv).", show_default=False
        ),
    ],
    pdfs: Pdfs = None,
    person: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Your name as a reviewer.", show_default="the login name"),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Write to this new file instead of the set.", show_default=False),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the set as it was decided, without the page.")
    ] = False,
    summary: Annotated[
        bool, typer.Option("--summary", help="Print what was decided, and how far people agree.")
    ] = False,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="With a table of facts: a set made of it, whose changed answers are shown.",
            show_default=False,
        ),
    ] = None,
    port: Port = 0,
    browser: Browser = True,
    as_json: Json = False,
) -> int:
    """Accept, mend and drop the questions of a set on a page in your browser, or mend a table of facts.

    Shows each question with its gold answers, the pages of its evidence and the verdicts about it, and the
    drafts that `fathoms build` dropped. Every decision is saved at once beside the set, in NAME-edits.jsonl
    (of other formats than .json in FILE-edits.jsonl); the set changes when you write it (the key w, or
    --write), and its last version is kept as SET.bak. Two people decide by themselves, each with a name
    (--as), and then settle what they disagree about. Ctrl-C ends the page. --json prints the summary as JSON.

    A table of facts is shown row by row with the page of each, those in doubt first. What is mended, marked
    as checked or deleted is saved in the table at once, with your name and the time; the table as it was
    before the first change is kept as FACTS.csv.bak.
    """
    from fathoms.extras.questions.computed.table import is_table_of_facts
    from fathoms.extras.questions.editing import Editing

    if is_table_of_facts(Path(name)):
        if write or to is not None:
            raise UsageError("--write and --to are for a set of questions: a table of facts is saved at once")
        return _edit_facts(
            Path(name),
            pdfs or [],
            person,
            questions,
            port,
            browser=browser,
            shows=summary or as_json,
            as_json=as_json,
        )
    if questions is not None:
        raise UsageError("--questions is for a table of facts: name the set alone to edit it")

    serves = not (write or summary or as_json)
    material = _material(name, pdfs or [], with_text=serves)
    editing = Editing(material, _called(person, material.path), to)
    if serves or write:
        editing.require_writable()
    if serves:
        from fathoms.extras.questions.editing.server import EditServer

        saved = "Ctrl-C ends the page; every decision is saved at once."
        make = partial(EditServer, editing)
        serve(make, port, editing.path.parent, saved=saved, browser=browser)
    if write:
        wrote = editing.write()
        console.note(f"{to or material.path}: {console.amount(wrote['questions'], 'question')}")
    if as_json:
        console.show_json({**asdict(editing.summary()), "unwritten": editing.unwritten()})
    else:
        _tell(editing.summary(), editing.unwritten(), to or material.path)
    return ExitCode.OK


def _edit_facts(
    path: Path,
    pdfs: list[Path],
    person: str | None,
    questions: Path | None,
    port: int,
    *,
    browser: bool,
    shows: bool,
    as_json: bool,
) -> int:
    """Serve the page of a table of facts unless what is known of it is only shown (`shows`), and print how
    many of its rows a person has still to look at, and which questions have other answers now."""
    from fathoms.extras.questions.computed.table import read_facts
    from fathoms.extras.questions.editing.facts import FactsEditing
    from fathoms.extras.questions.parsing import ParsedPdfs
    from fathoms.extras.questions.question_source import find_parser

    pdfs = [] if shows else pdfs or _beside(path, {fact.document for fact in read_facts(path).rows})
    found = find_documents(pdfs) if pdfs else {}
    reading = parsed(found, find_parser("pdfium")) if found else ParsedPdfs({}, {})
    for document, reason in reading.failures.items():
        console.note(f"note: {document} cannot be parsed: {reason}")
    editing = FactsEditing(path, _name_of(person), found, reading.documents, questions)
    if not shows:
        from fathoms.extras.questions.editing.server import FactsServer

        saved = "Ctrl-C ends the page; every change is saved in the table at once."
        serve(partial(FactsServer, editing), port, path.parent, saved=saved, browser=browser)
    counts, said = editing.counts(), editing.questions()
    if as_json:
        console.show_json({**counts, "questions": said})
        return ExitCode.OK
    console.say(
        f"{path}: {console.amount(counts['facts'], 'fact')}, {counts['open']} to be looked at,"
        f" {counts['checked']} checked by people"
    )
    for one in said.get("changed", ()):
        console.say(f"  {one['id']}: {one['before']} -> {one['now'] or 'does not follow any more'}")
    if "error" in said:
        console.complain(f"{said['file']} cannot be compared with the table: {said['error']}")
        return ExitCode.FAILED
    if questions is not None:
        console.say(
            f"{said['file']}: of {console.amount(said['computed'], 'computed question')},"
            f" {len(said['changed'])} with another answer or evidence now"
        )
    return ExitCode.OK


def _beside(path: Path, names: Iterable[str]) -> list[Path]:
    """Return the PDFs with these names that lie beside a file."""
    folder = path.parent.resolve()
    found = (path.parent / name for name in sorted(names) if name.lower().endswith(".pdf"))
    return [one for one in found if one.is_file() and one.resolve().parent == folder]


def _name_of(person: str | None) -> str:
    """Return the name of the person who edits."""
    from fathoms.cli.reviewing import login

    found = " ".join((login() if person is None else person).split())
    if not found or len(found) > 200:
        raise UsageError("--as needs a name of 1 to 200 characters")
    return found


def _called(person: str | None, path: Path) -> str:
    """Return the name of the person who edits, as it was spelled before."""
    from fathoms.extras.questions.editing.session import edits_of
    from fathoms.runs.people import read_decisions

    found = _name_of(person)
    before = {one.reviewer.casefold(): one.reviewer for one in read_decisions(edits_of(path))}
    return before.get(found.casefold(), found)


def _material(name: str, pdfs: list[Path], *, with_text: bool) -> Material:
    """Return the set with its drafts and, for the page, its parsed documents."""
    from fathoms.extras.questions.editing import Material
    from fathoms.extras.questions.editing.complaints import Checker
    from fathoms.extras.questions.making.drafts import read_drafts
    from fathoms.extras.questions.parsing import ParsedPdfs
    from fathoms.extras.questions.question_source import QuestionSource, find_source
    from fathoms.extras.questions.texts import Texts
    from fathoms.ingest import Pdfium
    from fathoms.metrics.profiles import headline, profile_named

    if pdfs or Path(name).suffix.lower() in (".yaml", ".yml"):
        source = find_source(name, pdfs)
        note_all(source.warnings, source.documents)
    else:
        source = QuestionSource(Path(name), {}, Pdfium(), profile_named(headline(None)))
    shown = with_text and source.documents
    reading = parsed(source.documents, source.parser) if shown else ParsedPdfs({}, {})
    for document, reason in reading.failures.items():
        console.note(f"note: {document} cannot be parsed: {reason}")
    texts = Texts(reading.documents, source.profile.match, source.profile.hyphens)
    checker = Checker(source.path, source.documents, reading.failures, texts)
    return Material(checker, reading.documents, read_drafts(source.path))


def _tell(found: Summary, unwritten: int, target: Path) -> None:
    """Print what was decided, how far people agree, and what is still to be done."""
    for person, count in found.by_person.items():
        console.say(f"{person} decided {count} of {console.amount(found.total, 'question')}")
    for pair in found.pairs:
        shown = "n/a" if pair.kappa is None else f"{pair.kappa:.2f}"
        both = " and ".join(pair.reviewers)
        console.say(f"{both}, on {pair.n} that both decided: the same {percent(pair.same)}, kappa {shown}")
    share = f" ({percent(found.changed / found.decided)} changed)" if found.decided else ""
    more = f"; {console.amount(found.taken_in, 'dropped draft')} taken in" if found.taken_in else ""
    console.say(
        f"{found.decided} of {console.amount(found.total, 'question')} decided: {found.mended} mended,"
        f" {found.dropped} dropped{share}{more}"
    )
    if found.open:
        console.say(
            f"{console.amount(len(found.open), 'disagreement')} to be settled on the page:"
            f" {some_of(found.open)}"
        )
    if unwritten:
        console.say(
            f"{console.amount(unwritten, 'change')} not in {target} yet: press w on the page, or add --write"
        )
