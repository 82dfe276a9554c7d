"""`fathoms ingest`: parse, chunk and embed documents before a run."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import console, nightly, progress
from fathoms.cli.cache import opened
from fathoms.cli.options import Json, LogFile, Refresh
from fathoms.errors import ExitCode

if TYPE_CHECKING:
    from fathoms.corpora import Corpus
    from fathoms.experiment import AnyExperiment
    from fathoms.metrics.ingestion import GoldText
    from fathoms.pipeline.prepared import Prepared
    from fathoms.runs.cache import Cache
from fathoms.cli.loading import CORES, Configs, Executor, Set, Workers, load_cells, settings_with


def ingest(
    configs: Configs,
    settings: Set = None,
    workers: Workers = CORES,
    executor: Executor = None,
    recall: Annotated[
        bool,
        typer.Option("--recall", help="Also measure how much of the gold answers the parsed text contains."),
    ] = False,
    refresh: Refresh = False,
    log_file: LogFile = None,
    as_json: Json = False,
) -> int:
    """Parse, chunk and embed documents.

    The results for the documents of every CONFIG are stored in the cache, so that a run or a second call
    does not compute them again.
    """
    from fathoms.metrics.ingestion import common_answers, summarise_gold_text

    loaded = [each for config in configs for each in load_cells(config, settings_with(settings, executor))]
    reports: list[dict[str, Any]] = []
    gold: list[list[GoldText]] = []
    with nightly.log_to(log_file), opened(refresh=refresh) as cache:
        for experiment, _ in loaded:
            cache.share(experiment.cache)
        for experiment, corpus in loaded:
            report, ingested = _ingest(experiment, corpus, cache, workers)
            reports.append(report)
            # what an external pipeline reads is not known, even where metrics need the text
            gold.append(_gold(corpus, ingested) if recall and experiment.stages else [])
            if not as_json:
                _print_ingest(report, experiment.name if len(loaded) > 1 else "")
    # recall is computed over the questions that all pipelines share
    common = {name for rows in gold for name in common_answers(rows)}
    for report, rows in zip(reports, gold, strict=True):
        if rows:
            report["recall"] = summarise_gold_text(rows, common)
    if as_json:
        console.show_json(reports if len(loaded) > 1 else reports[0])
    elif recall:
        _print_recall(reports)
    return ExitCode.FAILED if any(report["failures"] for report in reports) else ExitCode.OK


def _ingest(
    experiment: AnyExperiment, corpus: Corpus, cache: Cache, workers: int
) -> tuple[dict[str, Any], Prepared]:
    """Ingest the documents of one experiment; returns a report and the prepared pipeline."""
    from fathoms.runner.manifest import shared_cache
    from fathoms.runs.events import heard

    worked: list[str] = []

    def on_step(stage: str, done: int, total: int) -> None:
        worked.append(stage)
        bars.stage(stage, done, total, parsing.text if stage == "parse" else "")

    started = time.perf_counter()
    parsing = ParsingRemark()
    with progress.bars() as bars, heard(parsing):
        found = experiment.prepare(
            corpus.documents, cache, workers=workers, progress=on_step, spared=corpus.spared
        )
        found.assess(corpus.select())
    seconds = round(time.perf_counter() - started, 3)
    figures = {**found.report(), **found.notes, "seconds": seconds, "cached": not worked}
    if shared := shared_cache(cache):
        figures["shared_cache"] = shared.plain()
    return {"name": experiment.name, **figures}, found


class ParsingRemark(logging.Handler):
    """Keeps what the last event about a document says of all of them."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Note how many documents failed, and which was the slowest."""
        facts = getattr(record, "facts", {})
        if facts.get("event") in ("document-parsed", "document-failed"):
            failed = f"{facts['failed']} failed, " if facts["failed"] else ""
            self.text = f"{failed}slowest {facts['slowest']} ({facts['slowest_seconds']:.1f} s)"


def _gold(corpus: Corpus, ingested: Prepared) -> list[GoldText]:
    """How much of each gold answer the parsed text holds; empty if the pipeline reads documents itself."""
    from fathoms.metrics.ingestion import ParsedTexts, gold_text_recall
    from fathoms.pipeline.external import Connected

    if isinstance(ingested, Connected):
        return []
    documents = {document.id: document for document in ingested.documents if document.pages}
    if not documents and not ingested.failures:
        return []
    texts = ParsedTexts(documents)
    return [gold_text_recall(question, texts) for question in corpus.select()]


def _print_recall(reports: Sequence[dict[str, Any]]) -> None:
    """Print one row per pipeline that parses documents: recall and number of questions, by category."""
    found = [(report["name"], report["recall"]) for report in reports if "recall" in report]
    if not found:
        console.say(
            "no recall: fathoms does not know what text an external pipeline reads from the documents"
        )
        return
    categories = list(dict.fromkeys(name for _, recall in found for name in recall["categories"]))
    rows = []
    for name, recall in found:
        cells = [recall["overall"], *(recall["categories"].get(category, {}) for category in categories)]
        shown = (
            "n/a" if (value := cell.get("recall")) is None else f"{value:.2f} ({cell['n']})" for cell in cells
        )
        rows.append([name, *shown])
    console.say("\nrecall of the gold phrases in the text as parsed (mean, number of questions)")
    console.show_table(["", "Overall", *categories], rows)
    for name, recall in found:
        left = ", ".join(f"{count} {reason}" for reason, count in recall["left_out"].items()) or "none"
        chance = "n/a" if recall["chance"] is None else f"{recall['chance']:.2f}"
        console.say(f"{name}: not counted: {left}; chance that another document holds it: {chance}")


def _print_ingest(report: dict[str, Any], name: str) -> None:
    """Print the report of one ingestion, under `name` unless that is empty."""
    from fathoms.report.stage_times import called_text
    from fathoms.runs.search_notes import approximations
    from fathoms.types.run.manifest import Manifest

    if name:
        console.say(f"{name}:")
    if not report["documents"] and not report["failures"]:
        console.say("this pipeline reads no documents")
        return
    if "note" in report:
        console.say(f"{console.amount(report['documents'], 'document')}; {report['note']}")
        return
    counts = ", ".join(
        f"{noun}s not counted" if report[f"{noun}s"] is None else console.amount(report[f"{noun}s"], noun)
        for noun in ("document", "page", "table", "picture", "chunk")
    )
    how = "all in the cache already" if report["cached"] else f"{report['seconds']:.1f} s"
    console.say(f"{counts}, {console.amount(len(report['failures']), 'failure')}; {how}")
    for stage, took in report["times"].items():
        if "calls" in took:
            console.say(f"  {stage}: {called_text(took['calls'], took['tokens'], took['cost'])}")
        if "device" in took:
            console.say(f"  {stage}: {took['device']}")
    for sentence in approximations(Manifest.model_validate(report)):
        console.say(f"  {sentence}")
    if shared := report.get("shared_cache"):
        console.say(
            f"  shared cache {shared['address']}: {shared['taken']} taken, {shared['stored']} stored,"
            f" {shared['damaged']} damaged, {shared['failed']} failed"
        )
    for document, warnings in report["warnings"].items():
        for warning in warnings:
            console.say(f"  {document}: {warning}")
    for document, reason in report["failures"].items():
        console.say(f"  not read: {document}: {reason}")
