"""Recall of the gold pages over the number of pages, and over the tokens of retrieved text, for a whole run.

Both curves are of the pages (or of the documents, if no question has gold pages; where candidate quotes were
retrieved, of these) and are read off the ranked hits of every question: the rank among different pages at
which each gold page is found first, and how much retrieved text stands up to there. Repeats are averaged
within their question and questions within their category; the curve is the unweighted mean of the categories,
as the other metrics are.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from fathoms.metrics.columns import packed, renumbered, unpacked
from fathoms.metrics.question_facts import NumberedQuestions
from fathoms.metrics.quotes.selection import are_quotes, quote_id
from fathoms.metrics.retrieval.coverage import UNKNOWN_PAGE, pages_of
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.types import Record
from fathoms.types.run.summary import CurvePoint, RecallCurves

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

Level = Literal["document", "page", "quote"]
_LEVELS: tuple[Level, ...] = ("document", "page", "quote")
RANKS = (*range(1, 11), 15, 20, 30, 50, 75, 100)
"""The k at which recall is computed, as far as the rankings of a run go."""
TOKENS = tuple(2**power for power in range(6, 18))
"""The amounts of tokens, from 64 to 131,072, up to the first that holds all that was retrieved."""
CHARACTERS = 4.0
"""Characters that a token is assumed to have where no prompt of the run shows how many it has."""


class Curves:
    """Collects the rankings of a run, record by record, in arrays. `questions` can be shared with the
    metrics of the run."""

    def __init__(self, questions: NumberedQuestions) -> None:
        self._questions = questions
        self._tokens = self._characters = 0
        # one entry per record: its question's number, the place of its level, how many gold items there are,
        # how many different items were found, and the characters of its hits, -1 where not known
        self._rows = {name: array("q") for name in ("question", "level", "gold", "length", "characters")}
        # one entry per gold item that was found: the number of its record, its rank, the characters up to it
        self._found = {name: array("q") for name in ("row", "rank", "reached")}

    def add(self, record: Record) -> None:
        """Add a record. One whose question has no gold evidence, or whose hits or their documents are not
        known, is left out; a search that failed found nothing."""
        prompt, question = record.prompt, record.question
        if prompt is not None and prompt.tokens and not any(m.files or m.images for m in prompt.messages):
            self._tokens += prompt.tokens
            self._characters += sum(len(message.text) for message in prompt.messages)
        if record.hits is None or not question.answerable or not (question.evidence or question.quotes):
            return
        level, wanted = _gold(record)
        if not wanted or (level != "quote" and not all(hit.chunk.document for hit in record.hits)):
            return
        found, length, characters = _places(record, wanted, level)
        number = len(self._rows["question"])
        row = (self._questions.number(question), _LEVELS.index(level), len(wanted), length, characters)
        for column, value in zip(self._rows.values(), row, strict=True):
            column.append(value)
        for rank, reached in found:
            for column, value in zip(self._found.values(), (number, rank, reached), strict=True):
                column.append(value)

    def state(self) -> dict[str, Any]:
        """Return everything that was collected as JSON values, for `extend`."""
        return {
            "rows": {name: packed(column) for name, column in self._rows.items()},
            "found": {name: packed(column) for name, column in self._found.items()},
            "tokens": self._tokens,
            "characters": self._characters,
        }

    def extend(self, state: Mapping[str, Any], numbers: Sequence[int]) -> None:
        """Add what another process has collected; `numbers` are those of its questions here."""
        before = len(self._rows["question"])
        for columns, more in ((self._rows, state["rows"]), (self._found, state["found"])):
            for name, column in columns.items():
                if name == "question":
                    column += renumbered(more[name], column, numbers)
                elif name == "row":
                    column.extend(before + row for row in unpacked(more[name], column))
                else:
                    column += unpacked(more[name], column)
        self._tokens += state["tokens"]
        self._characters += state["characters"]

    def figures(self, depth: int = 0) -> RecallCurves | None:
        """Return the curves as the summary stores them, `None` if no question has gold and hits.

        - `level` says what was counted; documents only if no question has gold pages, and quotes if any
          question was given candidate quotes.
        - `by_rank` holds recall among the first `k` items, up to `depth` where the search went so deep for
          every question, or else up to the length of the longest ranking. If fewer than `k`
          were retrieved, all of them count, as in recall@k.
        - `by_tokens` holds recall in the first hits that together have at most so many `tokens`.
          `characters_per_token` is that of the run's own prompts, or an estimate (`estimated`). `None` where
          the text of hits is not known.

        Each point has the `value` with its 95 % interval and the number `n` of questions.
        """
        import numpy as np

        rows = {name: np.array(column) for name, column in self._rows.items()}
        places = {name: np.array(column) for name, column in self._found.items()}
        if not len(rows["question"]):
            return None
        level = int(rows["level"].max())
        used = rows["level"] == level
        if _LEVELS[level] == "quote":  # what found nothing does not tell what it would have found
            used |= rows["length"] == 0
        longest = depth or int(rows["length"][used].max())
        own = self._tokens > 0
        per_token = self._characters / self._tokens if own else CHARACTERS
        with_text = used & (rows["characters"] >= 0)
        most = rows["characters"][with_text].max(initial=0) / per_token

        def points(
            selected: NDArray[np.bool_], key: str, by: str, limits: Mapping[int, float]
        ) -> tuple[CurvePoint, ...]:
            """The points of a curve: recall within each limit, over the `selected` records."""
            means = _Means(self._questions, rows["question"][selected])
            found = []
            for name, limit in limits.items():
                inside = places["row"][places[by] <= limit]
                counts = np.bincount(inside, minlength=len(selected))[selected]
                found.append(means.of(counts / rows["gold"][selected], {key: name}))
            return tuple(found)

        budgets = {tokens: tokens * per_token for tokens in TOKENS if tokens < 2 * most}
        return RecallCurves(
            level=_LEVELS[level],
            by_rank=points(used, "k", "rank", {k: k for k in RANKS if k <= longest}),
            by_tokens=points(with_text, "tokens", "reached", budgets) or None,
            characters_per_token=per_token,
            estimated=not own,
        )


class _Means:
    """Takes means over records as all figures are: repeats within their question, questions within their
    category, and the unweighted mean of the categories. `of_records` has the number of the question of each
    record."""

    def __init__(self, questions: NumberedQuestions, of_records: NDArray[np.int64]) -> None:
        import numpy as np

        numbers, self._of = np.unique(of_records, return_inverse=True)
        self._repeats = np.bincount(self._of)
        categories = [questions[int(number)].category for number in numbers]
        codes = {name: code for code, name in enumerate(dict.fromkeys(categories))}
        self._category = np.array([codes[name] for name in categories])
        self._count = len(codes)

    def of(self, values: Numbers, place: Mapping[str, int]) -> CurvePoint:
        """Return the point of a curve at a place: the mean of values of the records with its interval."""
        import numpy as np

        from fathoms.stats.intervals import stratified_interval

        means = np.bincount(self._of, weights=values) / self._repeats
        strata = [means[self._category == code] for code in range(self._count)]
        bounds = stratified_interval(strata, np.full(self._count, 1 / self._count))
        value = float(np.mean([stratum.mean() for stratum in strata]))
        return CurvePoint(**place, value=value, low=bounds.low, high=bounds.high, n=len(means))


def _gold(record: Record) -> tuple[Level, frozenset[Any]]:
    """Return the level of what a record retrieved, and the gold items of its question."""
    question, gold = record.question, gold_of(record.question)
    quotes = frozenset(quote.id for quote in question.quotes if quote.gold)
    if quotes and record.hits and are_quotes(question, record.hits):
        return "quote", quotes
    return ("page", gold.pages) if gold.pages else ("document", gold.documents)


def _places(record: Record, wanted: frozenset[Any], level: Level) -> tuple[list[tuple[int, int]], int, int]:
    """Return the rank of each gold item that was found, among different items, with the characters of the
    hits up to it; the number of different items; and the characters of all hits, -1 if a hit has no text that
    is known. A hit whose pages are not known counts as one page."""
    found: list[tuple[int, int]] = []
    seen: set[Any] = set()
    rank = characters = 0
    is_known = True
    for hit in sorted(record.hits or (), key=lambda hit: (hit.rank, hit.chunk.source, hit.chunk.pages)):
        chunk = hit.chunk
        is_known = is_known and chunk.whole and bool(chunk.text)
        characters += len(chunk.text)
        items: Sequence[Any] = (chunk.source,)
        if level == "page":
            items = pages_of(chunk) or ((chunk.source, UNKNOWN_PAGE),)
        elif level == "quote":
            items = (quote_id(record.question, hit),)
        for item in items:
            if item in seen:
                continue
            rank += 1
            if level != "page" or item[1] != UNKNOWN_PAGE:
                seen.add(item)
            if item in wanted:
                found.append((rank, characters))
    return found, rank, characters if is_known else -1
