"""Have a judge say whether answers are statements or abstentions; unlike the other classifiers, it is shown
the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import PrivateAttr

from fathoms.answers import read
from fathoms.component import Component
from fathoms.metrics.labels import Label, Why, classified_text
from fathoms.metrics.nearest_neighbour import ExemplarFile
from fathoms.models import Embedder
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Claim, Judgement, Record, Rubric, Verdict


class JudgedAbstention(Component):
    """An abstention classifier that asks the judge of the configuration, one call for each answer.

    The judge says whether an answer is a statement, an abstention, hedged or a refusal, and which sentence
    decides. Verdicts are stored in the verdict journal of the run. An answer without a verdict, because the
    call failed or the reply could not be read, has no label.
    """

    inert: ClassVar[bool] = True
    kind: Literal["judge"] = "judge"
    hedged: Literal["statement", "abstention"] = "statement"
    """The label of an answer that says the documents lack the answer and yet offers a guess."""
    exemplars: ExemplarFile = None
    """A YAML or JSON file `{statement: [...], abstention: [...]}` for the profile `paper-configured`, which
    takes the place of `paper`, or `released` for that of FATHOMS-RAG where it was pulled; by default the
    exemplars of fathoms."""
    embed: Embedder | None = None
    """The embedder of the profile `paper-configured`, which takes the place of `paper`; that one always has
    `minilm-l6-v2`, and hashed words (`lexical`) are never taken for it."""
    rubrics: ClassVar[frozenset[Rubric]] = frozenset({"abstention"})
    _judge: str = PrivateAttr("")

    def by(self, judge: str) -> JudgedAbstention:
        """Return this classifier for the judge with a key, which becomes part of its own key."""
        found = self.model_copy()
        found._judge = judge
        return found

    @property
    def key(self) -> str:
        """A fingerprint of the option and of the judge with all its settings."""
        return fingerprint(self.kind, self.hedged, self._judge)

    def check(self) -> None:
        """Do nothing: the judge is checked by itself."""

    def lacks(self, record: Record) -> str | None:
        """Return what is missing for a verdict: an answer with text that the vendor did not refuse."""
        answer = record.answer
        return None if answer and answer.refusal is None and _said(record).strip() else "an answer with text"

    def texts(self, record: Record) -> Sequence[tuple[str, str]]:
        """Return nothing: answers are judged whole."""
        return ()

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """Return what the judge must be asked about a record that lacks nothing."""
        return [] if record.answer is None else [judgement(record.question.in_conversation, _said(record))]

    def label(self, verdict: Verdict) -> Label | None:
        """Return the label of the answer; `None` if the judge's reply could not be read."""
        if verdict.label == "hedged":
            return self.hedged
        return next((each for each in ("statement", "abstention", "refusal") if each == verdict.label), None)

    def explain(self, verdict: Verdict) -> Why:
        """Return the sentence that decided, and what the judge said."""
        if verdict.label == "unparsed":
            return Why(reason=f"the reply of the judge could not be read: {verdict.why}")
        return Why(clause=verdict.why, reason=f"the judge says {verdict.label}")


def _said(record: Record) -> str:
    """Return what the answer of a record says."""
    return classified_text(read(record.answer.text, record.hits)) if record.answer else ""


def judgement(question: str, answer: str) -> Judgement:
    """Return what a judge is asked about an answer."""
    return Judgement(claim=answer, context=question, rubric="abstention")
