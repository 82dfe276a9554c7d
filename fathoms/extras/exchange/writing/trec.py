"""Writes a run in the format of TREC: a run file, its relevance judgments, and the questions.

`reading/trec.py` describes the format and reads it back.
"""

from __future__ import annotations

from pathlib import Path

from fathoms.corpora.page_ids import word
from fathoms.corpora.writing import refuse_existing, write_new, write_questions
from fathoms.errors import DataError
from fathoms.extras.exchange.writing.rankings import Rankings


def write_trec(found: Rankings, folder: Path) -> tuple[list[Path], list[str]]:
    """Write `run.trec`, `qrels.trec` and `questions.jsonl` into a folder; returns their paths, and warnings.

    Scores have all their digits. The questions are left out, with a warning, if a question file cannot hold
    them. Raises UsageError if a file exists, and StoreError if one cannot be written.
    """
    run, qrels, questions = (folder / name for name in ("run.trec", "qrels.trec", "questions.jsonl"))
    for path in (run, qrels, questions):
        refuse_existing(path)
    tag = word(found.name)
    write_new(
        run,
        "".join(
            f"{word(one.question.id)} Q0 {name} {rank} {score!r} {tag}\n"
            for one in found.rankings
            for rank, (name, score) in enumerate(one.retrieved, start=1)
        ),
    )
    judged = (
        f"{word(one.question.id)} 0 {name} {grade}\n"
        for one in found.rankings
        for name, grade in one.relevant
    )
    write_new(qrels, "".join(judged))
    try:
        write_questions(questions, [one.question for one in found.rankings])
    except DataError as error:
        return [run, qrels], [f"{questions} is not written: {error}"]
    return [run, qrels, questions], []
