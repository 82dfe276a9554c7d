"""What an answer says: what has to survive the reading first, then what is set aside."""

from __future__ import annotations

import time

import pytest

from fathoms.answers import read
from fathoms.corpora.rows import questions_of
from fathoms.metrics.phrase_recall import reading_recall
from fathoms.types import GoldNumber


def says(answer: str, *gold: str | dict[str, object]) -> bool:
    """Whether an answer, as it is read, has all gold phrases, which are written as in a question file."""
    row = {"id": "q", "question": "What?", "category": "A", "answers": [list(gold)]}
    (question,), _ = questions_of([("q", row)])
    return reading_recall(read(answer), question.answers).value == 1


SURVIVES = {
    "sources that are the answer": ("References: Strabo and Pliny", ["Strabo", "Pliny"]),
    "a page that was asked for": ("You find it on p. 41.", ["p. 41"]),
    "an index": ("Take row[2] and m[1].", ["m[1]"]),
    "a list of numbers": ("The interval is [0, 1].", ["[0, 1]"]),
    "a pattern": ("Use [0-9]+ there.", ["[0-9]+"]),
    "a case": ("See [2019] EWCA Civ 7.", ["[2019] EWCA"]),
    "an ion": ("It holds [Fe(CN)6]4- ions.", ["[Fe(CN)6]4-"]),
    "less and greater": ("It needs p<q and r>s.", ["p<q"]),
    "a bar": ("It is P(X|Y).", ["P(X|Y)"]),
    "a name with underscores": ("Call `__enter__` first.", ["__enter__"]),
    "a power of Python": ("It is 2**10 then.", ["2**10"]),
    "prices": ("It costs $5 and $7.", ["$5", "$7"]),
    "an offer that is quoted": ('It ends with "Feel free to ask me".', ["feel free to ask me"]),
    "a condition": ("If you share your password, the account closes.", ["the account closes"]),
    "sources of error": ("Sources of error: drift and noise.", ["drift and noise"]),
    "a title": ("Thinking: fast and slow", ["fast and slow"]),
    "tags that are talked about": ("It writes <think> and </think> around it.", ["around it"]),
    "a tag in code": ("Put `<think>` before the plan.", ["before the plan"]),
    "the target of a link": ("[the file](https://example.org/b.html)", ["https://example.org/b.html"]),
    "a file that was asked for": ("It is in costs.xlsx.", ["costs.xlsx"]),
    "a table that was asked for": ("Table 7 shows it.", ["Table 7"]),
    "a path": (r"It is in D:\data.", [r"D:\data"]),
    "a directive": ("Write #include there.", ["#include"]),
    "a file on its own line": ("There is one file.\nThe file is costs.pdf.", ["costs.pdf"]),
    "a standard that is a reference": ("Two apply.\nReferences: EN 1090, EN 1993", ["EN 1993"]),
    "a date that looks like a stamp": ("It was built.\nDate: 2021-05-02", [{"date": "2021-05-02"}]),
    "a model that looks like a stamp": ("It was chosen.\nModel: Mistral 7B", ["Mistral 7B"]),
    "a time that looks like a stamp": ("It ran.\nLatency: 85 ms", [{"number": 85, "unit": "ms"}]),
    "a warning": ("The label has a line. Do not use it if you are ill; ask me first.", ["if you are ill"]),
    "questions that are asked for": (
        "It has two items. Where do you live? How do you travel?",
        ["how do you travel"],
    ),
    "a confidence that was asked for": ("The test was done.\nThe confidence level was 0.9.", ["0.9"]),
    "a section that is the answer": ("It stands there.\nSection 4.2", ["Section 4.2"]),
    "a letter of the alphabet": ("A\nBecause it fits.", ["A"]),
    "items with letters": ("A: red\nB: blue", ["red", "blue"]),
    "what is announced": ("The form asks two things:\n\n1. Do you ski?\n2. Are you well?", ["are you well"]),
    "one word that is announced": ("It closes as follows.\n\nRegards, Anna", ["Regards"]),
    "advice of the source": ("Tenants should wait. Consult a lawyer first.", ["wait", "lawyer"]),
    "a step of a manual": ("Open the log. Then check all values.", ["all values"]),
    "what a thing may be": ("It is cheap. In frost it may be inaccurate.", ["inaccurate"]),
    "what models may do": ("It names a risk. LLMs can make biased choices.", ["biased"]),
    "a reliability": ("It has nine items.\n\nReliability: 0.71", ["0.71"]),
    "a greeting that is talked about": ("Hello! was the headline.", ["Hello"]),
    "an abstention at the end": (
        "It names roads. Thus, I can't say what the bridge cost.",
        ["the bridge cost"],
    ),
    "permission to ask": ("The clerk decides. You may ask her for a copy.", ["for a copy"]),
    "whom to contact": ("It has two steps. Contact the caretaker to open the gate.", ["to open the gate"]),
    "a few words": ("There are two.\n\nRed card", ["red card"]),
    "thanks in a book": ("It was sold. It ends with a thank you to the reader.", ["the reader"]),
    "number sign": ("No. It was sold.", [{"yes_no": "no"}]),
}


@pytest.mark.parametrize(("answer", "gold"), SURVIVES.values(), ids=SURVIVES)
def test_what_survives(answer: str, gold: list[str | dict[str, object]]) -> None:
    assert says(answer, *gold)


RIGHT = {
    "citation in a number": ("It is 38[2]% of all.", "38%"),
    "citation in a name": ("It was Ines[1] Falk.", "Ines Falk"),
    "a citation of Cohere": ("It is <co: 0,2>nine</co: 0,2> bar.", "nine bar"),
    "citation of a service": ("It is 38 m【12:3†report.pdf】 tall.", "38 m tall"),
    "footnote": ("It was Lisbon².", "Lisbon"),
    "thought": ("<THINKING>12? no</THINKING>\nIt is 30 kg.", "30 kg"),
    "thought in a channel": (
        "<|channel|>analysis<|message|>12?<|end|><|start|>assistant<|channel|>final<|message|>It is 30 kg.",
        "30 kg",
    ),
    "envelope": ('{"response": "It is \\"30 kg\\".", "ok": true}', "30 kg"),
    "tag": ("Let me see.\n<answer>30 kg</answer>", "30 kg"),
    "emphasis in a word": ("It is chloro**phyll**.", "chlorophyll"),
    "entity": ("Barnes &amp; Noble", "Barnes & Noble"),
    "formula": (r"It weighs $1{,}204\,\mathrm{kg}$.", "1204 kg"),
    "index in words": (r"It is $x_{\text{language}}$.", "language"),
    "fraction": (r"The share is $\frac{3}{4}$.", "3/4"),
    "power": ("About 10<sup>3</sup> cells.", "10^3"),
    "power in Unicode": ("About 10³ cells.", "10^3"),
    "subscript": ("It is H₂O.", "H2O"),
    "square metres": ("It has 12 m².", "12 m2"),
    "glued unit": ("It holds 512MB.", "512 MB"),
    "apostrophes": ("It has 1'204'300 rows.", "1204300"),
    "Indian groups": ("It sold 12,34,567 copies.", "1234567"),
    "percent in words": ("It fell by 4.5 per cent.", "4.5%"),
    "times": ("It is 3 times faster.", "3x faster"),
    "broken word": ("It is photo-\nsynthesis.", "photosynthesis"),
    "word of its own hyphen": ("It is well-\nknown.", "well-known"),
    "broken line in Chinese": ("这是地\n震。", "地震"),
    "date in bold": ("On **2 May** 2021.", {"date": "2021-05-02"}),
    "number in bold": ("It is 12.5 **kg**.", {"number": 12.5, "unit": "kg"}),
    "lakh": ("About 2.5 lakh people.", {"number": 250000}),
    "citation of a chat": ("It has nine \ue200cite\ue202turn0search1\ue201 parts.", "nine parts"),
    "space of LaTeX in text": (r"It weighs 4.2\,kg.", "4.2 kg"),
    "power outside a formula": ("It is 9 m/s^2.", "9 m/s²"),
    "index in gold": ("It is $x_1$.", "x_1"),
    "power of ten alone": ("It is 10^-5.", {"number": 1e-5}),
    "power of ten in a formula": ("It is $10^{-5}$.", {"number": 1e-5}),
    "date in German": ("Am 4. Juli 2021.", {"date": "2021-07-04"}),
    "month in numbers": ("It was 07/2021.", {"date": "2021-07"}),
    "yes after a report": ("According to the report, it was painted.", {"yes_no": "yes"}),
    "degrees with an ordinal sign": ("It is 37ºC.", {"number": 37, "unit": "°C"}),
    "yes as agreement": ("That's right.", {"yes_no": "yes"}),
    "no as a verdict": ("Verdict: No", {"yes_no": "no"}),
    "no in German": ("Nein, es ist kahl.", {"yes_no": "no"}),
    "subscript of Pandoc": ("It is H~2~O.", "H2O"),
    "quotation of Markdown": ("> the blue\n> whale", "blue whale"),
    "a link in a name": ("It was [Ines](https://example.org/12) Falk.", "Ines Falk"),
    "note sign in brackets": ("It was Ines⁽¹⁾ Falk.", "Ines Falk"),
    "power by stars": ("It is 3 * 10**8 m/s.", {"number": 3e8, "unit": "m/s"}),
    "yes after a source": ("Based on the documents provided, yes.", {"yes_no": "yes"}),
    "yes in another word": ("Affirmative.", {"yes_no": "yes"}),
    "yes after a thought": ("<think>no?</think>Yes, it is.", {"yes_no": "yes"}),
}


@pytest.mark.parametrize(("answer", "gold"), RIGHT.values(), ids=RIGHT)
def test_what_is_read(answer: str, gold: str | dict[str, object]) -> None:
    assert says(answer, gold)


WRONG = {
    "number of a citation": ("It has nine parts [4].", "4"),
    "number of a page": ("It has nine parts (p. 4).", "4"),
    "page in a sentence": ("Page 4 says that it has nine parts.", "4"),
    "number of a source": ("It has nine parts.\n\nReferences:\n4. a.pdf, p. 12", "12"),
    "number of a heading": ("### 4. Results\nIt has nine parts.", "4"),
    "thought that was cut": ("<thinking>It may be 4", "4"),
    "thought without a beginning": ("Is it 4? No.\n</think>\nNine.", "4"),
    "number of a slide": ("It has nine parts (Slide 4).", "4"),
    "number of a link": ("It has nine parts <a href='#4'>4</a>.", "4"),
    "number in white brackets": ("It has nine parts ⟦4⟧.", "4"),
    "number of a service": ("It has nine parts [4†L1-L9].", "4"),
    "number with a number sign": ("It has nine parts [#4].", "4"),
    "number of a section of a file": ("It has nine parts (report.pdf, §4).", "4"),
    "number in a tag of references": ("It has nine parts <ref>4</ref>.", "4"),
    "number in a tag of citations": ("It has nine parts <cite>4</cite>.", "4"),
    "number of a section in brackets": ("It has nine parts (see Section 4).", "4"),
    "number in a tag of Bedrock": ("Nine.<sources>\n<source>4</source>\n</sources>\nYes.", "4"),
    "number of a linked citation": ("It has nine parts [\\[4\\]](https://example.org/a).", "4"),
    "number between carets": ("It has nine[^4^] parts.", "4"),
    "number after a colon": ("It has nine parts {source: a.pdf, page: 4}.", "4"),
    "number of a node": ("It has nine parts [Node 4].", "4"),
    "number of a context to see": ("It has nine parts (see Context 4).", "4"),
    "number of Mistral": ("It has nine parts.[REF]4[/REF] Yes.", "4"),
    "number of Grok": (
        'Nine.<grok:render type="a"><argument name="citation_id">4</argument></grok:render> Yes.',
        "4",
    ),
    "number of a document": ("It has nine parts [doc4].", "4"),
    "a service's model": ("It was BERT.\n\nModel: gpt-4o, 2 s", "gpt-4o"),
    "a part of a number": ("It has 40 parts.", "4"),
    "another sign": ("It is −4.5.", "4.5"),  # noqa: RUF001
    "millions of a price": ("It cost $4m.", "4"),
}


@pytest.mark.parametrize(("answer", "gold"), WRONG.values(), ids=WRONG)
def test_what_is_not_said(answer: str, gold: str) -> None:
    assert not says(answer, gold)


STATEMENT = "The tower is tall."
ASIDE = {
    "list of sources": ("sources", "\n\n**Sources:**\n- report.pdf, p. 3\n- notes.pdf"),
    "sources in a line": ("sources", "\n\nSources: report.pdf (p. 3)"),
    "sources in German": ("sources", "\n\nQuellen:\n[1] bericht.pdf, S. 3"),
    "sources with a picture": ("sources", "\n\n📚 References\n1. https://example.org/a"),
    "a file alone": ("sources", "\nreport.pdf, page 3"),
    "a page alone": ("sources", "\nPage: 12"),
    "definition of a note": ("sources", "\n\n[^1]: report.pdf, p. 3"),
    "sources in a tag": ("sources", "\n\n<sources>report.pdf p. 3</sources>"),
    "sources in italics": ("sources", "\n\n_Sources: report.pdf, p. 3_"),
    "cited pages": ("sources", "\n\nCited pages: 4, 9"),
    "a file and its page": ("sources", "\n\nDocument: report.pdf\nPage: 4"),
    "a file in a quotation": ("sources", "\n\n> report.pdf, p. 3"),
    "where to read more": ("sources", "\n\nLearn more: https://example.org/a"),
    "offer with a picture": ("offer", " Let me know if you need more. 😊"),
    "offer that asks": ("offer", "\n\nWould it help if I looked further?"),
    "offer to ask": ("offer", "\n\nYou can ask me about the annex too."),
    "confidence after a dash": ("confidence", "\n\n🔎 Confidence — 0.87"),
    "basis": ("disclaimer", "\n\nNote: This answer is based solely on the provided documents."),
    "disclaimer in italics": ("disclaimer", "\n\n_AI-generated content may be incorrect._"),
    "tokens": ("disclaimer", "\n\nTokens used: 512"),
    "a named page in brackets": ("sources", "\n\n(Yearbook, p. 3)"),
    "a named section": ("sources", " (Yearbook, section 2.3)"),
    "folded sources": (
        "sources",
        "\n\n<details><summary>Sources</summary>\n\n- a.pdf p. 2\n\n</details>",
    ),
    "what is known": ("disclaimer", "\n\nMy knowledge is limited to these files."),
    "what can be seen": ("disclaimer", "\n\nNote that I can only see the uploaded files."),
    "questions in angles": ("offer", "\n\n<<What is its height?>>\n<<Who built it?>>"),
    "a name below good wishes": ("offer", "\n\nKind regards\nThe Library Desk"),
    "a bot's name": ("offer", "\n\n— InfoBot"),
    "a question about the answer": ("offer", "\n\nWas this answer helpful?"),
    "confidence with a reason": ("confidence", " I'm quite sure of this, because two passages say so."),
    "confidence as a bar": ("confidence", "\n\nConfidence: ▓▓▓░ 75%"),
    "a service that errs": ("disclaimer", "\n\nNotebookLM can be inaccurate."),
    "links alone": ("sources", "\n\n1. [a.pdf](https://example.org/a)\n2. [b.pdf](https://example.org/b)"),
    "documents by number": ("sources", "\n\nDoc 1, p. 8; Doc 2, p. 1"),
    "passages by number": ("sources", "\n\nRetrieved passages: 1, 2, 5"),
    "file and page in columns": ("sources", "\n\nFile: report.pdf | Page: 8"),
    "a page in a sentence": ("sources", "\n\nIt can be found on page 3."),
    "a page to see": ("sources", "\n\nPlease refer to page 3."),
    "a manual to see": ("sources", "\n\nSee the annex for more details."),
    "sources in brackets": ("sources", "\n\n**Source(s):** report.pdf"),
    "sources in Chinese": ("sources", "\n\n来源：report.pdf 第3页"),  # noqa: RUF001
    "a file with a picture": ("sources", "\n\n📄 report.pdf"),
    "offer of everything": ("offer", "\n\nIf you have other questions, feel free to ask!"),
    "question to the reader": ("offer", "\n\nWhat else would you like to know?"),
    "offer to do more": ("offer", " I can look into the annex as well if you like."),
    "invitation": ("offer", " You're welcome to ask more."),
    "thanks": ("offer", " Thank you for asking."),
    "good wishes": ("offer", "\n\nBest regards,\nYour AI assistant"),
    "confidence as a sentence": ("confidence", "\n\nI'm 90% confident in this answer."),
    "confidence without a verb": ("confidence", "\n\n🟢 High confidence"),
    "confidence of the answer": ("confidence", "\n\nThis answer has a confidence of 85%."),
    "confidence in stars": ("confidence", "\n\nConfidence: ★★★★☆"),
    "confidence as JSON": ("confidence", '\n\n{"confidence": 0.9}'),
    "two sentences of caution": ("disclaimer", "\n\n⚠️ AI can make mistakes. Check important info."),
    "what may be wrong": ("disclaimer", "\n\n*Answers may not be accurate.*"),
    "what was read": ("disclaimer", "\n\nThe answer above is based on the documents you uploaded."),
    "any disclaimer": ("disclaimer", "\n\nDisclaimer: no warranty is given."),
    "a date and a time": ("disclaimer", "\n\n2026-03-01 12:04 UTC"),
    "what it cost": ("disclaimer", "\n\nCost: $0.002"),
    "the name of a service": ("disclaimer", "\n\n*Generated by Copilot*"),
    "a special token": ("disclaimer", "<|eot_id|>"),
    "how long it took": ("disclaimer", "\n\n⏱ 1.2 s"),
    "offer of a list": ("offer", "\n\nShall I put together a list of the other towers?"),
    "a check of the answer": ("offer", "\n\nWas that what you had in mind?"),
    "good wishes of a host": ("offer", " Wishing you a pleasant stay!"),
    "an identifier": ("disclaimer", "\n\nTranscript ID: 20-118"),
    "software": ("disclaimer", "\n\nThis overview was put together by software and may miss details."),
    "a check by nobody": (
        "disclaimer",
        " A person has not checked this reply, so please look at the original.",
    ),
    "a share of certainty": ("confidence", " I'd say I'm some 70% sure."),
    "a place in words": ("sources", "\n\nThe wording is in chapter 2 of the guide, page 14."),
    "offer": ("offer", " Would you like me to look further?"),
    "offer on a condition": ("offer", "\n\nIf you share the annex, I can check it again."),
    "offer to be told": ("offer", " Let me know if you need more."),
    "confidence": ("confidence", "\n\nConfidence: 0.85"),
    "confidence in words": ("confidence", "\n**Confidence:** high"),
    "disclaimer": ("disclaimer", "\n\nThis answer was generated by AI and may contain mistakes."),
    "time stamp": ("disclaimer", "\n\nGenerated on 2026-03-01 10:22"),
}


@pytest.mark.parametrize(("kind", "ending"), ASIDE.values(), ids=ASIDE)
def test_what_stands_around_an_answer(kind: str, ending: str) -> None:
    found = read(STATEMENT + ending)
    assert found.text.strip() == STATEMENT
    assert {part.kind for part in found.parts} == {kind}
    assert read(ending.strip()).text.strip()  # what is all of an answer stays


def test_openings() -> None:
    for opening in (
        *("Sure! ", "Thanks for your question. ", "Good morning! ", "I looked through the documents. "),
        *("Based on the provided documents, ", "After reviewing the documents, ", "As per the context, "),
        *("A: ", "Assistant: ", "In short: ", "Thought for 8 seconds\n\n", "🔍 Searched 3 files\n\n"),
        *("Based on the information in the attached files, ", "From what I can see in the files, "),
    ):
        assert read(opening + STATEMENT).text == STATEMENT
    assert read("Sure!").text == "Sure!"


def test_a_greeting_before_the_only_statement_leaves_it() -> None:
    assert read("Hello,\n\nThe library does not know.").text == "The library does not know."
    assert read("Hello,\n\nLet me know.").text == "Let me know."


def test_what_was_looked_for_and_not_found_is_no_opening() -> None:
    for answer in (
        "I checked both leaflets, and neither says what it costs. Call the office.",
        "I searched the pages for the date but it is missing. They give the place.",
    ):
        assert read(answer).text == answer


def test_a_question_about_what_was_meant_is_no_offer() -> None:
    answer = "It could be several things. Can you tell me which plan you mean?"
    assert read(answer).text == answer


def test_a_reply_without_an_answer() -> None:
    for reply in ("<think>So it is", "[THINK]No[/THINK]", "<|channel|>analysis<|message|>So it is"):
        found = read(reply)
        assert (found.text, found.only_reasoning) == ("", True)
    assert read('{"answer": null, "why": "not found"}').is_null
    assert not read("").only_reasoning


def test_places_lead_back_to_the_raw_answer() -> None:
    raw = (
        '<think>no</think>```json\n{"answer": "It is **41.5**[1]\\u00a0m."}\n```'
        "\n\nLet me know if you want more!"
    )
    found = read(raw)
    assert found.plain == "It is 41.5\u00a0m."
    traced = found.trace_plain()
    assert traced.text == found.plain
    start = found.plain.index("41.5")
    assert raw[slice(*traced.span(start, start + 4))] == "**41.5**"
    assert [part.kind for part in found.parts] == ["reasoning", "envelope", "citation", "envelope", "offer"]
    assert raw[slice(*found.parts[2][1:])] == "[1]"


def test_what_a_configuration_keeps() -> None:
    answer = f"{STATEMENT} [1]\n\nSources: report.pdf, p. 3"
    assert read(answer, keep=("sources",)).text == f"{STATEMENT}\n\nSources: report.pdf, p. 3"
    assert "[1]" in read(answer, keep=("citation",)).text


HOSTILE = (
    *(
        "[1]",
        "[1] ",
        "(p. 3) ",
        "Sources:\n- a\n",
        "<think>",
        "</think>",
        "**",
        "$",
        "$a",
        "(p. ",
        "【",
        "one hundred ",
        "|-",
        "\\frac{",
        "\\(",
        "\\[",
        "`",
    ),
    *(
        "```",
        "{",
        "&amp;",
        "Sources:\n",
        "Sources: a.pdf\n",
        "\n",
        "- a.pdf\n",
        "<b",
        "<b a=",
        "[a](b)",
        "_a",
        "~~a",
    ),
    *(
        "1. a\n",
        "¹",
        "^1^",
        "Would you like me to? ",
        "Confidence: 0.9\n",
        "Sure! ",
        '{"answer":',
        "a-\n",
        "漢\n",
    ),
    *(
        "1,234,",
        "5m",
        "1'",
        "p. 1, ",
        "<|channel|>final<|message|>",
        "Final answer: a\n",
        "[THINK]",
        "if you ",
    ),
    *("note AI may ", "[1-", "\\text{", "\u00ad\n", "pages 1-2, "),
    *(
        "It is this:\n",
        "1. Do you?\n",
        "<sources><source>",
        "[\\[1\\]](",
        "Regards,\nA\n",
        "(a, p. 1)\n",
        "<<a?>>\n",
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_time_in_proportion(piece: str) -> None:
    """Four times the text takes about four times the CPU time, for the reading and for scoring it."""
    gold = (("41.5", "p. 12", "self-attention"), (GoldNumber(number=3),))
    spent = []
    for size in (16_000, 64_000):
        text = (piece * (size // len(piece) + 1))[:size]
        started = time.process_time()
        reading_recall(read(text), gold)
        spent.append(time.process_time() - started)
    assert spent[1] < 10 * spent[0] + 0.2
