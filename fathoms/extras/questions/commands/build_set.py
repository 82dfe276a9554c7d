"""`fathoms build`: make a question set from documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.cli.loading import CORES, Workers
from fathoms.cli.options import Json
from fathoms.errors import DataError, ExitCode, StoreError, UsageError, suggest
from fathoms.extras.questions.commands.build_summary import as_values, funnel, tell, tell_plan
from fathoms.extras.questions.commands.parsing import find_documents

if TYPE_CHECKING:
    from fathoms.extras.questions.making.asking import Journal
    from fathoms.extras.questions.making.corpus import Corpus
    from fathoms.extras.questions.making.maker import BuiltSet
    from fathoms.extras.questions.making.manifest import Manifest
    from fathoms.extras.questions.making.recipe import Recipe
    from fathoms.runs.cache import Cache

SUFFIXES = (".yaml", ".yml")
RECIPE = "recipe.json"
"""The settings of a build, in the folder of its drafts."""


Out = Annotated[
    Path,
    typer.Option(
        "--out",
        help="The question file to create (.json, .jsonl, .csv); drafts and replies are kept in"
        " NAME.build beside it.",
        show_default=False,
    ),
]
Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RECIPE] PDFS",
        help="PDFs, or folders of them; and at most one YAML file with the settings. --resume and"
        " --update take those of the set, if none are named.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="The model that writes and judges: KIND:NAME, such as openai:gpt-4.1 or ollama:qwen3:8b, or"
        " the name of an embedded model.",
        show_default=False,
    ),
]
N = Annotated[int | None, typer.Option("--n", min=1, help="How many questions to make.", show_default="50")]
Hops = Annotated[
    str | None,
    typer.Option("--hops", metavar="1,2", help="Numbers of hops of the questions.", show_default="1"),
]
Modalities = Annotated[
    str | None,
    typer.Option(
        "--modalities", metavar="text,table,figure", help="What questions are about.", show_default="text"
    ),
]
Unanswerable = Annotated[
    str | None,
    typer.Option(
        "--unanswerable",
        metavar="SHARE",
        help="Share of unanswerable questions.",
        show_default="15%",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        help="Language of the questions, such as de; same: that of each page.",
        show_default="same",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, such as clarity.top=5 (repeatable)."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Ask nothing; print calls, tokens, dollars and minutes.")
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with a build that was interrupted. No reply that can be read is paid twice.",
    ),
]
Redo = Annotated[
    list[str] | None,
    typer.Option(
        "--redo",
        metavar="STAGE",
        help="Ask for all of a stage again, with --resume or --update (repeatable).",
    ),
]
Update = Annotated[
    bool,
    typer.Option("--update", help="Bring an existing set up to date after documents have changed."),
]
Fewer = Annotated[
    bool,
    typer.Option("--allow-fewer", help="End with exit code 0 although there are fewer than asked for."),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="USD", min=0, help="Stop when more was spent (exit code 3)."),
]


def build(
    out: Out,
    sources: Sources = None,
    model: Model = None,
    n: N = None,
    hops: Hops = None,
    modalities: Modalities = None,
    unanswerable: Unanswerable = None,
    language: Language = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Decides all draws.", show_default="0")] = None,
    settings: Settings = None,
    dry_run: DryRun = False,
    resume: Resume = False,
    redo: Redo = None,
    update: Update = False,
    fewer: Fewer = False,
    max_cost: MaxCost = None,
    workers: Workers = CORES,
    as_json: Json = False,
) -> int:
    """Make a question set from PDFs; 'fathoms build PDFS' does the same.

    A model writes questions on passages, tables and figures of the documents, with gold answers and evidence;
    every question goes through checks, and is dropped with the reason if it fails one. Prints how many drafts
    were made, dropped and kept. Ends with exit code 1 if fewer questions were made than asked for, if a
    document could not be read, or if a call to a model failed.
    """
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.making.corpus import read_corpus
    from fathoms.extras.questions.making.manifest import settle

    format_of(out)
    require_stages(redo or (), possible=resume or update)
    if not dry_run:
        settle(out)
        require_possible(out, resume=resume, update=update)
    recipe, paths = _recipe(
        sources or (),
        _earlier(out) if resume or update else None,
        {
            "n": n,
            "seed": seed,
            "walks.hops": hops and [_number(one, "--hops") for one in hops.split(",")],
            "components.modalities": modalities and [one.strip() for one in modalities.split(",")],
            "unanswerable.share": unanswerable and _share(unanswerable),
            "drafts.language": language,
            "model": model and _model(model),
        },
        settings or (),
    )
    with opened() as cache, progress.bars() as bars:
        (recipe.check_settings if dry_run else recipe.check)()
        corpus = read_corpus(recipe, paths, cache, workers=workers, progress=bars.stage)
        for name, why in {**corpus.unread, **corpus.left_out}.items():
            console.note(f"note: left out {name}: {why}")
        for name, why in corpus.doubtful.items():
            console.note(f"note: {name}: {why}")
        if dry_run:
            tell_plan(recipe, corpus, out if update else None, as_json=as_json)
            return ExitCode.FAILED if corpus.unread else ExitCode.OK
        if update:
            _require_documents(out, corpus)
        with journal_of(out, max_cost, redo or ()) as journal, going_on(update):

            def stage(name: str, done: int, total: int) -> None:
                bars.stage(name, done, total, journal.remark)

            built, changes, manifest = _make(recipe, corpus, journal, cache, stage, out, update=update)
    if as_json:
        console.show_json(as_values(built, changes, manifest, corpus))
    else:
        tell(built, changes, manifest, corpus, out)
    for why, count in journal.failed.items():
        console.complain(f"{console.amount(count, 'call')} failed: {why}")
    short = len(built.questions) < built.wanted
    if short:
        console.complain(
            f"{len(built.questions)} of {console.amount(built.wanted, 'question')}: add documents, raise"
            " drafts.most or use a"
            " better model, and fill the set up with --update"
        )
    failed = (short and not fewer) or corpus.unread or journal.failed
    return ExitCode.FAILED if failed else ExitCode.OK


def _earlier(out: Path) -> dict[str, Any] | None:
    """Return the settings of the earlier or interrupted build of a set."""
    from fathoms.extras.questions.making.drafts import folder_of

    file = folder_of(out) / RECIPE
    if not file.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise DataError(
            f"{file} is damaged: delete it, and name the documents and the settings again"
        ) from None
    return found


def _require_documents(out: Path, corpus: Corpus) -> None:
    """Raise DataError where documents of a set cannot be read now, because its questions would be dropped."""
    from fathoms.extras.questions.making.manifest import read_manifest

    known = read_manifest(out).documents
    for name, why in corpus.unread.items():
        if name in known:
            raise DataError(f"{name}: {why}; {out} has questions on it, and was not changed")
    if known.keys().isdisjoint(corpus.documents) and not {one.sha256 for one in known.values()} & {
        one.sha256 for one in corpus.documents.values()
    }:
        raise DataError(f"none of these documents is one of {out}, which was not changed")


def _recipe(
    sources: Sequence[Path],
    earlier: dict[str, Any] | None,
    options: Mapping[str, Any],
    settings: Sequence[str],
) -> tuple[Recipe, Mapping[str, Path]]:
    """Return the recipe and the documents by name, from the arguments and options of the command, and from
    the settings of an earlier build of the set."""
    from fathoms.extras.questions.making.recipe import load_recipe

    files = [path for path in sources if path.suffix.lower() in SUFFIXES]
    if len(files) > 1:
        raise UsageError(f"{files[1]}: only one YAML file has the settings of a build")
    given = [f"{key}={json.dumps(value)}" for key, value in options.items() if value is not None]
    has_model = options["model"] is not None or any(one.startswith("model") for one in settings)
    if not files and not earlier and not has_model:
        raise UsageError("a model writes the questions: add --model, such as --model openai:gpt-4.1")
    recipe = load_recipe(files[0] if files else None, [*given, *settings], earlier)
    named = [path for path in sources if path not in files]
    if files or not named:
        named = [*recipe.documents, *named]
    if not named:
        raise UsageError("name the PDFs, or folders of them")
    paths = find_documents(named)
    absolute = tuple(path.resolve() for path in named)
    return recipe.model_copy(update={"documents": absolute}), paths


def recipe_of(
    sources: Sequence[Path], model: str | None, settings: Sequence[str]
) -> tuple[Recipe, Mapping[str, Path]]:
    """Return the recipe and the documents by name of a command with no other settings."""
    return _recipe(sources, None, {"model": model and _model(model)}, settings)


def _model(text: str) -> dict[str, Any]:
    """Return the settings of a model that is named as KIND:NAME, or by the name of an embedded one."""
    from fathoms.registry import built_in

    kinds = built_in("models")
    kind, colon, name = text.partition(":")
    if colon and kind in kinds and name:
        return {"kind": kind, "model": name}
    if colon and kind in kinds:
        raise UsageError(f"--model {text}: add the name of the model, such as {kind}:NAME")
    if colon:
        raise UsageError(f"--model {text}: there is no kind '{kind}'{suggest(kind, kinds)}")
    # pages are the common beginning of many prompts, and drafts are short
    return {"kind": "embedded", "model": text, "n_ctx": 8192, "max_tokens": 512, "cache_prompt": "context"}


def _number(text: str, option: str) -> int:
    """Read a whole number of an option."""
    if not text.strip().isdigit():
        raise UsageError(f"{option} {text}: expected whole numbers, such as 1,2")
    return int(text)


def _share(text: str) -> float:
    """Read a share such as `15%` or `0.15`."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1
    if not 0 <= value < 1:
        raise UsageError(f"--unanswerable {text}: expected a share such as 15%")
    return value


def require_possible(out: Path, *, resume: bool, update: bool) -> None:
    """Raise UsageError where there is already something that would be lost, or nothing to go on with."""
    from fathoms.corpora import refuse_existing
    from fathoms.extras.questions.making.drafts import folder_of
    from fathoms.extras.questions.making.manifest import read_manifest

    if update:
        if not out.is_file():
            raise UsageError(f"{out}: there is no such question file to update")
        read_manifest(out)
        return
    refuse_existing(out)
    folder = folder_of(out)
    if resume and not folder.is_dir():
        raise UsageError(f"nothing to resume: there is no folder {folder}")
    if not resume and folder.exists():
        raise UsageError(
            f"{folder} has the drafts of an earlier build: add --resume to go on with it, or name another"
            " file"
        )


def require_stages(redo: Sequence[str], *, possible: bool) -> None:
    """Raise UsageError where stages cannot be run again."""
    from fathoms.extras.questions.making.asking import STAGES

    if redo and not possible:
        raise UsageError("--redo asks for a stage of an earlier build again: add --resume or --update")
    for stage in redo:
        if stage not in STAGES:
            raise UsageError(f"--redo {stage}: there is no such stage{suggest(stage, STAGES)}")


@contextmanager
def going_on(update: bool) -> Iterator[None]:
    """Say how to continue a build that was interrupted, or whose files could not be written."""
    option = "--update" if update else "--resume"
    try:
        yield
    except KeyboardInterrupt:
        console.complain(f"stopped; all replies are kept: the same command with {option} goes on")
        raise
    except OSError as error:
        raise StoreError(
            f"{error.filename or 'the set'} cannot be written: {error.strerror or error}; all replies that"
            f" could be stored are kept: the same command with {option} goes on"
        ) from error


@contextmanager
def journal_of(out: Path, max_cost: float | None, redo: Sequence[str] = ()) -> Iterator[Journal]:
    """Open the journal of the replies of a build."""
    from fathoms.extras.questions.making.asking import Journal
    from fathoms.extras.questions.making.drafts import folder_of
    from fathoms.runs.cache import Cache

    with closing(Cache(folder_of(out))) as cache:
        yield Journal(cache, max_cost, redo)


def _make(
    recipe: Recipe,
    corpus: Corpus,
    journal: Journal,
    cache: Cache,
    stage: Any,
    out: Path,
    *,
    update: bool,
) -> tuple[BuiltSet, tuple[str, ...], Manifest]:
    """Make or update the set, and write it with its drafts and its manifest."""
    from fathoms.corpora import read_questions, refuse_existing
    from fathoms.extras.questions.candidates import with_copied_pictures
    from fathoms.extras.questions.making.drafts import folder_of, read_drafts, write_drafts
    from fathoms.extras.questions.making.maker import asker_for, make
    from fathoms.extras.questions.making.manifest import read_manifest, removed_by_people, write_set
    from fathoms.extras.questions.making.updating import updated
    from fathoms.paths import write_atomic
    from fathoms.safety.masking import record_mask

    asker = asker_for(recipe, journal, stage)

    keep, folder = partial(write_drafts, out), folder_of(out)
    settings = record_mask().inside(recipe.model_dump(mode="json"))
    write_atomic(folder / RECIPE, json.dumps(settings, indent=2, ensure_ascii=False).encode())
    removed: frozenset[str] = frozenset()
    if not update:
        built = make(recipe, corpus, asker, keep, cache=cache, folder=folder)
        changes: tuple[str, ...] = (f"made {console.amount(len(built.questions), 'question')}",)
        before, carried_over = None, 0
    else:
        before = read_manifest(out)
        questions = read_questions(out).questions
        removed = removed_by_people(before, questions) | _dropped_by_people(out)
        left = updated(questions, before, corpus.documents, corpus.searches, asker)
        had = {draft.question.id: draft for draft in read_drafts(out)}
        had |= {one.id: had[one.id].after(question=one) for one in left.questions if one.id in had}
        built = make(
            recipe,
            corpus,
            asker,
            lambda drafts: keep({**had, **{draft.question.id: draft for draft in drafts}}.values()),
            cache=cache,
            folder=folder,
            have=left.questions,
            first=left.fresh,
            never=removed,
        )
        carried_over = len(left.questions)
        new = [f"new {one.id}" for one in built.questions[carried_over:]]
        changes = (*left.changes, *new)
    if not built.questions:
        raise DataError(f"{out} was not written, because no question passed all checks: see {funnel(built)}")
    if before is not None and not changes:
        now = {name: vars(one) for name, one in journal.spent.items()}
        return built, (), before.model_copy(update={"spent": now})
    # the pictures of questions that stay are beside the set already
    if before is None:
        refuse_existing(out)
    written = [*built.questions[:carried_over], *with_copied_pictures(built.questions[carried_over:], out)]
    documents = corpus.documents.values()
    manifest = write_set(out, recipe, documents, written, built.funnel, journal, changes, before, removed)
    return built, changes, manifest


def _dropped_by_people(out: Path) -> frozenset[str]:
    """Return the ids of the questions that people decided to drop."""
    from fathoms.extras.questions.editing.session import edits_of
    from fathoms.runs.people import read_decisions

    last = {one.question: one for one in read_decisions(edits_of(out))}
    return frozenset(id for id, one in last.items() if one.decision == "drop")
