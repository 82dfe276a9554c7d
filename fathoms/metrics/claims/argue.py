"""ARGUE: whether the sentences of an answer are supported by what they cite, and which nuggets it answers.

Mayfield et al. 2024, "On the Evaluation of Machine-Generated Reports", as Walden et al. 2025 (Auto-ARGUE) and
Martin et al. 2025 (MiRAGE) compute it: each citation of a sentence is judged by itself, and nuggets are
questions with accepted answers, which the question set has (`Question.nuggets`).

A sentence is `supported` if each of its citations attests it, else `unsupported`. One without a citation may
be in need of one (`uncited`), need none (`needs none`), or only repeat an earlier sentence (`repeated`). A
nugget is `answered` or `missed`; one that the documents do not answer is `rightly unanswerable` if the answer
says so, and `missed` if not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

from fathoms.metrics.claims.cited_sentences import CitedSentence, cited_sentences
from fathoms.metrics.claims.claim_metric import of_one_record
from fathoms.metrics.claims.post_hoc import CitesPostHoc
from fathoms.metrics.claims.premises import Premise
from fathoms.metrics.claims.shares import Parts, f1_of, ratio_of
from fathoms.metrics.claims.terms import Term, mean_of
from fathoms.metrics.claims.texts import ClaimsOf, answer_text
from fathoms.metrics.claims.truth import Truth, all_true
from fathoms.metrics.metric import Facts, JudgedMetric, Need, Pooling
from fathoms.metrics.pooled_f1 import F1Counts
from fathoms.models import Embedder
from fathoms.types import Judgement, Nugget, Record, Rubric, Score, Verdict

WEIGHTS = {"vital": 2.0, "okay": 1.0}
"""How much a nugget counts in the weighted coverage."""
DRAFTED = "nuggets that a language model drafted"
_LABELS = ("supported", "unsupported", "uncited", "needs none", "repeated")
_NUGGETS = ("answered", "missed", "rightly unanswerable")
_Verdicts = Mapping[Judgement, Verdict]
Denominator = Literal["citing", "all"]


class Judged(NamedTuple):
    """A sentence or a nugget with its label, and where the label comes from. The label is `None` where a
    verdict that it needs is missing or could not be read; `why` is then `failed` or `unparsed`."""

    text: str
    label: str | None
    why: str
    place: str | None = None
    weight: float = 1.0

    def shown(self) -> dict[str, object]:
        """Return the sentence or nugget with its label, as reports show it."""
        more = {"place": self.place, "why": self.why if self.label else ""}
        found = {"claim": self.text, "label": self.label or self.why}
        return {**found, **{key: text for key, text in more.items() if text}}


@of_one_record
def _sentences(record: Record, claims: ClaimsOf, adds_by: Embedder | None) -> tuple[CitedSentence, ...]:
    """Return the sentences of the answer, each with all sources that it cites."""
    return cited_sentences(record, adds_by=adds_by)


class Argue(JudgedMetric):
    """Base class of ARGUE's metrics; the figure of a run is the mean over its questions."""

    source: ClassVar[str] = "ARGUE, Mayfield et al. 2024"
    pooling: ClassVar[Pooling] = "questions"
    splits: ClassVar[bool] = False

    def judgements(self, record: Record, claims: ClaimsOf) -> Sequence[Judgement]:
        """Return what support and coverage ask, as far as the metric is about them."""
        return [*self.of_sentences(record, claims), *self.of_nuggets(record)]

    def of_sentences(self, record: Record, claims: ClaimsOf) -> Sequence[Judgement]:
        """Return what is asked of the sentences of the answer; by default nothing."""
        return ()

    def of_nuggets(self, record: Record) -> Sequence[Judgement]:
        """Return what is asked of the nuggets of the question; by default nothing."""
        return ()


class _Supports(CitesPostHoc, Argue):
    """Base class of the metrics of the citations of sentences."""

    needs: ClassVar[tuple[Need, ...]] = ("answer", "hits", "citations")

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"support", "citing"})

    @property
    def over(self) -> Denominator:
        """The sentences by which the number of supported ones is divided."""
        return "citing"

    def of_sentences(self, record: Record, claims: ClaimsOf) -> Sequence[Judgement]:
        """Each cited sentence by each of its sources, and each sentence without a citation after the ones
        before it, unless it is certain that it is in need of none."""
        found: list[Judgement] = []
        for at, sentence in enumerate(split := _sentences(record, claims, self.adds_by)):
            if sentence.sources and not sentence.unknown:
                readable = [one for one in sentence.sources if one.text or one.image]
                found += [source.judges(sentence.claim) for source in readable]
            elif self.over == "citing" and not sentence.unknown and not _repeats(split, at):
                found.append(_needs(split, at))
        return found

    def sentences_of(self, facts: Facts) -> list[Judged]:
        """Return the sentences of the answer with their labels; an abstention has none."""
        split = () if facts.scores.abstained else _sentences(facts.record, facts.claims, self.adds_by)
        return [_sentence(split, at, facts.verdicts, self.over) for at in range(len(split))]

    def support(self, facts: Facts) -> Score:
        """Return the share of supported sentences; `None` for an abstention and an answer without any."""
        judged = self.sentences_of(facts)
        pairs = [_holds(one, self.over) for one in judged]
        why = {"sentences": [one.shown() for one in judged]} if judged else {"claims": "none"}
        return _counting(ratio_of(self.name, pairs, dict(why), items="items"), judged, _LABELS)


class _Covers(Argue):
    """Base class of the metrics of nuggets."""

    needs: ClassVar[tuple[Need, ...]] = ("answer", "nuggets")

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"nugget", "unanswerable"})

    def of_nuggets(self, record: Record) -> Sequence[Judgement]:
        """Return the judgements of each nugget by the answer; none for an empty answer."""
        text = answer_text(record)
        return [_asks(nugget, text[0]) for nugget in record.question.nuggets] if text else ()

    def coverage(self, facts: Facts, *, weighted: bool = False) -> Score:
        """Return the share of nuggets that the answer has right; 0 for an empty answer."""
        text = answer_text(facts.record)
        judged = [
            _nugget(nugget, text[0] if text else None, facts.verdicts, weighted=weighted)
            for nugget in facts.record.question.nuggets
        ]
        terms = [_term(one) for one in judged]
        why = {"nuggets": [one.shown() for one in judged]}
        score = _counting(mean_of(self.name, terms, why), judged, _NUGGETS)
        drafted = sum(nugget.origin == "drafted" for nugget in facts.record.question.nuggets)
        return score.model_copy(update={"parts": {**score.parts, "drafted": drafted}})

    def counted(self, score: Score) -> Mapping[str, int]:
        """Return how many of the nuggets behind the figures were drafted."""
        drafted = int(score.parts.get("drafted") or 0)
        return {DRAFTED: drafted} if drafted else {}


class SentenceSupport(_Supports):
    """The share of the sentences of an answer that each of their citations attests, of those that carry a
    citation or need one.

    A sentence that cites something that was not retrieved is not supported. The judge says of a sentence
    without a citation whether it needs one, needs none, or repeats an earlier one; the last two do not count,
    and an exact repetition is found without the judge. `argue.sentence-support-of-all` divides by all
    sentences.
    """

    kind: Literal["argue.sentence-support"] = "argue.sentence-support"

    def score(self, facts: Facts) -> Score:
        """Return the share of supported sentences among those that cite or need a citation."""
        return self.support(facts)


class SentenceSupportOfAll(_Supports):
    """The share of all sentences of an answer that each of their citations attests. A sentence without a
    citation is not supported, whether it needs one or not; MiRAGE divides like this."""

    kind: Literal["argue.sentence-support-of-all"] = "argue.sentence-support-of-all"

    @property
    def over(self) -> Denominator:
        """All sentences, by which the number of supported ones is divided."""
        return "all"

    def score(self, facts: Facts) -> Score:
        """Return the share of supported sentences among all sentences of the answer."""
        return self.support(facts)


class NuggetCoverage(_Covers):
    """The share of the nuggets of a question that the answer answers as one of the accepted answers does.

    A nugget without accepted answers counts if the answer says that it cannot be answered. The judge compares
    each nugget with the whole answer; Auto-ARGUE asks sentence by sentence and takes the best.
    """

    kind: Literal["argue.nugget-coverage"] = "argue.nugget-coverage"

    def score(self, facts: Facts) -> Score:
        """Return the share of the nuggets of the question that the answer answers."""
        return self.coverage(facts)


class WeightedNuggetCoverage(_Covers):
    """`argue.nugget-coverage` with a weight of 2 for each vital nugget and 1 for each okay one."""

    kind: Literal["argue.nugget-coverage-weighted"] = "argue.nugget-coverage-weighted"

    def score(self, facts: Facts) -> Score:
        """Return the share of the weight of the nuggets that the answer answers."""
        return self.coverage(facts, weighted=True)


class _F1(_Covers, _Supports):
    """Base class of both forms of F1."""

    needs: ClassVar[tuple[Need, ...]] = ("answer", "hits", "nuggets", "citations")

    sentences: Denominator = "citing"
    """What support is divided by: the sentences that carry or need a citation, or all (`NAME-of-all`)."""

    @property
    def name(self) -> str:
        """The kind, marked where support is divided by all sentences."""
        return super().name if self.sentences == "citing" else f"{super().name}-of-all"

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"support", "citing", "nugget", "unanswerable"})

    @property
    def over(self) -> Denominator:
        """The sentences by which the number of supported ones is divided."""
        return self.sentences


class F1Macro(_F1):
    """The harmonic mean of sentence support and nugget coverage of a question, which are among the parts; 0
    if both are 0. The figure of a run is the mean over its questions."""

    kind: Literal["argue.f1-macro"] = "argue.f1-macro"

    @property
    def halves(self) -> Mapping[str, str]:
        """Sentence support, which stands for precision, and nugget coverage."""
        support = self.name.replace("f1-macro", "sentence-support")
        return {"precision": support, "recall": "argue.nugget-coverage"}

    def score(self, facts: Facts) -> Score:
        """Return the harmonic mean of the sentence support and the nugget coverage of the question."""
        support, coverage = self.support(facts), self.coverage(facts)
        score = f1_of(self.name, support, coverage)
        items = (support.parts["items"] or 0) + (coverage.parts["claims"] or 0)
        parts = {**score.parts, "claims": items, "drafted": coverage.parts["drafted"]}
        return score.model_copy(update={"parts": parts})


class F1Micro(_F1):
    """The harmonic mean of sentence support and nugget coverage, each pooled over all questions: supported
    sentences / sentences that count, and answered nuggets / nuggets.

    A single question has no value, only the counts among its parts, so runs cannot be compared or gated by
    it. An abstention adds its nuggets and no sentence.
    """

    pooling: ClassVar[Pooling] = "f1"

    kind: Literal["argue.f1-micro"] = "argue.f1-micro"

    def score(self, facts: Facts) -> Score:
        """Return what the question adds to the counts of sentences and of nuggets; it has no value itself."""
        support, coverage = self.support(facts), self.coverage(facts)
        open_items, open_wanted = (float(one.parts["unjudged"] or 0) for one in (support, coverage))
        truths = [_holds(one, self.over)[0] for one in self.sentences_of(facts)]
        counts = F1Counts(
            *(
                float(support.parts["supported"] or 0),
                float(support.n),
                open_items,
                float(truths.count(None)),
            ),
            *(float(coverage.parts["supported"] or 0), float(coverage.n), open_wanted),
        )
        n = support.n + coverage.n
        unjudged = open_items + open_wanted
        parts: Parts = {**counts._asdict(), "claims": n + unjudged, "unjudged": unjudged}
        parts["drafted"] = coverage.parts["drafted"]
        return Score(metric=self.name, value=None, n=n, parts=parts)

    def f1_counts(self, score: Score) -> F1Counts | None:
        """Return the counts of sentences and nuggets that a score holds; `None` for one without any."""
        if not score.parts:
            return None
        return F1Counts(*(float(score.parts[name] or 0) for name in F1Counts._fields))


def _repeats(split: Sequence[CitedSentence], at: int) -> bool:
    """Whether a sentence says word by word what an earlier one says."""
    return _plain(split[at]) in {_plain(earlier) for earlier in split[:at]}


def _plain(sentence: CitedSentence) -> str:
    return " ".join(sentence.claim.text.casefold().split()).rstrip(".!?")


def _needs(split: Sequence[CitedSentence], at: int) -> Judgement:
    """Return what is asked of a sentence without a citation."""
    before = "\n".join(earlier.claim.text for earlier in split[:at])
    return Judgement(claim=split[at].claim.text, premise=before, rubric="citing")


def _asks(nugget: Nugget, answer: str) -> Judgement:
    """Return what is asked of a nugget."""
    if not nugget.answers:
        return Judgement(claim=nugget.question, premise=answer, rubric="unanswerable")
    accepted = "\n".join(" ".join(text.split()) for text in nugget.answers)
    return Judgement(claim=accepted, premise=answer, context=nugget.question, rubric="nugget")


def _sentence(split: Sequence[CitedSentence], at: int, verdicts: _Verdicts, over: Denominator) -> Judged:
    """Return a sentence with its label."""
    sentence = split[at]
    text = sentence.claim.text
    if sentence.unknown:
        return Judged(text, "unsupported", "it cites something that was not retrieved")
    if sentence.sources:
        return _cited(sentence, verdicts)
    if _repeats(split, at):
        return Judged(text, "repeated", "an earlier sentence says the same")
    if over == "all":
        return Judged(text, "uncited", "it cites nothing")
    verdict = verdicts.get(_needs(split, at))
    if verdict is None or verdict.label == "unparsed":
        return Judged(text, None, "unparsed" if verdict else "failed")
    label = {"needed": "uncited", "none": "needs none"}.get(verdict.label, verdict.label)
    return Judged(text, label, "it cites nothing")


def _cited(sentence: CitedSentence, verdicts: _Verdicts) -> Judged:
    """Return a sentence that cites what was retrieved, with its label and the source that decides."""
    truths = [(source, _attests(source, sentence, verdicts)) for source in sentence.sources]
    holds = all_true(*(truth for _, truth in truths))
    deciding = next(source for source, truth in truths if truth is holds)
    if holds is not None:
        label = "supported" if holds else "unsupported"
        places = " and ".join(source.place for source in sentence.sources)
        return Judged(sentence.claim.text, label, "", places if holds else deciding.place)
    verdict = verdicts.get(deciding.judges(sentence.claim))
    return Judged(sentence.claim.text, None, "unparsed" if verdict else "failed", deciding.place)


def _attests(source: Premise, sentence: CitedSentence, verdicts: _Verdicts) -> Truth:
    verdict = verdicts.get(source.judges(sentence.claim))
    return verdict.supports if verdict else None


def _holds(judged: Judged, over: Denominator) -> tuple[Truth, Truth]:
    """Return whether a sentence is supported, and whether it counts."""
    if judged.label is None:
        return (False, None) if judged.place is None else (None, True)  # only a cited sentence has a place
    counts = over == "all" or judged.label in ("supported", "unsupported", "uncited")
    return judged.label == "supported", counts


def _nugget(nugget: Nugget, answer: str | None, verdicts: _Verdicts, *, weighted: bool) -> Judged:
    """Return a nugget with its label; an empty answer misses all of them."""
    weight = WEIGHTS[nugget.importance] if weighted else 1.0
    accepted = " | ".join(nugget.answers) or None
    if answer is None:
        return Judged(nugget.question, "missed", "there is no answer", accepted, weight)
    verdict = verdicts.get(_asks(nugget, answer))
    if verdict is None or verdict.supports is None:
        return Judged(nugget.question, None, "unparsed" if verdict else "failed", accepted, weight)
    right = "answered" if nugget.answers else "rightly unanswerable"
    return Judged(nugget.question, right if verdict.supports else "missed", "", accepted, weight)


def _term(judged: Judged) -> Term:
    """Return what a nugget adds to the coverage."""
    right = judged.label not in (None, "missed")
    return Term(judged.weight * right, judged.weight * (right or judged.label is None), judged.weight)


def _counting(score: Score, judged: Sequence[Judged], labels: Sequence[str]) -> Score:
    """Return a score with the number of sentences or nuggets of each label among its parts."""
    counts = Counter(one.label for one in judged)
    more = {label: float(counts[label]) for label in labels if label not in score.parts}
    return score.model_copy(update={"parts": {**score.parts, **more}})


ARGUE: tuple[type[Argue], ...] = (
    SentenceSupport,
    SentenceSupportOfAll,
    NuggetCoverage,
    WeightedNuggetCoverage,
    F1Macro,
    F1Micro,
)
