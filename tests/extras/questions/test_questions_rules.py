"""Every rule of the linter, on a file that breaks it and on one that does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import DataError, UsageError
from fathoms.extras.questions.checking import RULES, Checked, check, rule_codes
from fathoms.extras.questions.parsing import ParsedPdfs
from fathoms.types import Document, Page

PAGES = {
    "varn.pdf": ("The Varn tower is 41.5 m tall.", "Its door is painted\ngreen by Hollin Seed Cooperative."),
    "ten.pdf": ("It took 10 days.",),
    "lune.pdf": ("In Lune, ore costs 17 crowns a ton.", "The mine has 12 doors.", ""),
}
GOOD = {
    "question": "How tall is the tower?",
    "files": ["varn.pdf"],
    "answers": [["41.5"]],
    "evidence": [{"document": "varn.pdf", "page": 1}],
}


def document(name: str, pages: tuple[str, ...]) -> Document:
    items = tuple(Page(number=number, text=text) for number, text in enumerate(pages, start=1))
    return Document(id=name, path=Path(name), sha256="", pages=items)


def checked(
    folder: Path,
    *rows: dict[str, Any] | str,
    pages: dict[str, tuple[str, ...]] = PAGES,
    failures: dict[str, str] | None = None,
    **options: Any,
) -> Checked:
    """Check some rows, a line each; `few-questions` is left out unless it is asked for."""
    path = folder / "q.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    reading = ParsedPdfs({name: document(name, texts) for name, texts in pages.items()}, failures or {})
    names = {name: Path(name) for name in [*pages, *(failures or {})]}
    return check(path, names, reading, **{"ignore": ["few-questions"], **options})


def findings(found: Checked) -> list[tuple[str, int | None, str]]:
    return [(finding.code, finding.line, finding.message) for finding in found.findings]


def test_a_good_question_has_no_finding(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD)
    assert found.findings == ()
    assert (found.questions, found.documents) == (1, 3)


def test_a_name_of_a_document_in_another_case_is_taken_as_a_run_takes_it(tmp_path: Path) -> None:
    other = {"files": ["VARN.pdf"], "evidence": [{"document": "VARN.pdf", "page": 1}]}
    found = checked(tmp_path, {**GOOD, **other})
    assert found.findings == ()


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "placeholder": ({"question": "FILL IN: a question"}, "still to be filled in"),
    "encoding": ({"reference": "41.5\u0000"}, "contains the control character U+0000: remove it"),
    "empty-phrase": (
        {"answers": [["41.5"], ["--"]]},
        "'--' is empty after normalisation: no answer can contain it",
    ),
    "unanswerable-with-answers": (
        {"answerable": False},
        "has both 'answerable: false' and answers: remove one of them",
    ),
    "unknown-file": (
        {"files": ["vran.pdf"], "evidence": []},
        "there is no document 'vran.pdf' (did you mean 'varn.pdf'?)",
    ),
    "page-beyond": (
        {"evidence": [{"document": "varn.pdf", "page": 1}, {"document": "varn.pdf", "page": 3}]},
        "page 3 of 'varn.pdf', which has 2 pages",
    ),
    "narrow-phrase": (
        {"answers": [["tower is 41.5 m tall"]]},
        "'tower is 41.5 m tall' is only found in this wording:"
        " {near: [{number: 41.5, unit: m}, tower]} also finds others",
    ),
    "slow-expression": (
        {"answers": [["41.5"], [{"regex": "(m|mm|m m)+$"}]]},
        "the regular expression can take very long: avoid a repetition inside a repetition",
    ),
    "unknown-unit": (
        {"answers": [["41.5"], [{"number": 41.5, "unit": "cubits"}]]},
        "fathoms does not convert the unit 'cubits': it is looked for as a word",
    ),
    "cited-answer": (
        {"question": "On which page is the tower's height?", "answers": [["41.5"], ["1"]]},
        "the question asks for a page, a file or a source, which an answer may give only in a citation such"
        " as '(p. 12)': add 'reading: raw', so that it counts there",
    ),
    "bare-number": (
        {
            "question": "How many doors does the mine have?",
            "files": ["ten.pdf"],
            "answers": [["10"]],
            "evidence": [],
        },
        "a page number can match '10' alone, as 'page 10 says' does, and under other profiles a citation such"
        " as [10]: prefer what has a unit or a name",
    ),
    "other-forms": (
        {
            "question": "What is green?",
            "answers": [["green", "seed cooperatives"], ["painted"]],
            "evidence": [],
        },
        "an answer may say it as the documents do, where 'seed cooperatives' is not found: add a variant with"
        " 'seed cooperative'",
    ),
    "skipped": ({"answers": [["41.5"], []]}, "variant 2 of the answers is empty, skipped"),
    "given-away": (
        {"question": "Is the tower 41.5 or 40 m tall?"},
        "the question states the answer '41.5': repeating the question would be correct",
    ),
    "phrase-absent": (
        {"answers": [["hollin sed cooperative"]], "evidence": []},
        "'hollin sed cooperative' is not in 'varn.pdf' as parsed;"
        " the most similar text is 'hollin seed cooperative' (page 2 of 'varn.pdf')",
    ),
    "phrase-elsewhere": (
        {"answers": [["painted green"]]},
        "'painted green' is not on the pages of the evidence, but on page 2 of 'varn.pdf'",
    ),
    "quote-absent": (
        {"evidence": [{"document": "varn.pdf", "page": 1, "quote": "41.5 metres tall"}]},
        "the quote is not in page 1 of 'varn.pdf' as parsed; the most similar text is"
        " '41.5 m tall.' (page 1)",
    ),
    "common-answer": (
        {"files": ["lune.pdf"], "answers": [["is"], ["took"], ["17 crowns"]], "evidence": []},
        "an answer is found in 2 of 2 other documents, 'is' in 1:"
        " the funnel leaves out such questions; keep the phrase short, for answers in other words",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("code", BROKEN)
def test_one_rule_is_broken(tmp_path: Path, code: str) -> None:
    changes, message = BROKEN[code]
    found = checked(tmp_path, GOOD, {**GOOD, "question": "Really, how tall?", **changes})
    assert findings(found) == [(code, 2, message)]
    severity = next(rule.severity for rule in RULES if rule.code == code)
    assert (found.count("error"), found.count("warning")) == ((1, 0) if severity == "error" else (0, 1))


def test_a_finding_names_line_and_column_of_the_value(tmp_path: Path) -> None:
    found = checked(tmp_path, '{"question": "Why?", "files": ["varn.pdf"], "answers": [["green", "grene"]]}')
    (finding,) = found.findings
    assert (finding.line, finding.column, finding.question) == (1, 67, "uncategorised-01")
    assert str(finding).startswith(f"{tmp_path}/q.jsonl:1:67: warning phrase-absent: 'grene' is not in ")


def test_wordings_that_a_bar_without_spaces_leaves_together_are_named(tmp_path: Path) -> None:
    row = {"question": "Which colour?", "files": ["varn.pdf"], "answers": [["green|emerald"]]}
    said = "if these are several wordings, put ' | ' between them (in JSON, list them as answers)"
    message = f"'green|emerald' is not in 'varn.pdf' as parsed; {said}"
    assert findings(checked(tmp_path, row)) == [("phrase-absent", 1, message)]


def test_a_page_without_text_is_named(tmp_path: Path) -> None:
    scan = {"document": "lune.pdf", "page": 3}
    row = {"question": "Who signed?", "files": ["lune.pdf"], "answers": "zyx", "evidence": [scan]}
    assert findings(checked(tmp_path, row)) == [
        (
            "phrase-absent",
            1,
            "'zyx' is not in 'lune.pdf' as parsed; page 3 of 'lune.pdf' has no text: is it a scan?",
        )
    ]


def test_the_best_variant_decides_what_is_absent(tmp_path: Path) -> None:
    other = {**GOOD, "answers": [["41.5 metres"], ["41.5 m"]]}
    assert checked(tmp_path, other).findings == ()


def test_another_variant_may_stand_elsewhere(tmp_path: Path) -> None:
    row = {**GOOD, "answers": [["emerald"], ["green"]]}
    assert findings(checked(tmp_path, row)) == [
        ("phrase-elsewhere", 1, "'green' is not on the pages of the evidence, but on page 2 of 'varn.pdf'")
    ]


def test_places_after_an_empty_variant(tmp_path: Path) -> None:
    """The reader passes over the empty one, so the place of the next is that of all answers."""
    row = '{"answers": [[], ["grene"]], "question": "Why?", "files": ["varn.pdf"]}'
    found = checked(tmp_path, row).findings
    assert [(finding.code, finding.column) for finding in found] == [("skipped", None), ("phrase-absent", 13)]


def test_yes_and_no_are_not_looked_for(tmp_path: Path) -> None:
    assert checked(tmp_path, {**GOOD, "answers": [["yes"]]}).findings == ()
    assert checked(tmp_path, {**GOOD, "answers": [["yes"], ["yes, it is tall"]]}).findings == ()


def test_a_source_is_asked_for(tmp_path: Path) -> None:
    fields = {
        "Which file holds the budget?": ["varn.pdf"],
        "What page number has the map?": ["2"],
        "Which of the sources says so?": ["[2]"],
        "On what pages are the doors?": [{"number": 2}],
    }
    rows = [{**GOOD, "question": text, "answers": [gold]} for text, gold in fields.items()]
    found = checked(tmp_path, *rows, ignore=["few-questions", "phrase-absent", "other-forms"])
    assert [code for code, _, _ in findings(found)] == ["cited-answer"] * 4
    raw = [{**row, "reading": "raw"} for row in rows]
    found = checked(tmp_path, *raw, ignore=["few-questions", "phrase-absent", "other-forms"])
    assert findings(found) == []


def test_numbers_that_no_citation_gives(tmp_path: Path) -> None:
    said = [["41.5"], ["11"], ["5", "tall"], ["1.8 m"], [{"number": 9, "unit": "m"}]]
    rows = [{**GOOD, "question": f"How many, case {n}?", "answers": [one]} for n, one in enumerate(said)]
    assert "bare-number" not in [code for code, _, _ in findings(checked(tmp_path, *rows))]


OTHER_FORMS = {
    "a plural": ("pump", "Two pumps feed it.", ["pumps"]),
    "a singular": ("pumps", "One pump feeds it.", ["pump"]),
    "a verb": ("delivers water", "Its task was delivering water.", ["delivering water"]),
    "a plural abbreviation": ("CNN", "We compare CNNs.", ["CNNs"]),
    "points in an abbreviation": ("U.S.A.", "It is sold there.", ["USA"]),
    "the long form": (
        "CNN",
        "A convolutional neural network (CNN) is used.",
        ["convolutional neural network"],
    ),
    "the short form": ("graph neural network", "A graph neural network (GNN) is used.", ["GNN"]),
    "a form that is there": ("pump", "A pump feeds it. Both pumps are old.", ["pumps"]),
    "no form": ("pump", "The pumice is old.", []),
    "a name": ("Paris", "It is in Paris.", []),
}


@pytest.mark.parametrize("case", OTHER_FORMS)
def test_other_forms_of_a_phrase(tmp_path: Path, case: str) -> None:
    phrase, text, forms = OTHER_FORMS[case]
    row = {"question": "What is it?", "files": ["a.pdf"], "answers": [[phrase]]}
    ignored = ["few-questions", "phrase-absent", "common-answer"]
    found = checked(tmp_path, row, pages={"a.pdf": (text,)}, ignore=ignored)
    named = "' or '".join(forms)
    assert [message.partition("variant with ")[2] for _, _, message in findings(found)] == [
        f"'{named}'"
    ] * bool(forms)
    more = {**row, "answers": [[phrase], *([form] for form in forms)]}
    assert findings(checked(tmp_path, more, pages={"a.pdf": (text,)}, ignore=ignored)) == []


def test_the_same_question_twice(tmp_path: Path) -> None:
    again = {**GOOD, "question": "How tall is  the TOWER?"}
    assert [row[:2] for row in findings(checked(tmp_path, GOOD, again))] == [("duplicate", 2)]
    lune = {"question": GOOD["question"], "files": ["lune.pdf"], "answers": "17 crowns"}
    assert [row[:2] for row in findings(checked(tmp_path, GOOD, lune))] == [("same-text", 2)]


def test_mojibake_is_told_from_text_that_is_meant(tmp_path: Path) -> None:
    meant = {**GOOD, "question": "Wie hoch ist der Turm für Gäste, in µm?"}
    garbled = {**GOOD, "question": meant["question"].encode().decode("cp1252")}
    lost = {**GOOD, "question": "Wie hoch ist der T\ufffdrm?"}
    found = checked(tmp_path, meant, garbled, lost)
    assert [(code, line) for code, line, _ in findings(found)] == [("encoding", 2), ("encoding", 3)]
    assert f"was '{meant['question']}'" in found.findings[0].message


def test_where_there_is_one_document_other_pages_stand_for_others(tmp_path: Path) -> None:
    pages = {"varn.pdf": ("1 gate", "1 door", "1 roof", "1 wall", "no lamp")}
    row = {"question": "How many gates?", "answers": "1", "evidence": [{"document": "varn.pdf", "page": 1}]}
    found = checked(tmp_path, row, pages=pages, ignore=["few-questions", "bare-number"])
    assert findings(found) == [
        (
            "common-answer",
            1,
            "an answer is found in 3 of 4 other pages, '1' in 3:"
            " the funnel leaves out such questions; keep the phrase short, for answers in other words",
        )
    ]
    assert checked(tmp_path, {**row, "answers": "1 gate"}, pages=pages).findings == ()


def test_where_no_gold_page_is_named_an_answer_stands_not_on_most_pages(tmp_path: Path) -> None:
    pages = {"varn.pdf": ("a gate", "a door", "a roof", "no wall")}
    row = {"question": "Which?", "files": ["varn.pdf"], "answers": "a"}
    said_why = "the funnel leaves out such questions; keep the phrase short, for answers in other words"
    message = f"an answer is found in 3 of 4 pages, 'a' in 3: {said_why}"
    assert findings(checked(tmp_path, row, pages=pages)) == [("common-answer", 1, message)]
    assert findings(checked(tmp_path, {**row, "files": []}, pages=pages)) == [("common-answer", 1, message)]
    assert checked(tmp_path, {**row, "answers": "gate"}, pages=pages).findings == ()
    few = {"varn.pdf": pages["varn.pdf"][:3]}
    assert checked(tmp_path, row, pages=few).findings == ()


def test_every_row_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    found = checked(tmp_path, *[{"question": f"Why {number}?"} for number in range(50)])
    assert (found.count("error"), {finding.code for finding in found.findings}) == (50, {"invalid"})


def test_what_cannot_be_parsed_is_named_once(tmp_path: Path) -> None:
    row = {"question": "Why?", "files": ["bad.pdf"], "answers": "rain", "evidence": []}
    found = checked(tmp_path, row, {**row, "question": "When?"}, failures={"bad.pdf": "is encrypted"})
    assert findings(found) == [("unreadable-document", 1, "'bad.pdf' cannot be parsed: is encrypted")]


def test_a_repaired_document_is_named(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({"question": "How tall?", "answers": "41.5", "files": ["varn.pdf"]}))
    repaired = document("varn.pdf", PAGES["varn.pdf"]).model_copy(update={"warnings": ("no end", "rebuilt")})
    found = check(
        path, {"varn.pdf": Path("varn.pdf")}, ParsedPdfs({"varn.pdf": repaired}, {}), ignore=["few-questions"]
    )
    assert findings(found) == [
        ("damaged-document", 1, "'varn.pdf' was not read as it stands: no end; rebuilt")
    ]
    assert found.findings[0].column == 56


def test_a_question_of_all_documents_finds_its_phrase_in_any(tmp_path: Path) -> None:
    row = {"question": "What does ore cost?", "answers": [["17 crowns"]]}
    assert checked(tmp_path, row).findings == ()
    (finding,) = checked(tmp_path, {**row, "answers": "florins of gold"}).findings
    assert finding.message == (
        "'florins of gold' is not in any document as parsed;"
        " no similar text was found: is it in a picture, computed, or worded differently?"
    )


def test_few_questions(tmp_path: Path) -> None:
    rows = [{**GOOD, "question": f"How tall is tower {number}?"} for number in range(15)]
    assert checked(tmp_path, *rows, ignore=[]).findings == ()
    (finding,) = checked(tmp_path, *rows[:10], ignore=[]).findings
    assert finding.message == (  # Blaker: .2224 to .7776 for 5 of 10
        "'Uncategorised' has 10 answerable questions: the 95 % interval of its mean can be 0.56 wide;"
        " with 15 questions, at most 0.50"
    )


def test_empty_categories(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    none = {"question": "Who owns it?", "files": ["lune.pdf"], "answerable": False}
    path.write_text(json.dumps({"A": [GOOD], "B": [], "C": [none]}, indent=1))
    reading = ParsedPdfs({name: document(name, texts) for name, texts in PAGES.items()}, {})
    found = check(path, {name: Path(name) for name in PAGES}, reading, ignore=["few-questions"])
    assert [(code, line, message[:14]) for code, line, message in findings(found)] == [
        ("empty-category", 21, "'B' has no que"),
        ("empty-category", 22, "'C' has no ans"),
    ]


def test_the_match_is_that_of_the_profile(tmp_path: Path) -> None:
    stem = {**GOOD, "answers": [["cooperativ"]], "evidence": [{"document": "varn.pdf", "page": 2}]}
    assert [row[0] for row in findings(checked(tmp_path, stem))] == ["phrase-absent"]
    assert checked(tmp_path, stem, match="substring").findings == ()
    broken = {**stem, "answers": [["painted green"]]}  # over the end of a line
    assert checked(tmp_path, broken, match="substring").findings == ()


HOSTILE: dict[str, tuple[str, bytes, tuple[int | None, int | None, str]]] = {
    "not-json": ("q.json", b'{"A": [}', (1, 8, "not valid JSON: Expecting value")),
    "a-key-twice": (
        "q.json",
        b'[{"question": "a", "question": "b"}]',
        (1, None, "the key 'question' occurs"),
    ),
    "utf-16": ("q.json", "[]".encode("utf-16"), (1, None, "not UTF-8 (it is UTF-16): save it as UTF-8")),
    "no-encoding": ("q.csv", b"question,answers\nW\x81?,x\n", (2, None, "not UTF-8: save it as UTF-8")),
    "a-number": ("q.json", b"7", (1, None, "expected {category: [questions]} or a list")),
    "a-wrong-type": ("q.jsonl", b'{"question": 7, "answers": "x"}', (1, None, "question: input should be")),
    "nul": ("q.json", b'[{"question": "a\x00", "answers": "x"}]', (1, 17, "not valid JSON: Invalid control")),
    "half-a-character": (
        "q.json",
        b'[{"question": "\\ud800", "answers": "x"}]',
        (1, None, "\\ud800 is an unpaired"),
    ),
    "nested": ("q.json", b"[" * 100_000, (1, None, "nested too deeply")),
    "ids": (
        "q.csv",
        b"id,question,answers\nq,a,x\nq,b,y\n",
        (3, None, "the id 'q' is already used at "),
    ),
    "cells": ("q.csv", b"question,answers\na,b,c\n", (2, None, "3 cells under a header of 2 columns")),
    "quote": ("q.csv", b'question,answers\n"a,b\n', (2, None, "not valid CSV: unexpected end of data")),
    "column": ("q.csv", b"question,anwers\na,b\n", (1, None, "unknown column 'anwers' (did you mean")),
    "huge-cell": (
        "q.csv",
        b"question,answers\na," + b"x" * (64 * 2**20 + 1),
        (2, None, "not valid CSV: field"),
    ),
    "empty": ("q.csv", b"", (1, None, "expected a header with the columns")),
    "no-question": ("q.json", b"[]", (None, None, "contains no questions")),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path, case: str) -> None:
    name, content, (line, column, message) = HOSTILE[case]
    (tmp_path / name).write_bytes(content)
    found = check(tmp_path / name, {}, ParsedPdfs({}, {}))
    (finding,) = found.findings
    assert (finding.code, finding.severity) == ("invalid", "error")
    assert (finding.line, finding.column) == (line, column)
    assert finding.message.startswith(message)
    assert str(tmp_path) not in finding.message.replace("(at ", "")[: len(message)]


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes(b"\xef\xbb\xbfquestion,answers,files\nHow tall?,41.5,varn.pdf\n")
    reading = ParsedPdfs({"varn.pdf": document("varn.pdf", PAGES["varn.pdf"])}, {})
    found = check(path, {"varn.pdf": Path("varn.pdf")}, reading, ignore=["few-questions"])
    assert found.findings == ()


def test_nul_in_a_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes(b"question,answers\nHow\x00 tall?,41.5\n")
    found = check(path, {}, ParsedPdfs({}, {}), ignore=["few-questions"])
    assert findings(found) == [("encoding", 2, "contains the control character U+0000: remove it")]


def test_a_rule_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no rule is called .phrase-absnt. \(did you mean .phrase-absent."):
        checked(tmp_path, GOOD, ignore=["phrase-absnt"])


def test_an_unknown_file_format_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no format of questions ends in '\.docx'"):
        check(tmp_path / "q.docx", {}, ParsedPdfs({}, {}))


def test_every_rule_is_explained(root: Path) -> None:
    page = (root / "docs" / "writing-questions.md").read_text()
    assert len(set(rule_codes())) == len(rule_codes())
    assert [code for code in rule_codes() if f"| `{code}` |" not in page] == []


def test_fathoms_rag_has_an_all_of_list_that_was_meant_as_any_of(shared: Path) -> None:
    """`[["gauss newton projection", "newton gauss projection"]]`: nobody writes both orders."""
    from fathoms.extras.questions.parsing import read_documents
    from fathoms.ingest import Pdfium
    from fathoms.runs.cache import Cache

    paper = shared / "fathoms-rag" / "papers" / "2506.04171v1.pdf"
    reading = read_documents({paper.name: paper}, Pdfium(), Cache())
    found = check(shared / "fathoms-rag" / "questions_answers.json", {paper.name: paper}, reading)
    absent = [finding for finding in found.findings if finding.code == "phrase-absent"]
    assert "'newton gauss projection' is not in '2506.04171v1.pdf'" in absent[-1].message
    assert (absent[-1].line, absent[-1].column) == (434, 47)
