"""Each stage of a build with a scripted model: what is kept, and for which reason a draft is dropped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fathoms.errors import OverBudgetError, StoreError
from fathoms.extras.questions.drafting import plain_prompt
from fathoms.extras.questions.making import answers, clarity, filters, labels, single, unanswerable
from fathoms.extras.questions.making.asking import Asker, Journal
from fathoms.extras.questions.making.balance import balanced, coverage, question_type, shortage
from fathoms.extras.questions.making.components import Component, components, opening
from fathoms.extras.questions.making.drafts import Draft
from fathoms.extras.questions.making.interleaved import interleaved
from fathoms.extras.questions.making.languages import in_language, language_of
from fathoms.extras.questions.making.recipe import Recipe
from fathoms.models import ScriptedModel
from fathoms.retrieve import BM25, Index
from fathoms.runs.cache import Cache
from fathoms.types import Chunk, Document, Evidence, Page, Prompt, Question, Reply

SERVICE = (
    "The Lune pump of the north hall is serviced every three months by two people, who close both of its"
    " valves before they open the housing."
)
PRICE = "In Varn, a pump costs 417 crowns, and its housing is made of cast iron with a lid of green copper."
OTHER = "The Aster pump of the south hall is serviced every three months by one person, who closes no valve."
PAGES = {"lune.pdf": [SERVICE, OTHER], "varn.pdf": [PRICE]}


def documents(pages: Mapping[str, list[str]] = PAGES) -> dict[str, Document]:
    return {
        name: Document(
            id=name,
            path=Path(name),
            sha256="0" * 64,
            pages=tuple(Page(number=number, text=text) for number, text in enumerate(texts, 1)),
        )
        for name, texts in pages.items()
    }


def component(document: str = "lune.pdf", page: int = 1) -> Component:
    found = components(documents().values()).usable
    return next(one for one in found if (one.document, one.page) == (document, page))


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with closing(Cache(tmp_path / "cache")) as opened:
        yield opened


def asker(cache: Cache, *replies: tuple[str, str], default: str = "no") -> Asker:
    """Models that give the first reply whose text the prompt contains."""
    model = ScriptedModel(replies=dict(replies), default=default, max_tokens=4096)
    return Asker(model, model, Journal(cache))


def searches(tmp_path: Path, top: int = 10) -> clarity.Searches:
    """A search of all pages by BM25."""
    chunks = [
        Chunk(id=f"{name}-{page.number}", document=name, pages=(page.number,), text=page.text)
        for name, one in documents().items()
        for page in one.pages
    ]
    index = Index((), chunks, None, lambda texts: None, tmp_path / "index")
    return clarity.Searches(index, (BM25(top_k=10),), top)


def wrote(question: str, answer: str, quote: str) -> tuple[str, str]:
    said = json.dumps({"question": question, "answer": answer, "quote": quote})
    return "Write one question", said


GOOD = wrote(
    "How often is the Lune pump of the north hall serviced?",
    "every three months",
    "is serviced every three months by two people",
)


def draft(cache: Cache, said: tuple[str, str] = GOOD, language: str = "same") -> Draft:
    ((_, drafted),) = single.drafted([component()], documents(), asker(cache, said), language)
    return drafted


def test_a_draft_has_its_evidence_and_an_id_that_says_where_it_is_from(cache: Cache) -> None:
    drafted = draft(cache)
    assert drafted.failed is None
    assert drafted.question.id.startswith("lune-")
    assert drafted.question.category == "Text-Only"
    assert drafted.question.evidence == (
        Evidence(
            document="lune.pdf", page=1, quote="is serviced every three months by two people", modality="text"
        ),
    )


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        (wrote("When is it?", "monthly", "The pump is serviced monthly"), "rules: quote stands on the page"),
        (wrote("Name the pump of Lune.", "Lune pump", "The Lune pump"), "rules: is a question"),
        (
            wrote("How often does this page say it is done?", "x", "The Lune pump"),
            "rules: no mention of its source",
        ),
        (
            wrote("Is it every three months?", "every three months", "every three months"),
            "rules: answer not in the question",
        ),
        (wrote("Wie oft wird die Pumpe der Nordhalle gewartet?", "x", "The Lune pump"), "rules: language"),
        (("Write one question", "Sorry, I cannot."), "drafts: written"),
    ],
)
def test_rules_drop_drafts_with_the_reason(cache: Cache, said: tuple[str, str], failed: str) -> None:
    drafted = draft(cache, said)
    assert drafted.failed is not None
    assert drafted.failed.name == failed


def test_what_stands_before_the_last_blank_line_is_the_same_for_all_requests_about_a_component(
    cache: Cache,
) -> None:
    """It is the component, which an embedded model evaluates once (`cache_prompt: context`)."""
    for request in ("Write.\n\nReply.", "Change.\n\n\nWrite.", "Write."):
        text = asker(cache).about(component(), request).messages[0].text
        assert text.rpartition("\n\n")[0] + "\n\n" == opening(component())


@pytest.mark.parametrize(
    ("settings", "pages"),
    [
        ({"model": {"kind": "embedded"}}, 3),
        ({"model": {"kind": "scripted"}}, 10),
        ({"model": {"kind": "scripted"}, "judge": {"kind": "embedded"}}, 3),
        ({"model": {"kind": "embedded"}, "judge": {"kind": "scripted"}}, 10),
        ({"model": {"kind": "embedded"}, "clarity": {"top": 7}}, 7),
    ],
)
def test_an_embedded_judge_is_shown_fewer_pages(settings: dict[str, object], pages: int) -> None:
    assert Recipe.model_validate(settings).pages_judged == pages


def test_a_quote_with_a_slip_gets_the_words_of_the_page() -> None:
    page = "A valve that\nleaks is replaced at once."
    assert single.standing("a valve that leaks", page) == "A valve that leaks"
    assert single.standing("A valve that leeks is replaced", page) == "A valve that leaks is replaced"
    assert single.standing("A pump that leaks is sold", page) is None
    assert single.standing(" ", page) is None


def test_components_take_turns_by_document() -> None:
    found = components(documents({"a.pdf": [SERVICE, OTHER, PRICE], "b.pdf": [SERVICE]}).values()).usable
    ordered = single.order(found, 1)
    assert [one.document for one in ordered] == ["a.pdf", "b.pdf", "a.pdf", "a.pdf"]
    assert single.order(found, 1) == ordered


def test_components_without_a_fact_are_not_asked_about(cache: Cache) -> None:
    """The model says it in the reply that would have the question."""
    said = json.dumps({"worth": "no", "question": "", "answer": "", "quote": ""})
    failed = draft(cache, ('("worth")', said)).failed
    assert failed is not None
    assert failed.name == "components: worth asking about"
    model = asker(cache, ("worth", said), GOOD)
    ((_, drafted),) = single.drafted([component()], documents(), model, judged=False)
    assert drafted.failed is None


def test_half_a_character_in_a_reply_is_replaced(cache: Cache) -> None:
    half = json.dumps({"question": "What is it?", "answer": "x", "quote": "The Lune pump"}).replace(
        "it", "\\ud83d"
    )
    assert draft(cache, ("Write one question", half)).question.text == "What is \ufffd?"


def test_languages() -> None:
    assert language_of("Die Pumpe wird alle drei Monate gewartet.") == "de"
    assert language_of("417") is None
    assert in_language("same", SERVICE) == "Write in English."
    assert in_language("eo", SERVICE) == "Write in the language with the code eo."


def clear(
    cache: Cache, tmp_path: Path, *replies: tuple[str, str], most: int = 1, rounds: int = 1
) -> clarity.Clear:
    drafted = draft(cache)
    return clarity.clarified(
        [drafted],
        {drafted.question.id: component()},
        documents(),
        searches(tmp_path),
        asker(cache, *replies),
        most=most,
        rounds=rounds,
    )


NEW = "How often do two people service the Lune pump of the north hall?"


VAGUE = ("too vague, because", NEW)
EVERY = "every three months"


def answers_of(*pages: int) -> str:
    """The reply that these passages answer a question; they are the pages in order."""
    return json.dumps({"answers": [{"passage": page, "answer": EVERY} for page in pages]})


ASKED = "Which of these passages"
OWN = (ASKED, answers_of(1))


def test_a_vague_question_is_rewritten_and_judged_again(cache: Cache, tmp_path: Path) -> None:
    """Both pages answer the first version, and its own page alone the second."""
    old = "subject does not.\n\nQuestion: How often is the Lune"
    found = clear(cache, tmp_path, VAGUE, (old, answers_of(1, 2)), OWN)
    (drafted,) = found.drafts
    assert drafted.failed is None
    assert drafted.question.text == NEW
    assert found.pages == {drafted.question.id: {("lune.pdf", 1): EVERY}}
    assert [check.item for check in drafted.checks if check.check == "clarity"] == [
        "its own page answers it",
        "rewritten",
        "its own page answers it",
        "few pages answer it",
    ]


def test_a_question_that_stays_vague_is_dropped(cache: Cache, tmp_path: Path) -> None:
    (drafted,) = clear(cache, tmp_path, VAGUE, (ASKED, answers_of(1, 2))).drafts
    assert drafted.failed is not None
    assert drafted.failed.reason == "2 pages answer it after 1 rewriting"


def test_a_question_that_few_pages_answer_stays(cache: Cache, tmp_path: Path) -> None:
    found = clear(cache, tmp_path, OWN)
    (drafted,) = found.drafts
    assert drafted.failed is None
    assert found.pages == {drafted.question.id: {("lune.pdf", 1): EVERY}}


def test_a_question_that_its_own_page_does_not_answer_is_dropped(cache: Cache, tmp_path: Path) -> None:
    (drafted,) = clear(cache, tmp_path, (ASKED, answers_of(2, 7))).drafts  # there is no seventh
    assert drafted.failed is not None
    assert drafted.failed.name == "clarity: its own page answers it"


def test_a_rewriting_must_keep_the_rules(cache: Cache, tmp_path: Path) -> None:
    (drafted,) = clear(
        cache,
        tmp_path,
        ("too vague", "How often is the pump on this page serviced?"),
        (ASKED, answers_of(1, 2)),
    ).drafts
    assert drafted.failed is not None
    assert drafted.failed.name == "rules: no mention of its source"


def test_what_is_shown_of_a_long_page_is_where_the_question_and_its_answer_stand() -> None:
    """Of 40 sentences of ten words, the ten around the one that is asked about; a short page is whole."""
    rows = [f"Sentence {at} speaks of the pump and of its valve." for at in range(40)]
    rows[29] = "The Merle mesh has holes of 130 micrometres, and no more."
    for text in ("\n".join(rows), " ".join(rows)):
        shown = clarity.excerpt(text, "How wide are the holes of the Merle mesh? 130 micrometres")
        assert rows[29] in shown
        assert 90 <= len(shown.split()) <= 100
    assert clarity.excerpt(f" {SERVICE}\n", "Who?") == SERVICE
    unspaced = "\u6cf5\u7684\u538b\u529b\u5f88\u9ad8\u3002" * 60 + "\u9600\u95e8\u662f\u94dc\u7684\u3002"
    assert clarity.excerpt(unspaced, "\u9600\u95e8?").endswith("\u9600\u95e8\u662f\u94dc\u7684\u3002")


def test_a_page_that_cannot_be_judged_is_no_page_without_an_answer(cache: Cache, tmp_path: Path) -> None:
    (drafted,) = clear(cache, tmp_path, (ASKED, "perhaps")).drafts
    assert drafted.failed is not None
    assert drafted.failed.name == "clarity: judged"


EVIDENCE = "The mesh has 130 micrometres."


@pytest.mark.parametrize(
    ("phrases", "short", "facts"),
    [
        # ways with a number of the first one
        (
            [["130 micrometres", "130 \u00b5m", "0.13 mm"]],
            "130 micrometres",
            [["130 micrometres", "130 \u00b5m"]],
        ),
        # two facts of the short answer
        (
            [["iron"], ["green copper", "copper that is green", "copper"]],
            "iron and green copper",
            [["iron"], ["green copper", "copper that is green"]],
        ),
        # phrases that are no part of the short answer are ways to write it, if they are like it
        ([["a mesh of 130", "best path"]], "130 micrometres", [["130 micrometres", "a mesh of 130"]]),
        # what the question says already is no fact of the answer
        (
            [["strainer"], ["130"]],
            "strainer of 130 micrometres",
            [["strainer of 130 micrometres", "130"]],
        ),
        ([], "130 micrometres", [["130 micrometres"]]),
        # a way with one of two numbers, or with words that a comma ends, says less; both were seen
        (
            [["frequency", "5 MHz", "1.0 MHz and 5 MHz"]],
            "5 MHz, and the other 1 MHz",
            [["5 MHz, and the other 1 MHz", "1.0 MHz and 5 MHz"]],
        ),
        ([["mirror", "came back"]], "since it came back, all is well", [["since it came back, all is well"]]),
    ],
)
def test_facts_of_a_short_answer(phrases: list[list[str]], short: str, facts: list[list[str]]) -> None:
    assert answers.facts_of(phrases, short, "What is the mesh of the strainer?") == facts


@pytest.mark.parametrize(
    ("facts", "evidence", "reference", "variants"),
    [
        # a variant that the page does not have may stand beside one that it has
        (
            [["130 micrometres", "130 \u00b5m"]],
            EVIDENCE,
            "It has 130 micrometres.",
            [("130 micrometres",), ("130 \u00b5m",)],
        ),
        # two facts: every combination is an accepted answer
        ([["mesh", "net"], ["130"]], EVIDENCE, "A mesh of 130.", [("mesh", "130"), ("net", "130")]),
        # what does not stand in the evidence does not hold
        ([["0.13 mm"]], EVIDENCE, "It has 0.13 mm.", []),
        # the reference must be right by the phrases
        ([["130 micrometres"]], EVIDENCE, "It is fine.", []),
        # a phrase that the scorer does not find in itself
        ([["..."]], EVIDENCE, "...", []),
        # without text, as of a picture, the reference alone decides
        ([["green"]], None, "It is green.", [("green",)]),
    ],
)
def test_phrases_hold_in_the_evidence_and_in_the_reference(
    facts: list[list[str]], evidence: str | None, reference: str, variants: list[tuple[str, ...]]
) -> None:
    assert list(answers.accepted(facts, evidence, reference)) == variants


def gold(cache: Cache, said: object) -> Draft:
    drafted = draft(cache)
    own = {drafted.question.id: component()}
    return answers.answered([drafted], own, asker(cache, ("Write the gold answer", json.dumps(said))))[0]


def test_a_gold_answer_has_all_its_forms(cache: Cache) -> None:
    drafted = gold(
        cache,
        {
            "short": "three months",
            "long": "It is serviced every three months.",
            "phrases": [["three months", "3 months", "quarterly"]],
        },
    )
    assert drafted.failed is None
    assert drafted.question.answers == (("three months",), ("3 months",))
    assert drafted.question.reference == drafted.question.long_answer == "It is serviced every three months."
    assert drafted.question.short_answer == "three months"


def test_the_drafted_answer_stands_in_where_the_gold_one_does_not_hold(cache: Cache) -> None:
    drafted = gold(cache, {"short": "twice a year", "long": "It is every three months.", "phrases": []})
    assert drafted.question.answers == (("every three months",),)
    assert drafted.question.short_answer == "every three months"


def test_a_gold_answer_that_speaks_of_the_passage_drops_the_draft(cache: Cache) -> None:
    long = "The passage says that it is every three months."
    drafted = gold(cache, {"short": "three months", "long": long, "phrases": []})
    assert drafted.failed is not None
    assert drafted.failed.name == "answers: no mention of its source"


def test_a_gold_answer_that_stands_nowhere_drops_the_draft(cache: Cache) -> None:
    drafted = draft(cache, wrote("How often is the Lune pump serviced?", "yearly", "The Lune pump"))
    own = {drafted.question.id: component()}
    said = json.dumps({"short": "daily", "long": "Daily.", "phrases": [["daily"]]})
    (dropped,) = answers.answered([drafted], own, asker(cache, ("Write the gold answer", said)))
    assert dropped.failed is not None
    assert dropped.failed.name == "answers: phrases hold"


def test_labels_add_the_pages_that_hold_the_answer(cache: Cache) -> None:
    drafted = gold(cache, {"short": "three months", "long": "Every three months.", "phrases": []})
    pages = {drafted.question.id: {("lune.pdf", 1): "quarterly", ("lune.pdf", 2): "four times a year"}}
    (found,) = labels.labelled(
        [drafted], pages, documents(), asker(cache, ("Does this page hold", "yes")), {}
    )
    assert found.failed is None
    assert found.question.gold_pages == {("lune.pdf", 1), ("lune.pdf", 2)}
    (every,) = labels.labelled(
        [drafted], {}, documents(), asker(cache, ("Does this page hold", "yes")), {}, None
    )
    assert every.question.files == ("lune.pdf", "varn.pdf")
    (dropped,) = labels.labelled([drafted], pages, documents(), asker(cache), {})
    assert dropped.failed is not None
    assert dropped.failed.name == "labels: its own page holds the answer"


def test_a_page_whose_answer_is_the_gold_one_needs_no_further_call(cache: Cache) -> None:
    """The judge, who did not know the answer, found it there; of other words a judge decides who knows it."""
    drafted = gold(cache, {"short": "three months", "long": "Every three months.", "phrases": []})
    pages = {drafted.question.id: {("lune.pdf", 1): "Every three months.", ("lune.pdf", 2): "each quarter"}}
    model = asker(cache)
    (found,) = labels.labelled([drafted], pages, documents(), model, {})
    assert found.failed is None
    assert found.question.gold_pages == {("lune.pdf", 1)}
    assert model.journal.spent["labels"].calls == 1


def changed(
    cache: Cache, tmp_path: Path, question: str, detail: str, other: str, *replies: tuple[str, str]
) -> Draft:
    drafted = draft(cache)
    said = json.dumps({"question": question, "detail": detail, "replacement": other})
    (found,) = unanswerable.unanswerable(
        [drafted],
        {drafted.question.id: component()},
        documents(),
        searches(tmp_path),
        asker(cache, ("Change this question", said), (ASKED, answers_of()), *replies),
    )
    return found


def test_an_unanswerable_question_differs_in_one_detail_that_is_nowhere(cache: Cache, tmp_path: Path) -> None:
    drafted = changed(
        cache, tmp_path, "How often is the Merle pump of the north hall serviced?", "Lune", "Merle"
    )
    assert drafted.failed is None
    assert not drafted.question.answerable
    assert drafted.question.answers == ()
    assert str(drafted.question.metadata["made_from"]).startswith("lune-")


@pytest.mark.parametrize(
    ("question", "detail", "other", "failed"),
    [
        ("How often is the Aster pump of the north hall serviced?", "Lune", "Aster", "the detail is nowhere"),
        ("Who services the Merle pump of the north hall?", "Lune", "Merle", "one detail replaced"),
        ("How often is the Lune pump of the north hall serviced?", "Varn", "Merle", "one detail replaced"),
    ],
)
def test_other_changes_are_dropped(
    cache: Cache, tmp_path: Path, question: str, detail: str, other: str, failed: str
) -> None:
    drafted = changed(cache, tmp_path, question, detail, other)
    assert drafted.failed is not None
    assert drafted.failed.item == failed


def test_a_changed_question_that_a_page_answers_is_dropped(cache: Cache, tmp_path: Path) -> None:
    drafted = changed(
        cache,
        tmp_path,
        "How often is the Merle pump of the north hall serviced?",
        "Lune",
        "Merle",
        OWN,
    )
    assert drafted.failed is not None
    assert drafted.failed.item == "no page answers it"


@pytest.mark.parametrize(
    ("said", "passed"),
    [
        ("Every three months. Confidence: 0.95", False),  # right and sure
        ("Every three months. Confidence: 0.9", True),  # right, not above the threshold
        ("Every two months. Confidence: 1", True),  # sure and wrong
        ("Every three months.", True),  # one answer without a stated confidence does not tell
    ],
)
def test_questions_that_a_model_answers_without_documents(cache: Cache, said: str, passed: bool) -> None:
    drafted = gold(cache, {"short": "three months", "long": "Every three months.", "phrases": []})
    (found,) = filters.closed_book([drafted], asker(cache, ("from what you know", said)))
    assert (found.failed is None) == passed


@pytest.mark.slow
def test_questions_that_repeat_others(cache: Cache) -> None:
    drafted = draft(cache)
    twin = Question(id="public", text=drafted.question.text.upper(), category="x")
    (found,) = filters.without_duplicates([drafted], [twin])
    assert found.failed is not None
    assert found.failed.reason == f"1.00 like public: {twin.text}"


def test_the_set_is_balanced_by_what_is_rarest() -> None:
    def one(id: str, document: str, modality: str) -> Question:
        evidence = (Evidence(document=document, page=1, modality=modality),)
        return Question(id=id, text="?", category=modality, evidence=evidence)

    questions = [one("a", "x", "text"), one("b", "x", "text"), one("c", "x", "table"), one("d", "y", "text")]
    assert [each.id for each in balanced(questions, 3)] == ["a", "c", "d"]
    found = coverage(questions, documents({"x": ["1", "2"], "y": ["1"], "z": ["1"]}), ["text", "figure"])
    assert found.pages == {"x": (1, 2), "y": (1, 1), "z": (0, 1)}
    assert found.lacking == ["document z", "modality figure"]


@pytest.mark.parametrize(
    ("target", "chosen", "short"),
    [
        ({}, "abfg", {}),
        ({"modality": {"table": 0.75}}, "aefg", {}),
        # what its shares leave is for the other values together
        ({"modality": {"text": 0.5}, "document": {"x": 1.0}}, "abef", {("document", "x"): (3, 4)}),
        ({"type": {"why": 0.5, "what": 0.5}}, "abcf", {("type", "why"): (1, 2)}),
    ],
)
def test_the_set_is_balanced_by_a_target(
    target: dict[str, dict[str, float]], chosen: str, short: dict[tuple[str, str], tuple[int, int]]
) -> None:
    def one(id: str, document: str, modality: str, asks: str) -> Question:
        evidence = (Evidence(document=document, page=1, modality=modality),)
        return Question(id=id, text=f"{asks} is it?", category="c", evidence=evidence)

    questions = [
        one("a", "x", "text", "What"),
        one("b", "x", "text", "Why"),
        one("c", "y", "text", "What"),
        one("d", "y", "text", "Which"),
        one("e", "x", "table", "What"),
        one("f", "y", "table", "What"),
        one("g", "z", "table", "Who"),
    ]
    found = balanced(questions, 4, target)
    assert ("".join(each.id for each in found), shortage(target, 4, found)) == (chosen, short)


def test_replies_that_cannot_be_stored_end_the_build(cache: Cache) -> None:
    """Nobody wants to pay for calls that have to be made again."""
    cache.full(OSError("no space"))
    with pytest.raises(StoreError, match="make room on the disk"):
        Journal(cache).put("key", Reply(text=""))


def test_what_is_spent_is_counted_and_limited(cache: Cache) -> None:
    def about(at: int) -> Prompt:
        return plain_prompt(f"item {at}")

    journal = Journal(cache, max_cost=0.0)
    model = ScriptedModel()
    with journal.stage("drafts"):
        Asker(model, model, journal).ask("drafts", [1, 2], about, str)
    assert journal.spent["drafts"].calls == 2
    again = Journal(cache)
    Asker(model, model, again).ask("drafts", [1, 2], about, str)
    assert (again.spent["drafts"].calls, again.spent["drafts"].reused) == (0, 2)
    with pytest.raises(OverBudgetError, match="--resume goes on"):
        journal.put("key", Reply(text="", cost=0.01))


CITED = "The Lune pump is serviced every three months [1]."


@pytest.mark.parametrize(
    ("said", "flaw"),
    [
        (CITED, ""),
        (CITED.replace(" [1]", ""), "it cites nothing"),
        (CITED.replace("[1]", "[2]"), "it cites a quote that is not gold"),
        (CITED.replace("serviced", "cleaned"), "its words were changed"),
        (f"{CITED}\n![the pump](image1)", "it cites a quote that is not gold"),
    ],
)
def test_marks_of_gold_quotes_are_put_into_the_reference(
    cache: Cache, tmp_path: Path, said: str, flaw: str
) -> None:
    """Two texts are candidates; the gold one is the first by seed 0."""
    plain = "The Lune pump is serviced every three months."
    question = draft(cache).question.model_copy(update={"reference": plain})
    one = searches(tmp_path)
    model = asker(cache, ("Write the answer again", said))
    found = interleaved(
        [question], replace(one.index, documents=list(documents().values())), one.retrievers[0], 2, 0, model
    )
    (answered,) = found.questions
    assert [quote.id for quote in answered.quotes if quote.gold] == ["text1"]
    assert len(answered.quotes) == 2
    assert found.unmarked == ({question.id: flaw} if flaw else {})
    assert answered.reference == (plain if flaw else said)
    assert answered.metadata["interleaved"] is (not flaw)


def test_a_target_of_hops_divides_the_answerable_questions() -> None:
    """Ten questions, two of them without an answer: half of the other eight have two hops."""
    recipe = Recipe.model_validate(
        {
            "model": {"kind": "scripted"},
            "n": 10,
            "unanswerable": {"share": 0.2},
            "walks": {"hops": [1, 2, 3]},
            "balance": {"target": {"hops": {"2": 0.5}}},
        }
    )
    assert recipe.wanted() == {1: 2, 2: 4, 3: 2}


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("How many pumps drain the shaft?", "how many"),
        ("In which year was the bell cast?", "which"),
        ("Whose map shows the ridge road?", "who"),
        ("Is the gallery open at noon?", "yes/no"),
        ("If it rains, is the gallery open, and why?", "why"),
        ("Wie viele Pumpen gibt es?", "other"),
    ],
)
def test_types_of_questions(text: str, type_: str) -> None:
    assert question_type(Question(id="a", text=text, category="c")) == type_


def test_the_type_that_a_data_set_states_counts() -> None:
    stated = Question(id="a", text="Why?", category="c", metadata={"question_type": "Causal"})
    assert question_type(stated) == "Causal"
