"""Settings in which one pipeline is compared with itself: without context, with the gold pages, and as it is.

They show what the model knows by itself and what it could do with perfect retrieval; between them lies what
retrieval wins. The three are those of Double-Bench (Shen et al. 2025), whose oracle has the model extract
first (`oracle-extract`). Three more are those of MRAG-Suite (Ji 2025): gold alone, gold among distractors
(the most similar chunks that hold no gold), and distractors alone. `injected` and `injected-leak` plant an
instruction in the context of the pipeline as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fathoms.errors import UsageError, suggest
from fathoms.experiment.kinds import AnyExperiment, Experiment
from fathoms.metrics.correctness_judged import CorrectnessJudged
from fathoms.metrics.injections import InjectionLeaked, InjectionObeyed
from fathoms.retrieve import AnyRetriever

if TYPE_CHECKING:
    from fathoms.retrieve import Distractors, Injected
    from fathoms.retrieve.distractors import Mode

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "closed-book": {"retrieve": {"kind": "none"}, "prompt": {"template": "closed-book"}},
    "oracle": {"retrieve": {"kind": "oracle"}},
    "oracle-extract": {"retrieve": {"kind": "oracle"}, "prompt": {"template": "extract-then-answer"}},
    "rag": {},
    "gold": {},
    "gold+distractors": {},
    "distractors": {},
    "injected": {},
    "injected-leak": {},
}
"""What each setting replaces in the configuration of a pipeline."""
MODES: Mapping[str, Mode] = {
    "gold": "gold-only",
    "gold+distractors": "gold-plus-distractors",
    "distractors": "distractors-only",
}
"""The settings that put the retriever of a pipeline into the retriever `distractors`, with its mode."""
INJECTED: Mapping[str, str] = {"injected": "obey", "injected-leak": "leak"}
"""The settings that put the retriever of a pipeline into the retriever `injected`, with its instruction."""


def in_setting(experiment: AnyExperiment, setting: str) -> AnyExperiment:
    """Return the experiment in a setting whose replacements are in place already. It gets the metric that
    grades answers if it has a judge to ask and no such metric.

    Without a judge, the table of settings goes by phrase recall. Raises UsageError for an external pipeline,
    which has no stages to replace, and for a retriever that cannot choose distractors.
    """
    if not isinstance(experiment, Experiment):
        raise UsageError(
            f"--settings replaces the retrieval of a pipeline, and '{experiment.name}' is an external one:"
            " compare it with the settings closed-book and oracle of a configuration with stages"
        )
    changed: dict[str, Any] = {}
    if (mode := MODES.get(setting)) is not None:
        changed["retrieve"] = _with_mode(experiment.retrieve, mode)
    metrics = experiment.metrics
    if (planted := INJECTED.get(setting)) is not None:
        changed["retrieve"] = inner = _injected(experiment.retrieve, planted)
        names = {metric.name for metric in metrics}
        of_injection = (InjectionObeyed(answer=inner.answer), InjectionLeaked(answer=inner.answer))
        metrics = (*metrics, *(metric for metric in of_injection if metric.name not in names))
        changed["metrics"] = metrics
    known = any(isinstance(metric, CorrectnessJudged) for metric in experiment.metrics)
    if experiment.judge is not None and not known:
        changed["metrics"] = (*metrics, CorrectnessJudged())
    return experiment.model_copy(update=changed)


def _with_mode(retriever: AnyRetriever, mode: Mode) -> Distractors:
    """Return the retriever within `distractors`; the options of one that is configured so are kept."""
    from fathoms.retrieve import Distractors

    if isinstance(retriever, Distractors):
        return retriever.model_copy(update={"mode": mode})
    try:
        return Distractors.model_validate({"mode": mode, "retriever": _ranking(retriever)})
    except ValidationError:
        raise UsageError(
            "--settings with distractors need a retriever that ranks all chunks without a language model,"
            f" and '{retriever.kind}' does not: use --set with one, such as --set 'retrieve={{kind: bm25}}'"
        ) from None


def _ranking(retriever: AnyRetriever) -> AnyRetriever:
    """Return what ranks the chunks by their similarity before gold is removed from them, or before a language
    model expands the question or sorts what was found; another retriever is returned as it is."""
    from fathoms.retrieve import Degrade, Expand, Rerank

    if isinstance(retriever, Expand | Degrade):
        return _ranking(retriever.retriever)
    return retriever.first if isinstance(retriever, Rerank) and retriever.called else retriever


def _injected(retriever: AnyRetriever, planted: str) -> Injected:
    """Return the retriever within `injected`; the options of one that is configured so are kept."""
    from fathoms.retrieve import Injected

    if isinstance(retriever, Injected):
        return retriever.model_copy(update={"instruction": planted})
    try:
        return Injected.model_validate({"instruction": planted, "retriever": retriever})
    except ValidationError:
        raise UsageError(
            "--settings with a planted instruction need a retriever of texts without a language model, and"
            f" '{retriever.kind}' is not one: use --set with one, such as --set 'retrieve={{kind: bm25}}', or"
            " plant it in copies of the PDFs with 'fathoms data inject'"
        ) from None


def named_settings(names: Iterable[str]) -> tuple[str, ...]:
    """Return the settings of a list such as `closed-book,oracle,rag`; raises UsageError for an unknown one
    and for one that is named twice."""
    found = tuple(name.strip() for name in names)
    for name in found:
        if name not in SETTINGS:
            known = ", ".join(SETTINGS)
            raise UsageError(
                f"--settings: there is no setting '{name}'{suggest(name, SETTINGS)}; they are {known}"
            )
        if found.count(name) > 1:
            raise UsageError(f"--settings: '{name}' is named twice")
    return found
