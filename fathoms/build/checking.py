"""The linter: every rule over one file of questions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fathoms.build import document_rules, file_rules
from fathoms.build.finding import Finding, Rule, Subject
from fathoms.build.reading import Reading
from fathoms.build.texts import Texts
from fathoms.config import suggest
from fathoms.corpora import find_places, read_questions
from fathoms.corpora.questions import format_of
from fathoms.errors import DataError, QuestionsError, UsageError
from fathoms.metrics.phrase_recall import Hyphens, Match

INVALID = "invalid"
"""The code of what keeps the file from being read."""
PLACEHOLDER = "placeholder"

RULES = (
    Rule(PLACEHOLDER, "error", file_rules.placeholder),
    Rule("encoding", "error", file_rules.encoding),
    Rule("duplicate", "error", file_rules.duplicate),
    Rule("unanswerable-with-answers", "error", file_rules.unanswerable_with_answers),
    Rule("empty-phrase", "error", file_rules.empty_phrase),
    Rule("unknown-file", "error", document_rules.unknown_file),
    Rule("unreadable-document", "error", document_rules.unreadable_document),
    Rule("page-beyond", "error", document_rules.page_beyond),
    Rule("damaged-document", "warning", document_rules.damaged_document),
    Rule("skipped", "warning", file_rules.skipped),
    Rule("same-text", "warning", file_rules.same_text),
    Rule("given-away", "warning", file_rules.given_away),
    Rule("phrase-absent", "warning", document_rules.phrase_absent),
    Rule("phrase-elsewhere", "warning", document_rules.phrase_elsewhere),
    Rule("quote-absent", "warning", document_rules.quote_absent),
    Rule("common-answer", "warning", document_rules.common_answer),
    Rule("few-questions", "warning", file_rules.few_questions),
    Rule("empty-category", "warning", file_rules.empty_category),
)


@dataclass(frozen=True)
class Checked:
    """What was found, in the order of the file, and how much was looked at."""

    findings: tuple[Finding, ...]
    questions: int
    documents: int

    def count(self, severity: str) -> int:
        """How many findings are errors, or warnings."""
        return sum(finding.severity == severity for finding in self.findings)


def rule_codes() -> tuple[str, ...]:
    """The names of all rules."""
    return (INVALID, *(rule.code for rule in RULES))


def check(
    path: Path,
    paths: Mapping[str, Path],
    reading: Reading,
    *,
    match: Match = "word",
    hyphens: Hyphens = "both",
    ignore: Collection[str] = (),
) -> Checked:
    """Check a question file against its documents: `paths` are all of them, `reading` what they say.

    Phrases are looked for by `match` and `hyphens`, as a scoring profile does, and the rules in `ignore`
    are left out. A file that cannot be read is a finding of the code `invalid` too. Raises UsageError where
    there is no such file or rule, DataError for an ending that nobody knows.
    """
    _refuse_unknown(ignore)
    format_of(path)
    try:
        file = read_questions(path)
    except DataError as error:
        complaints = error.complaints if isinstance(error, QuestionsError) else str(error).splitlines()
        return Checked(tuple(_invalid(path, complaints)), 0, len(paths))
    subject = Subject(
        path=path,
        questions=file.questions,
        places=find_places(path, file),
        skipped=tuple(_line_and_note(path, warning) for warning in file.warnings),
        paths=paths,
        failures=reading.failures,
        texts=Texts(reading.documents, match, hyphens),
    )
    findings = _without_unfilled(
        [
            subject.finding(rule, found)
            for rule in RULES
            if rule.code not in ignore
            for found in rule.find(subject)
        ]
    )
    findings.sort(key=lambda finding: (finding.line is None, finding.line or 0, finding.column or 0))
    return Checked(tuple(findings), len(file.questions), len(paths))


def _without_unfilled(findings: list[Finding]) -> list[Finding]:
    """The findings; of a question that is still to be filled in, no other rule says anything."""
    unfilled = {finding.question for finding in findings if finding.code == PLACEHOLDER}
    return [f for f in findings if f.code == PLACEHOLDER or f.question is None or f.question not in unfilled]


def _invalid(path: Path, complaints: Iterable[str]) -> list[Finding]:
    """What the reader of the file said, line by line, with the places taken out of the sentences."""
    place = re.compile(rf"{re.escape(str(path))}(?::(\d+))?(?::(\d+))?: (.*)")
    found = []
    for sentence in complaints:
        match = place.fullmatch(sentence)
        line, column, message = match.groups() if match else (None, None, sentence)
        found.append(Finding(INVALID, "error", message, str(path), _number(line), _number(column)))
    return found


def _line_and_note(path: Path, warning: str) -> tuple[int, str]:
    """What the reader of the file remarked (`FILE:LINE: what`), after its line."""
    line, _, what = warning.removeprefix(f"{path}:").partition(": ")
    return int(line), what


def _number(digits: str | None) -> int | None:
    """A line or a column, where there is one."""
    return int(digits) if digits else None


def _refuse_unknown(codes: Collection[str]) -> None:
    """Raise UsageError for a rule that there is not."""
    for code in codes:
        if code not in rule_codes():
            raise UsageError(f"no rule is called '{code}'{suggest(code, rule_codes())}")
