"""`fathoms review`: people rate scores, grade answers, find errors, or judge claims, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import completion, console
from fathoms.cli.options import RUNS, Out, References
from fathoms.cli.reviewing import Reader, ask_once, converse, leaves, login
from fathoms.errors import DataError, UsageError, suggest

if TYPE_CHECKING:
    from fathoms.cli.asking import Review
    from fathoms.extras.review.claims import ClaimItem
    from fathoms.extras.review.sample import Item, Session
    from fathoms.runs.run import Run

SCALE = "1 strongly disagree, 2 disagree, 3 neutral, 4 agree, 5 strongly agree"


Reviewer = Annotated[str | None, typer.Option("--reviewer", help="Your name; by default the login name.")]
To = Annotated[
    Path | None,
    typer.Option("--to", help="The file to save the ratings in; by default one in each run's folder."),
]
Scores = Annotated[
    str | None,
    typer.Option(
        "--scores",
        help="Which scores to rate: paper, released-code, fathoms or released. With --errors, they decide"
        " which answers are not fully correct. --quality shows no scores, and --claims ignores this.",
        autocompletion=completion.scores,
    ),
]
Quality = Annotated[
    bool, typer.Option("--quality", help="Grade the quality of answers instead, without their scores.")
]
Errors = Annotated[
    bool,
    typer.Option("--errors", help="Say instead what is wrong with answers that are not fully correct."),
]
Taxonomy = Annotated[
    Path | None,
    typer.Option("--taxonomy", help="A YAML file with kinds of error for --errors, instead of the usual."),
]
Claims = Annotated[
    bool, typer.Option("--claims", help="Judge instead the claims of answers against their sources.")
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="The metric whose claims you judge with --claims; needed if the run has several judged metrics.",
        autocompletion=completion.metrics,
    ),
]
Judge = Annotated[
    Path | None,
    typer.Option(
        "--judge",
        help="A YAML file with the judge that scored the run, if the run's configuration names none.",
    ),
]


def review(
    runs: References,
    sample: Annotated[int, typer.Option("--sample", min=1, help="How many questions to rate per run.")] = 3,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the random sample.")] = 0,
    reviewer: Reviewer = None,
    to: To = None,
    scores: Scores = None,
    quality: Quality = False,
    errors: Errors = False,
    taxonomy: Taxonomy = None,
    claims: Claims = False,
    metric: Metric = None,
    judge: Judge = None,
    out: Out = RUNS,
) -> int:
    """Rate the scores of answers, grade answers, name their errors, or judge their claims.

    Shows a few random answers of each run, and asks how right each is, from 1 to 5. Only then it shows the
    scores, and asks how far you agree with them. With --quality, you grade the answers instead; with
    --errors, you name what is wrong with them; with --claims, you say which of their claims the sources
    support. What you say is saved at once: stop whenever you want, and run the same command again to
    continue. --claims draws more of the answers of which the judge is unsure, and `fathoms score` allows for
    that. `fathoms agree RUN...` then says how far people, judges and metrics agree.
    """
    from fathoms.runs.run import Run

    if quality + errors + claims > 1:
        raise UsageError("--quality, --errors and --claims are different reviews: give one of them")
    if taxonomy is not None and not errors:
        raise UsageError("--taxonomy needs --errors")
    if (metric or judge) and not claims:
        raise UsageError("--metric and --judge need --claims")
    name = reviewer or login()
    stores = {store.path.resolve(): store for store in (Run.open(reference, out) for reference in runs)}
    views = [Run.scored(path) for path in stores]
    if not (quality or errors or claims):
        return _rate_scores(views, scores, sample, seed, name, to)
    session: Review[Any, Any, Any]
    if quality:
        session = _quality(views, scores, sample, seed, name, to)
    elif errors:
        session = _errors(views, scores, sample, seed, name, to, taxonomy)
    else:
        session = _claims(list(stores.values()), views, sample, seed, name, to, metric, judge)
    if not session.items:
        raise DataError("there is nothing to judge: these runs hold no such answer")
    code = converse(session, session.legend, partial(ask_once, session), session.noun)
    if claims and session.rated == len(session.items):
        console.say("run 'fathoms score' for the figures that rest on labels of people")
    return code


def _quality(
    views: Sequence[Run], scores: str | None, sample: int, seed: int, name: str, to: Path | None
) -> Review[Any, Any, Any]:
    """The review of the quality of answers."""
    from fathoms.extras.review.quality import QualityReview, draw_common
    from fathoms.runs.people import GRADES_FILE

    items = draw_common(views, scores, sample, seed)
    return QualityReview(items, _files(views, to, GRADES_FILE), name, seed)


def _errors(
    views: Sequence[Run],
    scores: str | None,
    sample: int,
    seed: int,
    name: str,
    to: Path | None,
    taxonomy: Path | None,
) -> Review[Any, Any, Any]:
    """The review of the errors of answers."""
    from fathoms.extras.review.errors import ErrorReview, not_correct, read_taxonomy
    from fathoms.extras.review.sample import draw, lot
    from fathoms.runs.people import ERRORS_FILE

    kinds = read_taxonomy(taxonomy)
    items = [
        item
        for view in views
        for item in draw(view.original_id, view.profile(scores), view.questions(), sample, seed, not_correct)
    ]
    items.sort(key=lambda item: lot(item, seed))
    return ErrorReview(items, _files(views, to, ERRORS_FILE), name, seed, kinds)


def _claims(
    stores: Sequence[Run],
    views: Sequence[Run],
    sample: int,
    seed: int,
    name: str,
    to: Path | None,
    metric: str | None,
    judge: Path | None,
) -> Review[Any, Any, Any]:
    """The review of the claims of answers."""
    from fathoms.extras.review.claims import ClaimReview, candidates, claim_items, draw, drawn_sizes
    from fathoms.judges.of_run import read_judge, stored_judgements
    from fathoms.runs.people import LABELS_FILE, ClaimLabel, read_all
    from fathoms.scoring import judged_by

    files = _files(views, to, LABELS_FILE)
    every = read_all(dict.fromkeys(files.values()), ClaimLabel)
    said = [label for label in every if label.reviewer == name]
    own = None if judge is None else read_judge(judge)
    items: list[ClaimItem] = []
    for store, view in zip(stores, views, strict=True):
        own_judge, metrics = judged_by(store)
        by_name = {one.name: one for one in metrics}
        wanted = _judged_metric(view, metric)
        by = own or own_judge
        if by is None:
            raise UsageError(f"{store.id} has no judge in its configuration: name its judge by --judge")
        if wanted not in by_name:
            raise UsageError(f"{wanted} asks no judge{suggest(wanted, by_name)}")
        one, records = by_name[wanted], store.records.all
        stored = stored_judgements(store, by, [one], records)
        found = candidates(store.id, records, one, stored, seed)
        of_run = [label for label in every if label.run == store.id]
        sizes = drawn_sizes(store.path, store.id, wanted, seed, found, of_run)
        if late := found.keys() - sizes.keys() if sizes else ():
            console.note(
                f"note: this sample leaves out {console.amount(len(late), 'answer')} of {store.id} that came"
                " after it was drawn: another --seed draws a new one"
            )
        drawn = draw(found, sizes, sample)
        items += claim_items(store.id, records, one, by, stored, drawn, said, wanted)
    return ClaimReview(items, files, name, seed)


def _judged_metric(view: Run, metric: str | None) -> str:
    """Return the name of the metric whose claims are reviewed: the one of the option, or the only judged
    metric of the run."""
    known = [name for name, figures in view.metrics().items() if figures.judged is not None]
    if metric or len(known) == 1:
        return metric or known[0]
    if known:
        raise UsageError(
            f"{view.original_id} has several judged metrics: name one by --metric ({', '.join(known)})"
        )
    raise UsageError(
        f"{view.original_id} has no judged metric: score it by one first, with --metric and --judge"
    )


def _rate_scores(
    views: Sequence[Run], scores: str | None, sample: int, seed: int, name: str, to: Path | None
) -> int:
    """Let the reviewer rate the scores of answers."""
    from fathoms.extras.review.sample import Session, draw
    from fathoms.runs.ratings import FILE

    items = [
        item
        for view in views
        for item in draw(view.original_id, view.profile(scores), view.questions(), sample, seed)
    ]
    if not items:
        raise DataError("there is nothing to rate: these runs hold no answer with a score")
    session = Session(items, _files(views, to, FILE), name, seed)
    return converse(session, SCALE, partial(_ask_about, session), "answers")


def _files(views: Sequence[Run], to: Path | None, file: str) -> dict[str, Path]:
    """Return the file for the reviews of each run, by run id."""
    if to is not None and to.exists() and not to.is_file():
        raise UsageError(f"--to {to}: ratings cannot be saved there: name a regular file")
    return {view.original_id: to or view.path / file for view in views if view.path}


def _ask_about(session: Session, reader: Reader) -> None:
    """Show an item, and read its ratings, or a command to leave it."""
    from fathoms.extras.review.answer import context_panel, figures_panel, review_panel

    item: Item = session.items[session.position]
    place = f"{session.position + 1} of {len(session.items)}"
    console.show(*review_panel(place, item.question, item.repeat))
    comment = session.before.comment if session.before else None
    ratings: dict[str, int] = {}
    prompts = {
        "own": "how right is the answer, 1-5",  # before any figure is shown, which would sway the reviewer
        "score": "agree with the score, 1-5",
        "flag": "agree with hallucination and abstained, 1-5",
    }
    for what, applies in zip(prompts, (True, *item.rateable), strict=True):
        if what == "score":
            console.show(*figures_panel(item.repeat, item.scores, session.before))
        while applies and what not in ratings:
            word = reader.read(prompts[what])
            if word in ("1", "2", "3", "4", "5"):
                ratings[what] = int(word)
            elif word == "c":
                comment = reader.read("comment") or None
            elif leaves(session, word, SCALE, partial(context_panel, item.repeat)):
                return
    session.rate(ratings.get("score"), ratings.get("flag"), comment, ratings["own"])
