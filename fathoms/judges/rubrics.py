"""What judges are asked besides whether a source supports a claim, and in which words.

| rubric | claim | premise | context |
|---|---|---|---|
| `grade`, `correct` | the answer | the gold answer | the question |
| `abstention` | the answer | | the question |
| `relevant-sentences` | the question | the source | |
| `questions` | the answer | | |
| `nugget` | the accepted answers, one a line | the answer | the question of the nugget |
| `unanswerable` | the question of the nugget | the answer | |
| `citing` | the sentence | the sentences before it | |
| `quality` | the answer | the gold answer | the question |
"""

from __future__ import annotations

from fathoms.runs.grades import BEST, QUALITY
from fathoms.types import Form, Rubric

VERSION = 1
"""Part of the key of the verdicts: a changed text asks anew."""
_ASKED = """\
Only what the answer says counts: other words, another order, the same value in another unit, and further
details that do not contradict the gold answer cost nothing.

Question: {context}

Gold answer:
{premise}

Answer to check:
{claim}

"""
PROMPTS: dict[Rubric, str] = {
    "grade": f"""\
You grade an answer to a question by comparing it with the gold answer, with a whole number from 0 to 10.
10: it says everything that the gold answer says. 7 to 9: it is correct, and only minor details are missing.
4 to 6: it is partly correct. 1 to 3: it is mostly wrong. 0: it is wrong, or does not answer the question.
{_ASKED}Answer with the number alone.""",
    "correct": f"""\
You check an answer to a question by comparing it with the gold answer. Answer yes if it says what the gold
answer says, and no if anything of it is missing or wrong, or if it does not answer the question.
{_ASKED}Is the answer correct? Answer with one word: yes or no.""",
    "abstention": """\
You say what kind of answer was given to a question about documents. You do not judge whether it is correct.
- statement: it gives an answer, correct or not, complete or not, even if it adds that a detail is missing, or
  if what it answers is that something does not exist or did not happen.
- abstention: it gives no answer, because it says that the documents do not contain it, or that it does not
  know or cannot tell. Describing what the documents do contain instead is still an abstention.
- hedged: it says that the documents do not contain the answer, and yet offers a guess at it.
- refusal: it declines to answer because of rules or safety.

Question: {context}

Answer, with its sentences numbered:
{claim}

Which sentence decides, and what kind of answer is it? Reply with JSON:
{"sentence": NUMBER, "label": LABEL}""",
    "relevant-sentences": """\
You pick the sentences of a source that can help to answer a question: those that hold the answer, a part of
it, or something that the answer needs. If the source has too little information to answer the question, no
sentence helps.

Source, with its sentences numbered:
{premise}

Question: {claim}

Reply with JSON, with the numbers of the sentences that help, or an empty list:
{"sentences": [NUMBER, ...]}""",
    "questions": """\
You guess which question a text answers. You also say whether the text is noncommittal: it is if it evades,
stays vague, or says that something is not known, as "I don't know" and "The documents do not say" do.

Text:
{claim}

Write as many different questions as the number at the end, each of which the whole text could be the answer
to. Reply with JSON: {"noncommittal": true or false, "questions": [TEXT, ...]}

Number of questions: {wanted}""",
    "nugget": """\
You check whether a text answers a question correctly. Answer yes if the text gives one of the accepted
answers, in whatever words. Answer no if it gives another answer, only a part of an accepted one, or none.

Text:
{premise}

Question: {context}
Accepted answers, one a line:
{claim}

Does the text give one of the accepted answers to the question? Answer with one word: yes or no.""",
    "unanswerable": """\
You check whether a text says that a question cannot be answered. Answer yes if the text says so, or says that
what the question asks for is not known or not in the documents. Answer no if it gives an answer to the
question, or does not speak of it.

Text:
{premise}

Question: {claim}

Does the text say that the question cannot be answered? Answer with one word: yes or no.""",
    "citing": """\
A report has to cite a source for what it says. You look at one of its sentences, which cites nothing.
- repeated: everything that it says was said in an earlier sentence.
- cite: it states something about the world that a reader may want to check.
- none: it needs no source, because it states nothing of that kind: it introduces, links or sums up, gives an
  opinion of the writer, or says that something is not known.

Earlier sentences of the report:
{premise}

Sentence: {claim}

Answer with one word: repeated, cite or none.""",
    "quality": """\
You grade an answer that weaves text, citations such as [2], and pictures such as ![what it shows](image3)
together, by comparing it with the gold answer. Give five grades, each by itself, in whole numbers from 0 to
5. 5: nothing is to be improved. 4: small imperfections. 3: acceptable, with small gaps or inconsistencies.
2: partly good, with clear gaps or errors. 1: bad, with serious errors or much missing. 0: useless.
- Fluency: is the language correct and coherent, and does the answer read well?
- Citation Quality: do citations stand where a statement needs support, and nowhere else?
- Text-Image Coherence: judged by their captions, do pictures and text complement each other?
- Reasoning Logic: are the steps of the reasoning clear, and does each follow from those before?
- Factuality: does the answer agree with the gold answer, without wrong or misleading statements?

Question: {context}

Gold answer:
{premise}

Answer to grade:
{claim}

Reply with JSON alone: {"Fluency": N, "Citation Quality": N, "Text-Image Coherence": N, "Reasoning Logic": N,
"Factuality": N}""",
}
"""Prompt templates by rubric, for language models."""
GRADES = tuple(map(str, range(11)))
KINDS = ("statement", "abstention", "hedged", "refusal")
CITING = ("repeated", "needed", "none")
WORDS: dict[Rubric, dict[str, str]] = {
    "grade": {grade: grade for grade in GRADES},
    "correct": {"yes": "supported", "no": "unsupported"},
    "abstention": {label: label for label in KINDS},
    "nugget": {"yes": "supported", "no": "unsupported"},
    "unanswerable": {"yes": "supported", "no": "unsupported"},
    "citing": {"repeated": "repeated", "cite": "needed", "none": "none"},
}
"""What a language model may reply, and the label of the verdict for it."""
ABSTENTION_FORM = Form(
    json_schema={
        "type": "object",
        "properties": {
            "sentence": {"type": "integer"},
            "label": {"type": "string", "enum": list(KINDS)},
        },
        "required": ["sentence", "label"],
        "additionalProperties": False,
    }
)
"""The form of the reply on abstention: the number of the sentence comes first, so that the label follows from
it."""
RELEVANT_FORM = Form(
    json_schema={
        "type": "object",
        "properties": {"sentences": {"type": "array", "items": {"type": "integer"}}},
        "required": ["sentences"],
        "additionalProperties": False,
    }
)
"""The form of the reply that names the relevant sentences of a source."""
QUESTIONS_FORM = Form(
    json_schema={
        "type": "object",
        "properties": {
            "noncommittal": {"type": "boolean"},
            "questions": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["noncommittal", "questions"],
        "additionalProperties": False,
    }
)
"""The form of the reply with the questions that a text answers."""
GRADES_FORM = Form(
    json_schema={
        "type": "object",
        "properties": {key: {"type": "integer", "enum": list(range(BEST + 1))} for key in QUALITY.values()},
        "required": list(QUALITY.values()),
        "additionalProperties": False,
    }
)
"""The form of the reply with five grades of an answer. Some vendors know no bounds of numbers, but lists."""
