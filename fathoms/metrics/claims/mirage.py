"""MiRAGE: precision and recall of the information in an answer, and of its citations, by claims.

Martin et al. 2025, "Seeing Through the MiRAGE: Evaluating Multimodal Retrieval Augmented Generation" (another
project of that name generates questions). C_P are the claims of the answer, C_R those of the gold answer, E
the gold sources of the question, never what was retrieved, and D(c) those of E that the sentence of a claim
cites. s(c, d) is 1 if d supports c, else 0.

| metric | value | equation of the paper |
|---|---|---|
| InfoP reference | mean over C_P of s(c, gold answer) | 1 |
| InfoP collection | mean over C_P of the maximum over d in E of s(c, d) | 7 |
| InfoR | mean over C_R of s(c, answer) | 2 |
| CiteP reference | mean over C_P of s(c, the claims in C_R that some d in D(c) supports) | 4 |
| CiteP collection | mean over C_P of the maximum over d in D(c) of s(c, d), 0 without a citation | 3 |
| CiteR | mean over C_R of the maximum, over d in E that support c, of s(c, sentences that cite d) | 5 |

InfoP counts a claim as often as it occurs, CiteP once, as the numbers of claims in the release show. For a
question with a single source, InfoP and CiteP are the same, and CiteR does not apply (appendix I).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr

from fathoms.metrics.claims import premises
from fathoms.metrics.claims.claim_metric import ReleasedMetric
from fathoms.metrics.claims.gold_sources import Citing, Source, all_pages, gold_sources
from fathoms.metrics.claims.matrix import Grid, Matrix, Side
from fathoms.metrics.claims.post_hoc import nearest
from fathoms.metrics.claims.premises import Premise
from fathoms.metrics.claims.shares import f1_of
from fathoms.metrics.claims.terms import Term, mean_of
from fathoms.metrics.claims.texts import ClaimsOf, claims_of_answer, claims_of_gold
from fathoms.metrics.claims.truth import Truth, any_true
from fathoms.metrics.claims.weights import EQUAL, Weights, read_weights
from fathoms.metrics.metric import Facts, Need
from fathoms.models import Embedder, LexicalEmbedder
from fathoms.paths import sha256_file
from fathoms.types import Claim, Document, Judgement, Record, Score, Verdict

Verdicts = Mapping[Judgement, Verdict]
_BY_CITING: tuple[Side, str] = ("gold", "citing sentences")
"""Whose claims CiteR compares with the sentences that cite a page (`Grid.of`, `Grid.by`)."""


class Mirage(ReleasedMetric):
    """Base class of MiRAGE's metrics; the figure of a run is the mean over its questions.

    Without claims, a metric has no value. With `released`, it is 0, and weights are not normalised, so that
    a value can exceed 1.
    """

    source: ClassVar[str] = "MiRAGE, Martin et al. 2025"

    weights: Path | None = None
    """A YAML or JSON file with the weights of `claims` by their texts and of `sources` by their places
    (`a.pdf`, `a.pdf, page 4`); what it does not name has the weight 1. Weights are normalised to mean 1,
    except with `released`. The metric is then called `NAME-weighted`."""

    @property
    def name(self) -> str:
        """The kind, with a mark for each option that changes what is counted."""
        return "-".join([super().name, *self._suffixes()])

    def _suffixes(self) -> list[str]:
        return ["weighted"] if self.weights else []

    @property
    def measured_in(self) -> str:
        """A share; with weights that are not normalised, values have no upper bound."""
        return "weighted sum" if self.weights and self.released else super().measured_in

    def at(self, base: Path) -> Self:
        """Return the metric with the file of weights found from `base`."""
        return self.model_copy(update={"weights": base / self.weights}) if self.weights else self

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the content of the file of weights."""
        return super().identity() | ({"sha256": sha256_file(self.weights)} if self.weights else {})

    def check(self) -> None:
        """Read the file of weights; raises ConfigError."""
        self._weighing()

    def _weighing(self) -> Weights:
        return read_weights(self.weights) if self.weights else EQUAL

    def mean(self, terms: Sequence[Term], why: Mapping[str, object]) -> Score:
        """Return the mean of the terms, over judged claims; with `released`, over all."""
        if self.released:
            terms = [
                Term(term.low, term.low, 1.0 if self.weights else term.weight)
                for term in terms
                if term.counts is True
            ]
        score = mean_of(self.name, terms, why if terms else {"claims": "none"})
        if self.released and not terms:
            return score.model_copy(update={"value": 0.0})
        return score

    def weighed(self, matrix: Matrix, counts: Sequence[Truth] | None = None) -> Score:
        """Return the mean over the claims of a matrix of whether any premise supports them, by importance."""
        importance = self._weighing().of_claims(matrix.claims)
        known = counts or [True] * len(matrix.claims)
        terms = [
            Term(weight * (holds is True), weight * (holds is not False), weight, count)
            for weight, holds, count in zip(importance, matrix.supported, known, strict=True)
        ]
        return self.mean(terms, {"verdicts": matrix.listed})


class InfoPReference(Mirage):
    """InfoP against the gold answer: the share of the claims of the answer that the gold answer supports."""

    kind: Literal["mirage.info-p-reference"] = "mirage.info-p-reference"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the answer against the gold answer."""
        return [
            Grid(claims_of_answer(record, claims), premises.gold_answer(record.question), by="gold answer")
        ]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the share of claims that the gold answer supports."""
        return self.weighed(matrices[0])


class _OfSources(Mirage):
    """Base class of the metrics that need the gold sources of a question."""

    with_gold = False

    sources: Literal["gold", "files"] = "gold"
    """The sources of a question: the pages of its gold evidence, or all pages of its files
    (`NAME-of-files`)."""

    def _suffixes(self) -> list[str]:
        return [*(["of-files"] if self.sources == "files" else []), *super()._suffixes()]

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks, the places of sources included."""
        question = record.question
        there = question.gold_evidence if self.sources == "gold" else question.files
        return super().lacks(record) or (None if there else "gold evidence")

    _known: tuple[Record, tuple[Source, ...]] | None = PrivateAttr(default=None)

    def known(self, record: Record) -> tuple[Source, ...]:
        """Return all sources of the question; those of the last record are kept, as it is asked for often."""
        if self._known is None or self._known[0] is not record:
            found = gold_sources if self.sources == "gold" else all_pages
            self._known = record, found(record.question, self._documents)
        return self._known[1]

    def reading(self, documents: Mapping[str, Document]) -> Self:
        """Return the metric with the parsed documents of the run, and no sources of others."""
        changed = super().reading(documents)
        changed._known = None
        return changed

    def readable(self, record: Record) -> tuple[Source, ...]:
        """Return the sources whose text the run holds."""
        return tuple(source for source in self.known(record) if source.premise.text)

    def unread(self) -> Score:
        """Return the score of a question of whose sources the run holds no text."""
        return Score(metric=self.name, value=None, n=0, why={"lacks": "the text of gold pages"})


class _Infers(_OfSources):
    """Base class of the precisions that compare claims with sources one by one or all at once."""

    inference: Literal["single", "multi"] = "single"
    """Whether a claim is compared with each source by itself, or with all of them in one judgement, which
    finds what follows from several sources together (`NAME-multi`)."""

    def _suffixes(self) -> list[str]:
        return [*(["multi"] if self.inference == "multi" else []), *super()._suffixes()]

    def by(self, sources: str) -> str:
        """Return what claims are compared with, as `Grid.by` names it."""
        return sources if self.inference == "single" else f"{sources} together"

    def premises_of(self, sources: Sequence[Source]) -> tuple[Premise, ...]:
        """Return the sources as premises: one each, or all in one."""
        found = tuple(source.premise for source in sources)
        if self.inference == "single" or len(found) < 2:
            return found
        places = "; ".join(premise.place for premise in found)
        return (Premise("\n\n".join(premise.text for premise in found), place=places),)


class InfoPCollection(_Infers):
    """InfoP against the gold sources: the share of the claims of the answer that any gold page supports."""

    kind: Literal["mirage.info-p-collection"] = "mirage.info-p-collection"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the answer against the gold sources."""
        found = self.premises_of(self.readable(record))
        return [Grid(claims_of_answer(record, claims), found, by=self.by("gold pages"))]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the share of claims that any gold page supports."""
        return self.weighed(matrices[0]) if matrices[0].premises else self.unread()


class InfoR(_OfSources):
    """InfoR: the share of the claims of the gold answer that the answer supports; 0 for an empty answer."""

    of_answer, of_gold, with_gold = False, True, True

    kind: Literal["mirage.info-r"] = "mirage.info-r"
    attested: bool = False
    """Whether only claims count that a gold source supports, as in the released numbers
    (`mirage.info-r-attested`)."""

    def _suffixes(self) -> list[str]:
        return [*(["attested"] if self.attested else []), *super()._suffixes()]

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks; sources are only needed to find the attested claims."""
        return super().lacks(record) if self.attested else Mirage.lacks(self, record)

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the gold answer against the answer, and against the sources."""
        gold = claims_of_gold(record.question, claims)
        by_answer = Grid(gold, premises.answer(record), "gold", "answer")
        if not self.attested:
            return [by_answer]
        sources = tuple(source.premise for source in self.readable(record))
        return [by_answer, Grid(gold, sources, "gold", "gold pages")]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the share of the gold answer's claims that the answer supports."""
        if not self.attested:
            return self.weighed(matrices[0])
        return self.weighed(matrices[0], matrices[1].supported) if matrices[1].premises else self.unread()


class _Cites(_OfSources):
    """Base class of the metrics of citations."""

    needs: ClassVar[tuple[Need, ...]] = ("answer",)

    cite: Literal["written", "post-hoc"] = "written"
    """Whether only the citations of the answer count, or a sentence without any cites the gold source that is
    nearest to it, as MiRAGE does for systems that cite nothing (`NAME-post-hoc`)."""
    embed: Embedder = Field(default=LexicalEmbedder(), validate_default=True)
    """The embedder that finds the nearest source for `cite: post-hoc`."""

    def _suffixes(self) -> list[str]:
        return [*(["post-hoc"] if self.cite == "post-hoc" else []), *super()._suffixes()]

    def identity(self) -> dict[str, Any]:
        """Extend the identity by that of the embedder."""
        return {**super().identity(), "embed": self.embed.identity()}

    def check(self) -> None:
        """Check the embedder and the weights; raises their errors."""
        super().check()
        if self.cite == "post-hoc":
            self.embed.check()

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks; citations are needed unless they are made."""
        lacking = super().lacks(record)
        if lacking or self.cite == "post-hoc":
            return lacking
        if record.citations is None:
            return "citations"
        placed = not record.citations or any(one.sentence for one in record.citations)
        return None if placed else "citations with the sentences that they support"

    def citing(self, record: Record) -> Citing:
        """Return which sources the sentences of the answer cite."""
        return Citing(record, self.known(record), self._nearest if self.cite == "post-hoc" else None)

    def _nearest(self, sentence: str, sources: Sequence[Source]) -> Source | None:
        """Return the source with the highest cosine; `None` if none has anything in common."""
        readable = [source for source in sources if source.premise.text]
        at = nearest(self.embed, sentence, [source.premise.text for source in readable])
        return None if at is None else readable[at]

    def qualities(self, sources: Sequence[Source]) -> dict[Source, float]:
        """Return the quality of each source, with mean 1 unless `released`."""
        found = self._weighing().of_sources(sources)
        mean = sum(found.values()) / len(found) if found else 0.0
        return found if self.released or not mean else {one: value / mean for one, value in found.items()}

    def further(self, record: Record, claims: ClaimsOf, verdicts: Verdicts) -> Sequence[Judgement]:
        """Return the judgements that depend on which sources support the claims of the gold answer."""
        if any(text not in claims for text in self.texts(record)):
            return ()
        matrices = [grid.judged(verdicts) for grid in self.grids(record, claims)]
        return [one for grid in self.later(record, matrices) for row in grid.judgements for one in row]

    def later(self, record: Record, matrices: Sequence[Matrix]) -> Sequence[Grid]:
        """Return what is compared once the verdicts of the grids are there."""
        return ()


class _CiteP(_Cites):
    """Base class of both precisions of citations."""

    mentions: Literal["first", "any"] = "first"
    """Whose citations count for a claim that the answer states several times: those of the first sentence, as
    in the release, or those of all of them (`NAME-any-mention`)."""

    def _suffixes(self) -> list[str]:
        return [*(["any-mention"] if self.mentions == "any" else []), *super()._suffixes()]

    def cited(self, record: Record, claims: Sequence[Claim]) -> dict[Claim, tuple[Source, ...]]:
        """Return the sources that each claim cites; a claim that occurs again is listed once, as it is first
        mentioned."""
        citing, first = self.citing(record), dict[str, Claim]()
        found: dict[Claim, tuple[Source, ...]] = {}
        for claim in claims:
            known = first.setdefault(claim.text, claim)
            if known is claim or self.mentions == "any":
                found[known] = tuple(dict.fromkeys([*found.get(known, ()), *citing.by_claim(claim)]))
        return found

    def score_of(
        self, facts: Facts, cited: Mapping[Claim, tuple[Source, ...]], bounds: Sequence[tuple[float, float]]
    ) -> Score:
        """Return the mean of the terms of the claims, each with its bounds, by the quality of the sources."""
        quality = self.qualities(self.known(facts.record))
        terms = [
            Term(low, high, max((quality[source] for source in sources), default=1.0))
            for sources, (low, high) in zip(cited.values(), bounds, strict=True)
        ]
        score = self.mean(terms, {"cited": _listed(cited, bounds)})
        citing = Citing(facts.record, self.known(facts.record))
        uncited = sum(not citing.is_cited(claim) for claim in cited)
        return score.model_copy(update={"parts": {**score.parts, "uncited": float(uncited)}})


def _listed(
    cited: Mapping[Claim, tuple[Source, ...]], bounds: Sequence[tuple[float, float]]
) -> list[dict[str, object]]:
    """Return each claim with the sources that it cites and whether they support it, for readers."""
    return [
        {
            "claim": claim.text,
            "cites": [source.premise.place for source in sources],
            "supported": bool(low) if low == high else None,
        }
        for (claim, sources), (low, high) in zip(cited.items(), bounds, strict=True)
    ]


def _best(
    pairs: Sequence[tuple[Truth, float]],
) -> tuple[float, float]:
    """Return the largest quality of the sources that support a claim, if the unknown ones do not, and if they
    do."""
    low = max((quality for holds, quality in pairs if holds is True), default=0.0)
    return low, max((quality for holds, quality in pairs if holds is not False), default=0.0)


class CitePCollection(_Infers, _CiteP):
    """CiteP against the cited sources: the share of the claims of the answer that a gold page supports which
    their sentence cites. A citation of anything else supports nothing; a claim without a citation counts
    0."""

    kind: Literal["mirage.cite-p-collection"] = "mirage.cite-p-collection"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """Each claim of the answer against the sources that it cites; all claims against a single source."""
        answer, known = claims_of_answer(record, claims), self.known(record)
        if len(known) == 1:
            return [Grid(answer, self.premises_of(self.readable(record)), by=self.by("gold pages"))]
        cited = self.cited(record, answer)
        by = self.by("cited gold pages")
        grids = [Grid((one,), self.premises_of(_with_text(found)), by=by) for one, found in cited.items()]
        return [Grid(answer, ()), *grids]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the share of claims that a gold page cited by their sentence supports."""
        if not self.readable(facts.record):
            return self.unread()
        answer, *compared = matrices
        if answer.premises:
            return self.weighed(answer)
        cited = self.cited(facts.record, answer.claims)
        quality = self.qualities(self.known(facts.record))
        bounds = [
            _best(_supports(sources, matrix, quality))
            for sources, matrix in zip(cited.values(), compared, strict=True)
        ]
        return self.score_of(facts, cited, bounds)


def _with_text(sources: Sequence[Source]) -> tuple[Source, ...]:
    return tuple(source for source in sources if source.premise.text)


def _supports(
    sources: Sequence[Source], matrix: Matrix, quality: Mapping[Source, float]
) -> list[tuple[Truth, float]]:
    """Return whether each source supports the claim of a matrix, with its quality. Of a source without text,
    that is unknown; sources in one premise have the best of their qualities."""
    read, row = _with_text(sources), matrix.entails[0]
    unread: list[tuple[Truth, float]] = [
        (None, quality[source]) for source in sources if not source.premise.text
    ]
    if len(row) == len(read):
        return [*zip(row, (quality[source] for source in read), strict=True), *unread]
    return [(row[0], max(quality[source] for source in read)), *unread]


class CitePReference(_CiteP):
    """CiteP against the gold answer: the share of the claims of the answer that follow from those claims of
    the gold answer which the cited gold pages support."""

    of_gold, with_gold = True, True

    kind: Literal["mirage.cite-p-reference"] = "mirage.cite-p-reference"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the gold answer against the sources; with a single source, those of the answer
        against the gold answer."""
        answer = claims_of_answer(record, claims)
        if len(self.known(record)) == 1:
            return [Grid(answer, premises.gold_answer(record.question), by="gold answer")]
        gold = claims_of_gold(record.question, claims)
        sources = tuple(one.premise for one in self.readable(record))
        return [Grid(answer, ()), Grid(gold, sources, "gold", "gold pages")]

    def later(self, record: Record, matrices: Sequence[Matrix]) -> Sequence[Grid]:
        """Each claim of the answer against the claims of the gold answer that its sources support."""
        if len(matrices) == 1:
            return ()
        answer, gold = matrices
        cited = self.cited(record, answer.claims)
        return [
            Grid((claim,), self._grounded(record, sources, gold) or (), by="gold claims of the cited pages")
            for claim, sources in cited.items()
        ]

    def _grounded(
        self, record: Record, sources: Sequence[Source], gold: Matrix
    ) -> tuple[Premise, ...] | None:
        """Return the claims of the gold answer that any of some sources supports, as one premise; `None` if
        that is not known of some claims."""
        columns = [at for at, source in enumerate(self.readable(record)) if source in sources]
        if len(columns) < len(sources):
            return None
        attested = [any_true(row[at] for at in columns) for row in gold.entails]
        if None in attested:
            return None
        claims = [claim for claim, holds in zip(gold.claims, attested, strict=True) if holds]
        return premises.joined(claims, "gold claims of " + "; ".join(one.premise.place for one in sources))

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the share of claims that follow from the gold answer by a cited gold page."""
        if len(matrices) == 1:
            return self.weighed(matrices[0])
        if not matrices[1].premises:
            return self.unread()
        answer, gold = matrices
        cited = self.cited(facts.record, answer.claims)
        quality = self.qualities(self.known(facts.record))
        bounds = []
        for sources, grid in zip(cited.values(), self.later(facts.record, matrices), strict=True):
            best = max((quality[source] for source in sources), default=0.0)
            known = self._grounded(facts.record, sources, gold) is not None
            facts.compared.append(matrix := grid.judged(facts.verdicts))
            holds = matrix.supported[0] if known else None
            bounds.append(_best([(holds, best)]))
        return self.score_of(facts, cited, bounds)


class CiteR(_Cites):
    """CiteR: the share of the claims of the gold answer that the answer states in sentences which cite a gold
    page that supports the claim. Claims that no gold page supports do not count. With a single source it does
    not apply."""

    of_answer, of_gold, with_gold = False, True, True

    kind: Literal["mirage.cite-r"] = "mirage.cite-r"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the gold answer against the sources; nothing with a single source."""
        gold = claims_of_gold(record.question, claims)
        several = len(self.known(record)) > 1
        sources = tuple(one.premise for one in self.readable(record)) if several else ()
        return [Grid(gold, sources, "gold", "gold pages")]

    def later(self, record: Record, matrices: Sequence[Matrix]) -> Sequence[Grid]:
        """Each claim of the gold answer against the sentences that cite a source which supports it."""
        sentences, readable = self.citing(record).sentences(), self.readable(record)
        return [
            Grid(
                (claim,),
                tuple(
                    _said(source, sentences[source])
                    for source, holds in zip(readable, row, strict=False)
                    if holds and source in sentences
                ),
                *_BY_CITING,
            )
            for claim, row in zip(matrices[0].claims, matrices[0].entails, strict=True)
        ]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the share of the gold answer's claims that sentences with a supporting citation state."""
        record, (gold,) = facts.record, matrices
        if len(self.known(record)) == 1:
            lacking = "several gold sources: with one, every claim has the same"
            return Score(metric=self.name, value=None, n=0, why={"lacks": lacking})
        readable = self.readable(record)
        if not readable:
            return self.unread()
        sentences, quality = self.citing(record).sentences(), self.qualities(self.known(record))
        terms = []
        for claim, row in zip(gold.claims, gold.entails, strict=True):
            pairs: list[tuple[Truth, float]] = []
            for source, attests in zip(readable, row, strict=True):
                holds: Truth = False if source not in sentences else attests
                if holds:
                    grid = Grid((claim,), (_said(source, sentences[source]),), *_BY_CITING)
                    facts.compared.append(found := grid.judged(facts.verdicts))
                    (holds,) = found.supported
                pairs.append((holds, quality[source]))
            reachable = [quality[one] for one, holds in zip(readable, row, strict=True) if holds is not False]
            terms.append(Term(*_best(pairs), max(reachable, default=1.0), any_true(row)))
        return self.mean(terms, {"verdicts": gold.listed})


def _said(source: Source, sentences: str) -> Premise:
    """Return the sentences that cite a source as a premise."""
    return Premise(sentences, place=f"sentences that cite {source.premise.place}")


class _F1(Mirage):
    """Base class of the harmonic means of a precision and a recall with the same options; both are among the
    parts."""

    of_gold = True
    both: ClassVar[tuple[type[Mirage], type[Mirage]]]

    _parts: tuple[Mirage, Mirage] | None = PrivateAttr(default=None)

    def reading(self, documents: Mapping[str, Document]) -> Self:
        """Return the metric with the parsed documents of the run, also in precision and recall."""
        changed = super().reading(documents)
        changed._parts = changed._build_parts()
        return changed

    @property
    def parts(self) -> tuple[Mirage, Mirage]:
        """Precision and recall with the options of this metric."""
        return self._parts or self._build_parts()

    @property
    def halves(self) -> Mapping[str, str]:
        """The names of the precision and the recall that the mean joins."""
        return {name: part.name for name, part in zip(("precision", "recall"), self.parts, strict=True)}

    def _build_parts(self) -> tuple[Mirage, Mirage]:
        precision, recall = (
            part.model_validate(
                {name: getattr(self, name) for name in part.model_fields if name in self._shared()}
            ).reading(self._documents)
            for part in self.both
        )
        return precision, recall

    def _shared(self) -> set[str]:
        return set(type(self).model_fields) - {"kind"}

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks for precision or recall."""
        precision, recall = self.parts
        return precision.lacks(record) or recall.lacks(record)

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """What precision compares, and then the one grid of recall."""
        return [grid for part in self.parts for grid in part.grids(record, claims)]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the harmonic mean of precision and recall; 0 if both are 0."""
        of_precision, of_recall = self.parts
        precision = of_precision.measure(facts, matrices[:-1])
        recall = of_recall.measure(facts, matrices[-1:])
        why = {**recall.why, **precision.why} if None in (precision.value, recall.value) else {}
        return f1_of(self.name, precision, recall).model_copy(update={"why": why})


class InfoF1Reference(_F1):
    """InfoF1 against the gold answer: the harmonic mean of `mirage.info-p-reference` and `mirage.info-r`."""

    both = (InfoPReference, InfoR)

    kind: Literal["mirage.info-f1-reference"] = "mirage.info-f1-reference"


class InfoF1Collection(_F1, _Infers):
    """InfoF1 against the gold sources: the harmonic mean of `mirage.info-p-collection` and
    `mirage.info-r`."""

    with_gold = True
    both = (InfoPCollection, InfoR)

    kind: Literal["mirage.info-f1-collection"] = "mirage.info-f1-collection"


class _CiteF1(_F1, _CiteP):
    """Base class of both harmonic means of citations."""

    with_gold = True

    def further(self, record: Record, claims: ClaimsOf, verdicts: Verdicts) -> Sequence[Judgement]:
        """Return what precision and recall ask besides."""
        return [
            one
            for part in self.parts
            if isinstance(part, _Cites)
            for one in part.further(record, claims, verdicts)
        ]


class CiteF1Reference(_CiteF1):
    """CiteF1 against the gold answer: the harmonic mean of `mirage.cite-p-reference` and `mirage.cite-r`."""

    both = (CitePReference, CiteR)

    kind: Literal["mirage.cite-f1-reference"] = "mirage.cite-f1-reference"


class CiteF1Collection(_CiteF1, _Infers):
    """CiteF1 against the cited sources: the harmonic mean of `mirage.cite-p-collection` and
    `mirage.cite-r`."""

    both = (CitePCollection, CiteR)

    kind: Literal["mirage.cite-f1-collection"] = "mirage.cite-f1-collection"


METRICS: tuple[type[Mirage], ...] = (
    InfoPReference,
    InfoPCollection,
    InfoR,
    InfoF1Reference,
    InfoF1Collection,
    CitePReference,
    CitePCollection,
    CiteR,
    CiteF1Reference,
    CiteF1Collection,
)
QUICK = (
    *("mirage.rouge-l", "bertscore"),
    *("mirage.info-p-reference", "mirage.info-r", "mirage.info-f1-reference"),
    *("mirage.cite-p-reference", "mirage.cite-r", "mirage.cite-f1-reference"),
)
FULL = (
    *("mirage.rouge-l", "bertscore"),
    *("mirage.info-p-collection", "mirage.info-r", "mirage.info-f1-collection"),
    *("mirage.cite-p-collection", "mirage.cite-r", "mirage.cite-f1-collection"),
    "faithfulness",
)
"""The sets that the paper recommends, with precision and recall beside each F1."""
