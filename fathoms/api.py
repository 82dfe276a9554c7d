"""The same from Python: load a configuration, run it, look at the scores. For notebooks and scripts.

    import fathoms

    result = fathoms.run("configs/demo.yaml", limit=10)
    result.scores()       # a DataFrame, a row a question
    result.radar()        # a Matplotlib figure

Everything goes to the same run directories as from the command line, and comes from the same code.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from fathoms import corpora, report
from fathoms.errors import MissingExtraError, UsageError
from fathoms.models.calling.stop import Stop
from fathoms.paths import load_env
from fathoms.pipeline.experiment import AnyExperiment, load_experiment
from fathoms.runner import runner
from fathoms.runner.asking import Outcome
from fathoms.runner.budget import Budget
from fathoms.runner.runner import Job, Selection
from fathoms.runs.cache import Cache
from fathoms.runs.store import Run, find_run
from fathoms.scoring import score_run
from fathoms.types import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

T = TypeVar("T")
RUNS = Path("runs")


@dataclass(frozen=True)
class Config:
    """An experiment, and the folder that paths in it are relative to."""

    experiment: AnyExperiment
    folder: Path


@dataclass(frozen=True)
class Result:
    """A scored run on disk."""

    path: Path

    @property
    def run(self) -> str:
        """The id of the run, as every command takes it."""
        return self.path.name

    @property
    def summary(self) -> dict[str, Any]:
        """`summary.json`: means by profile and category, counts, tokens, cost, seconds."""
        return dict(self._view().summary)

    @property
    def manifest(self) -> dict[str, Any]:
        """`manifest.json`: what was run, on what, with which versions."""
        return dict(self._view().manifest)

    def records(self) -> list[Record]:
        """Every question as it was asked and answered."""
        return Run(self.path).records()

    def scores(self, profile: str | None = None) -> DataFrame:
        """A row a question and repeat: what was asked and said, its scores, tokens and seconds.

        `correctness` is in [0, 1]; a score that does not apply is missing (NaN), never 0. `profile` is
        that of the run if not given. Raises UsageError or DataError where there are no such scores, and
        MissingExtraError without pandas.
        """
        pandas, view = _pandas(), self._view()
        name = view.profile(profile)
        rows = [
            _row(question["question"], repeat, name)
            for question in view.questions()
            for repeat in question["repeats"]
        ]
        frame = pandas.DataFrame(rows, columns=list(COLUMNS))
        return frame.astype({column: kind for column, kind in COLUMNS.items() if kind is not None})

    def categories(self, profile: str | None = None) -> DataFrame:
        """A row a category, after Overall (the unweighted mean of the categories), with the number of
        questions behind each figure; errors as for `scores`."""
        figures = self._view().figures(profile)
        rows = {"Overall": figures["overall"], **figures["categories"]}
        columns = ["correctness", "hallucination", "abstention", "n", "hallucination_n", "errors"]
        frame: DataFrame = _pandas().DataFrame.from_dict(rows, orient="index", columns=columns)
        kinds = dict.fromkeys(columns[:3], "float64") | dict.fromkeys(columns[3:], "Int64")
        return frame.astype(kinds).rename_axis("category")

    def radar(
        self, metric: Literal["correctness", "hallucination"] = "correctness", *, profile: str | None = None
    ) -> Figure:
        """The radar plot, an axis a category and Overall; the same is in the run as PNG and SVG."""
        return report.radar_figure([self._view()], metric, profile)

    def _view(self) -> report.RunView:
        return report.load(self.path)


COLUMNS: dict[str, str | None] = {
    "question": None,
    "category": None,
    "repeat": None,
    "answerable": None,
    "text": None,
    "answer": None,
    "error": None,
    "refusal": None,
    "correctness": "float64",
    "hallucination": "float64",
    "abstained": "boolean",
    "prompt_tokens": "Int64",
    "completion_tokens": "Int64",
    "cost": "float64",
    "seconds": "float64",
}
"""The columns of `Result.scores`, and the types of those in which a value can be missing."""


def _row(question: dict[str, Any], repeat: dict[str, Any], profile: str) -> dict[str, Any]:
    """One row of `Result.scores`."""
    answer, error = repeat.get("answer") or {}, repeat.get("error") or {}
    scores, usage = repeat["scores"][profile], answer.get("usage") or {}
    return {
        "question": question["id"],
        "category": question["category"],
        "repeat": repeat["repeat"],
        "answerable": question["answerable"],
        "text": question["text"],
        "answer": answer.get("text"),
        "error": f"{error['kind']}: {error['message']}" if error else None,
        "refusal": answer.get("refusal"),
        **{name: scores.get(name) for name in ("correctness", "hallucination", "abstained")},
        **{name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")},
        "cost": answer.get("cost"),
        "seconds": (repeat.get("timings") or {}).get("generate"),
    }


def load(path: str | Path, *settings: str) -> Config:
    """Read a YAML configuration; `settings` override keys of it, as `--set` does: `"retrieve.top_k=5"`.

    A file `.env` in the current folder is read for keys, as the command line does. Raises ConfigError with
    file:line:column.
    """
    if ignored := load_env(Path.cwd()):
        warnings.warn(ignored, stacklevel=2)
    return Config(load_experiment(Path(path), settings), Path(path).parent)


def run(
    config: str | Path | Config,
    *settings: str,
    limit: int | None = None,
    categories: str | Sequence[str] = (),
    questions: str | Sequence[str] = (),
    out: str | Path = RUNS,
    workers: int | None = None,
    repeats: int = 1,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    reuse_replies: bool = False,
    on_record: Callable[[Record, int, int], None] | None = None,
) -> Result:
    """Ask the questions of a configuration, score the answers, write the report.

    `limit` takes at most so many questions, from the categories in turn; `questions` are ids; one of them
    may be given as it is. Every question is asked `repeats` times, and no more is begun than `max_cost` (US
    dollars) and `max_tokens_total` allow: the result is then not complete, and `summary["incomplete"]` says
    so. `reuse_replies` takes what the model said to the same prompt before. `on_record` hears of every
    (record, done, total). What is missing (a package, weights, a key, a document) is raised before the first
    question; a question that fails is recorded, and counted in `summary["counts"]`.
    Works inside a running event loop too, as a notebook has one. Raises UsageError for `settings` beside a
    configuration that is loaded already, and KeyboardInterrupt where it was interrupted: what was asked by
    then is kept and scored, and a note of the exception says how to go on.
    """
    if isinstance(config, Config) and settings:
        raise UsageError("settings override keys of a file: give them to fathoms.load")
    loaded = config if isinstance(config, Config) else load(config, *settings)
    corpus = corpora.load(loaded.experiment.data, loaded.folder)
    stop = Stop()
    with closing(Cache()) as cache:
        (outcome,) = _outside_loops(
            lambda: runner.run(
                [Job(loaded.experiment, corpus, loaded.folder)],
                out=Path(out),
                cache=cache,
                selection=Selection(limit, _several(categories), _several(questions)),
                workers=workers or os.cpu_count() or 1,
                repeats=repeats,
                budget=Budget(max_cost, max_tokens_total),
                reuse_replies=reuse_replies,
                on_record=on_record or (lambda record, done, total: None),
                stop=stop,
            ),
            stop,
        )
    if outcome.over_budget and not outcome.done:
        raise UsageError(f"not one question fits the budget; the run is {outcome.run.path}")
    if not outcome.stopped or outcome.over_budget:
        return score(outcome.run.path)
    if outcome.done:
        score(outcome.run.path)
    raise _interrupted(outcome)


def score(
    reference: str | Path | Result,
    *settings: str,
    profile: str | None = None,
    out: str | Path = RUNS,
    trust: bool = False,
) -> Result:
    """Score a run again, from what it holds, and write its report.

    `reference` is a path, an id, `latest`, a name or `NAME~1`; `settings` override keys of `scoring`.
    Raises UsageError where there is no such run, and for a run from elsewhere whose scoring would import
    code, ask a server, or read the environment or a file; `trust` marks it as one of yours. Raises DataError
    where it holds no answers.
    """
    name = reference.path if isinstance(reference, Result) else reference
    found = find_run(str(name), Path(out))
    if trust:
        found.trust()
    headline: Iterable[str] = [f"profile={profile}"] if profile else []
    _outside_loops(lambda: score_run(found, [*settings, *headline]))
    report.write_report([report.load(found.path)], found.path, pdf=False)
    return Result(found.path.absolute())


def _several(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name is a list of one."""
    return (names,) if isinstance(names, str) else tuple(names)


def _interrupted(outcome: Outcome) -> KeyboardInterrupt:
    """What a stopped run ends with."""
    interrupt, path = KeyboardInterrupt(), outcome.run.path.absolute()
    done = f"{outcome.done} of {outcome.asked} questions are in {path}"
    interrupt.add_note(f"{done}; go on with: fathoms run --resume {path}")
    return interrupt


def _outside_loops(work: Callable[[], T], stop: Stop | None = None) -> T:
    """Run what starts an event loop of its own, in another thread where this one has a loop already.

    An interrupt sets `stop` there, and what was asked last is waited for; a second one does not wait.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    pool = ThreadPoolExecutor(max_workers=1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    with nullcontext() if stop is None else _interrupts(stop):
        return future.result()


@contextmanager
def _interrupts(stop: Stop) -> Iterator[None]:
    """The first interrupt sets `stop`, the next is one; only the main thread has any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)


def _pandas() -> Any:
    """pandas, or the command that installs it."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("pandas", "dataframe", "a DataFrame") from error
    return pandas
