"""Reads a scored run as typed values, for reports, comparisons and the command line.

This is the only place that knows which keys older runs lack. A missing key and `null` are read alike: as the
default of the field, which is `None` where a value is not known or does not apply.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.config import suggest
from fathoms.errors import DataError, StoreError, UsageError
from fathoms.runs.folder import read_part, typed
from fathoms.runs.identity import Identity
from fathoms.runs.question_lines import file_names, places
from fathoms.runs.score_table import ScoreTable, TableMaker, read_marks, read_table
from fathoms.runs.views import brief_question, find_views, read_views, scored_question, view_names
from fathoms.types.run.figures import (
    AbstentionRates,
    Bounds,
    FunnelStages,
    MeanScores,
    MetricFigure,
    MetricFigures,
    ProfileFigures,
    RunFunnel,
)
from fathoms.types.run.manifest import Ingest, Manifest
from fathoms.types.run.part import Json
from fathoms.types.run.rows import BriefQuestion, ScoredQuestion
from fathoms.types.run.summary import Summary

PROFILES = ("paper", "paper-by-words", "paper-configured", "released-code", "fathoms", "released")
"""The names under which a run can hold scores; `released` are scores that came with imported results."""


_PROFILE_METRICS = {
    "correctness": ("higher", True),
    "hallucination": ("lower", True),
    "abstention": ("lower", False),
}
"""Direction and headline of the metrics whose figures are stored with those of a profile."""
_RATES = {"coverage": "coverage", "selective-accuracy": "selective_accuracy"}


def profile_metrics(figures: ProfileFigures) -> dict[str, MetricFigures]:
    """Return the figures of a profile as figures of metrics: correctness, hallucination, abstention, the
    rates of selective prediction, and the recall at the stages of the funnel."""
    overall, micro = figures.overall, figures.overall.micro
    found = {
        name: MetricFigures(
            direction=direction,
            headline=headline,
            overall=_mean_figure(overall, name),
            micro=_mean_figure(micro, name),
            categories={
                category: _mean_figure(means, name) for category, means in figures.categories.items()
            },
        )
        for name, (direction, headline) in _PROFILE_METRICS.items()
    }
    for name, key in _RATES.items() if figures.abstention_rates else ():
        rates = figures.abstention_rates or AbstentionRates()
        rate = MetricFigure(
            value=getattr(rates, key), n=getattr(rates, f"{key}_n") or 0, **_ends(rates.intervals.get(key))
        )
        found[name] = MetricFigures(overall=rate, micro=rate)
    for stage in ("documents", "retrieved", "prompt") if figures.funnel else ():
        funnel = figures.funnel or RunFunnel()
        found[f"recall-in-{stage}"] = MetricFigures(
            overall=_stage_figure(funnel.overall, stage),
            categories={name: _stage_figure(stages, stage) for name, stages in funnel.categories.items()},
        )
    return found


def _mean_figure(means: MeanScores, metric: str) -> MetricFigure:
    """The mean of a metric with its interval."""
    bounds = means.intervals.get(metric)
    n = means.count(metric) if bounds is None or bounds.n is None else bounds.n
    return MetricFigure(value=means.mean(metric), n=n, **_ends(bounds))


def _stage_figure(stages: FunnelStages, stage: str) -> MetricFigure:
    """The mean recall at a stage."""
    return MetricFigure(value=stages.at(stage).recall, n=stages.at(stage).n)


def _ends(bounds: Bounds | None) -> dict[str, Any]:
    """The bounds of an interval as fields of a figure."""
    return {"low": bounds.low, "high": bounds.high, "method": bounds.method} if bounds else {}


class QuestionMean(NamedTuple):
    """The mean of a metric over the repeats of a question.

    `asked` is the digest of what two runs must share (`identity.what_is_asked`), and `answers` the number of
    its repeats with a value.
    """

    asked: bytes
    category: str
    mean: float
    answers: int


@dataclass(frozen=True)
class ScoredRun:
    """One scored run.

    `manifest_json` and `summary_json` are the files as they are, to be passed on whole; `manifest` and
    `summary` are the same as typed values. `views` returns the JSON of the question files, read from disk one
    by one, again at every call. `reviews` are rating files outside the run's folder. `grouped_by` is the key
    of the metadata whose values stand in place of the categories (see `report.grouping`). `is_loaded` says
    that the run was read from its folder, so that the folder has the table of its scores.
    """

    run: str
    path: Path | None
    manifest_json: Mapping[str, Any]
    summary_json: Mapping[str, Any]
    views: Callable[[], Iterable[Json]]
    reviews: tuple[Path, ...] = ()
    grouped_by: str | None = None
    is_loaded: bool = False

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest; raises StoreError if it cannot be used."""
        return typed(Manifest, self.manifest_json, f"manifest.json of {self.run}", whole=False)

    @cached_property
    def summary(self) -> Summary:
        """The summary; raises StoreError if it cannot be used."""
        return typed(Summary, self.summary_json, f"summary.json of {self.run}", whole=False)

    def questions(self) -> Iterator[ScoredQuestion]:
        """Yield every question in the order of the file names; only one is in memory at a time.

        Raises StoreError for a damaged file, and after the last question if the number of answers differs
        from that in the summary.
        """
        return map(scored_question, self.views())

    def brief_questions(self) -> Iterator[BriefQuestion]:
        """Yield every question as `questions` does, with what tables need of it."""
        return map(brief_question, self.views())

    def some_questions(self, ids: Collection[str]) -> dict[str, BriefQuestion]:
        """Return some questions by id, as far as the run has them; only their files are read."""
        known: dict[str, BriefQuestion] = self.kept.setdefault((BriefQuestion,), {})
        if missing := set(ids) - known.keys():
            stored = self._stored
            asked = self.manifest.data.asked_ids
            views = self.views() if stored is None else find_views(stored, missing, asked)
            found = map(brief_question, views)
            known |= {one.question.id: one for one in found if one.question.id in missing}
        return {id: known[id] for id in ids if id in known}

    @property
    def _stored(self) -> Path | None:
        """The folder that has the questions as this run has them; `None` where there is none."""
        return self.path if self.is_loaded and self.grouped_by is None else None

    @cached_property
    def scores(self) -> ScoreTable:
        """The scores of all answers in columns; see `score_table`."""
        if self._stored is not None:
            return score_table(self._stored, self.manifest, self.summary)
        return _table_of(self.views())

    @cached_property
    def marks(self) -> Mapping[str, Mapping[str, Any]]:
        """The metadata of the questions that have one of `MARKS`, by their ids."""
        found = read_marks(self.path) if self.path is not None and self.is_loaded else None
        return self.scores.marks if found is None else found

    def correctness(self, profile: str) -> Mapping[str, QuestionMean]:
        """Return the correctness of each question that has one and is no variant, by its id."""
        table, variants = self.scores, self.manifest.data.variant_ids
        return {
            id: QuestionMean(table.digest(number), category, sum(known) / len(known), len(known))
            for number, (id, category, *_) in enumerate(table.questions)
            if id not in variants and (known := table.values(number, "correctness", profile))
        }

    @cached_property
    def kept(self) -> dict[tuple[object, ...], Any]:
        """What was computed from all question files, by a key of whoever computed it: reading them takes
        longer than anything else in a report."""
        return {}

    @cached_property
    def asked(self) -> dict[str, bytes]:
        """Digests of what two runs must share to be compared, by question id."""
        table = self.scores
        return {one[0]: table.digest(number) for number, one in enumerate(table.questions)}

    @cached_property
    def identities(self) -> dict[str, Identity]:
        """What tells the questions from those of other runs, by id."""
        table, written = self.scores, (self.summary.questions or self.manifest.data).written_ids
        return {
            one[0]: Identity(**table.identity(number), written=written)
            for number, one in enumerate(table.questions)
        }

    @property
    def name(self) -> str:
        """The name given in the configuration, or the run's id if there is none."""
        return self.summary.name or self.manifest.name or self.run

    @property
    def retrieval_only(self) -> bool:
        """Whether the run only searched, so that only figures of retrieval apply to it."""
        return self.summary.retrieval_only

    @property
    def model(self) -> str | None:
        """The model that answered, `None` if the run does not say."""
        return self.summary.model

    @property
    def pipeline(self) -> str:
        """The pipeline regardless of the model, as an importer of published results named it, or the name."""
        return self.manifest.pipeline or self.name

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the data set in its own order, including those that were not asked."""
        return self.summary.categories

    @property
    def ingest(self) -> Ingest:
        """What came of reading the documents, empty if none were read."""
        return self.manifest.data.ingest or Ingest()

    def profile(self, scores: str | None = None) -> str:
        """Return `scores`, or with `None` the run's headline profile.

        Raises UsageError if `scores` is not the name of a profile, and DataError if the run was not scored
        under it.
        """
        wanted = scores or self.summary.profile
        if wanted in self.summary.profiles:
            return str(wanted)
        if scores and scores not in PROFILES:
            raise UsageError(f"there are no scores '{scores}'{suggest(scores, PROFILES)}")
        raise DataError(no_such_scores(self.run, str(wanted), self.summary.profiles))

    def figures(self, scores: str | None = None) -> ProfileFigures:
        """Return the scores under one profile; raises as `profile` does."""
        return self.summary.profiles[self.profile(scores)]

    def metrics(self, scores: str | None = None) -> dict[str, MetricFigures]:
        """Return the figures of all metrics by name, those of FATHOMS-RAG under one profile; raises as
        `profile` does. The values of a metric that applies to no record of the run are `None`."""
        return all_metrics(self.summary, self.profile(scores))

    @property
    def judges_labels(self) -> bool:
        """Whether the judge says which answers abstain, under the headline profile."""
        found = self.summary.profiles.get(str(self.summary.profile))
        return found is not None and found.judges_labels

    @cached_property
    def _line_files(self) -> Mapping[str, str]:
        """The files of the questions of a large run, by id."""
        large = self.path is not None and file_names(self.path)
        return places(self.path, self.manifest.data.asked_ids) if self.path and large else {}

    def question_file(self, question: str) -> Path | None:
        """Return the file with the view of one question, which of a large run holds many questions; `None` if
        the run is not on disk."""
        if self.path is None:
            return None
        if name := self._line_files.get(question):
            return self.path / "questions" / name
        file, old = (self.path / "questions" / name for name in view_names(question))
        return old if old != file and not file.exists() and old.exists() else file


def all_metrics(summary: Summary, profile: str) -> dict[str, MetricFigures]:
    """Return the figures of all metrics of a summary by name, those of FATHOMS-RAG under one profile.

    Metrics whose values depend on another profile are left out.
    """
    others = {name: found for name, found in summary.metrics.items() if found.profile in (None, profile)}
    return {**profile_metrics(summary.profiles[profile]), **others}


def no_such_scores(run: str, wanted: str, there: Collection[str]) -> str:
    """Build the message for a run not scored under a profile, with the command that scores it."""
    if not there:
        return f"{run} has no scores: run 'fathoms score {run}'"
    sentence = f"{run} has no scores '{wanted}' (available: {', '.join(there)})"
    if wanted == "released":
        return f"{sentence}; only imported results have them"
    return f"{sentence}: run 'fathoms score {run} --profile {wanted}'"


def load(run_dir: Path) -> ScoredRun:
    """Read a run directory; raises StoreError if it is not a run or is not scored yet."""
    if not os.path.lexists(run_dir / "manifest.json"):
        raise StoreError(f"{run_dir} is not a run: it has no manifest.json")
    if not os.path.lexists(run_dir / "summary.json"):
        raise StoreError(f"{run_dir} has no summary.json: run 'fathoms score {run_dir}'")
    manifest = read_manifest(run_dir).plain()
    summary = read_part(run_dir, "summary.json", Summary).plain()
    name = str(manifest.get("run") or run_dir.name)

    def views() -> Iterator[Json]:
        return _all_views(run_dir, run.manifest, run.summary)

    run = ScoredRun(name, run_dir, manifest, summary, views, is_loaded=True)
    return run


def read_manifest(run_dir: Path) -> Manifest:
    """Read the manifest of a run; raises StoreError."""
    return read_part(run_dir, "manifest.json", Manifest)


def read_summary(run_dir: Path) -> Summary | None:
    """Read the summary of a run, `None` if it was never scored; raises StoreError."""
    if not os.path.lexists(run_dir / "summary.json"):
        return None
    return read_part(run_dir, "summary.json", Summary)


def score_table(run_dir: Path, manifest: Manifest, summary: Summary) -> ScoreTable:
    """Return the scores of all answers of a run in columns: from the file that scoring has written, or where
    there is none that can be used, from the question files. Raises StoreError as `ScoredRun.questions`."""
    if (found := read_table(run_dir)) is not None and _counts_all(len(found), summary):
        return found
    return _table_of(_all_views(run_dir, manifest, summary))


def _table_of(views: Iterable[Json]) -> ScoreTable:
    """Return the scores of some questions in columns."""
    maker = TableMaker()
    for view in views:
        maker.add_view(scored_question(view))
    return maker.table()


def _counts_all(found: int, summary: Summary) -> bool:
    """Return whether so many answers are those that a summary counts, as far as it counts them."""
    return summary.counts.answered is None or summary.counts.done == found


def _all_views(run_dir: Path, manifest: Manifest, summary: Summary) -> Iterator[Json]:
    """Yield the question files of a run in the order of its questions, and check that there are as many
    answers as its summary counts."""
    found = 0
    for view in read_views(run_dir, manifest.data.asked_ids):
        found += len(view["repeats"])
        yield view
    if not _counts_all(found, summary):
        raise StoreError(
            f"{run_dir}: its summary counts {summary.counts.done} answers, and its question files hold"
            f" {found}: run 'fathoms score {run_dir}'"
        )
