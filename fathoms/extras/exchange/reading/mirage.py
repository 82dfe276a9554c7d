"""Imports the answers that MiRAGE released, with the claims of the release and people's judgements of them.

There is a run for each system and each person with claim judgements, because two people may judge a claim
differently. The files are described in `mirage_release.py`; of a topic

| released | becomes |
|---|---|
| its name, the reference article | the question, and its gold answer |
| the claims of the reference that a source attests | the claims of the gold answer; people judged no other |
| the videos | gold evidence, of which the run holds no text |
| the answer, its sentences and the videos that they cite | the answer and its citations |
| the claims of each sentence | the claims of the answer |
| people's judgements of claims | verdicts of the claims against the gold answer and the answer |
| people's judgements of quality | grades, as `fathoms review --quality` stores them |

A claim without a judgement has no verdict; the metrics with `released` count it as not supported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from fathoms.errors import DataError, amount
from fathoms.importers.imported import Imported, missing_warning
from fathoms.importers.mirage_release import Answer, JudgedClaim, Judgements, Release, Topic, find_release
from fathoms.judges.imported import ImportedJudge, ImportedVerdicts
from fathoms.metrics.claims.matrix import Grid
from fathoms.metrics.claims.mirage import InfoPReference, InfoR
from fathoms.metrics.claims.texts import Text, answer_text
from fathoms.types import Citation, Claim, Evidence, Judgement, Question, Record, Reply, Verdict

_INFORMATION = ("mirage.info-p-reference", "mirage.info-r", "mirage.info-f1-reference")
METRICS = (*_INFORMATION, *(f"{name}-released" for name in _INFORMATION))
"""What people's judgements of claims against texts give. Their grounding judgements are of sources, of which
the run holds no text; `fathoms reproduce` reads them."""


def read_mirage(folder: Path) -> tuple[Imported, ...]:
    """Read the released files of a folder and those below it.

    Without claim judgements, there is one run for each system, to be judged. People of whom files are absent
    are left out and named in the warnings. Raises UsageError if the folder does not exist, and DataError if
    it has no topics or no answers, or files that cannot be read.
    """
    release = find_release(folder)
    topics, answers = release.topics, release.answers
    if not answers:
        raise DataError(f"{folder} contains no files SYSTEM_relevant_citations.json with answers")
    questions = {name: _question(name, topic) for name, topic in topics.items()}
    people, left_out = _people(release)
    found = []
    for system, by_topic in answers.items():
        unknown = [name for name in by_topic if name not in questions]
        records = {
            name: _record(questions[name], answer) for name, answer in by_topic.items() if name in questions
        }
        warnings = [
            *left_out,
            *(f"{system}: there is no topic {name}; its answer was left out" for name in unknown),
            *missing_warning(system, list(questions.values()), records, only_searched=False),
        ]
        run = Imported(
            system,
            system,
            tuple(records.values()),
            tuple(questions.values()),
            tuple(warnings),
            grades=_grades(release, system, records),
        )
        known = {name: by_topic[name] for name in records}
        found += [
            _judged(run, person, known, records, judged[system])
            for person, judged in people.items()
            if system in judged
        ] or [run]
    return tuple(found)


def _grades(release: Release, system: str, answered: Collection[str]) -> dict[str, dict[str, int]]:
    """Return the quality judgements of the answers of a system, by person and topic."""
    return {
        f"MiRAGE quality {person}": {
            topic: int(by_system[system])
            for topic, by_system in ratings.items()
            if topic in answered and system in by_system
        }
        for person in release.raters
        if (ratings := release.ratings(person)) is not None
    }


def _people(release: Release) -> tuple[dict[int, dict[str, dict[str, Judgements]]], list[str]]:
    """Return the judgements of the people whose files are complete, and a warning for each of the others."""
    found, warnings = {}, []
    for person in release.annotators:
        if lacking := release.lacking(person):
            warnings.append(f"annotator {person} is left out, because files are absent: {', '.join(lacking)}")
        else:
            found[person] = release.judgements(person)
    return found, warnings


def _question(name: str, topic: Topic) -> Question:
    """Return the question of a topic; the release has no text of a question."""
    return Question(
        id=name,
        text=name.replace("_", " "),
        category="MiRAGE",
        reference=topic.article,
        reference_claims=tuple(topic.attested),
        evidence=tuple(Evidence(document=video, modality="video") for video in topic.videos),
    )


def _record(question: Question, answer: Answer) -> Record:
    """Return the record of an answer with the citations of its sentences."""
    citations = []
    at = 0
    for sentence, cited in zip(answer.sentences, answer.citations, strict=False):
        start = answer.prediction.find(sentence, at)
        span = None if start < 0 else (start, start + len(sentence))
        at = span[1] if span else at
        citations += [Citation(document=PurePosixPath(path).stem, sentence=span) for path in cited]
    reply = Reply(text=answer.prediction)
    return Record(question=question, answer=reply, hits=None, citations=tuple(citations))


def _judged(
    run: Imported,
    person: int,
    answers: Mapping[str, Answer],
    records: Mapping[str, Record],
    judged: Mapping[str, Judgements],
) -> Imported:
    """Return a run with the claims of the answers and a person's judgements of them."""
    claims: dict[Text, tuple[Claim, ...]] = {}
    verdicts: dict[Judgement, Verdict] = {}
    lost = conflicts = 0
    for name, record in records.items():
        if text := answer_text(record):
            claims[text] = _claims(answers[name])
        said = judged[name]
        of_answer = [(claim, sentence) for sentence, found in said.answer.items() for claim in found]
        of_gold = [(claim, "") for claim in said.reference]
        for metric, given in ((InfoPReference(), of_answer), (InfoR(), of_gold)):
            (grid,) = metric.grids(record, claims)
            for pair, judgment in _labelled(grid, given):
                if judgment is None:
                    lost += 1
                    continue
                label = "supported" if judgment else "unsupported"
                verdict = Verdict(claim=pair.claim, premise=pair.premise, label=label)
                conflicts += verdicts.setdefault(pair, verdict).label != label
    warnings = [
        *(f"{amount(lost, 'claim')} without a judgement" for _ in range(lost > 0)),
        *(
            f"{amount(conflicts, 'judgement')} against an earlier one, which counts"
            for _ in range(conflicts > 0)
        ),
    ]
    title = f"{run.name} annotator {person}"
    return Imported(
        title,
        run.model,
        run.records,
        run.questions,
        (*run.warnings, *(f"{title}: {warning}" for warning in warnings)),
        judged=ImportedVerdicts(
            ImportedJudge(by=f"annotator {person} of MiRAGE", people=True), claims, verdicts
        ),
        metrics=METRICS,
        grades=run.grades,
    )


def _claims(answer: Answer) -> tuple[Claim, ...]:
    """Return the claims of an answer, with the sentences that they come from."""
    return tuple(
        Claim(text=claim, context=sentence, sentence=number)
        for number, (sentence, found) in enumerate(zip(answer.sentences, answer.claims, strict=False))
        for claim in found
    )


def _labelled(
    grid: Grid, given: Sequence[tuple[JudgedClaim, str]]
) -> Iterator[tuple[Judgement, bool | None]]:
    """Yield each pair of claim and source, with the judgement of the person."""
    said: dict[tuple[str, str], list[bool | None]] = {}
    for claim, sentence in given:
        said.setdefault((claim.claim, sentence), []).append(claim.judgment)
    for row in grid.judgements:
        for pair in row:
            for judgment in said.pop((pair.claim, pair.context), ()):
                yield pair, judgment
