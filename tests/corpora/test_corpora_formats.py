"""Question files: every format, every broken one with the place of the mistake."""

from __future__ import annotations

import csv
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.corpora import dump_fathoms_json, read_questions, write_questions
from fathoms.corpora.fathoms_json import json_rows
from fathoms.corpora.released import Notes
from fathoms.corpora.rows import questions_of
from fathoms.errors import DataError, QuestionsError, UsageError
from fathoms.types import Evidence, Nugget, Question, Quote

pytestmark = pytest.mark.slow  # many examples of every format

FULL = Question(
    id="q-1",
    text="Who built the pump?",
    category="Tables",
    files=("a.pdf", "b.pdf"),
    answers=(("Ada", "Bob"), ("both",)),
    reference="Ada and Bob did.",
    evidence=(Evidence(document="a.pdf", page=3), Evidence(document="b.pdf", quote="by Bob")),
    hops=2,
)
PLAIN = Question(id="uncategorised-01", text="Why?", category="Uncategorised", answers=(("rain",),))


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


FORMS = {
    "q.json": """{"Tables": [{"id": "q-1", "question": "Who built the pump?", "files": ["a.pdf", "b.pdf"],
        "answers": [["Ada", "Bob"], ["both"]], "reference": "Ada and Bob did.", "hops": 2, "evidence":
        [{"document": "a.pdf", "page": 3}, {"document": "b.pdf", "quote": "by Bob"}]}],
        "Uncategorised": [{"question": "Why?", "answers": "rain"}]}""",
    "list.json": """[{"id": "q-1", "text": "Who built the pump?", "files": ["a.pdf", "b.pdf"],
        "category": "Tables", "answers": [["Ada", "Bob"], "both"], "reference": "Ada and Bob did.", "hops": 2,
        "evidence": [{"document": "a.pdf", "page": 3}, {"document": "b.pdf", "quote": "by Bob"}]},
        {"question": "Why?", "answers": ["rain"], "files": null, "id": null, "notes": "mine", "_row": 7}]""",
    "q.jsonl": '{"id": "q-1", "text": "Who built the pump?", "files": ["a.pdf", "b.pdf"], '
    '"category": "Tables", '
    '"answers": [["Ada", "Bob"], ["both"]], "reference": "Ada and Bob did.", "hops": 2, "evidence": '
    '[{"document": "a.pdf", "page": 3}, {"document": "b.pdf", "quote": "by Bob"}]}\r\n'
    '\n{"question": "Why?", "answers": [["rain"]]}',
    "q.csv": "id,question,category,files,answers,reference,hops,evidence,answerable\r\n"
    "q-1,Who built the pump?,Tables,a.pdf | b.pdf,Ada & Bob | both,Ada and Bob did.,2,"
    '"[{""document"": ""a.pdf"",'
    ' ""page"": 3}, {""document"": ""b.pdf"", ""quote"": ""by Bob""}]",\r\n'
    ',Why?,,,"[[""rain""]]",,,,true\r\n,,,,,,,,\r\n',
}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte-order-mark"])
@pytest.mark.parametrize("name", FORMS)
def test_every_format_says_the_same(tmp_path: Path, name: str, mark: bytes) -> None:
    read = read_questions(write(tmp_path, name, mark + FORMS[name].encode()))
    assert read.questions == (FULL, PLAIN)
    assert read.categories == ("Tables", "Uncategorised")
    assert read.warnings == ()


def test_every_format_holds_what_the_field_needs(tmp_path: Path) -> None:
    """Gold claims, evidence by hop, candidate quotes, answers of two lengths, and free metadata."""
    rich = Question(
        id="q-1",
        text="Who built the pump?",
        category="Tables",
        reference="Ada did.",
        short_answer="Ada",
        long_answer="Ada built it in 1904.",
        reference_claims=("Ada built it.", "It was 1904."),
        evidence=(Evidence(document="a.pdf", page=3, step=1), Evidence(document="b.pdf", page=1, step=2)),
        hops=3,  # of the third hop, no gold page is known
        nuggets=(
            Nugget(question="Who?", answers=("Ada", "Ada K."), importance="vital"),
            Nugget(question="Why?"),
        ),
        quotes=(
            Quote(id="text1", text="by Ada", document="a.pdf", page=3, gold=True),
            Quote(id="image1", modality="image", description="a pump", image=Path("images/1.png")),
        ),
        metadata={"language": "en", "length": 3, "share": 0.5, "scanned": True, "source": None},
    )
    quotes = (
        '[{"id": "text1", "text": "by Ada", "document": "a.pdf", "page": 3, "gold": true}, {"id": "image1",'
        ' "modality": "image", "description": "a pump", "image": "images/1.png"}]'
    )
    nuggets = (
        '[{"question": "Who?", "answers": ["Ada", "Ada K."], "importance": "vital"}, {"question": "Why?"}]'
    )
    evidence = '[{"document": "a.pdf", "page": 3, "step": 1}, {"document": "b.pdf", "page": 1, "step": 2}]'
    metadata = '{"language": "en", "length": 3, "share": 0.5, "scanned": true, "source": null}'
    row = (
        '{"id": "q-1", "question": "Who built the pump?", "category": "Tables", "reference": "Ada did.",'
        ' "short_answer": "Ada", "long_answer": "Ada built it in 1904.", "reference_claims":'
        f' ["Ada built it.", "It was 1904."], "hops": 3, "evidence": {evidence}, "quotes": {quotes},'
        f' "nuggets": {nuggets}, "metadata": {metadata}}}'
    )
    cells = [json_cell.replace('"', '""') for json_cell in (evidence, quotes, metadata, nuggets)]
    table = (
        "id,question,category,reference,short_answer,long_answer,reference_claims,hops,evidence,quotes,metadata,"
        "nuggets\n"
        "q-1,Who built the pump?,Tables,Ada did.,Ada,Ada built it in 1904.,Ada built it. | It was 1904.,3,"
        + ",".join(f'"{cell}"' for cell in cells)
    )
    for name, text in (("q.json", f"[{row}]"), ("q.jsonl", row), ("q.csv", table)):
        (question,) = read_questions(write(tmp_path, name, text)).questions
        assert question == rich, name
        assert question.metadata["scanned"] is True  # and not the number 1, which is equal to it


@pytest.mark.parametrize("key", ["reference", "short_answer", "long_answer", "reference_claims"])
def test_a_gold_text_replaces_the_phrases(tmp_path: Path, key: str) -> None:
    (question,) = read_questions(
        write(tmp_path, "q.jsonl", json.dumps({"question": "?", key: "Rain."}))
    ).questions
    assert (question.answers, question.answerable) == ((), True)


def test_only_question_and_answers_are_needed(tmp_path: Path) -> None:
    path = write(tmp_path, "q.csv", "text,answers\nWhy?,rain\n")
    assert read_questions(path).questions == (PLAIN,)


def test_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = write(tmp_path, "q.jsonl", '{"question":"Why?","answers":"rain"}\n')
    # printf '{"question":"Why?","answers":"rain"}\n' | sha256sum
    assert read_questions(path).sha256 == "646f59afb0076f88f33ecacd3f0efa39023b0f87e50c2492104f08928c7cf08c"


def test_text_is_kept_character_by_character(tmp_path: Path) -> None:
    odd = "  e\u0301 \u2028 \u00a0-A "
    path = write(tmp_path, "q.jsonl", json.dumps({"question": odd, "answers": odd}, ensure_ascii=False))
    (question,) = read_questions(path).questions
    assert (question.text, question.answers) == (odd, ((odd,),))


@pytest.mark.parametrize("name", ["q.json", "q.jsonl", "q.csv"])
def test_a_question_of_a_megabyte(tmp_path: Path, name: str) -> None:
    text = "why, " * 250_000
    path = tmp_path / name
    if name == "q.csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["question", "answers"], [text, "rain"]])
    else:
        row = {"question": text, "answers": "rain"}
        path.write_text(json.dumps([row] if name == "q.json" else row))
    assert read_questions(path).questions[0].text == text
    assert csv.field_size_limit() == 131_072, "the limit of the process is as it was"


def test_csv_plain_answers_against_json_ones(tmp_path: Path) -> None:
    rows = ["question,answers", "a,R&D | x|y", 'b,"[[""R & D""], [""x | y""]]"', "c,one & two"]
    read = read_questions(write(tmp_path, "q.csv", "\n".join(rows)))
    assert [q.answers for q in read.questions] == [
        (("R&D",), ("x|y",)),
        (("R & D",), ("x | y",)),
        (("one", "two"),),
    ]


def test_empty_variants_are_skipped_with_a_warning(tmp_path: Path) -> None:
    rows = '{"question": "Why?", "answers": [[], ["rain"], ["", "snow"], [" "]]}'
    read = read_questions(write(tmp_path, "q.jsonl", rows))
    assert read.questions[0].answers == (("rain",), ("snow",))
    assert [warning.split(": ")[1] for warning in read.warnings] == [
        "variant 1 of the answers is empty, skipped",
        "variant 3 of the answers has an empty phrase, skipped",
        "variant 4 of the answers is empty, skipped",
    ]
    assert read.warnings[0].startswith(f"{tmp_path / 'q.jsonl'}:1: ")


def test_an_unanswerable_question_needs_no_answers(tmp_path: Path) -> None:
    path = write(tmp_path, "q.csv", "question,answers,answerable\nWhy?,,false\n")
    (question,) = read_questions(path).questions
    assert (question.answerable, question.answers) == (False, ())


def row(**changes: object) -> str:
    return json.dumps({"question": "Why?", "answers": [["rain"]]} | changes)


BROKEN = {
    "syntax": ("q.json", '{"Tables": [\n  {"question" "x"}]}', ":2:15: not valid JSON: Expecting ':'"),
    "syntax-in-a-line": ("q.jsonl", row() + '\n{"question": }', ":2:14: not valid JSON: Expecting value"),
    "cut-off": ("q.json", '{"Tables": [\n', ":2:1: not valid JSON: Expecting value"),
    "a-number": ("q.json", "3", ":1: expected {category: [questions]} or a list"),
    "a-list-in-a-line": ("q.jsonl", row() + "\n[1]", ":2: a line has to be an object"),
    "nan": ("q.jsonl", '{"question": NaN}', ":1: not valid JSON: NaN"),
    "too-deep": ("q.json", "[" * 100_000, ":1: nested too deeply"),
    "huge-number": ("q.jsonl", '{"hops": ' + "9" * 5000 + "}", ":1: a number of 5000 characters is too long"),
    "key-twice": ("q.json", '{"Tables": [], "Tables": []}', ":1: the key 'Tables' occurs twice"),
    "category-no-list": ("q.json", '{"Tables": {}}', ": 'Tables' has to be a list of questions"),
    "entry-no-object": ("q.json", '{"Tables": ["Why?"]}', ": 'Tables', entry 1 is not an object"),
    "category-in-category": (
        "q.json",
        '{"Tables":\n [' + row(category="Images") + "]}",
        ":2: category 'Images' is listed under 'Tables'",
    ),
    "unknown-key": (
        "q.json",
        "[" + row() + ",\n" + row(anwser="x") + "]",
        ":2: unknown key 'anwser' (did you mean",
    ),
    "no-question": ("q.jsonl", '\n\n{"answers": "x"}', ":3: 'question' is missing"),
    "empty-question": ("q.jsonl", row(question=" \t"), ":1: question: is empty"),
    "question-no-text": (
        "q.jsonl",
        row(question=3),
        ":1: question: input should be a valid string (this is 3)",
    ),
    "half-a-character": ("q.jsonl", row(question="\ud83d"), r":1: \ud83d is an unpaired surrogate"),
    "no-answers": (
        "q.jsonl",
        '{"question": "Why?"}',
        ":1: 'answers' is missing (a question without one needs a 'reference', 'answerable: false',"
        " or 'evidence', which is enough to measure retrieval)",
    ),
    "only-empty-answers": ("q.jsonl", row(answers=[[""], []]), ":1: 'answers' contains no phrase"),
    "answer-no-text": (
        "q.jsonl",
        row(answers=[["x", None]]),
        ":1:40: answers.0.1: input should be a valid string",
    ),
    "empty-category": ("q.jsonl", row(category=""), ":1: category: is empty"),
    "empty-id": ("q.jsonl", row(id=" "), ":1: id: is empty"),
    "id-twice": ("q.jsonl", row(id="x") + "\n" + row(id="x"), ":2: the id 'x' is already used at "),
    "a-path-as-file": (
        "q.jsonl",
        row(files=["../a.pdf"]),
        ":1: files: '../a.pdf' is not the name of a file, or its path below the folder of the documents",
    ),
    "file-twice": ("q.jsonl", row(files=["a.pdf", "a.pdf"]), ":1: files: the same file is listed twice"),
    "page-zero": (
        "q.jsonl",
        row(evidence=[{"document": "a.pdf", "page": 0}]),
        ":1: evidence.0.page: input should be greater than or equal to 1",
    ),
    "evidence-nowhere": (
        "q.jsonl",
        row(evidence=[{"document": "a.pdf"}]),
        "evidence needs a 'page' or a 'quote'",
    ),
    "evidence-key": (
        "q.jsonl",
        row(evidence=[{"document": "a.pdf", "pge": 1}]),
        ":1: unknown key 'pge' (did you mean 'page'?)",
    ),
    "evidence-elsewhere": (
        "q.jsonl",
        row(files="paper-a.pdf", evidence=[{"document": "paper-b.pdf", "page": 1}]),
        "evidence in 'paper-b.pdf', which is not in 'files' (did you mean 'paper-a.pdf'?)",
    ),
    "step-beyond-hops": (
        "q.jsonl",
        row(hops=2, evidence=[{"document": "a.pdf", "page": 1, "step": 3}]),
        "evidence of step 3, but 'hops' is 2",
    ),
    "claim-empty": (
        "q.jsonl",
        row(reference_claims=["x", " "]),
        "reference_claims: one of the claims is empty",
    ),
    "nugget-key": (
        "q.jsonl",
        row(nuggets=[{"question": "Who?", "answer": "Ada"}]),
        "unknown key 'answer'",
    ),
    "nugget-answer-empty": (
        "q.jsonl",
        '{"question": "?", "nuggets": [{"question": "Who?", "answers": [" "]}]}',
        "q.jsonl:1:63: nuggets.0.answers: one of the answers is empty; a nugget that has no answer",
    ),
    "nugget-importance": (
        "q.json",
        '[{"question": "?", "nuggets": [{"question": "Who?",\n  "importance": "high"}]}]',
        "q.json:2:17: nuggets.0.importance: ",
    ),
    "nugget-twice": (
        "q.jsonl",
        row(nuggets=[{"question": "Who?"}, {"question": "Who? "}]),
        "nuggets: 2 nuggets ask 'Who?'",
    ),
    "csv-nuggets": ("q.csv", "question,nuggets\nWhy?,rain\n", ":2: nuggets: not valid JSON: "),
    "quote-twice": (
        "q.jsonl",
        row(quotes=[{"id": "text1", "text": "x"}, {"id": "text1", "text": "y"}]),
        "quotes: 2 quotes have the id 'text1'",
    ),
    "quote-says-nothing": (
        "q.jsonl",
        row(quotes=[{"id": "text1", "text": " "}]),
        "the quote 'text1' needs a 'text', a 'description' or an 'image'",
    ),
    "quote-elsewhere": (
        "q.jsonl",
        row(quotes=[{"id": "image1", "image": "../../secret.png"}]),
        "the image of the quote 'image1' has to be a path inside the folder of the question file",
    ),
    **{
        f"quote-image-{name}": (
            "q.jsonl",
            row(quotes=[{"id": "image1", "image": image}]),
            ":1: quotes.0: the path of the image of the quote 'image1' names no file",
        )
        for name, image in (("empty", ""), ("folder", "."))
    },
    "quote-key": ("q.jsonl", row(quotes=[{"id": "image1", "img": "a.png"}]), ":1: unknown key 'img'"),
    "metadata-list": (
        "q.jsonl",
        row(metadata={"tags": ["a"]}),
        "metadata: 'tags' holds a list: write it as a",
    ),
    "metadata-no-object": ("q.jsonl", row(metadata="en"), ":1: metadata: input should be a valid dictionary"),
    "metadata-key": ("q.jsonl", row(metadata={" ": 1}), ":1: metadata: is empty"),
    "csv-metadata": ("q.csv", "question,answers,metadata\nWhy?,rain,en\n", ":2: metadata: not valid JSON: "),
    "hops-zero": ("q.jsonl", row(hops=0), ":1: hops: input should be greater than or equal to 1"),
    "answerable-maybe": (
        "q.jsonl",
        row(answerable="maybe"),
        ":1: answerable: input should be a valid boolean",
    ),
    "empty-file": ("q.jsonl", "\n", ": contains no questions"),
    "empty-csv": ("q.csv", "", ":1: expected a header"),
    "header-alone": ("q.csv", "question,answers\n", ": contains no questions"),
    "column": ("q.csv", "qestion,answers\n", ":1: unknown column 'qestion' (did you mean 'question'?)"),
    "document": (
        "q.csv",
        "question,answers,document\n",
        "unknown column 'document' (did you mean 'files', or 'evidence' with NAME.pdf:PAGE?)",
    ),
    "colons": ("q.csv", "question:answers\nWhy?:rain\n", ":1: unknown column 'question:answers'"),
    "column-twice": ("q.csv", "question,answers,answers\n", ":1: the column 'answers' appears twice"),
    "cells": ("q.csv", 'question,answers\n"a\nb",x\nWhy?,rain, or snow\n', ":4: 3 cells under a header of 2"),
    "quotes": ("q.csv", 'question,answers\nWhy?,"rain\n', ":2: not valid CSV: unexpected end of data"),
    "csv-json": ("q.csv", "question,answers\nWhy?,[rain]\n", ":2: answers: not valid JSON: Expecting value"),
    "csv-hops": (
        "q.csv",
        "question,answers,hops\nWhy?,rain,two\n",
        ":2: hops: input should be a valid integer",
    ),
    "latin-1": ("q.jsonl", row().encode() + b'\n{"question": "\xe9"}', ":2: not UTF-8: save it as UTF-8"),
    "utf-16": ("q.jsonl", "question,answers".encode("utf-16"), ":1: not UTF-8 (it is UTF-16)"),
    "utf-16-cut": ("q.csv", "question,answers".encode("utf-16")[:-1], ": not valid UTF-16"),
    "evidence-page": (
        "q.csv",
        "question,answers,evidence\nWhy?,rain,a.pdf\n",
        ":2: evidence: 'a.pdf' names no page: write NAME.pdf:PAGE",
    ),
    "two-cells": (
        "q.csv",
        "question,answers,evidence,metadata\nWhy?,rain,a.pdf,{\nHow?,rain,b.pdf:0,\n",
        "q.csv:2: metadata: not valid JSON: Expecting property name enclosed in double quotes (at character 2"
        " of the cell)\n",
    ),
    "suffix": ("q.jsn", "", ": no format of questions ends in '.jsn' (did you mean '.json'?)"),
}


@pytest.mark.parametrize(("name", "text", "complaint"), BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, name: str, text: str | bytes, complaint: str
) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(DataError) as caught:
        read_questions(path)
    assert str(caught.value).startswith(f"{path}:")
    assert complaint in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.json: question file not found$"):
        read_questions(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(DataError, match=r"folder\.json: cannot be read: Is a directory$"):
        read_questions(tmp_path / "folder.json")


def test_all_mistakes_are_listed_up_to_ten(tmp_path: Path) -> None:
    path = write(tmp_path, "q.jsonl", "\n".join([row(), *[row(question="")] * 12]))
    with pytest.raises(DataError) as caught:
        read_questions(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{path}:2: question: is empty (this is '')"
    assert lines[-1] == "... and 2 more"
    assert len(lines) == 11


phrases = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
labels = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=200).filter(str.strip)
names = st.from_regex(r"[a-z]{1,8}\.pdf", fullmatch=True)


@st.composite
def questions(draw: st.DrawFn) -> list[Question]:
    """Questions with ids, grouped by category as the FATHOMS format groups them."""
    result = []
    for category in draw(st.lists(labels, unique=True, min_size=1, max_size=3)):
        for _ in range(draw(st.integers(1, 3))):
            files = draw(st.lists(names, unique=True, max_size=2))
            page = st.builds(Evidence, document=st.sampled_from(files or ["x.pdf"]), page=st.integers(1, 99))
            variants = st.lists(st.lists(phrases, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3)
            result.append(
                Question(
                    id=f"q{len(result)}",
                    text=draw(phrases),
                    category=category,
                    files=tuple(files),
                    answers=tuple(draw(variants)),
                    reference=draw(st.none() | st.text(st.characters(exclude_categories=["Cs"]))),
                    evidence=tuple(draw(st.lists(page, max_size=2))),
                    hops=draw(st.none() | st.integers(1, 5)),
                    answerable=draw(st.booleans()),
                )
            )
    return result


@given(questions())
def test_writing_and_reading_gives_the_same_questions(some_questions: list[Question]) -> None:
    read, warnings = questions_of(json_rows(dump_fathoms_json(some_questions), "q.json", Notes()))
    assert list(read) == some_questions
    assert warnings == ()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (
            "q.csv",
            'question;answers;evidence\nWo?;süß | salzig;a.pdf:7\nWie?;3;"a.pdf:7; b.pdf:9"\n'.encode(),
        ),
        (
            "q.csv",
            'question;answers;evidence\nWo?;süß | salzig;a.pdf:7\nWie?;3;"a.pdf:7; b.pdf:9"\n'.encode(
                "utf-16"
            ),
        ),
        (
            "q.tsv",
            "question\tanswers\tevidence\nWo?\tsüß | salzig\ta.pdf:7\nWie?\t3\ta.pdf:7;b.pdf:9\n".encode(
                "utf-8-sig"
            ),
        ),
        (
            "q.csv",
            "question,answers,evidence\nWo?,süß | salzig,a.pdf:7\nWie?,3,a.pdf:7 | b.pdf : 9\n".encode(
                "cp1252"
            ),
        ),
    ],
    ids=["semicolons", "utf-16", "tabs-and-bom", "cp1252"],
)
def test_tables_as_spreadsheets_save_them(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    found = read_questions(tmp_path / name)
    where, how = found.questions
    assert where.answers == (("süß",), ("salzig",))
    assert [(each.document, each.page) for each in how.evidence] == [("a.pdf", 7), ("b.pdf", 9)]
    guessed = data.startswith(b"question,")
    assert [("Windows-1252" in warning) for warning in found.warnings] == [True] * guessed


@pytest.mark.parametrize(
    "cells",
    [
        "red | green | blue,B",
        "A: red | B: green | C: blue,B",
        "3. blue | 2) green | 1: red,2",
        '"[""red"", ""green"", ""blue""]",B',
        '"{""x"": ""red"", ""y"": ""green""}",y',
    ],
)
def test_options_in_a_table(tmp_path: Path, cells: str) -> None:
    """Multiple choice becomes open-ended by its right option, and survives any format with its options."""
    file = tmp_path / "q.csv"
    file.write_text(f"question,options,right\nWhich?,{cells}\n")
    questions = read_questions(file).questions
    assert [(one.answers, one.short_answer) for one in questions] == [((("green",),), "green")]
    assert "green" in str(questions[0].metadata["options"])
    assert questions[0].metadata["right"] == cells.rpartition(",")[2]
    for name in ("again.csv", "again.json", "again.jsonl"):
        write_questions(tmp_path / name, questions)
        assert read_questions(tmp_path / name).questions == questions


def test_a_right_option_that_is_none_is_said_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "q.csv"
    file.write_text("question,options,right\nWhich?,red | green,C\n")
    with pytest.raises(QuestionsError, match=r"q.csv:2: right: 'C' is none of the options \(available: A, B"):
        read_questions(file)
    file.write_text("question,options,right\nWhich?,red | green,\n")
    with pytest.raises(QuestionsError, match=r"q.csv:2: right: missing: name the right one of .* A, B$"):
        read_questions(file)
    file.write_text("question,options,right\nWhich?,A: red | B: green | A: blue,A\n")
    with pytest.raises(QuestionsError, match=r"q.csv:2: options: two options have the same name"):
        read_questions(file)


def test_a_short_question_takes_little_memory(tmp_path: Path) -> None:
    """100,000 of them stay in memory while answers are imported: less than 1.5 kB each, of about 1.8 kB where
    each had a set of the names of its fields."""
    path = tmp_path / "many.jsonl"
    rows = ({"question": f"How high is tower {at}?", "answers": [str(at)]} for at in range(300))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read_questions(path)  # completes the classes
    tracemalloc.start()
    try:
        found = read_questions(path)
        assert tracemalloc.get_traced_memory()[0] / len(found.questions) < 1_500
    finally:
        tracemalloc.stop()
    assert found.questions[299].model_fields_set == set(Question.model_fields)
