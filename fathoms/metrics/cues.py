"""Does an answer say something, or that it cannot? Told by how such clauses are phrased.

Every clause of an answer is of one kind (`cues.yaml` has the cues). The order of the kinds decides:

- an answer that opens with a clause that abstains, or with what the document holds and then such a clause, is
  an abstention, at whatever length it goes on about it, unless it answers after all: by a conclusion
  (`so the answer is ...`), a guess (`probably ...`), or a clause set against one that abstains (`but ...`);
- an answer that opens with something else is a statement, also where it grants that a detail is missing,
  unless it takes that back at its end;
- an answer none of whose clauses abstains is a statement.

A clause that has the words of an abstention and no clear cue is undecided: the nearest exemplar decides it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from fathoms.config import Component, fingerprint
from fathoms.metrics.clauses import normalise
from fathoms.metrics.grammar import read_grammar
from fathoms.metrics.labels import Label, Why
from fathoms.metrics.nearest import OWN_EXEMPLARS, NearestNeighbour, nearest_exemplars, read_exemplars
from fathoms.metrics.readings import Reading, read_clauses
from fathoms.models import Embedder, LexicalEmbedder
from fathoms.types import Verdict

_ABSTAINS = ("abstains", "abstains exactly", "refuses")
_ANSWERS = ("commits", "answers")
_BARE = re.compile(
    r"(?:yes|no|true|false|none|correct|incorrect|ja|nein|oui|non|sí|是|否)\b.{0,3}|[\W\d]*\d[\W\d]*"
)
_AT_LENGTH = 4
_SHORT = 4
_VERB = re.compile(r"\b(?:is|are|was|were)\b")
_DIGIT = re.compile(r"\d")
_AROUND = " .!?\"'()[]_-:\u3002\uff01\uff1f"


class Decision(NamedTuple):
    """A label, the clause that decided, and how."""

    label: Label
    clause: str
    why: str


class Cues(Component):
    """Cues decide the clear clauses, the nearest exemplar the others; never sees the question or the gold."""

    kind: Literal["cues"] = "cues"
    exemplars: Path | None = None
    """A YAML or JSON file `{statement: [...], abstention: [...]}`; by default our own."""
    embed: Embedder = LexicalEmbedder()
    """What turns undecided clauses and exemplars into vectors."""
    least_cosine: float = Field(default=0.5, ge=-1, le=1)
    """An undecided clause has to be at least this near to an abstention to be one."""

    @property
    def key(self) -> str:
        """Names what decides a label: options, cues, exemplars, the embedder and its weights, not versions.

        Raises what `NearestNeighbour.key` does.
        """
        return fingerprint("cues", self.revision, read_grammar().key, self.least_cosine, self.plain().key)

    def plain(self) -> NearestNeighbour:
        """The paper's rule with these exemplars and this embedder."""
        return NearestNeighbour(exemplars=self.exemplars, embed=self.embed).plain()

    def check(self) -> None:
        """Raise what `classify` would for exemplars that cannot be read or an embedder that is not here."""
        self.plain().check()

    def classify(self, texts: Sequence[str]) -> list[Verdict]:
        """One verdict a text: `premise` is the clause that decided, `why` says how.

        Raises what reading the exemplars and embedding raise; where no clause is undecided, nothing is
        embedded.
        """
        readings = {text: read_clauses(text) for text in texts}
        undecided = [each.text for text in readings.values() for each in text if each.kind == "undecided"]
        settled = self._settle(list(dict.fromkeys(undecided)))
        verdicts = {}
        for text, clauses in readings.items():
            known = [_known(each, settled) for each in clauses]
            label, clause, why = decide(text, known)
            verdicts[text] = Verdict(claim=text, premise=clause, label=label, why=why)
        return [verdicts[text] for text in texts]

    def explain(self, verdict: Verdict) -> Why:
        """What the label of a verdict rests on."""
        return Why(clause=verdict.premise or None, reason=verdict.why)

    def _settle(self, clauses: Sequence[str]) -> dict[str, Reading]:
        """Undecided clauses that are near to an abstention as such, the others as answers."""
        if not clauses:
            return {}
        exemplars = read_exemplars(self.exemplars or OWN_EXEMPLARS)
        found = {}
        for clause, nearest in zip(clauses, nearest_exemplars(clauses, exemplars, self.embed), strict=True):
            abstains = nearest.abstains and nearest.cosine >= self.least_cosine
            cue = f"like '{nearest.exemplar}' (cosine {nearest.cosine:.2f})"
            found[clause] = Reading("abstains" if abstains else "answers", clause, cue)
        return found


def _known(reading: Reading, settled: Mapping[str, Reading]) -> Reading:
    """A reading, or what settled it where it was undecided."""
    if reading.kind != "undecided":
        return reading
    return settled[reading.text]._replace(contrasted=reading.contrasted)


def decide(text: str, readings: Sequence[Reading]) -> Decision:
    """The label of an answer from the kinds of its clauses."""
    whole = " ".join(normalise(text).split()).strip(_AROUND)
    if not whole or read_grammar().is_whole("blank", whole):
        return Decision("empty", whole, "the whole answer")
    if any(read_grammar().is_whole("whole", part) for part in (whole, read_grammar().body(whole))):
        return Decision("abstention", whole, "the whole answer")
    stops = [index for index, reading in enumerate(readings) if reading.kind in _ABSTAINS]
    if not stops:
        return Decision("statement", "", "no clause abstains")
    first, last = readings[stops[0]], readings[stops[-1]]
    if after := _answer_after(readings, stops):
        return Decision("statement", after.text, "answers after all")
    before = [reading for reading in readings[: stops[0]] if reading.kind in (*_ANSWERS, "cites")]
    if not before:
        return Decision(_kind_of_stop(readings, first), first.text, f"cue: {first.cue}")
    if _takes_back(readings, stops):
        return Decision("abstention", last.text, f"cue: {last.cue}")
    return Decision("statement", before[0].text, "answers first")


def _kind_of_stop(readings: Sequence[Reading], first: Reading) -> Label:
    """A refusal, unless it is the source that is said to be silent."""
    missing = [reading for reading in readings if reading.kind in ("abstains", "abstains exactly", "aside")]
    silent = any(read_grammar().find("anchor", reading.text) for reading in missing)
    return "refusal" if first.kind == "refuses" and not silent else "abstention"


def _answer_after(readings: Sequence[Reading], stops: Sequence[int]) -> Reading | None:
    """What is answered after all: a conclusion behind a clause that abstains, and not taken back."""
    last = readings[stops[-1]]
    behind = stops[-1] if len(stops) > 1 and (_is_final(last) or last.contrasted) else stops[0]
    commits = [reading for reading in readings[behind + 1 :] if reading.kind == "commits"]
    return commits[-1] if commits else None


def _is_final(reading: Reading) -> bool:
    """Whether a clause concludes that there is no answer."""
    return read_grammar().find("final", reading.text) is not None


def _takes_back(readings: Sequence[Reading], stops: Sequence[int]) -> bool:
    """Whether an answer that does not open with an abstention comes to one at its end.

    What is cited before is no answer if something exact is then said to be missing, or if that is set against
    it. An answer of its own gives way to a conclusion that there is none, or to more than one clause that
    abstains if they are set against it or it names no number. A bare value stands.
    """
    answers = [reading for reading in readings[: stops[-1]] if reading.kind in _ANSWERS]
    after = [reading for reading in readings[stops[-1] :] if reading.kind in _ANSWERS]
    if _is_short(readings[0]) or len(after) > 1:
        return False
    silent = [readings[stop] for stop in stops]
    opposed = any(reading.contrasted for reading in silent)
    if not answers and (opposed or any(reading.kind == "abstains exactly" for reading in silent)):
        return True
    opposed = opposed or not any(_DIGIT.search(reading.text) for reading in answers)
    return _is_final(silent[-1]) or (opposed and len(stops) > 1 and len(answers) < _AT_LENGTH)


def _is_short(reading: Reading) -> bool:
    """Whether a clause is a bare value or a name."""
    value = read_grammar().body(reading.text)
    few = reading.kind == "answers" and len(value.split()) <= _SHORT and not _VERB.search(value)
    return few or _BARE.fullmatch(value) is not None
