"""Scores the questions of a run, a few at a time, and writes their files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any

from fathoms.judges.asking import Judged as JudgeResults
from fathoms.metrics.claims.compared import shown_claims
from fathoms.metrics.claims.texts import answer_text, gold_to_split
from fathoms.metrics.evidence_documents import TOO_FEW
from fathoms.metrics.funnel import RunTexts
from fathoms.metrics.funnel_summary import with_funnels
from fathoms.metrics.metric import Facts, Metric, shared_score
from fathoms.metrics.people import Labels
from fathoms.metrics.pooling import Pool
from fathoms.metrics.profiles import Profile
from fathoms.metrics.question_facts import NumberedQuestions
from fathoms.metrics.retrieval.batch import rank_scores
from fathoms.metrics.retrieval.curves import Curves
from fathoms.metrics.retrieval.document_ids import DocumentIds
from fathoms.metrics.retrieval.levels import GOLD
from fathoms.metrics.retrieval.metrics import RetrievalMetric
from fathoms.metrics.score_records import RecordScore, Scoring, judge
from fathoms.metrics.stages import Stage
from fathoms.runs.metadata import OF_VARIANTS
from fathoms.runs.question_tables import QuestionTables
from fathoms.runs.records import Entry
from fathoms.runs.run import Run
from fathoms.runs.score_table import TableMaker
from fathoms.runs.verdicts import verdict_text
from fathoms.runs.views import WriteView
from fathoms.scoring.tally import Tally
from fathoms.types import Record, Score, Verdict
from fathoms.types.run.rows import ComparedClaims, MetricScore

ON_PURPOSE = "not judged on purpose: the interval of the figure is narrow enough"
"""Why an answer has no value of a metric that was judged until its interval was narrow."""
TOGETHER = 256
"""How many answers are classified together: with fewer, numpy takes longer for each."""
_MOST_SHOWN = 1_000
"""So many different scores of a metric are shown without being made again."""
_OTHER_GOLD = frozenset({*GOLD.values(), TOO_FEW})
"""What a question lacks that a metric of a group is not meant for, which no question file repeats."""


@dataclass(frozen=True)
class Rules:
    """How the questions of a run are scored: under which profiles, `profile` being the headline, and with
    which results of a judge and `labels` of people. `imported` says whether the run has released scores,
    `retrieval_only` that it asked for no answers, and `retrieves` whether its pipeline has a retriever.
    `variants` are the questions that count in no figure of others, and `left_out` those for which a metric
    was not judged on purpose, by its name."""

    scoring: Scoring
    profiles: tuple[Profile, ...]
    profile: str
    imported: bool = False
    retrieval_only: bool = False
    retrieves: bool = True
    judged: JudgeResults = field(default_factory=JudgeResults)
    labels: Labels | None = None
    variants: frozenset[str] = frozenset()
    left_out: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Measure:
    """A metric, the pool of its scores, the scores that are not pooled yet with the numbers of their
    questions, and what a question file shows of the last different ones: many answers have the same one, as
    one object (`shared_score`)."""

    metric: Metric
    pool: Pool
    name: str
    is_ranked: bool
    scores: list[Score] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    shown: dict[int, tuple[Score, MetricScore]] = field(default_factory=dict)

    def add_to_pool(self) -> None:
        """Pool the scores that wait for it."""
        self.pool.add_all(self.numbers, self.scores)
        self.scores, self.numbers = [], []
        if len(self.shown) > _MOST_SHOWN:
            self.shown = {}

    def show(self, score: Score, *, verdicts: bool) -> MetricScore:
        """Return a score as a question file shows it, with the `verdicts` among its reasons or without."""
        known = self.shown.get(id(score))
        if known is None:
            shown: MetricScore = {"value": score.value}
            if score.n != 1:
                shown["n"] = score.n
            if score.parts:
                shown["parts"] = score.parts
            if why := score.why if verdicts else {k: v for k, v in score.why.items() if k != "verdicts"}:
                shown["why"] = why
            if self.metric.pooling == "counts" and (ratio := self.metric.ratio(score)) is not None:
                shown["ratio"] = list(ratio)
            known = self.shown[id(score)] = score, shown  # as long as a score is there, its id is its own
        return known[1]


class QuestionScorer:
    """Scores questions, writes their files, and collects what the summary needs.

    `tally` has the records, `pools` the scores by metric, `curves` the rankings, `document_ids` the documents
    of hits and of gold, `tables` the lines that reports write of questions, `table` the scores in columns,
    and `verdicts` the JSON texts of the abstention verdicts that were made now, by key. `known` are
    those of earlier scorings, and `stages` the stages of the funnel that are known for any question of the
    run. `on_done` is called with the number of answers that are scored. `weights` are those of the questions
    of each category, as the manifest has them: a worker of a cluster has no file of it. Only a few records
    are in memory at a time.
    """

    def __init__(
        self,
        run: Run,
        rules: Rules,
        metrics: Sequence[Metric],
        known: Mapping[str, Verdict],
        texts: RunTexts,
        stages: Collection[Stage],
        on_done: Callable[[int], None] = lambda done: None,
        *,
        weights: Mapping[str, float],
    ) -> None:
        self._questions = questions = NumberedQuestions(weights)
        self.tally = Tally(questions)
        self.pools = {metric.name: Pool(metric, questions) for metric in metrics}
        self.curves = Curves(questions)
        self.document_ids = DocumentIds()
        self._of_retrieval = [metric for metric in metrics if isinstance(metric, RetrievalMetric)]
        self._measures = [
            _Measure(metric, self.pools[metric.name], metric.name, isinstance(metric, RetrievalMetric))
            for metric in metrics
            if not metric.in_profile
        ]
        self.tables = QuestionTables(rules.profile, [one.name for one in self._measures])
        self.table = TableMaker()
        self.verdicts: dict[str, str] = {}
        self._run = run
        run.records.keep = rules.scoring.reading.keep
        self._rules = rules
        self._known = known
        self._texts = texts
        self._stages = frozenset(stages)
        self._on_done = on_done

    def score(self, questions: Sequence[Sequence[Entry]], file: str | None = None) -> None:
        """Score questions, each given by the journal's entries of its repeats, and write their files, or with
        the name of a file one file for all of them (`QuestionFiles.writing`)."""
        together: list[Sequence[Entry]] = []
        count = 0
        with self._run.files.writing(file) as write:
            for entries in questions:
                together.append(entries)
                count += len(entries)
                if count >= TOGETHER:
                    self._score(self._read(together), write)
                    together, count = [], 0
            self._score(self._read(together), write)

    def _read(self, questions: Sequence[Sequence[Entry]]) -> list[list[Record]]:
        """Read the records of some questions, for which the journal is opened once."""
        lost = self._run.records.lost
        records = self._run.records.read(entry for entries in questions for entry in entries)
        found = [list(islice(records, len(entries))) for entries in questions]
        self.tally.counts["lost_contexts"] += self._run.records.lost - lost
        return found

    def _score(self, questions: Sequence[Sequence[Record]], write: WriteView) -> None:
        """Score the records of some questions, whose answers are classified together."""
        rules, results = self._rules, self._rules.judged
        records = [record for repeats in questions for record in repeats]
        judged = judge(
            records,
            rules.scoring,
            self._known,
            rules.profiles,
            results.verdicts,
            rules.imported,
            rules.retrieval_only,
        )
        self.verdicts |= {key: verdict_text(key, verdict) for key, verdict in judged.new.items()}
        found = (results.claims, results.verdicts, results.unjudged, rules.retrieval_only)
        of_retrieval = rank_scores(self._of_retrieval, records, rules.retrieves, rules.retrieval_only)
        originals = [
            scores
            for record, scores in zip(records, of_retrieval, strict=True)
            if record.question.id not in rules.variants
        ]
        for metric in self._of_retrieval:
            name = metric.name
            self.pools[name].leave_out(GOLD[metric.level], sum(name not in scores for scores in originals))
        # step by step and not record by record: the caches of the processor have room for one step
        scored = [judged.row(record) for record in records]
        rows = [
            with_funnels(record, row, self._texts, self._stages)
            for record, row in zip(records, scored, strict=True)
        ]
        facts = [
            Facts(record, row.get(rules.profile) or RecordScore(), *found, ranked, self._texts)
            for record, row, ranked in zip(records, rows, of_retrieval, strict=True)
        ]
        metrics = list(map(self._measured, facts))
        claims = list(map(self._compared, facts))
        ends = list(accumulate(map(len, questions)))
        parts = [slice(end - len(repeats), end) for end, repeats in zip(ends, questions, strict=True)]
        for repeats, part in zip(questions, parts, strict=True):
            write(repeats, rows[part], metrics[part], claims[part])
        for repeats, part in zip(questions, parts, strict=True):
            self.table.add(repeats[0].question, repeats, rows[part], metrics[part])
        for repeats, part in zip(questions, parts, strict=True):
            self.tables.add_scored(repeats, rows[part], metrics[part])
        for record, row in zip(records, rows, strict=True):
            self.tally.add(record, row)
        for record in records:
            if record.question.id not in rules.variants:
                self.curves.add(record)
        for record in records:
            self.document_ids.add(record)
        for measure in self._measures:
            measure.add_to_pool()
        self._on_done(len(self.tally))

    def _measured(self, facts: Facts) -> dict[str, MetricScore]:
        """Score one record by every metric, have the scores wait for their pools, and return them as its
        question file shows them."""
        question, ranked, left_out = facts.record.question, facts.ranked, self._rules.left_out
        number = self._questions.number(question)
        is_variant = question.id in self._rules.variants
        found: dict[str, MetricScore] = {}
        unjudged = False
        for measure in self._measures:
            name, metric, pool = measure.name, measure.metric, measure.pool
            compared = len(facts.compared)
            if left_out and question.id in left_out.get(name, ()):
                score = shared_score(name, None, 0, left_out=ON_PURPOSE)
            elif measure.is_ranked:
                if name not in ranked:
                    continue  # nothing was to be found, and no metric says so by itself
                score = ranked[name]
            else:
                score = metric.of(facts)
            if metric.group and (gold := score.why.get("lacks")) in _OTHER_GOLD:
                pool.leave_out(str(gold), not is_variant)
                continue
            if not is_variant or name in OF_VARIANTS:
                measure.scores.append(score)
                measure.numbers.append(number)
                if self._rules.labels:
                    pool.add_labels(number, facts, score, self._rules.labels)
            # the claims with their verdicts are written once for all metrics
            found[name] = measure.show(score, verdicts=len(facts.compared) == compared)
            unjudged = unjudged or bool(score.parts and score.parts.get("unjudged"))
        self.tally.counts["unjudged"] += unjudged
        return found

    def _compared(self, facts: Facts) -> ComparedClaims:
        """Return the claims that the metrics of one record compared, and what judging them took."""
        if not facts.compared:
            return {}
        record, lists = facts.record, self._rules.judged.lists
        texts = [answer_text(record), gold_to_split(record.question)]
        return shown_claims(facts.compared, facts.failures, [lists[text] for text in texts if text in lists])

    def state(self) -> dict[str, Any]:
        """Return everything that was collected as JSON values, for `extend`."""
        return {
            "tally": self.tally.state(),
            "pools": {name: pool.state() for name, pool in self.pools.items()},
            "curves": self.curves.state(),
            "document_ids": self.document_ids.state(),
            "tables": self.tables.state(),
            "table": self.table.state(),
            "verdicts": self.verdicts,
        }

    def extend(self, state: Mapping[str, Any]) -> None:
        """Add what another process has collected."""
        numbers = self.tally.extend(state["tally"])
        for name, pool in state["pools"].items():
            self.pools[name].extend(pool, numbers)
        self.curves.extend(state["curves"], numbers)
        self.document_ids.extend(state["document_ids"])
        self.tables.extend(state["tables"])
        self.table.extend(state["table"])
        self.verdicts |= state["verdicts"]
        self._on_done(len(self.tally))
