"""What is measured, from the docstrings of `fathoms/metrics` and `fathoms/stats`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from texts import MADE, join, plain

METRICS = (
    ("Correctness", "metrics.phrase_recall", ("phrase_recall",)),
    ("Hallucination", "metrics.hallucination", ("hallucination",)),
    ("Profiles", "metrics.profiles", ()),
    ("What counts as the same text", "text.folding", ()),
    ("Abstention by cues", "metrics.cues", ()),
    ("Abstention by a judge", "metrics.judged_abstention", ()),
    ("Abstention by the nearest exemplar", "metrics.nearest_neighbour", ()),
    ("The funnel", "metrics.funnel", ()),
    ("Retrieval: what a hit covers", "metrics.retrieval.coverage", ()),
    ("Retrieval: ranked items", "metrics.retrieval.ranking", ()),
    ("Retrieval: levels", "metrics.retrieval.levels", ("lacks",)),
    ("Retrieval: arithmetic", "metrics.retrieval.trec", ("Measure",)),
    ("Retrieval: layout boxes", "metrics.retrieval.layout", ("layout_recall", "ranked_boxes")),
    ("The funnel by gold pages", "metrics.gold_pages", ()),
    ("Answers with and without the evidence", "metrics.evidence", ()),
    ("Claims: values and bounds", "metrics.claims.shares", ("share_of", "ratio_of", "f1_of")),
    ("Claims: verdicts that are missing", "metrics.claims.truth", ()),
    ("Claims: RAGChecker", "metrics.claims.ragchecker", ()),
    ("Claims: MM-RAGChecker", "metrics.claims.mm_ragchecker", ()),
    ("Claims and citations: ALCE", "metrics.claims.alce", ()),
    ("Claims and citations: ARGUE", "metrics.claims.argue", ()),
    ("Short and long answers", "metrics.reference.short_long", ()),
    ("Planted instructions", "metrics.injections", ()),
    ("Wrong premises", "metrics.premise", ("PremiseAdopted",)),
    ("An F1 of pooled counts", "stats.f1_interval", ("f1_of_counts", "f1_interval")),
    ("Claims and citations: MiRAGE", "metrics.claims.mirage", ()),
    ("Claims and contexts: RAGAS", "metrics.claims.ragas", ("average_precision",)),
    ("Recall in the documents as parsed", "metrics.ingestion", ("gold_text_recall",)),
    ("Categories and runs", "metrics.aggregate", ("summarise", "_abstention_rates")),
    ("Intervals of a run", "metrics.intervals", ()),
    (
        "Intervals of one mean",
        "stats.intervals",
        ("blaker", "stratified_interval", "ratio_interval", "wilson"),
    ),
    ("Intervals for groups of documents", "stats.clusters", ("usable", "cr2_difference")),
    ("Intervals of a difference", "stats.difference", ()),
    ("Tests of a difference", "stats.paired", ("sign_flip_p", "repeats_p", "mcnemar_p", "holm")),
    ("What a comparison can show", "stats.detectable", ("detectable",)),
    ("The gate", "stats.noninferiority", ("lost_p",)),
    ("The test of the gate", "stats.pooled", ("pooled_p",)),
    ("What a gate can show", "stats.power", ("resolvable", "questions_needed")),
    ("Agreement of people", "stats.kappa", ("kappa",)),
)
"""Heading, module, and the functions whose docstrings follow that of the module."""


def metrics_page() -> str:
    """What is measured, as its modules say."""
    head = (
        "This page defines each figure, with its formula and source. The text comes from the modules that"
        " compute it."
    )
    parts = ["# Metrics", MADE, head]
    for title, name, functions in METRICS:
        module = import_module(f"fathoms.{name}")
        path = f"fathoms/{name.replace('.', '/')}.py"
        parts += [f"## {title}", f"[{path}](../../{path})", plain(module.__doc__)]
        parts += [_function(getattr(module, function)) for function in functions]
    return join(parts)


def _function(function: Any) -> str:
    """One function's docstring, under its name."""
    return f"**`{function.__name__.lstrip('_')}`**\n\n{plain(function.__doc__)}"
