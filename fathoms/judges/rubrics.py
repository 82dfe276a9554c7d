"""What judges are asked besides whether a source supports a claim: whether an answer is correct, whether it
abstains, and whether a sentence of a source is relevant.

The claim of a judgement is then the answer, its premise the gold answer (empty for abstention), and its
context the question. For relevance, the claim is the sentence and the premise the source.
"""

from __future__ import annotations

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
    "relevant": """\
You check whether a sentence of a source can help to answer a question. Answer yes if it holds the answer, a
part of it, or something that the answer needs, and no otherwise.

Source:
{premise}

Question: {context}
Sentence of the source: {claim}

Can the sentence help to answer the question? Answer with one word: yes or no.""",
}
"""Prompt templates by rubric, for language models."""
GRADES = tuple(map(str, range(11)))
KINDS = ("statement", "abstention", "hedged", "refusal")
WORDS: dict[Rubric, dict[str, str]] = {
    "grade": {grade: grade for grade in GRADES},
    "correct": {"yes": "supported", "no": "unsupported"},
    "abstention": {label: label for label in KINDS},
    "relevant": {"yes": "supported", "no": "unsupported"},
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
