"""The linter for question files: runs every rule over one file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fathoms.corpora import find_places, read_questions
from fathoms.corpora.loading import as_spelt
from fathoms.corpora.questions import format_of, is_table
from fathoms.corpora.workbook import SUFFIX
from fathoms.errors import DataError, QuestionsError, UsageError, suggest
from fathoms.extras.questions import document_rules, file_rules
from fathoms.extras.questions.finding import Finding, Rule, Subject
from fathoms.extras.questions.mending import mended
from fathoms.extras.questions.other_forms import other_forms
from fathoms.extras.questions.parsing import ParsedPdfs
from fathoms.extras.questions.texts import Texts
from fathoms.metrics.phrase_recall import Hyphens, Match
from fathoms.runs.run import Run

INVALID = "invalid"
"""The code of findings about a file that cannot be read as questions."""
PLACEHOLDER = "placeholder"

RULES = (
    Rule(PLACEHOLDER, "error", file_rules.placeholder),
    Rule("encoding", "error", file_rules.encoding),
    Rule("duplicate", "error", file_rules.duplicate),
    Rule("unanswerable-with-answers", "error", file_rules.unanswerable_with_answers),
    Rule("empty-phrase", "error", file_rules.empty_phrase),
    Rule("slow-expression", "error", file_rules.slow_expression),
    Rule("unknown-unit", "warning", file_rules.unknown_unit),
    Rule("cited-answer", "warning", file_rules.cited_answer),
    Rule("narrow-phrase", "warning", file_rules.narrow_phrase),
    Rule("unknown-file", "error", document_rules.unknown_file),
    Rule("unreadable-document", "error", document_rules.unreadable_document),
    Rule("page-beyond", "error", document_rules.page_beyond),
    Rule("damaged-document", "warning", document_rules.damaged_document),
    Rule("skipped", "warning", file_rules.skipped),
    Rule("same-text", "warning", file_rules.same_text),
    Rule("given-away", "warning", file_rules.given_away),
    Rule("phrase-absent", "warning", document_rules.phrase_absent),
    Rule("phrase-elsewhere", "warning", document_rules.phrase_elsewhere),
    Rule("bare-number", "warning", document_rules.bare_number),
    Rule("other-forms", "warning", other_forms),
    Rule("quote-absent", "warning", document_rules.quote_absent),
    Rule("common-answer", "warning", document_rules.common_answer),
    Rule("few-questions", "warning", file_rules.few_questions),
    Rule("empty-category", "warning", file_rules.empty_category),
)
DISAGREES = Rule("disagrees", "warning", lambda subject: iter(()))
"""The rule for the answers of a run; `check` finds them."""


@dataclass(frozen=True)
class Checked:
    """The findings, sorted by line, and the numbers of questions and documents that were checked."""

    findings: tuple[Finding, ...]
    questions: int
    documents: int

    def count(self, severity: str) -> int:
        """Return how many findings have this severity (`error` or `warning`)."""
        return sum(finding.severity == severity for finding in self.findings)


def rule_codes() -> tuple[str, ...]:
    """Return the names of all rules, including `invalid`."""
    return (INVALID, *(rule.code for rule in RULES), DISAGREES.code)


def check(
    path: Path,
    paths: Mapping[str, Path],
    reading: ParsedPdfs,
    *,
    match: Match = "word",
    hyphens: Hyphens = "both",
    ignore: Collection[str] = (),
    run: Run | None = None,
) -> Checked:
    """Check a question file against its documents.

    `paths` maps the names of all documents to their files, `reading` holds their parsed text. Phrases are
    searched for with `match` and `hyphens`, which mean the same as in a scoring profile. Rules in `ignore`
    are not run. With `run`, answers are reported of which its judge says something else than phrase recall. A
    file that cannot be read gives findings with the code `invalid`. Raises UsageError if the
    file does not exist or `ignore` names an unknown rule, and DataError if the file name's extension is not
    supported.
    """
    for code in ignore:
        if code not in rule_codes():
            raise UsageError(f"no rule is called '{code}'{suggest(code, rule_codes())}")
    if not is_table(path) and path.suffix.lower() != SUFFIX:
        format_of(path)
    try:
        file = as_spelt(read_questions(path), paths, path)  # a run takes such names as meant, too
    except DataError as error:
        complaints = error.complaints if isinstance(error, QuestionsError) else str(error).splitlines()
        return Checked(tuple(_invalid(path, complaints)), 0, len(paths))
    subject = Subject(
        path=path,
        questions=file.questions,
        places=find_places(path, file),
        skipped=tuple(
            (int(found[1]), found[2])  # a warning of the question reader is `FILE:LINE: text`
            for text in file.warnings
            if (found := re.search(r":(\d+): (.*)", text.removeprefix(str(path)), re.DOTALL))
        ),
        paths=paths,
        failures=reading.failures,
        texts=Texts(reading.documents, match, hyphens),
    )
    rules = [rule for rule in RULES if rule.code not in ignore]
    findings = [subject.finding(rule, found) for rule in rules for found in rule.find(subject)]
    if run is not None and DISAGREES.code not in ignore:
        findings += [subject.finding(DISAGREES, found) for found in mended(subject, run, run.profile())]
    # About a question that is still to be filled in, only that is reported.
    unfilled = {finding.question for finding in findings if finding.code == PLACEHOLDER} - {None}
    findings = [each for each in findings if each.code == PLACEHOLDER or each.question not in unfilled]
    findings.sort(key=lambda finding: (finding.line is None, finding.line or 0, finding.column or 0))
    return Checked(tuple(findings), len(file.questions), len(paths))


def _invalid(path: Path, complaints: Iterable[str]) -> list[Finding]:
    """Turn complaints of the question reader, with their `FILE:LINE:COLUMN:` prefix, into findings."""
    place = re.compile(rf"{re.escape(str(path))}(?::(\d+))?(?::(\d+))?: (.*)")
    found = []
    for complaint in (line for text in complaints for line in text.splitlines()):
        match = place.fullmatch(complaint)
        *numbers, message = match.groups() if match else (None, None, complaint)
        line, column = (int(number) if number else None for number in numbers)
        found.append(Finding(INVALID, "error", message, str(path), line, column))
    return found
