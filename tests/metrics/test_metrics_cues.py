"""Abstention by cues: how people and models say that they cannot answer, and what only looks like it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fathoms.config import Source, validate
from fathoms.metrics.clause_readings import read_clauses
from fathoms.metrics.clauses import Clause, split_clauses
from fathoms.metrics.cues import Cues
from fathoms.metrics.nearest_neighbour import NearestNeighbour
from fathoms.metrics.score_records import Scoring, score
from fathoms.models import OnnxEmbedder
from fathoms.types import Question, Record, Reply

SILENT = [
    "The provided excerpt does not contain the tonnage of the second ship.",
    "Based on the provided context, it is not possible to determine the year of construction.",
    "There is no information in the given text about the number of turbines.",
    "There's nothing in these minutes about a vote on the budget.",
    "Unfortunately, the text does not specify the depth of the harbour.",
    "The exact number of pumps is not explicitly stated.",
    "The portion that was lost is not quantified.",
    "Neither of the excerpts mentions the crew size.",
    "Nowhere in the paper is the batch size stated.",
    "No mention of a second crane is made in the report.",
    "I don't have access to the figure, so I can't say which colour the line has.",
    "As I only have the abstract, I cannot answer this.",
    "I've looked through the paper carefully, and I don't see any figure labelled 12.",
    "Looking at the provided paper, I cannot find a Table 9. The paper has only 6 tables.",
    "To answer this, I would need more information about the test set-up.",
    "More details would be required to answer this question.",
    "It's unclear from the context which of the two valves was replaced.",
    "Without access to Figure 4, it is impossible to say what replaces the token.",
    "The query is about a ship, but the context is about bridges. Therefore, I cannot answer the query.",
    "The document isn's clear about the depth, and the depth is not specified in the text.",
    "I\u2019m sorry, but the excerpts you provided don\u2019t contain the numeric value.",
    "**Answer:** The document does not specify this.",
    "### Answer\n\nThe provided context does not describe how the tiles are glazed.",
    "The answer is: not given in the document.",
    "n/a",
    "Unknown.",
    "Information not found.",
    "I do not know.",
]
SILENT_AT_LENGTH = [
    "The document does not state how deep the harbour is. It describes the cranes, the railway and the "
    "lighthouse, and it mentions that the mole was built in 1911.",
    "The provided text does not contain Figure 7 or a description of it. It covers:\n\n1. The history of the "
    "port\n2. The cranes\n3. The railway\n4. The lighthouse\n5. The mole\n\nIf you can share the figure, I "
    "can help further.",
    "According to the document, the survey took place in spring. However, the document does not state the "
    "exact number of participants.",
    "While the report describes the pumps in detail, it does not say how fast the third one is.",
    "The excerpt describes the harbour and gives no depth.",
    "The method sorts the stones by size, but the text does not state by what. It mentions a sieve, but its "
    "mesh is not specified.",
    "The harbour has three cranes. The mole was built in 1911. Therefore, it is not possible to give the "
    "depth based on the provided text.",
]
STATED = [
    "No",
    "no.",
    "1",
    "None",
    "0",
    "7.0%",
    "False. The text does not mention a fifth pier.",
    "No, the method does not use dropout.",
    "None of the models uses dropout.",
    "There is no difference between the two groups.",
    "There is no significant drop in accuracy when the images are removed.",
    "No datasets were used; the model starts from random weights.",
    "No side effects were reported.",
    "The method does not use dropout.",
    "The valves are not sold in the larger size.",
    "The decoder does not have access to future tokens.",
    "The system is unable to process tables without lines.",
    "The results do not show any improvement over the baseline.",
    "They are excluded because current models cannot process sound.",
    "A vector of zeros is used when the image is not available.",
    "Records whose date is unknown were dropped.",
    "They removed questions that cannot be answered from the text.",
    "The authors say that the cause of the leak could not be determined.",
    'The label on the third valve reads "not stated".',
    'The survey\'s third answer was "the document does not say", chosen by 14 % of the respondents.',
    'The model answers "I don\'t know" when the context lacks the answer.',
    "Multimodal input is needed: without it the model cannot find the objects.",
    "encoder, decoder, memory",
]
STATED_WITH_A_GRAIN_OF_SALT = [
    "The harbour is 12 m deep. The report does not provide further details.",
    "The harbour is 12 m deep, although the report does not say when this was measured.",
    "While the exact figure is not stated, the chart suggests about 310 boxes.",
    "4.2 (the paper does not report a standard deviation)",
    "The text does not name the engineer, but it can be inferred from the signature that it was Brandt.",
    "The document does not explicitly state the depth. However, the drawing has the floor at -12 m. "
    "Therefore, the depth is 12 m.",
    "The report does not mention the club. However, it mentions a rowing club.\n\nSo, the answer is: RC.",
    "Here's what the report says about the mole:\n\n* It is 300 m long.\n* It was built in 1911.\n* It is "
    "not open to visitors.\n\nThe report does not mention who built it.",
    "# Pumps\n\nThe station has three pumps:\n1. **North** - 40 l/s\n2. **South** - 38 l/s\n3. **Reserve** - "
    "not specified\n\nLet me know if you need more information!",
]
REFUSED = [
    "I'm sorry, but I can't assist with that request.",
    "I can't help with identifying the person in this image.",
    "I must decline to answer, as this would violate my safety guidelines.",
    "I won't generate harmful content.",
    "Dabei kann ich Ihnen nicht helfen, ich kann nicht helfen.",
    "No puedo ayudar con eso.",
]
NOTHING = [
    "",
    " \n",
    "Empty Response",
    "**",
    "Error: request timed out after 300 s",
    "Error code: 429 - rate limit reached",
]
OTHER_LANGUAGES = [
    "Das Dokument enthält keine Angaben zur Länge der Brücke.",
    "Aus dem Text geht nicht hervor, wie tief der Hafen ist.",
    "Ich kann diese Frage anhand des Kontexts nicht beantworten.",
    "Le document ne précise pas la profondeur du port.",
    "Aucune information n'est donnée sur le nombre de grues.",
    "Désolé, je ne trouve pas la réponse dans le texte.",
    "El documento no menciona la profundidad del puerto.",
    "No hay información sobre el número de grúas en el texto.",
    "Lo siento, pero el contexto no especifica el año.",
    "文档中没有提到港口的深度。",
    "根据提供的信息,无法确定桥的长度。",
    "我不知道。",
]
STATED_IN_OTHER_LANGUAGES = [
    "Das Verfahren verwendet keine Bilder.",
    "Nein.",
    "La méthode n'utilise pas d'images.",
    "No, el método no utiliza imágenes.",
    "该方法不使用图像。",
    "没有。",
]


ANSWERS = yaml.safe_load(Path(__file__).with_name("abstention_answers.yaml").read_text(encoding="utf-8"))
BY_STRUCTURE = [
    pytest.param(text, expected, id=f"{expected}-{structure}-{number}")
    for expected in ("abstention", "statement")
    for structure, texts in ANSWERS[expected].items()
    for number, text in enumerate(texts, 1)
]
STILL_WRONG = [(text, expected) for expected, texts in ANSWERS["still wrong"].items() for text in texts]


def label(text: str) -> str:
    return Cues().classify([text])[0].label


@pytest.mark.parametrize("text", [*SILENT, *SILENT_AT_LENGTH, *OTHER_LANGUAGES])
def test_abstentions(text: str) -> None:
    assert label(text) == "abstention"


@pytest.mark.parametrize("text", [*STATED, *STATED_WITH_A_GRAIN_OF_SALT, *STATED_IN_OTHER_LANGUAGES])
def test_statements(text: str) -> None:
    assert label(text) == "statement"


@pytest.mark.parametrize(("text", "expected"), BY_STRUCTURE)
def test_answers_by_structure(text: str, expected: str) -> None:
    assert (label(text) == "statement") == (expected == "statement")


@pytest.mark.xfail(strict=True, reason="known errors: a mended one moves to its structure")
@pytest.mark.parametrize(("text", "expected"), STILL_WRONG)
def test_answers_that_are_still_told_wrongly(text: str, expected: str) -> None:
    assert (label(text) == "statement") == (expected == "statement")


@pytest.mark.parametrize("text", REFUSED)
def test_refusals_are_of_their_own_kind(text: str) -> None:
    assert label(text) == "refusal"


def test_what_cannot_be_told_from_the_source_is_no_refusal() -> None:
    assert label("I can't help with that, because the document does not say.") == "abstention"


@pytest.mark.parametrize("text", NOTHING)
def test_no_text_and_the_text_of_a_failure_are_empty(text: str) -> None:
    assert label(text) == "empty"


def test_a_long_answer_is_a_statement() -> None:
    steps = "\n".join(f"{n}. **Step {n}:** the valve is turned by {n} degrees." for n in range(1, 400))
    assert label(f"## Procedure\n\n{steps}\n\nThe manual does not say who does it.") == "statement"


def test_clauses() -> None:
    text = (
        "**Sure!** While the text is old, it names \u201ca very long quotation\u201d, a place"
        " (as far as one can see in it) but no date."
    )
    assert split_clauses(text) == [
        Clause("sure"),
        Clause("while the text is old", conceded=True),
        Clause('it names "quote", a place', contrasted=True),
        Clause("no date", contrasted=True),
        Clause("as far as one can see in it", conceded=True),
    ]


def test_kinds_of_clauses() -> None:
    text = (
        "Based on the document, the depth is not specified. It only mentions the cranes. "
        "So the answer is 12 m. Let me know if you need more."
    )
    assert [reading.kind for reading in read_clauses(text)] == ["abstains", "talk", "commits", "talk"]


def test_a_verdict_names_the_clause_and_the_cue() -> None:
    verdict = Cues().classify(["Cranes are old. The report does not say how old.\nIt gives no year."])[0]
    assert (verdict.label, verdict.premise) == ("abstention", "it gives no year")
    assert verdict.why == "cue: it gives no"
    overruled = Cues().classify(["The text does not say it. So the answer is 12."])[0]
    assert (overruled.premise, overruled.why) == ("so the answer is 12", "answers after all")
    first = Cues().classify(["It is 12 m deep. The text does not say when this was measured."])[0]
    assert (first.label, first.premise, first.why) == ("statement", "it is 12 m deep", "answers first")


def test_undecided_clauses_go_to_the_nearest_exemplar(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("statement: [The wall is red.]\nabstention: [The wall does not reveal its age.]\n")
    text = "The wall does not reveal its secret."
    verdict = Cues(exemplars=own).classify([text])[0]
    assert verdict.label == "abstention"
    assert str(verdict.why).startswith("cue: like 'The wall does not reveal its age.' (cosine 0.")
    assert Cues(exemplars=own, least_cosine=0.99).classify([text])[0].label == "statement"


def test_clear_clauses_need_no_embedder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))  # no weights here
    verdicts = Cues(embed=OnnxEmbedder()).classify([*SILENT[:6], "12 m"])
    assert [verdict.label for verdict in verdicts] == ["abstention"] * 6 + ["statement"]


def test_the_key_depends_on_every_option_of_the_classifier(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("statement: [a]\nabstention: [b]\n")
    keys = {Cues().key, Cues(least_cosine=0.6).key, Cues(exemplars=own).key, NearestNeighbour().key}
    assert len(keys) == 4
    assert Cues().key == Cues().key


def test_an_option_of_cues_alone_names_the_kind() -> None:
    given_options = validate(Scoring, Source("x", {"abstention": {"least_cosine": 0.7}}))
    assert given_options.abstention == Cues(least_cosine=0.7)
    other = validate(Scoring, Source("x", {"abstention": {"kind": "nearest-neighbour", "unit": "answer"}}))
    assert other.abstention == NearestNeighbour(unit="answer")


def test_a_refusal_in_words_is_neither_abstention_nor_hallucination() -> None:
    question = Question(id="q", text="?", category="A", answers=(("x",),))
    record = Record(question=question, answer=Reply(text=REFUSED[0]))
    row = score([record], Scoring(abstention=Cues())).rows[0]["fathoms"]
    assert (row.abstention, row.abstained, row.hallucination) == ("refusal", None, 0)
    assert row.why is not None
    assert row.why.clause == "i can't assist with that request"


@given(st.text(max_size=300))
def test_any_text_has_a_label_and_the_same_again(text: str) -> None:
    first, second = Cues().classify([text, text])
    assert first == second
    assert first.label in ("statement", "abstention", "refusal", "empty")


@pytest.mark.parametrize("text", ["not " * 20_000, "the text " * 20_000, "(" * 50_000, '"a' * 50_000])
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    assert label(text) in ("statement", "empty")
    assert time.process_time() - start < 2


def test_labels_agree_with_people(shared: Path) -> None:
    # incorrect answers that both annotators labelled alike; the released flags reach 0.77 and 0.60 on them
    lines = (shared / "abstention" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["correctness"] != 1]
    rows = [row for row in rows if row["label"] in ("statement", "abstention")]
    assert len(rows) == 172
    verdicts = Cues().classify([row["answer"] for row in rows])
    wrong = [row["id"] for row, said in zip(rows, verdicts, strict=True) if said.label != row["label"]]
    assert len(wrong) <= 3, wrong


def test_released_exemplars_are_told_apart(shared: Path) -> None:
    path = shared / "fathoms-rag" / "statement_abstention_training.json"
    for expected, texts in json.loads(path.read_text(encoding="utf-8")).items():
        said = [verdict.label for verdict in Cues().classify(texts)]
        assert {label == "statement" for label in said} == {expected == "statement"}
