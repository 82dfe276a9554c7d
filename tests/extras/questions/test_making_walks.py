"""Walks through a graph that was worked out by hand, to multi-hop questions with all of their gold, and the
checks of these questions, each passed and failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fathoms.extras.questions.making.components import components
from fathoms.extras.questions.making.drafts import Draft
from fathoms.extras.questions.making.graph import Entity, entity_at, merge
from fathoms.extras.questions.making.hop_checks import check_hops
from fathoms.extras.questions.making.hop_drafts import Walk, composed, drafted
from fathoms.extras.questions.making.paths import Finder, Hop
from fathoms.extras.questions.making.relations import Relation, extract
from fathoms.extras.questions.making.walks import walks
from fathoms.extras.questions.making.wording import one_line, one_question
from fathoms.models import LexicalEmbedder, ScriptedModel
from fathoms.models.caching import ReplyCache
from fathoms.runs.cache import Cache
from fathoms.types import Document, Element, Evidence, Failure, Page, Question, Step
from tests.support.tower import BORN, COUNCIL, HOLM, ON, OSK, REST, SCRIPT, TOWER


def scripted(**more: Any) -> ScriptedModel:
    given = {"replies": SCRIPT, "default": "?", "max_tokens": 1000, **more}
    return ScriptedModel(**given)


def first(replies: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    """These replies before others, which they replace."""
    return replies | {key: said for key, said in others.items() if key not in replies}


def document(name: str, *pages: str) -> Document:
    items = tuple(Page(number=number, text=text) for number, text in enumerate(pages, 1))
    return Document(id=name, path=Path(name), sha256="0" * 64, pages=items)


DOCUMENTS = {one.id: one for one in (document("a.pdf", TOWER, HOLM), document("b.pdf", OSK, COUNCIL))}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Any:
    found = extract(components(DOCUMENTS.values()).usable, scripted())
    assert (found.dropped, found.failures) == ({}, {})
    return merge(found, LexicalEmbedder(), Cache(tmp_path_factory.mktemp("cache")))


def by_text(drafts: list[Draft]) -> dict[str, Question]:
    return {draft.question.text: draft.question for draft in drafts if draft.failed is None}


@pytest.mark.slow
def test_walks_become_questions_with_steps_and_a_chain_of_evidence(graph: Any) -> None:
    reported: list[tuple[int, int]] = []
    found = walks(graph, DOCUMENTS, scripted(), [2, 3], 10, on_done=lambda *at: reported.append(at))
    result = by_text(found)
    assert set(result) == {BORN, ON, "On which river is Ada Holm's birthplace?"}
    assert reported[-1] == (3, 10)
    one = result[ON]
    assert (one.category, one.hops, one.files) == ("Cross-Document", 3, ("a.pdf", "b.pdf"))
    assert one.steps == (
        Step(question="Who designed the Varn tower of Lune?", answer="Ada Holm"),
        Step(question="In which town was Ada Holm born?", answer="Osk"),
        Step(question="On which river does Osk lie?", answer="river Mell"),
    )
    assert one.evidence == (
        Evidence(document="a.pdf", page=1, quote="designed by Ada Holm", step=1, modality="text"),
        Evidence(document="a.pdf", page=2, quote="Ada Holm was born in Osk", step=2, modality="text"),
        Evidence(document="b.pdf", page=1, quote="Osk lies on the river Mell", step=3, modality="text"),
    )
    assert (one.answers, one.reference) == ((("river Mell",),), "river Mell")
    assert one.metadata == {"intent": "To know the people behind the tower."}
    assert result[BORN].category == "Multi-Hop"
    assert result["On which river is Ada Holm's birthplace?"].category == "Cross-Document"


def test_walks_that_fail_are_drafts_with_the_reason(graph: Any) -> None:
    found = walks(graph, DOCUMENTS, scripted(), [2, 3], 10)
    failed = {draft.question.text: draft.failed for draft in found if draft.failed}
    assert {text: (one.check, one.reason) for text, one in failed.items()} == {
        "How high is the source of the river of Osk?": (
            "question",
            "does not name 'Ada Holm', where it begins",
        ),
    }


def test_walks_are_the_same_again_and_nothing_is_asked_twice(graph: Any, tmp_path: Path) -> None:
    replies = ReplyCache(Cache(tmp_path))
    first = walks(graph, DOCUMENTS, scripted(), [2, 3], 10, seed=3, replies=replies)
    assert walks(graph, DOCUMENTS, scripted(latency=60), [2, 3], 10, seed=3, replies=replies) == first
    assert len(walks(graph, DOCUMENTS, scripted(), [2, 3], 1, seed=3)) == 1


@pytest.mark.parametrize(
    ("key", "said", "check", "reason"),
    [
        ("begin like this", " ", "walk", "no intent: the reply cannot be used: ' '"),
        ("It says of", " ", "walk", "no intent: the reply cannot be used: ' '"),
        ("1. ", "neither", "walk", "no choice: the reply cannot be used: 'neither'"),
        ("1. ", "9", "walk", "no choice: the reply cannot be used: '9'"),
        ("This states: Ada", "None.", "sub-questions", "step 2: the reply cannot be used: 'None.'"),
        (
            "This states: Ada",
            "Where was she born?",
            "sub-questions",
            "step 2 does not name 'Ada Holm': Where was she born?",
        ),
        (
            "This states: Ada",
            "Was Ada Holm born in Osk?",
            "sub-questions",
            "step 2 gives its answer 'Osk' away: Was Ada Holm born in Osk?",
        ),
        ("This question is put", "Born.", "question", "the reply cannot be used: 'Born.'"),
        (
            "This question is put",
            "Where was Ada Holm of the Varn tower of Lune born?",
            "question",
            "names 'Ada Holm', which a step asks for",
        ),
        (
            "This question is put",
            "Was the designer of the Varn tower of Lune born in Osk?",
            "question",
            "gives its answer 'Osk' away",
        ),
        (
            "This question is put",
            "According to the document, where was the designer of the Varn tower of Lune born?",
            "question",
            "names its source: According to the document",
        ),
    ],
)
def test_each_rule_drops_a_draft(graph: Any, key: str, said: str, check: str, reason: str) -> None:
    model = scripted(replies=first({key: said}, scripted().replies))
    found = walks(graph, DOCUMENTS, model, [2], 1)[0]
    assert found.failed is not None
    assert (found.failed.check, found.failed.reason) == (check, reason)


def test_questions_are_in_the_language_that_is_wanted(graph: Any) -> None:
    german = "In welcher Stadt wurde der Mensch geboren, der den Varn tower of Lune entworfen hat?"
    replies = {"[Who designed the Varn tower of Lune?] born": german}
    model = scripted(replies=first(replies, scripted().replies))
    found = walks(graph, DOCUMENTS, model, [2], 1)[0].failed
    assert found is not None
    assert found.reason == "is in the language de, not en"
    assert walks(graph, DOCUMENTS, model, [2], 1, language="de")[0].failed is None


def test_evidence_has_the_box_of_its_words_where_the_parser_knows_it(graph: Any) -> None:
    page = Page(
        number=2,
        text=HOLM,
        elements=(
            Element(kind="text", text=HOLM[:24], bbox=(10, 10, 90, 20)),
            Element(kind="text", text=HOLM[24:], bbox=(10, 20, 95, 40)),
        ),
    )
    boxed = DOCUMENTS["a.pdf"].model_copy(update={"pages": (DOCUMENTS["a.pdf"].pages[0], page)})
    found = walks(graph, DOCUMENTS | {"a.pdf": boxed}, scripted(), [2], 1)[0].question.evidence
    assert [one.bbox for one in found] == [None, (10, 10, 90, 20)]


def test_a_quote_that_has_left_its_page_drops_a_draft(graph: Any) -> None:
    changed = DOCUMENTS | {"a.pdf": document("a.pdf", TOWER, f"Ada Holm was born elsewhere. {REST}")}
    found = walks(graph, changed, scripted(), [2], 1)[0].failed
    assert found is not None
    assert found.reason == "step 2: page 2 of a.pdf lacks 'Ada Holm was born in Osk'"


def test_no_node_is_walked_twice_and_at_most_ten_are_shown(graph: Any) -> None:
    wide = graph.copy()
    for number in range(12):
        wide.add_node(f"n{number}", **Entity(kind="other", names=(f"N{number}",), mentions=()).model_dump())
        for ends in (("osk", f"n{number}"), (f"n{number}", "ada holm")):
            data = {**graph.edges["osk", "river mell", 0], "relation": f"r{ends}"}
            wide.add_edge(*ends, **data)
    finder = Finder.of(wide, 3, 0)
    (holm,) = finder.choices((), "ada holm", 2)
    assert holm.target == "osk"
    found = finder.choices([holm], "ada holm", 2)
    assert len(found) == 10
    assert found == Finder.of(wide, 3, 0).choices([holm], "ada holm", 2)
    (mell,) = finder.choices([holm], "ada holm", 3)  # from the others, only Ada Holm can be reached
    assert mell.target == "river mell"
    assert (
        finder.choices([holm, next(hop for hop in found if hop.target != "river mell")], "ada holm", 3) == []
    )


def test_walks_begin_where_most_is_known_and_long_enough_ways_lead_on(graph: Any) -> None:
    """From Osk, both hops would stand on one page."""
    found = list(Finder.of(graph, 3, 0).starts(graph, [2, 3]))
    assert set(found) == {("varn tower of lune", 2), ("ada holm", 2)} | {
        ("varn tower of lune", 3),
        ("ada holm", 3),
    }
    assert [wanted for _, wanted in found] == [2, 3, 2, 3]
    assert found[0] == ("varn tower of lune", 2)
    assert {list(Finder.of(graph, 3, seed).starts(graph, [1]))[2][0] for seed in range(20)} == {
        "ada holm",
        "lune council",
        "osk",
        "river mell",
    }


def test_a_sub_question_takes_the_place_of_the_name_with_its_article() -> None:
    ab, bc = (
        Relation(source=ends[0], relation="r", target=ends[1], quote="q", document="a", page=1, component="c")
        for ends in ("ab", "bc")
    )
    first = Hop("a", "b", ("A1",), ("Bee-Line", "B"), (ab,))
    second = Hop("b", "c", ("Bee-Line", "B"), ("C1",), (bc,))
    walk = Walk("a", 2, Entity(kind="other", names=("A1",), mentions=()), (first, second))
    subs: dict[Hop, str | Failure] = {first: "Who made A1?", second: "When did the bee line begin?"}
    assert composed(walk, subs) == "When did [Who made A1?] begin?"
    assert composed(walk, subs | {second: "When did it begin?"}) is None
    lost = drafted(walk, subs, None, {})
    assert lost.failed is not None
    assert lost.failed.reason == "the sub-questions cannot be put together"


def test_one_line_and_one_question_are_read_from_talkative_replies() -> None:
    assert one_line(' "To know\nmore." ') == "To know more."
    assert one_line(" ") is None
    assert one_question('Sure!\n\n**Rewritten question:** "Who is it?"\n\nI hope this helps.') == "Who is it?"
    assert one_question("Who is it?\nWho is it?") == "Who is it?"
    assert one_question("Who is it?\nWhat is it?") is None
    assert one_question("这座塔是什么时候建成的\uff1f") == "这座塔是什么时候建成的\uff1f"
    assert one_question("?") is None


def checked(model: ScriptedModel, draft: Draft) -> list[tuple[str, bool, str]]:
    (found,) = check_hops([draft], DOCUMENTS, model)
    return [(one.name, one.passed, one.reason) for one in found.checks]


@pytest.fixture(scope="module")
def draft(graph: Any) -> Draft:
    found = walks(graph, DOCUMENTS, scripted(), [2, 3], 10)
    one_draft = next(draft for draft in found if draft.question.text == BORN)
    return Draft(question=one_draft.question)


LINKS = "Does step 2 need the answer of step 1?"
NOT_NEEDED = '{"reason": "No link.", "needed": "no"}'
CLOSED, ALONE = "Answer this question in a few words", "from this page alone"
ALL = "from these pages"


def judge(**more: str) -> ScriptedModel:
    """A judge that finds the steps linked and no shortcut, but for what is given."""
    names = {
        "links": LINKS,
        "closed": CLOSED,
        "all": ALL,
        "first": "Page 1 of a.pdf",
        "second": "Page 2 of a.pdf",
    }
    replies = {
        LINKS: '{"reason": "It is about it.", "needed": "Yes"}',
        ALL: "In Osk.",
        CLOSED: "unknown",
        ALONE: "unknown",
    }
    return ScriptedModel(replies=first({names[name]: said for name, said in more.items()}, replies))


def test_linked_hops_without_a_shortcut_pass(draft: Draft) -> None:
    assert checked(judge(), draft) == [
        ("linked hops: named", True, ""),
        ("linked hops: needed", True, ""),
        ("one-hop shortcut", True, ""),
        ("answered from its evidence", True, ""),
    ]


@pytest.mark.parametrize(
    ("said", "name", "reason"),
    [
        (
            {"links": NOT_NEEDED},
            "linked hops: needed",
            "step 2 does not need the answer of step 1: No link.",
        ),
        ({"links": "maybe"}, "linked hops: needed", "not decided: the reply cannot be used: 'maybe'"),
        ({"closed": "In Osk."}, "one-hop shortcut", "answered from the question alone: In Osk."),
        ({"second": "osk"}, "one-hop shortcut", "answered from the page 2 of a.pdf: osk"),
        ({"all": "Lune"}, "answered from its evidence", "the answer was: Lune"),
        ({"first": " "}, "one-hop shortcut: page 1 of a.pdf", "not decided: the reply cannot be used: ' '"),
    ],
)
def test_each_check_drops_a_draft(draft: Draft, said: dict[str, str], name: str, reason: str) -> None:
    assert checked(judge(**said), draft)[-1] == (name, False, reason)


def test_hops_whose_sub_questions_do_not_name_the_answer_before_are_not_asked_about(draft: Draft) -> None:
    steps = (draft.question.steps[0], Step(question="What is 1 + 1?", answer="Osk"))
    other = Draft(question=draft.question.model_copy(update={"steps": steps}))
    reason = "step 2 does not name 'Ada Holm': What is 1 + 1?"
    assert checked(ScriptedModel(fail_on={" ": "asked"}), other) == [("linked hops: named", False, reason)]


@pytest.mark.parametrize(
    ("text", "first_step", "answer", "second_step", "linked"),
    [
        ("In which town was the designer of the Varn tower born?", "Who designed the Varn tower?", "Ada Holm",
         "In which town was Ada Holm born?", True),
        ("In which town was Ada Holm, the designer of the Varn tower, born?", "Who designed the Varn tower?",
         "Ada Holm", "In which town was Ada Holm born?", False),
        ("Who designed the Varn tower, and how long is the Mell?", "Who designed the Varn tower?", "Ada Holm",
         "How long is the Mell?", False),
        ("At what temperature is the grade of pelnorite fired of which the Kestrel-9 has its tips?",
         "Of which grade of pelnorite are the tips of the Kestrel-9?", "grade B",
         "At what temperature is grade B pelnorite fired?", True),
        ("At what temperature is grade B pelnorite fired, of which the Kestrel-9 has its tips?",
         "Of which grade of pelnorite are the tips of the Kestrel-9?", "grade B",
         "At what temperature is grade B pelnorite fired?", False),
        ("Who leads the company that makes the Kestrel-9?", "Which company makes the Kestrel-9?",
         "Orrin and Dace", "Who leads Orrin and Dace?", True),
        ("Who makes the Kestrel-9, and when was the Lune Council founded?", "Who makes the Kestrel-9?",
         "Orrin and Dace", "When was the Lune Council founded?", False),
        ("What is the strength of the ceramic on which the mirror of the Hesper telescope rests?",
         "On which ceramic does the mirror of the Hesper telescope rest?", "grade C",
         "What is the strength of grade C?", True),
    ],
)  # fmt: skip
def test_rules_tell_linked_hops_from_others(
    draft: Draft, text: str, first_step: str, answer: str, second_step: str, linked: bool
) -> None:
    """What is not linked is dropped before the model is asked."""
    steps = (Step(question=first_step, answer=answer), Step(question=second_step, answer="?"))
    given = Draft(question=draft.question.model_copy(update={"text": text, "steps": steps}))
    name, passed, reason = checked(judge(), given)[0]
    assert (name, passed) == ("linked hops: named", linked)
    assert answer in reason or linked


def test_drafts_of_one_hop_and_dropped_ones_are_left_as_they_are(draft: Draft) -> None:
    (failed,) = check_hops([draft], DOCUMENTS, judge(links=NOT_NEEDED))
    single = Draft(question=Question(id="s", text="Who?", category="c"))
    assert check_hops([failed, single], DOCUMENTS, ScriptedModel(fail_on={" ": "asked"})) == [failed, single]


def test_the_names_of_a_node_are_those_of_its_pages(graph: Any) -> None:
    assert entity_at(graph, "osk").documents == {"a.pdf", "b.pdf"}
