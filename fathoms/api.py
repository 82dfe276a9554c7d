"""The Python interface for notebooks and scripts: load a configuration, run it, look at the scores.

    import fathoms

    result = fathoms.run("configs/demo.yaml", limit=10)
    result.scores()       # a DataFrame with one row per question
    result.radar()        # a Matplotlib figure

It runs the same code as the command line and writes the same run directories.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from fathoms import corpora
from fathoms.errors import FathomsError, MissingExtraError, UsageError, amount
from fathoms.experiment import AnyExperiment, load_experiment
from fathoms.gate.notebook import judged
from fathoms.gate.verdict import Verdict
from fathoms.judges.of_run import Judging
from fathoms.models.calling.stop import Stop
from fathoms.paths import load_env
from fathoms.pipeline.matrix import titled
from fathoms.report.grouping import grouped
from fathoms.report.notebook.compared import Compared, compared
from fathoms.report.notebook.figures import Drawn, figure_of
from fathoms.report.notebook.parts import page, said
from fathoms.report.notebook.run import run_html
from fathoms.report.radar import radar_figure
from fathoms.report.write import write_report
from fathoms.runner import runner
from fathoms.runner.active_run import Outcome
from fathoms.runner.budget import Budget
from fathoms.runner.rounds import Means, new_rounds
from fathoms.runner.runner import Job, Selection
from fathoms.runs.cache import Cache
from fathoms.runs.run import Run
from fathoms.runs.writing import trust_run
from fathoms.safety.signals import result_of
from fathoms.scoring import score_run
from fathoms.tune.result import Result as Race
from fathoms.tune.result import Settings
from fathoms.types import Question, Record
from fathoms.types.run.rows import ScoredRepeat

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

T = TypeVar("T")
RUNS = Path("runs")
Reference: TypeAlias = "str | Path | Result"
"""A run: a path, an id, `latest`, a name, `NAME~1`, or a result."""


@dataclass(frozen=True)
class Config:
    """An experiment, and the folder that relative paths in it start from."""

    experiment: AnyExperiment
    folder: Path


@dataclass(frozen=True)
class Result:
    """A scored run on disk."""

    path: Path

    @property
    def run(self) -> str:
        """The id of the run, as commands accept it."""
        return self.path.name

    @property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`: means per profile and category, counts, tokens, cost and seconds."""
        return self._view().summary.plain()

    @property
    def manifest(self) -> dict[str, Any]:
        """The content of `manifest.json`: what was run, on which data, with which versions."""
        return self._view().manifest.plain()

    def records(self) -> list[Record]:
        """The record of every question and repeat, with its answer or error."""
        return Run(self.path).records.all()

    def scores(self, profile: str | None = None) -> DataFrame:
        """Return a DataFrame with one row per question and repeat: texts, scores, tokens, cost and seconds.

        `correctness` is in [0, 1]; a score that does not apply is missing (NaN), never 0. A column follows
        for every further metric by which the run was scored on request. `profile` defaults to that of the
        run. Raises UsageError or DataError where there are no such scores, and MissingExtraError without
        pandas.
        """
        pandas, view = _pandas(), self._view()
        name = view.profile(profile)
        further = {  # a metric may be called like a column
            f"metric-{metric}" if metric in COLUMNS else metric: metric
            for metric, found in view.metrics(name).items()
            if found.asked
        }
        rows = [
            _row(scored.question, repeat, name)
            | {column: repeat.value(metric, name) for column, metric in further.items()}
            for scored in view.questions()
            for repeat in scored.repeats
        ]
        columns = COLUMNS | dict.fromkeys(further, "float64")
        frame = pandas.DataFrame(rows, columns=list(columns))
        return frame.astype({column: kind for column, kind in columns.items() if kind is not None})

    def metrics(self, profile: str | None = None) -> DataFrame:
        """Return a DataFrame of all metrics of the run: a row per metric and category, after a row "Overall".

        `value` is in `unit` (a share is in [0, 1]), `low` and `high` are its 95 % interval, and `n` is the
        number of questions behind it; a value is missing (NaN) where a metric applies to none. Raises the
        same errors as `scores`.
        """
        rows = [
            {"metric": name, "category": category, "unit": found.unit, "direction": found.direction}
            | {"value": cell.value, "low": cell.low, "high": cell.high, "n": cell.n}
            for name, found in self._view().metrics(profile).items()
            for category, cell in [("Overall", found.overall), *found.categories.items()]
        ]
        columns = ["metric", "category", "unit", "direction", "value", "low", "high", "n"]
        frame: DataFrame = _pandas().DataFrame(rows, columns=columns)
        kinds = dict.fromkeys(columns[4:7], "float64") | {"n": "Int64"}
        return frame.astype(kinds).set_index(["metric", "category"])

    def categories(self, profile: str | None = None, by: str | None = None) -> DataFrame:
        """Return a DataFrame with one row per category, after a row "Overall" (the unweighted mean of the
        categories), and with the number of questions behind each figure. `by` is a key of the questions'
        metadata whose values take the place of the categories. Raises the same errors as `scores`, and
        UsageError for a key that no question has."""
        view = self._view()
        figures = (view if by is None else grouped(view, by)).figures(profile)
        rows = {
            name: dict(means) for name, means in {"Overall": figures.overall, **figures.categories}.items()
        }
        columns = ["correctness", "hallucination", "abstention", "n", "hallucination_n", "errors"]
        frame: DataFrame = _pandas().DataFrame.from_dict(rows, orient="index", columns=columns)
        kinds = dict.fromkeys(columns[:3], "float64") | dict.fromkeys(columns[3:], "Int64")
        return frame.astype(kinds).rename_axis("category")

    def radar(
        self, metric: Literal["correctness", "hallucination"] = "correctness", *, profile: str | None = None
    ) -> Figure:
        """Draw the radar plot, with an axis from 0 to 1 per category and one for Overall.

        The scale of the paper compares runs, so it is an option of `fathoms report` only.
        """
        return radar_figure([self._view()], metric, profile)

    def figure(self, name: str, *, profile: str | None = None) -> Drawn:
        """Draw a figure by its name, such as `funnel`, `radar`, `gold-pages`, `modalities`, `seconds`, or any
        metric of the run, by category with intervals. Raises UsageError, which lists the figures that the
        run has, for another name."""
        return figure_of(self._view(), name, profile)

    def compare(
        self, *others: Reference, metric: str | Sequence[str] = (), profile: str | None = None
    ) -> Compared:
        """Compare other runs with this one, question by question, as `fathoms compare` does."""
        runs = [Run(self.path), *(Run.open(_name(other), self.path.parent) for other in others)]
        return compared(runs, _several(metric), profile)

    def _repr_html_(self) -> str:
        """Show the run in a notebook; a run that was not scored, or is damaged, says so."""
        try:
            return run_html(self._view())
        except FathomsError as error:
            return page(said(f"{self.path.name}: {error}"))

    def gate(
        self,
        *,
        baseline: Reference | Sequence[Reference] = (),
        preset: Literal["small"] | None = None,
        metric: str | Sequence[str] = (),
        margin: float | None = None,
        alpha: float | None = None,
        by_category: bool | None = None,
        min: Mapping[str, float] | None = None,
        max_rate: Mapping[str, float] | None = None,
        fail_on_error: str | None = None,
        changed: str | None = None,
        max_same: str | None = None,
        max_empty: str | None = None,
        max_retry_rate: str | None = None,
        allow_unchecked: bool = False,
        rescore: bool = False,
        profile: str | None = None,
        **limits: float,
    ) -> Verdict:
        """Judge this run as `fathoms gate` does, by fixed limits and against a baseline.

        `limits` are wanted values of metrics: `correctness=0.6` asks for at least 0.6, and
        `hallucination=0.2` for at most 0.2, because less of it is better. `rouge_l` means `rouge-l`; `min`
        and `max_rate` take any name. `baseline` is a run, or a file that `--save-baseline` wrote. The other
        parameters are the options of the command, and those that are not given come from the section `gate`
        of the run's configuration. Raises UsageError or DataError where a verdict would be meaningless.
        """
        return judged(
            Run(self.path),
            baseline=[_name(each) for each in _list(baseline)],
            given={
                "preset": preset,
                "metric": _several(metric) or None,
                "margin": margin,
                "alpha": alpha,
                "by_category": by_category,
                "min": min,
                "max_rate": max_rate,
                "fail_on_error": fail_on_error,
                "changed": changed,
                "max_same": max_same,
                "max_empty": max_empty,
                "max_retry_rate": max_retry_rate,
            },
            limits=limits,
            profile=profile,
            allow_unchecked=allow_unchecked,
            rescore=rescore,
        )

    def _view(self) -> Run:
        return Run.scored(self.path)


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
"""The columns of `Result.scores`, with a type for those in which a value can be missing."""


def _row(question: Question, repeat: ScoredRepeat, profile: str) -> dict[str, Any]:
    """Build one row of the table that `Result.scores` returns."""
    answer, error, scores = repeat.answer, repeat.error, repeat.under(profile)
    return {
        "question": question.id,
        "category": question.category,
        "repeat": repeat.repeat,
        "answerable": question.answerable,
        "text": question.text,
        "answer": answer and answer.text,
        "error": f"{error.kind}: {error.message}" if error else None,
        "refusal": answer and answer.refusal,
        "correctness": scores.correctness,
        "hallucination": scores.hallucination,
        "abstained": scores.abstained,
        "prompt_tokens": answer and answer.usage.prompt_tokens,
        "completion_tokens": answer and answer.usage.completion_tokens,
        "cost": answer and answer.cost,
        "seconds": repeat.timings.get("generate"),
    }


def load(
    path: str | Path,
    *settings: str,
    retrieval_only: bool = False,
    cell: Mapping[str, str] | None = None,
) -> Config:
    """Read a YAML configuration. `settings` override keys of it like `--set`, for example
    `"retrieve.top_k=5"`. With `retrieval_only`, `run` will only search and ask no model for answers, like
    `--retrieval-only`; `prompt` and `generate` are then not read. `cell` chooses a cell of the file's
    `matrix`, such as `{"reading": "text"}`; an axis that it does not name changes nothing.

    API keys are loaded from a file `.env` in the current folder, as on the command line. Raises ConfigError,
    which gives file:line:column where it is known.
    """
    if ignored := load_env(Path.cwd()):
        warnings.warn(ignored, stacklevel=2)
    experiment = load_experiment(Path(path), settings, retrieval_only=retrieval_only, cell=cell)
    if cell:
        experiment = experiment.model_copy(update={"name": titled(experiment.name, cell)})
    return Config(experiment, Path(path).parent)


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
    """Ask the questions of a configuration, score the answers and write the report.

    `limit` is the most questions to ask, taken from the categories in turn; `questions` selects by id.
    `categories` and `questions` also accept a single name. Every question is asked `repeats` times.
    `max_cost` (US dollars) and `max_tokens_total` limit the spending: no question is started that could
    exceed them, and `summary["incomplete"]` says so where the run stopped early. `reuse_replies` takes
    replies to identical prompts from the cache. `on_record` is called with every (record, done, total).

    Anything missing (a package, weights, a key, a document) is raised before the first question; a question
    that fails is recorded, and counted in `summary["counts"]`. Works inside a running event loop too, such as
    a notebook's. Raises UsageError for `settings` given with a configuration that is loaded already. An
    interrupt raises KeyboardInterrupt after the answers so far are stored and scored; a note on the exception
    says how to resume.
    """
    if isinstance(config, Config) and settings:
        raise UsageError("settings only override keys of a YAML file: pass them to fathoms.load instead")
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


def tune(
    candidates: Sequence[Config],
    *,
    metric: str = "correctness",
    within: float = 0.0,
    front: Literal["cost", "latency"] | None = None,
    screen: Literal["retrieval"] | None = None,
    confidence: float = 0.95,
    max_cost: float | None = None,
    max_calls: int | None = None,
    profile: str | None = None,
    seed: int = 0,
    repeats: int = 1,
    out: str | Path = RUNS,
    workers: int | None = None,
) -> Race:
    """Find the best of several pipelines with few of the calls, as `fathoms tune` does.

    `candidates` are loaded configurations with the same data, such as `[fathoms.load("a.yaml",
    f"retrieve.top_k={k}") for k in (3, 5)]`; their numbers are added to their names. `within` is
    the margin in units of the metric that is good enough. Each question is asked `repeats` times, and its
    score is the mean. The result has the `best` and all `standings` with intervals for these questions and
    for new ones; `stopped` says whether a limit ended the race before.
    Raises UsageError for fewer than two candidates or questions.
    """
    from fathoms.tune.saved import save
    from fathoms.tune.session import Session, distinct, retrieval_figures

    settings = Settings(metric, profile, confidence, within, front, max_calls, seed, repeats, screen)
    jobs = []
    for number, one in enumerate(candidates, 1):
        corpus = corpora.load(one.experiment.data, one.folder)
        name = f"{one.experiment.name} {number}"
        experiment = one.experiment.model_copy(update={"name": name})
        jobs.append(Job(experiment, corpus, one.folder, {"candidate": str(number)}))
    stop, sweep = Stop(), runner.new_sweep()

    def race(cache: Cache) -> Race:
        means = Means(cache, Budget(max_cost), workers or os.cpu_count() or 1)
        with new_rounds(jobs, means, out=Path(out), sweep=sweep, repeats=repeats) as rounds:
            merged = distinct(rounds).rounds
            retrieval = retrieval_figures(merged) if screen else ()
            session = Session(merged, settings, retrieval)
            save(Path(out), sweep, settings, [one.run for one in rounds.runs], retrieval)
            return session.go(stop, Judging)

    with closing(Cache()) as cache:
        return _outside_loops(lambda: race(cache), stop)


def find(reference: Reference, out: str | Path = RUNS) -> Result:
    """Find a run that was made and scored before; `reference` is a path, an id, `latest`, a name or `NAME~1`.
    Raises UsageError where there is no such run."""
    return Result(Run.open(_name(reference), Path(out)).path.absolute())


def score(
    reference: Reference,
    *settings: str,
    profile: str | None = None,
    out: str | Path = RUNS,
    trust: bool = False,
) -> Result:
    """Score a run again from its stored answers, and write its report.

    `reference` is a path, an id, `latest`, a name or `NAME~1`; `settings` override keys of `scoring`. Raises
    UsageError where there is no such run, and for a run from elsewhere whose scoring would import code, ask a
    server, or read the environment or a file; `trust` marks the run as one of yours and lifts this. Raises
    DataError where the run holds no answers.
    """
    found = Run.open(_name(reference), Path(out))
    if trust:
        trust_run(found)
    headline: Iterable[str] = [f"profile={profile}"] if profile else []
    _outside_loops(lambda: score_run(found, [*settings, *headline]))
    write_report([Run.scored(found.path)], found.path, plots=False)
    return Result(found.path.absolute())


def _list(references: Reference | Sequence[Reference]) -> Sequence[Reference]:
    """Turn a single reference into a list of one."""
    return [references] if isinstance(references, str | Path | Result) else references


def _name(reference: Reference) -> str:
    """Return a reference as text, as commands accept it."""
    return str(reference.path if isinstance(reference, Result) else reference)


def _several(names: str | Sequence[str]) -> tuple[str, ...]:
    """Turn a single name into a tuple of one."""
    return (names,) if isinstance(names, str) else tuple(names)


def _interrupted(outcome: Outcome) -> KeyboardInterrupt:
    """The exception that ends an interrupted run, with a note on how to resume it."""
    interrupt, path = KeyboardInterrupt(), outcome.run.path.absolute()
    done = f"{outcome.done} of {amount(outcome.requested, 'question')} are in {path}"
    interrupt.add_note(f"{done}; continue with: fathoms run --resume {path}")
    return interrupt


def _outside_loops(work: Callable[[], T], stop: Stop | None = None) -> T:
    """Run work that starts an event loop, in another thread if this thread has a running loop already. An
    interrupt then sets `stop`, and questions in flight are waited for; a second interrupt does not wait."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    pool = ThreadPoolExecutor(max_workers=1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    with nullcontext() if stop is None else _interrupts(stop):
        return result_of(future)


@contextmanager
def _interrupts(stop: Stop) -> Iterator[None]:
    """Let the first interrupt set `stop` and the next one raise; has no effect outside the main thread."""
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
    """Import pandas; raises MissingExtraError, which names the command that installs it."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("pandas", "dataframe", "a DataFrame") from error
    return pandas
