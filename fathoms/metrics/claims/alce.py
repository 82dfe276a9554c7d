"""ALCE: recall of claims, and whether the sources that a sentence cites support it, no more and no less.

Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations". Sentences are split by
NLTK, and the first three sources of each count. As in ALCE, a sentence is judged against all its sources
together, and a citation is needed if the sentence does not follow from the other sources. A citation after a
full stop belongs to the sentence before; ALCE's code gives it to the next one.

Joint premises that are longer than what the judge reads are cut to the longest beginning that fits, as all
premises, and the verdict says so under `why`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from fathoms.metrics.claims.cited_sentences import CitedSentence, cited_sentences
from fathoms.metrics.claims.claim_metric import ReleasedMetric, of_one_record
from fathoms.metrics.claims.matrix import Grid, Matrix
from fathoms.metrics.claims.post_hoc import CitesPostHoc
from fathoms.metrics.claims.premises import Premise
from fathoms.metrics.claims.ragchecker import gold_by_answer
from fathoms.metrics.claims.shares import f1_of, share_of
from fathoms.metrics.claims.texts import ClaimsOf
from fathoms.metrics.claims.truth import Truth, all_true, any_true, negated
from fathoms.metrics.metric import Facts, Need
from fathoms.models import Embedder
from fathoms.types import Judgement, Record, Score, Verdict

MOST_SOURCES = 3
"""How many sources of a sentence count, as in ALCE."""
_ALCE = "ALCE, Gao et al. 2023"
_Verdicts = Mapping[Judgement, Verdict]


@of_one_record
def sourced(record: Record, claims: ClaimsOf, adds_by: Embedder | None) -> tuple[CitedSentence, ...]:
    """The sentences of the answer with the sources that count."""
    return cited_sentences(record, MOST_SOURCES, adds_by)


class ClaimRecall(ReleasedMetric):
    """The share of the claims of the gold answer that the answer entails: `ragchecker.recall` under the name
    it has in ALCE."""

    source: ClassVar[str] = _ALCE
    of_answer: ClassVar[bool] = False
    of_gold: ClassVar[bool] = True

    kind: Literal["alce.claim-recall"] = "alce.claim-recall"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the gold answer against the answer."""
        return [gold_by_answer(record, claims)]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the share of the claims of the gold answer that the answer entails."""
        (gold,) = (matrix.settled if self.released else matrix for matrix in matrices)
        if not gold.claims:
            return Score(metric=self.name, value=0.0 if self.released else None, n=0, why={"claims": "none"})
        return share_of(self.name, gold.supported, {"verdicts": gold.listed})


class CitationMetric(CitesPostHoc, ReleasedMetric):
    """Base class of the metrics of citations. They need citations that are written in the answer, because
    those that a pipeline reports beside it belong to no sentence.

    The judge is first asked whether all sources of a sentence together entail it, and only where they do
    and there are several, whether each source does by itself, and where it does not, whether the others do
    without it. Sources among which there is a picture cannot be judged together; such a sentence is unjudged,
    unless one of its sources entails it.
    """

    source: ClassVar[str] = _ALCE
    needs: ClassVar[tuple[Need, ...]] = ("answer", "hits", "citations")
    of_answer: ClassVar[bool] = False
    with_gold: ClassVar[bool] = False

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """Nothing: which premises a sentence is compared with depends on earlier verdicts."""
        return ()

    def judgements(self, record: Record, claims: ClaimsOf) -> Sequence[Judgement]:
        """Each sentence that cites something against all its sources; against each where a judge cannot read
        them together."""
        return [
            judgement
            for sentence in sourced(record, claims, self.adds_by)
            if sentence.sources and not sentence.unknown
            for judgement in _first(sentence)
        ]

    def further(self, record: Record, claims: ClaimsOf, verdicts: _Verdicts) -> Sequence[Judgement]:
        """Of each sentence that its sources entail together, each source by itself, and where one does not
        entail it, the others without it."""
        return [
            judgement
            for sentence in sourced(record, claims, self.adds_by)
            if len(sentence.sources) > 1 and _joint(sentence, verdicts)
            for at in range(len(sentence.sources))
            for judgement in _of_citation(sentence, at, verdicts)
        ]

    def score(self, facts: Facts) -> Score:
        """Return the score; `None` for an answer without a sentence, such as an abstention."""
        found = () if self.abstains(facts) else sourced(facts.record, facts.claims, self.adds_by)
        if not found:
            return Score(metric=self.name, value=0.0 if self.released else None, n=0, why={"claims": "none"})
        facts.compared.extend(_compared(sentence, facts.verdicts) for sentence in found)
        score = self.count(facts, found)
        return score.model_copy(update={"value": 0.0}) if self.released and score.value is None else score

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the score, which needs no matrix of claims."""
        return self.score(facts)

    @abstractmethod
    def count(self, facts: Facts, found: Sequence[CitedSentence]) -> Score:
        """Return the score of the sentences of an answer."""

    def supported(self, facts: Facts, found: Sequence[CitedSentence]) -> list[Truth]:
        """Return whether the sources of each sentence entail it together; with `released`, what is not known
        does not."""
        truths = [_joint(sentence, facts.verdicts) for sentence in found]
        return [bool(truth) for truth in truths] if self.released else truths

    def precise(self, facts: Facts, found: Sequence[CitedSentence]) -> list[Truth]:
        """Return whether each citation is precise; with `released`, a missing verdict is no entailment."""
        return [
            truth
            for sentence in found
            if not sentence.unknown
            for truth in _precise(sentence, facts.verdicts, released=self.released)
        ]


class CitationRecall(CitationMetric):
    """The share of the sentences of an answer that the sources they cite entail together.

    A sentence that cites nothing, or anything that was not retrieved, is not supported.
    """

    kind: Literal["alce.citation-recall"] = "alce.citation-recall"

    def count(self, facts: Facts, found: Sequence[CitedSentence]) -> Score:
        """Return the share of sentences."""
        truths = self.supported(facts, found)
        listed = [
            {"claim": sentence.claim.text, **_shown(sentence, truth, facts.verdicts)}
            for sentence, truth in zip(found, truths, strict=True)
        ]
        return share_of(self.name, truths, {"verdicts": listed}, items="items")


class CitationPrecision(CitationMetric):
    """The share of the citations of an answer that support their sentence and are needed.

    A citation is precise if all sources of its sentence entail the sentence together, and either the source
    entails it by itself, or the other sources do not entail it without this one. Citations of a sentence that
    also cites something that was not retrieved are left out, as in ALCE's code. An answer without citations
    has no precision; ALCE's code gives 0, as does the option `released`.
    """

    kind: Literal["alce.citation-precision"] = "alce.citation-precision"

    def count(self, facts: Facts, found: Sequence[CitedSentence]) -> Score:
        """Return the share of citations."""
        truths = self.precise(facts, found)
        why = {} if truths else {"lacks": "sentences that only cite what was retrieved"}
        return share_of(self.name, truths, dict(why), items="items")


class CitationF1(CitationMetric):
    """The harmonic mean of citation precision and citation recall of an answer, which are among the parts; 0
    if both are 0, and `None` if the answer has no precision."""

    kind: Literal["alce.citation-f1"] = "alce.citation-f1"

    @property
    def halves(self) -> Mapping[str, str]:
        """The names of the precision and the recall that the mean joins."""
        return {name: self.name.replace("f1", name) for name in ("precision", "recall")}

    def count(self, facts: Facts, found: Sequence[CitedSentence]) -> Score:
        """Return the harmonic mean of precision and recall."""
        precision = share_of(self.name, self.precise(facts, found))
        return f1_of(self.name, precision, share_of(self.name, self.supported(facts, found)))


def _first(sentence: CitedSentence) -> Iterator[Judgement]:
    """Yield what is asked first of a sentence: whether its sources entail it together, or whether each does
    where they cannot be read together."""
    together = sentence.joint()
    readable = [source for source in sentence.sources if source.text or source.image]
    for premise in [together] if together else readable:
        yield premise.judges(sentence.claim)


def _verdict(sentence: CitedSentence, premise: Premise | None, verdicts: _Verdicts) -> Truth:
    """Return whether a premise entails a sentence, as far as that is known."""
    verdict = verdicts.get(premise.judges(sentence.claim)) if premise else None
    return verdict.supports if verdict else None


def _alone(sentence: CitedSentence, at: int, verdicts: _Verdicts) -> Truth:
    """Return whether a source entails a sentence by itself."""
    source = sentence.sources[at]
    return _verdict(sentence, source if source.text or source.image else None, verdicts)


def _joint(sentence: CitedSentence, verdicts: _Verdicts) -> Truth:
    """Return whether the sources of a sentence entail it together. Where they cannot be read together, this
    is known only if one of them entails it."""
    if sentence.unknown or not sentence.sources:
        return False
    together = sentence.joint()
    if together:
        return _verdict(sentence, together, verdicts)
    return any_true(_alone(sentence, at, verdicts) for at in range(len(sentence.sources))) or None


def _compared(sentence: CitedSentence, verdicts: _Verdicts) -> Matrix:
    """Return the verdict on a sentence by all its sources; by each, where a judge cannot read them together,
    beside the one by all, which is then missing."""
    sources = () if sentence.unknown else sentence.sources
    together = sentence.joint() if sources else None
    premises = (together,) if together else sources
    row = [verdicts.get(one.judges(sentence.claim)) for one in premises]
    if not together and len(sources) > 1:
        places = " and ".join(source.place for source in sources)
        premises, row = (*premises, Premise(place=places)), [*row, None]
    return Matrix((sentence.claim,), premises, (tuple(row),), by="cited sources")


def _of_citation(sentence: CitedSentence, at: int, verdicts: _Verdicts) -> Iterator[Judgement]:
    """Yield what is asked of a citation when its sentence is known to be supported."""
    source, rest = sentence.sources[at], sentence.joint(without=at)
    if source.text or source.image:
        yield source.judges(sentence.claim)
    if rest and _alone(sentence, at, verdicts) is False:
        yield rest.judges(sentence.claim)


def _precise(sentence: CitedSentence, verdicts: _Verdicts, *, released: bool) -> Iterator[Truth]:
    """Yield whether each source of a sentence is needed and supports it."""
    joint = _joint(sentence, verdicts)
    for at in range(len(sentence.sources)):
        if len(sentence.sources) == 1:
            truths: list[Truth] = [joint, True, True]
        else:
            rest = _verdict(sentence, sentence.joint(without=at), verdicts)
            truths = [joint, _alone(sentence, at, verdicts), rest]
        if released:
            truths = [bool(truth) for truth in truths]
        together, alone, others = truths
        yield all_true(together, any_true((alone, negated(others))))


def _shown(sentence: CitedSentence, truth: Truth, verdicts: _Verdicts) -> dict[str, object]:
    """Return the label of a sentence for readers, and what it was compared with. A premise that the judge had
    to cut says so under `why`."""
    if sentence.unknown or not sentence.sources:
        cites = "something that was not retrieved" if sentence.unknown else "nothing"
        return {"label": "unsupported", "p": None, "premise": None, "why": f"it cites {cites}"}
    together = sentence.joint()
    verdict = verdicts.get(together.judges(sentence.claim)) if together else None
    label = verdict.label if verdict else ("supported" if truth else "failed")
    why = {"why": verdict.why} if verdict and verdict.why else {}
    place = together.place if together else " and ".join(source.place for source in sentence.sources)
    return {"label": label, "p": verdict.p if verdict else None, "premise": place, **why}


ALCE: tuple[type[ReleasedMetric], ...] = (ClaimRecall, CitationRecall, CitationPrecision, CitationF1)
