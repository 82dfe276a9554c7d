"""Abstention by learnt weights: what decides, on whose answers it is right, and what the weights are."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fathoms.answers import read
from fathoms.errors import DataError
from fathoms.metrics.agreement import agree, read_labels
from fathoms.metrics.classifying import classify_together
from fathoms.metrics.cues import Cues
from fathoms.metrics.labels import ABSTAINS, Label, classified_text
from fathoms.metrics.linear import WEIGHTS, WEIGHTS_SHA256, Linear
from fathoms.metrics.linear_weights import read_weights
from fathoms.metrics.score_records import Scoring, score
from fathoms.types import Question, Record, Reply

LANGUAGES = yaml.safe_load(Path(__file__).with_name("abstention_languages.yaml").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_several_processes_give_the_same_verdicts() -> None:
    texts = ["It is 42 crowns.", "The document does not say.", "I cannot tell.", "", "On page 3: 7 mm."]
    assert classify_together(WEIGHTS, WEIGHTS_SHA256, texts, worth=2) == Linear().classify(texts)
    assert Linear().classify([]) == []


def label(text: str) -> str:
    return Linear().classify([text])[0].label


@pytest.mark.parametrize(
    "text",
    [
        "To analyze the changes in staffing, we need to look at the table. Staff grew from 12 to 19.",
        "The committee did not approve the plan.",
        "No, passengers without a ticket cannot board the ferry.",
        "The harbour is 12 m deep, although the report does not say when this was measured.",
        "Most respondents (61%) say that they do not know enough about the topic.",
        "12",
        "None",
        "Yes.",
        "No.",
    ],
)
def test_negations_about_the_subject_are_statements(text: str) -> None:
    assert label(text) == "statement"


def test_an_abstention_in_the_last_paragraph_decides() -> None:
    answer = (
        "The brochure describes the three ferries of the company. The first was built in 1998 and carries 40"
        " cars. The second was rebuilt in 2011 [3].\n\n![The second ferry](image4)\n\nThe third ferry is"
        " shown at the pier in Lund.\n\nHowever, the brochure does not state how many passengers the third"
        " ferry carries. Therefore, based on the provided information, it is not possible to determine its"
        " capacity."
    )
    (verdict,) = Linear().classify([answer])
    assert verdict.label == "abstention"
    assert verdict.premise.startswith("therefore, based on the provided information, it is not possible")
    why = Linear().explain(verdict)
    assert why.clause == verdict.premise
    assert (why.reason or "").startswith("sentence 6 of 6, probability 0.")


@pytest.mark.parametrize(
    "text", ["I'm sorry, but I can't assist with that request.", "No puedo ayudar con eso."]
)
def test_refusals_are_of_their_own_kind(text: str) -> None:
    assert label(text) == "refusal"


@pytest.mark.parametrize(
    "text",
    [
        "Which of the two pumps do you have?",
        "The folder holds two leases, one for each flat. Which flat are you asking about?",
        "Could you tell me which year you mean?",
        "De quel rapport parlez-vous ?",
    ],
)
def test_a_question_back_is_of_its_own_kind(text: str) -> None:
    assert label(text) == "asks-back"


@pytest.mark.parametrize(
    "text",
    [
        "The weight is 41 kg. Which unit would you like?",
        "Who pays? The tenant does.",
        "Could you mean the 2012 report? It gives 41 crowns.",
        "The first line of the play is 'Who is there?', and the guard says it.",
        'A prompt made from this pattern would be: "{page} What is the height of the tower?"',
        'The last thing she asks him is "Will you come back?"',
    ],
)
def test_an_answer_beside_a_question_is_a_statement(text: str) -> None:
    assert label(text) == "statement"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is not clear whether the lift may be used.", "abstention"),
        ("The passages do not settle which of the two came first.", "abstention"),
        ("I cannot answer that.", "abstention"),
        ("I'm sorry, but I am unable to answer this question.", "abstention"),
        ("I cannot help with that.", "refusal"),
        ("No, you cannot bring a dog.", "statement"),
        ("There is no character named Osric in the first act.", "statement"),
        ("Sorry, that was wrong: the bridge is 41.5 m long.", "statement"),
        ("The rules do not require a second key.", "statement"),
        ("False. The report does not mention a second ferry.", "statement"),
        ("It is not mentioned as a cause, but as a result.", "statement"),
        ("The set with the most documents is CORD, with 2,450 documents.", "statement"),
    ],
)
def test_the_words_of_an_abstention_or_its_contrary(text: str, expected: str) -> None:
    assert label(text) == expected


@pytest.mark.parametrize("text", ["Empty Response", "...", "Error 503: the server timed out"])
def test_the_text_of_a_failure_is_empty(text: str) -> None:
    assert label(text) == "empty"


def test_it_is_the_default_and_a_kind_need_not_be_named() -> None:
    assert Scoring().abstention == Linear()
    assert Scoring.model_validate({"abstention": {}}).abstention == Linear()
    assert Scoring.model_validate({"abstention": {"kind": "cues"}}).abstention == Cues()


def test_the_other_profiles_keep_the_rule_of_the_paper() -> None:
    question = Question(id="q", text="?", category="A", answers=(("x",),))
    records = [Record(question=question, answer=Reply(text="The report does not state the depth."))]
    by_weights = score(records, Scoring()).rows[0]
    by_cues = score(records, Scoring(abstention=Cues())).rows[0]
    assert by_weights["paper-by-words"] == by_cues["paper-by-words"]
    assert by_weights["fathoms"].abstention == "abstention"


def test_other_weights_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "linear.npz"
    other.write_bytes(WEIGHTS.read_bytes() + b" ")
    with pytest.raises(DataError, match="not the file that belongs to this version"):
        read_weights(other, WEIGHTS_SHA256)


def test_the_weights_are_small_and_hold_no_text_but_words(tmp_path: Path) -> None:
    assert WEIGHTS.stat().st_size < 350_000
    with np.load(WEIGHTS, allow_pickle=False) as data:
        words = json.loads(bytes(data["words"]).decode())
        assert set(data.files) == {
            "words",
            "sentences",
            "step",
            "bias",
            "answers",
            "known",
            "ngrams",
            "threshold",
            "alone",
            "doubt",
        }
    assert all(" " not in word for word in words["words"])


@pytest.mark.slow
@given(st.lists(st.text(max_size=120), max_size=6))
def test_an_answer_is_labelled_alike_in_any_company(texts: list[str]) -> None:
    together = Linear().classify(texts)
    assert together == [Linear().classify([text])[0] for text in texts]
    assert {verdict.label for verdict in together} <= set(get_args(Label))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["not " * 20_000, "(" * 50_000, '"a' * 50_000, "![a" * 30_000, "[1" * 40_000, "a. " * 30_000]
)
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    label(text)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_other_languages(language: str) -> None:
    groups = LANGUAGES[language]
    assert sum(map(len, groups.values())) == 50
    pairs = [
        (expected, label(text) != "statement")
        for expected in ("abstention", "statement")
        for text in groups[expected]
    ]
    right = sum((expected == "abstention") == abstains for expected, abstains in pairs)
    assert right >= LEAST_RIGHT[language]


LEAST_RIGHT = {"Arabic": 49, "Chinese": 46, "English": 49, "French": 44, "Japanese": 45, "Spanish": 46}
"""How many of the 50 answers of each language are labelled rightly today; docs/abstention.md shows them."""


# The weights have seen these answers; docs/abstention.md has the figures of answers that they have not seen.
@pytest.mark.parametrize(("name", "least"), [("dev", 0.93), ("other-domains", 0.80)])
def test_labels_agree_with_people(shared: Path, name: str, least: float) -> None:
    found = agree(read_labels(shared / "abstention" / f"{name}.jsonl"), Linear())
    assert found["f1"] >= least


BLIND = Path(__file__).parents[2] / "benchmarks" / "abstention"


@pytest.mark.parametrize("name", ["blind2", "blind3"])
def test_answers_of_writers_who_had_seen_no_data(name: str) -> None:
    groups = yaml.safe_load((BLIND / f"{name}.yaml").read_text(encoding="utf-8"))
    pairs = [
        (wanted == "abstention", verdict.label != "statement")
        for group in groups.values()
        if isinstance(group, dict)
        for wanted, texts in group.items()
        for verdict in Linear().classify([classified_text(read(text)) for text in texts])
    ]
    hits = pairs.count((True, True))
    assert 2 * hits / (sum(wanted for wanted, _ in pairs) + sum(found for _, found in pairs)) >= 0.92


@pytest.mark.slow
def test_no_longer_answer_of_the_blind_sets_is_learnt_from() -> None:
    def texts(content: Any) -> set[str]:
        if isinstance(content, str):
            return {" ".join(content.lower().split())}
        inner = content.values() if isinstance(content, dict) else content
        return {text for each in inner or () for text in texts(each)}

    here, folder = Path(__file__).parents[2], BLIND
    learnt = {
        text
        for path in (
            *folder.glob("answers*.yaml"),
            folder / "sentences.yaml",
            Path(__file__).with_name("abstention_answers.yaml"),
            here / "fathoms" / "metrics" / "exemplars.yaml",
        )
        for text in texts(yaml.safe_load(path.read_text(encoding="utf-8")))
    }
    blind = sorted(folder.glob("blind*.yaml"))
    assert len(blind) == 3
    for path in blind:
        groups = yaml.safe_load(path.read_text(encoding="utf-8"))
        groups.pop("endings", None)
        # Short ones, such as "never", two writers hit upon alike.
        assert {text for text in texts(groups) & learnt if len(text.split()) > 4} == set()


def test_endings_and_openings_change_nothing(shared: Path) -> None:
    lines = (shared / "cases" / "abstention.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    verdicts = Linear().classify([classified_text(read(row["answer"])) for row in rows])
    pairs = [
        (row["label"] == "abstention", each.label in ABSTAINS)
        for row, each in zip(rows, verdicts, strict=True)
    ]
    hits = sum(wanted and found for wanted, found in pairs)
    assert 2 * hits / (sum(wanted for wanted, _ in pairs) + sum(found for _, found in pairs)) >= 0.97
    texts = {row["id"].partition(":")[2] for row in rows}
    ids = (row["id"].partition(":")[2] for row in rows)
    wrong = {text for text, (wanted, found) in zip(ids, pairs, strict=True) if wanted != found}
    assert len(texts) == 30
    assert len(wrong) <= 3


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("", "empty"),
        ("<think>It may be 41.</think>", "empty"),
        ("<think>It may be 41, or", "empty"),
        ('{"answer": null}', "abstention"),
        ("<think>Is it 41?</think>Which bridge do you mean?", "asks-back"),
    ],
)
def test_an_empty_answer_is_neither_abstention_nor_statement(answer: str, label: str) -> None:
    question = Question(id="q", text="?", category="A", answers=(("41",),))
    scored = score([Record(question=question, answer=Reply(text=answer))], Scoring()).rows[0]["fathoms"]
    abstains = label != "empty"
    assert scored.abstention == label
    assert scored.abstained is (True if abstains else None)
    assert scored.hallucination == (0 if abstains else None)
    assert scored.correctness == 0.0


def test_a_model_that_loops_does_not_abstain() -> None:
    loop = "The Skrow-Frozen-" + "In-The-Middle-" * 9
    (alone,) = Linear().classify([loop])
    assert alone.label == "statement"
    answers = [loop, "The report does not mention a ferry.", "The ferry left at 9:30."]
    assert [verdict.label for verdict in Linear().classify(answers)] == [
        "statement",
        "abstention",
        "statement",
    ]
