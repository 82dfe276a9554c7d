"""Classify answers as statements or abstentions by the phrasing of their clauses.

Each clause of an answer is assigned one kind by the cues in `cues.yaml`. The order of the kinds decides:

- An answer is an abstention if it begins with a clause that abstains, possibly after clauses that describe
  what the document contains. This holds however long it goes on, unless it answers after all: by a conclusion
  (`so the answer is ...`), a guess (`probably ...`), or a contrast to an abstaining clause (`but ...`).
- An answer that begins with anything else is a statement, even if it concedes that a detail is missing,
  unless it withdraws its answer at the end.
- An answer without an abstaining clause is a statement.

A clause that contains the words of an abstention but no clear cue is undecided; the nearest exemplar then
decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from fathoms.component import Component
from fathoms.metrics.clause_readings import ClauseReading, read_clauses
from fathoms.metrics.clauses import normalise
from fathoms.metrics.grammar import read_grammar
from fathoms.metrics.labels import Label, Why
from fathoms.metrics.nearest_neighbour import (
    OWN_EXEMPLARS,
    ExemplarFile,
    NearestNeighbour,
    nearest_exemplars,
    read_exemplars,
)
from fathoms.models import Embedder, LexicalEmbedder
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Verdict

_ABSTAINS = ("abstains", "abstains exactly", "refuses")
_ANSWERS = ("commits", "answers")
_GIVES = (*_ANSWERS, "cites")
_SEEN = (*_ABSTAINS, "undecided", "aside", "talk", "cites", *_ANSWERS)
_BARE = re.compile(
    r"(?:yes|no|true|false|none|correct|incorrect|ja|nein|oui|non|sí|是|否)\b.{0,3}|[\W\d]*\d[\W\d]*"
)
# An answer of this many answering clauses is not withdrawn by remarks about what is missing.
_AT_LENGTH = 4
# A clause of at most this many words and without a verb is a bare value or a name.
_SHORT = 4
_VERB = re.compile(r"\b(?:is|are|was|were)\b")
_DIGIT = re.compile(r"\d")
_AROUND = " .!?\"'()[]_-:\u3002\uff01\uff1f"


class Decision(NamedTuple):
    """The label of an answer, the clause that decided it, and the reason."""

    label: Label
    clause: str
    why: str


class Cues(Component):
    """An abstention classifier by cue phrases, with the nearest exemplar for clauses without a clear cue.

    It sees neither the question nor the gold answer.
    """

    inert: ClassVar[bool] = True
    kind: Literal["cues"] = "cues"
    exemplars: ExemplarFile = None
    """A YAML or JSON file `{statement: [...], abstention: [...]}`, or `released` for that of FATHOMS-RAG
    where it was pulled; by default the exemplars of fathoms."""
    embed: Embedder = LexicalEmbedder()
    """The embedder that turns undecided clauses and exemplars into vectors."""
    least_cosine: float = Field(default=0.5, ge=-1, le=1)
    """An undecided clause counts as an abstention only if its nearest exemplar is an abstention with at least
    this cosine similarity."""

    @property
    def key(self) -> str:
        """A fingerprint of everything that decides a label: see `NearestNeighbour.key`, and the cues."""
        return fingerprint("cues", self.revision, read_grammar().key, self.least_cosine, self.plain().key)

    def plain(self) -> NearestNeighbour:
        """Return the paper's plain nearest-neighbour rule with the same exemplars and embedder."""
        return NearestNeighbour(exemplars=self.exemplars, embed=self.embed).plain()

    def check(self) -> None:
        """Check the exemplars and the embedder; raises the errors that `classify` would raise."""
        self.plain().check()

    def classify(self, texts: Sequence[str]) -> list[Verdict]:
        """Return one verdict per text: `premise` is the clause that decided, `why` the reason.

        Exemplars are read and text is embedded only if a clause is undecided; the errors of both are raised.
        """
        readings = {text: read_clauses(text) for text in texts}
        undecided = [each.text for text in readings.values() for each in text if each.kind == "undecided"]
        settled = self._settle(list(dict.fromkeys(undecided)))
        verdicts = {}
        for text, clauses in readings.items():
            known = [
                settled[each.text]._replace(contrasted=each.contrasted) if each.kind == "undecided" else each
                for each in clauses
            ]
            label, clause, why = decide(text, known)
            verdicts[text] = Verdict(claim=text, premise=clause, label=label, why=why)
        return [verdicts[text] for text in texts]

    def explain(self, verdict: Verdict) -> Why:
        """Return the clause and the reason behind a verdict's label."""
        return Why(clause=verdict.premise or None, reason=verdict.why)

    def _settle(self, clauses: Sequence[str]) -> dict[str, ClauseReading]:
        """Decide the undecided clauses: those near to an abstention exemplar abstain, the others answer."""
        if not clauses:
            return {}
        exemplars = read_exemplars(self.exemplars or OWN_EXEMPLARS)
        found = {}
        for clause, nearest in zip(clauses, nearest_exemplars(clauses, exemplars, self.embed), strict=True):
            abstains = nearest.abstains and nearest.cosine >= self.least_cosine
            cue = f"like '{nearest.exemplar}' (cosine {nearest.cosine:.2f})"
            found[clause] = ClauseReading("abstains" if abstains else "answers", clause, cue)
        return found


def decide(text: str, readings: Sequence[ClauseReading]) -> Decision:
    """Decide the label of an answer from the kinds of its clauses; the module docstring has the rules."""
    whole = " ".join(normalise(text).split()).strip(_AROUND)
    if not whole or read_grammar().is_whole("blank", whole):
        return Decision("empty", whole, "the whole answer")
    if any(read_grammar().is_whole("whole", part) for part in (whole, read_grammar().body(whole))):
        return Decision("abstention", whole, "the whole answer")
    stops = [index for index, reading in enumerate(readings) if reading.kind in _ABSTAINS]
    if not stops:
        return Decision("statement", "", "no clause abstains")
    first, last = readings[stops[0]], readings[stops[-1]]
    # An answer after the first abstaining clause counts, unless a later one withdraws it.
    withdrawn = len(stops) > 1 and (_is_final(last) or last.contrasted)
    after = readings[(stops[-1] if withdrawn else stops[0]) + 1 :]
    if commits := [reading for reading in after if reading.kind == "commits"]:
        return Decision("statement", commits[-1].text, "answers after all")
    before = [reading for reading in readings[: stops[0]] if reading.kind in _GIVES]
    if not before:
        # A clause that refuses is no refusal if the answer also says that the source lacks the information.
        missing = [
            reading for reading in readings if reading.kind in ("abstains", "abstains exactly", "aside")
        ]
        silent = any(read_grammar().find("anchor", reading.text) for reading in missing)
        label: Label = "refusal" if first.kind == "refuses" and not silent else "abstention"
        return Decision(label, first.text, f"cue: {first.cue}")
    if _takes_back(readings, stops):
        return Decision("abstention", last.text, f"cue: {last.cue}")
    return Decision("statement", before[0].text, "answers first")


def cue_features(text: str) -> list[float]:
    """Return what the cues say of an answer, as numbers for `Linear`: 1 if it abstains, with its undecided
    clauses left out and with these taken for abstaining; 1 for each of `_SEEN` that it has; how many clauses
    answer before and after those that abstain, up to 4; and 1 if none does before them, and none at all."""
    readings = read_clauses(text)
    labels = [
        decide(text, [each for each in readings if each.kind != "undecided"]).label,
        decide(
            text, [each._replace(kind="abstains") if each.kind == "undecided" else each for each in readings]
        ).label,
    ]
    kinds = [reading.kind for reading in readings]
    stops = [place for place, kind in enumerate(kinds) if kind in _ABSTAINS]
    first, last = (stops[0], stops[-1]) if stops else (len(kinds), len(kinds))
    before = sum(kind in _GIVES for kind in kinds[:first])
    after = sum(kind in _GIVES for kind in kinds[last + 1 :])
    return [
        *(float(label != "statement") for label in labels),
        *(float(kind in kinds) for kind in _SEEN),
        min(before, 4),
        min(after, 4),
        float(bool(stops) and before == 0),
        float(bool(stops) and before == 0 and after == 0),
    ]


def _is_final(reading: ClauseReading) -> bool:
    """Return whether a clause concludes that there is no answer."""
    return read_grammar().find("final", reading.text) is not None


def _takes_back(readings: Sequence[ClauseReading], stops: Sequence[int]) -> bool:
    """Return whether an answer that does not begin with an abstention withdraws its answer at the end.

    - It is not withdrawn if it begins with a bare value, or if more than one answering clause follows the
      last abstaining clause.
    - If the answer only cites the source, it is withdrawn when something exact is said to be missing, or
      when an abstaining clause is contrasted with it.
    - Otherwise it is withdrawn by a final conclusion that there is no answer. An answer of fewer than
      `_AT_LENGTH` clauses is also withdrawn by two or more abstaining clauses, if one of them is contrasted
      with it or if it contains no digit.
    """
    answers = [reading for reading in readings[: stops[-1]] if reading.kind in _ANSWERS]
    after = [reading for reading in readings[stops[-1] :] if reading.kind in _ANSWERS]
    value = read_grammar().body(readings[0].text)
    short = readings[0].kind == "answers" and len(value.split()) <= _SHORT and not _VERB.search(value)
    if short or _BARE.fullmatch(value) or len(after) > 1:
        return False
    silent = [readings[stop] for stop in stops]
    opposed = any(reading.contrasted for reading in silent)
    if not answers and (opposed or any(reading.kind == "abstains exactly" for reading in silent)):
        return True
    opposed = opposed or not any(_DIGIT.search(reading.text) for reading in answers)
    return _is_final(silent[-1]) or (opposed and len(stops) > 1 and len(answers) < _AT_LENGTH)
