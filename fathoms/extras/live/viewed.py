"""Some runs as `report.html` shows them, read in the background while they are looked at.

The page asks for the figures of whole runs, for the index of all questions without their texts, for the
texts of those questions that it lists, and for the details of the one that it shows. A run in progress has no
scores yet: its answers are taken from its journal as they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from threading import Event, RLock, Thread
from typing import Any

from fathoms.errors import FathomsError
from fathoms.extras.live.following import Change, Follower, unscored
from fathoms.report.html import shown_run, whole_overview
from fathoms.report.html.claims import cost_of
from fathoms.report.html.detail import background, detail
from fathoms.report.html.pictures import Pictures
from fathoms.report.html.questions import Questions
from fathoms.report.html.reading import IndexedRun, known_mean, light_question, whole_detail
from fathoms.report.html.texts import Pool, clean
from fathoms.report.leaderboard import run_labels
from fathoms.runs.listing import SUMMARY, is_growing, state_of
from fathoms.runs.run import Run
from fathoms.runs.views import scored_question
from fathoms.types.run.part import Json

_AT_ONCE = 50
"""The questions that are added to the index before a request gets its turn."""
_PAUSE = 0.5
"""The seconds between two looks at the journal of a run in progress."""
_PATIENCE = 5.0
"""The seconds that a request waits for a question that has not been read yet."""
_LONGEST = 4_000_000
"""The most characters of one text that are sent."""
_INDEXED = ("id", "category", "answerable")
READING = "The questions are still being read. Ranks, times and errors of this page follow."


def state_of_run(run: Run) -> tuple[Any, ...]:
    """Return a stamp that changes when a run is scored, and when it starts or ends."""
    growing = is_growing(run.path)
    return growing, None if growing else state_of(run.path, SUMMARY)


class Viewed:
    """Some runs side by side. Raises StoreError and DataError for runs that cannot be read."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs
        self._states = [state_of_run(run) for run in runs]
        scored = [bool(state) and not growing for growing, state in self._states]
        self._sources = [
            Run.scored(run.path) if yes else unscored(run) for run, yes in zip(runs, scored, strict=True)
        ]
        self._followers = [None if yes else Follower(run) for run, yes in zip(runs, scored, strict=True)]
        self._profiles = [run.profile() for run in self._sources]
        self._labels = run_labels(self._sources)
        self._questions = Questions(self._sources)
        self._indexed = [
            IndexedRun(run, profile, self._questions)
            for run, profile in zip(self._sources, self._profiles, strict=True)
        ]
        self._ids: list[dict[int, str]] = [{} for _ in runs]
        self._expected = [_expected(run) for run in self._sources]
        self._read = 0
        self._full: Json | None = None
        self._flaw: str | None = None
        self._hay: tuple[Any, list[str]] = (None, [])
        self._index: tuple[int, Json] | None = None
        self._pictures = Pictures()
        self._pages = [self._pictures.of(run) for run in self._sources]
        self._lock = RLock()
        self._drawing = RLock()
        self._ended = Event()
        self._all_read = Event()
        Thread(target=self._read_all, daemon=True).start()

    def is_current(self) -> bool:
        """Whether the runs are unchanged since they were opened."""
        return self._states == [state_of_run(run) for run in self._runs]

    def close(self) -> None:
        """End all reading of runs in the background."""
        self._ended.set()

    # ----- what is read in the background

    def _read_all(self) -> None:
        """Read the questions of all runs, then the answers that come."""
        try:
            for key, run in enumerate(self._sources):
                if self._followers[key] is None:
                    self._take(key, map(Change, map(light_question, run.views())))
            self._follow()
            if not any(self._followers) and not self._ended.is_set():
                self._full = self._overview(self._sources)
        except FathomsError as error:
            self._flaw = str(error)
        except Exception as error:  # nobody else would say so
            self._flaw = f"{type(error).__name__}: {error}: this is a bug in fathoms"
        self._all_read.set()

    def _follow(self) -> None:
        """Take the answers from the journals of runs that are not scored, as long as any is in progress."""
        following = {key: one for key, one in enumerate(self._followers) if one is not None}
        while following and not self._ended.is_set():
            growing = [is_growing(self._runs[key].path) for key in following]
            for key, one in following.items():
                self._take(key, one.new())
            if not any(growing):
                return
            self._ended.wait(_PAUSE)

    def _take(self, key: int, found: Iterable[Change]) -> None:
        """Add questions of a run to the index."""
        rest = iter(found)
        while not self._ended.is_set():
            some = list(islice(rest, _AT_ONCE))
            if not some:
                return
            with self._lock:
                for change in some:
                    _, place = self._indexed[key].add(*change)
                    self._ids[key][place] = change.question.question.id
                self._read += len(some)

    # ----- what the page asks for

    def standing(self) -> Json:
        """Return how far the runs are read and answered; `live` while this can change, and `version` for the
        overview, which is another one when everything has been read."""
        followed = [key for key, one in enumerate(self._followers) if one is not None]
        with self._lock:
            errors = sum(count for key in followed for count, _ in self._indexed[key].sums.errors.values())
            costs = [cost for key in followed for cost in self._indexed[key].sums.costs]
        answers = sum(one.answers for one in self._followers if one is not None)
        return {
            "live": not self._all_read.is_set(),
            "read": self._read,
            "expected": sum(self._expected),
            "following": bool(followed),
            "answers": answers,
            "errors": errors,
            "cost": cost_of(_total(costs)),
            "version": f"{id(self)}-{bool(self._full)}-{self._read if followed else 0}",
            "flaw": self._flaw,
        }

    def wait(self, seconds: float) -> None:
        """Wait until everything is read, but not longer than so many seconds."""
        self._all_read.wait(seconds)

    def overview(self) -> Json:
        """Return the overview of the page; until everything is read, what the summaries have."""
        if self._full is not None:
            return self._full
        bare = [run.altered(views=lambda: ()) for run in self._sources]
        with self._lock:
            overview = self._overview(bare)
        scored = any(one is None for one in self._followers)
        notes = [self._flaw] if self._flaw else [READING] if scored else []
        return overview | {"notes": [*overview["notes"], *notes]}

    def _overview(self, runs: Sequence[Run]) -> Json:
        """Build the overview of runs, which may be these without their questions."""
        shown = []
        for key, run in enumerate(runs):
            indexed = self._indexed[key]
            one = shown_run(key, self._labels[key], run, self._profiles[key], indexed)
            if self._followers[key] is not None:
                one["cost"]["total"] = cost_of(_total(indexed.sums.costs))
            shown.append(one)
        with self._lock:
            total = len(self._questions.ids)
            same = all(len(indexed.rows) == total for indexed in self._indexed)
        return whole_overview(runs, None, shown, same or not self._all_read.is_set(), [])

    def index(self) -> Json:
        """Return the index of the questions that are read so far, without their texts. `place` is the number
        that names a question in requests."""
        with self._lock:
            if self._index is None or self._index[0] != self._read:
                order = self._questions.order()
                runs = [indexed.columns(order) for indexed in self._indexed]
                for columns in runs:
                    del columns["answer"], columns["detail"]
                questions = self._questions.columns(order, _INDEXED) | {"place": order}
                self._index = self._read, clean({"questions": questions, "runs": runs})
            return self._index[1]

    def rows(self, places: Sequence[int]) -> list[Json]:
        """Return the texts of questions: the question, the gold answer, and the answer of each run; raises
        IndexError."""
        self._wait_for(*places)
        with self._lock:
            return [
                {
                    "text": (row := self._questions.row(place))["text"],
                    "gold": row["gold"],
                    "answers": [self._answer(indexed, place) for indexed in self._indexed],
                }
                for place in places
            ]

    def _wait_for(self, *places: int) -> None:
        """Wait until questions are read: when a run has ended, it is read again, and a page may know more."""
        if max(places) >= len(self._questions.ids):
            self.wait(_PATIENCE)

    @staticmethod
    def _answer(indexed: IndexedRun, place: int) -> str | None:
        """Return the beginning of a run's first answer to a question."""
        row = indexed.rows.get(place)
        return row[4] if row else None

    def search(self, words: Sequence[str], runs: Sequence[int]) -> list[int]:
        """Return the places of the questions that have all words in their id, text, gold answer, or in the
        beginning of an answer of these runs; raises IndexError."""
        with self._lock:
            of = tuple(runs), self._read
            if self._hay[0] != of:
                indexed = [self._indexed[key] for key in runs]
                self._hay = of, [self._haystack(place, indexed) for place in range(len(self._questions.ids))]
            hay = self._hay[1]
        return [place for place, text in enumerate(hay) if all(word in text for word in words)]

    def _haystack(self, place: int, runs: Sequence[IndexedRun]) -> str:
        """Return what is searched of one question."""
        row = self._questions.row(place)
        answers = (self._answer(indexed, place) or "" for indexed in runs)
        return "\n".join([row["id"], row["text"], row["gold"], *answers]).lower()

    def detail(self, key: int, place: int) -> Json | None:
        """Return the details of one question in one run, in the form of a chunk of `report.html`; `None` if
        the run does not have it. Raises IndexError and StoreError."""
        self._wait_for(place)
        with self._lock:
            run, source, follower = self._runs[key], self._sources[key], self._followers[key]
            id, name = self._ids[key].get(place), self._questions.row(place)["id"]
        if id is None:
            return None
        view = run.files.at(follower.lines_of(id)) if follower else run.files.scored(id)
        if view is None:
            return None
        question, pool = scored_question(view), Pool()
        with self._drawing:
            details = detail(question, pool, background(source, self._profiles[key], self._pages[key]))
        pool.cut(_LONGEST)
        whole = whole_detail(source, question, name, details)
        return dict(clean({"texts": pool.texts, "questions": {name: whole}}))

    def pages(self, keys: Sequence[str]) -> Json:
        """Return pictures of pages that the details of a question name by these keys, and what stands where
        on them."""
        with self._drawing:
            return self._pictures.of_keys(keys)


def _total(costs: Sequence[float | None]) -> float | None:
    """Return the sum of costs; `None` if any is not known."""
    return sum(filter(None, costs)) if known_mean(costs) is not None else None


def _expected(run: Run) -> int:
    """Return how many questions of a run are to be read."""
    counts = run.summary.counts
    return counts.asked or counts.questions or 0
