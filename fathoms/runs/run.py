"""A run: what was asked, what was answered, and how good the answers are.

A run is a folder, and the only link between the code that answers and the code that scores and reports. This
is the only place that knows which keys older runs lack. A missing key and `null` are read alike: as the
default of the field, which is `None` where a value is not known or does not apply.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.errors import DataError, StoreError, UsageError, suggest
from fathoms.paths import safe_name
from fathoms.runs.blobs import Texts
from fathoms.runs.folder import read_part
from fathoms.runs.identity import Identity
from fathoms.runs.order import in_order, is_run, run_name
from fathoms.runs.profile_figures import PROFILES, all_metrics, no_such_scores
from fathoms.runs.question_lines import file_names, places
from fathoms.runs.question_tables import QuestionTables
from fathoms.runs.records import Records
from fathoms.runs.score_table import MOST_WORST, Head, ScoreTable, TableMaker, Worst, read_head, read_table
from fathoms.runs.verdicts import Verdicts
from fathoms.runs.views import (
    QuestionFiles,
    brief_question,
    find_views,
    read_views,
    scored_question,
    view_names,
)
from fathoms.types.run.figures import MetricFigures, ProfileFigures
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.part import Json
from fathoms.types.run.rows import BriefQuestion, ScoredQuestion
from fathoms.types.run.summary import Summary


class QuestionMean(NamedTuple):
    """The mean of a metric over the repeats of a question.

    `digest` is that of what two runs must share (`identity.question_digest`), and `answers` the number of
    its repeats with a value.
    """

    digest: bytes
    category: str
    mean: float
    answers: int


class Run:
    """A run: its `manifest`, `records`, questions with their scores, `summary`, texts and verdicts.

    Each part is read from the folder when it is first needed. A `manifest`, `summary` or `views` (the JSON of
    the question files, read again at every call) that is given stands in place of the files. `reviews` are
    rating files outside the folder. `grouped_by` is the key of the metadata whose values stand in place of
    the categories (see `report.grouping`).
    """

    def __init__(
        self,
        path: Path,
        *,
        manifest: Manifest | None = None,
        summary: Summary | None = None,
        views: Callable[[], Iterable[Json]] | None = None,
        reviews: tuple[Path, ...] = (),
        grouped_by: str | None = None,
    ) -> None:
        self.path = path
        self.id = path.name
        self.views = views or self._stored_views
        self.reviews = reviews
        self.grouped_by = grouped_by
        self.tables: dict[str, QuestionTables] = {}
        """What reports show of the questions, by profile."""
        self._is_whole = views is None
        self._brief: dict[str, BriefQuestion] = {}
        if manifest is not None:
            self.manifest = manifest
        if summary is not None:
            self.summary = summary

    @classmethod
    def open(cls, reference: str | Path, out: Path = Path("runs")) -> Run:
        """Find a run by path, id, `latest`, `NAME` (its newest run) or `NAME~1` (the run before that).

        Raises UsageError with a suggestion or a list of the names there are.
        """
        reference = str(reference)
        for path in (Path(reference), out / reference):
            with suppress(OSError, ValueError):  # not a valid path, so it is a name
                if is_run(path):
                    return cls(path)
        name, _, back = reference.partition("~")
        if back and not back.isdigit():
            raise UsageError(f"'{reference}': expected NAME~1 for the run before the newest")
        every = in_order(out)
        found = [path for path in every if name == "latest" or run_name(path.name) == safe_name(name, 60)]
        steps = int(back or 0)
        if steps < len(found):
            return cls(found[-1 - steps])
        if found:
            raise UsageError(f"no run '{reference}': {out} holds {len(found)} of '{name}'")
        names = sorted({run_name(path.name) for path in every})
        if not names:
            raise UsageError(f"no run '{reference}'; {out} holds no runs")
        raise UsageError(f"no run '{reference}'{suggest(name, [*names, 'latest'])}")

    @classmethod
    def scored(cls, path: Path) -> Run:
        """Return the scored run in a folder; raises StoreError if it is not a run or is not scored yet."""
        if not os.path.lexists(path / "manifest.json"):
            raise StoreError(f"{path} is not a run: it has no manifest.json")
        run = cls(path)
        run.summary  # noqa: B018 - a run with either damaged is refused now
        run.manifest  # noqa: B018
        return run

    def altered(self, **parts: Any) -> Run:
        """Return this run with other parts, as `__init__` takes them."""
        if self.is_scored:
            parts.setdefault("summary", self.summary)
        if not self._is_whole:
            parts.setdefault("views", self.views)
        own = {"manifest": self.manifest, "reviews": self.reviews, "grouped_by": self.grouped_by}
        return Run(self.path, **{**own, **parts})

    # a folder has thousands of runs, and few of them are looked into
    @cached_property
    def texts(self) -> Texts:
        """The long texts of the run."""
        return Texts(self.path)

    @cached_property
    def records(self) -> Records:
        """What was asked and answered, in the journal."""
        return Records(self.path, self.texts.own)

    @cached_property
    def files(self) -> QuestionFiles:
        """The questions with their scores, as files."""
        return QuestionFiles(self.path, self.records, lambda: self.manifest)

    def reread(self) -> None:
        """Have every part be read again when it is next asked for, because files were written."""
        for name, member in vars(Run).items():
            if isinstance(member, cached_property) and name not in ("texts", "records", "files"):
                vars(self).pop(name, None)
        self._brief.clear()

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest; raises StoreError if it cannot be used."""
        return read_manifest(self.path)

    @cached_property
    def summary(self) -> Summary:
        """The summary; raises StoreError if it cannot be used or the run is not scored."""
        if (found := read_summary(self.path)) is None:
            raise StoreError(f"{self.path} has no summary.json: run 'fathoms score {self.path}'")
        return found

    @property
    def is_scored(self) -> bool:
        """Whether the run has a summary, even a damaged one."""
        return "summary" in vars(self) or os.path.lexists(self.path / "summary.json")

    @property
    def original_id(self) -> str:
        """The id that the run was made with, which a copy has, whatever the name of its folder."""
        return self.manifest.run or self.id

    def verdicts(self, kind: str) -> Verdicts:
        """Read the stored judgements of one kind, by key; raises StoreError."""
        return Verdicts(self.path, kind)

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
        known = self._brief
        if missing := set(ids) - known.keys():
            views = find_views(self.path, missing, self.manifest) if self._is_whole else self.views()
            found = map(brief_question, views)
            known |= {one.question.id: one for one in found if one.question.id in missing}
        return {id: known[id] for id in ids if id in known}

    @cached_property
    def scores(self) -> ScoreTable:
        """The scores of all answers in columns: from the file that scoring has written, or where there is
        none that can be used, from the question files. Raises StoreError as `questions`."""
        found = read_table(self.path) if self._is_whole else None
        if found is not None and self._counts_all(len(found)):
            return found
        maker = TableMaker()
        for question in self.questions():
            maker.add_view(question)
        return maker.table()

    @cached_property
    def head(self) -> Head:
        """What a screen shows of single questions; raises as `scores`."""
        found = read_head(self.path) if self._is_whole else None
        return found if found is not None and self._counts_all(found.rows) else self.scores.head

    @property
    def compared_metadata(self) -> Mapping[str, Mapping[str, Any]]:
        """The metadata of the questions that have one of `COMPARISON_KEYS`, by their ids."""
        return self.head.marks

    def worst(self, profile: str, limit: int) -> Sequence[Worst]:
        """Return at most `limit` of the worst questions, as `ScoreTable.worst` does."""
        if limit <= MOST_WORST and (found := self.head.worst.get(profile)) is not None:
            return found[:limit]
        return self.scores.worst(profile, limit)

    def correctness(self, profile: str) -> Mapping[str, QuestionMean]:
        """Return the correctness of each question that has one and is no variant, by its id."""
        table, variants = self.scores, self.manifest.data.variant_ids
        return {
            id: QuestionMean(
                table.digest(number), table.category_of[number], sum(known) / len(known), len(known)
            )
            for number, id in enumerate(table.ids)
            if id not in variants and (known := table.values(number, "correctness", profile))
        }

    @cached_property
    def question_digests(self) -> dict[str, bytes]:
        """Digests of what two runs must share to be compared, by question id."""
        table = self.scores
        return {id: table.digest(number) for number, id in enumerate(table.ids)}

    @cached_property
    def identities(self) -> dict[str, Identity]:
        """What tells the questions from those of other runs, by id."""
        table, written = self.scores, (self.summary.questions or self.manifest.data).written_ids
        return {
            id: Identity(**table.identity(number), written=written) for number, id in enumerate(table.ids)
        }

    @property
    def name(self) -> str:
        """The name given in the configuration, or the run's id if there is none."""
        return self.summary.name or self.manifest.name or self.original_id

    @property
    def pipeline(self) -> str:
        """The pipeline regardless of the model, as an importer of published results named it, or the name."""
        return self.manifest.pipeline or self.name

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
        raise DataError(no_such_scores(self.original_id, str(wanted), self.summary.profiles))

    def figures(self, scores: str | None = None) -> ProfileFigures:
        """Return the scores under one profile; raises as `profile` does."""
        return self.summary.profiles[self.profile(scores)]

    def metrics(self, scores: str | None = None) -> dict[str, MetricFigures]:
        """Return the figures of all metrics by name, those of FATHOMS-RAG under one profile; raises as
        `profile` does. The values of a metric that applies to no record of the run are `None`."""
        return all_metrics(self.summary, self.profile(scores))

    @cached_property
    def _line_files(self) -> Mapping[str, str]:
        """The files of the questions of a large run, by id."""
        return places(self.path, self.manifest.data.asked_ids) if file_names(self.path) else {}

    def question_file(self, question: str) -> Path:
        """Return the file with the view of one question, which of a large run holds many questions."""
        if name := self._line_files.get(question):
            return self.path / "questions" / name
        file, old = (self.path / "questions" / name for name in view_names(question))
        return old if old != file and not file.exists() and old.exists() else file

    def _stored_views(self) -> Iterator[Json]:
        """Yield the question files of a run in the order of its questions, and check that there are as many
        answers as its summary counts."""
        found = 0
        for view in read_views(self.path, self.manifest):
            found += len(view["repeats"])
            yield view
        if not self._counts_all(found):
            raise StoreError(
                f"{self.path}: its summary counts {self.summary.counts.done} answers, and its question files"
                f" hold {found}: run 'fathoms score {self.path}'"
            )

    def _counts_all(self, found: int) -> bool:
        """Return whether so many answers are those that the summary counts, as far as there is one."""
        return not self.is_scored or self.summary.counts.answered is None or self.summary.counts.done == found


def read_manifest(run_dir: Path) -> Manifest:
    """Read the manifest of a run as it is now; raises StoreError."""
    return read_part(run_dir, "manifest.json", Manifest)


def read_summary(run_dir: Path) -> Summary | None:
    """Read the summary of a run as it is now, `None` if it was never scored; raises StoreError."""
    if not os.path.lexists(run_dir / "summary.json"):
        return None
    return read_part(run_dir, "summary.json", Summary)
