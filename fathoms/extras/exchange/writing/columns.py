"""The columns of the tables that a run is exported as, each with its type and its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, the type of its values, and what they mean. A value that is not known or
    does not apply is missing."""

    name: str
    kind: Literal["text", "integer", "number", "flag"]
    meaning: str


def _columns(*rows: tuple[str, Literal["text", "integer", "number", "flag"], str]) -> tuple[Column, ...]:
    """Make columns of their three parts."""
    return tuple(Column(*row) for row in rows)


ANSWERS = _columns(
    ("run", "text", "The id of the run."),
    ("name", "text", "The name of the run."),
    ("model", "text", "The model that answered."),
    ("profile", "text", "The profile of the scores."),
    ("question", "text", "The id of the question."),
    ("category", "text", "The category of the question."),
    ("repeat", "integer", "How often the question was asked before, from 0."),
    ("answerable", "flag", "Whether the documents answer the question."),
    ("correctness", "number", "The correctness of the answer, from 0 to 1."),
    ("hallucination", "number", "1 for a hallucination, 0 for none."),
    ("abstained", "flag", "Whether the answer abstains."),
    ("error", "text", "The kind of the failure, if the call failed."),
    ("prompt_tokens", "integer", "Tokens of the prompt."),
    ("completion_tokens", "integer", "Tokens of the answer."),
    ("cost", "number", "Cost of the answer in US dollars."),
    ("latency", "number", "Seconds of the call that gave the answer."),
    ("text", "text", "The question."),
    ("reference", "text", "The gold answer."),
    ("phrases", "text", "The gold phrases as JSON."),
    ("files", "text", "The documents of the question as JSON."),
    ("metadata", "text", "The metadata of the question as JSON."),
    ("answer", "text", "The answer."),
    ("refusal", "text", "Why the model or a filter refused to answer."),
    ("stop_reason", "text", "Why the model stopped."),
    ("error_message", "text", "What the failure says."),
    ("attempts", "integer", "Requests that were sent for the answer."),
    ("cached", "flag", "Whether the answer was reused from an earlier run, so that it cost nothing."),
    ("first_token", "number", "Seconds until the first token of the answer."),
    ("cached_tokens", "integer", "Tokens of the prompt that the vendor had in its cache."),
    ("reasoning_tokens", "integer", "Tokens of the reasoning."),
    ("seconds_retrieve", "number", "Seconds of retrieval."),
    ("seconds_rerank", "number", "Seconds of reranking."),
    ("seconds_prompt", "number", "Seconds of making the prompt."),
    ("seconds_generate", "number", "Seconds of generation, with retries and waits."),
    ("other_calls", "integer", "Calls to models besides the answer, such as those of a reranker."),
    ("other_cost", "number", "Cost of these calls in US dollars."),
    ("judge_verdicts", "integer", "Verdicts of the judge on this answer."),
    ("judge_prompt_tokens", "integer", "Tokens that the judge read."),
    ("judge_completion_tokens", "integer", "Tokens that the judge wrote."),
    ("judge_cost", "number", "Cost of judging in US dollars."),
    ("judge_seconds", "number", "Seconds of judging."),
    ("finished", "text", "When the answer was there (UTC, ISO 8601)."),
)
"""One row for each question and repeat. A column for every metric of the run follows."""
HITS = _columns(
    ("run", "text", "The id of the run."),
    ("question", "text", "The id of the question."),
    ("repeat", "integer", "How often the question was asked before, from 0."),
    ("rank", "integer", "The rank of the hit, from 1."),
    ("score", "number", "Its score."),
    ("document", "text", "Its document."),
    ("page", "integer", "Its first page, from 1."),
    ("pages", "text", "All its pages as JSON."),
    ("modality", "text", "`text`, `image` or `file`."),
    ("gold_page", "flag", "Whether it is on a gold page; missing if the question has no gold page."),
    ("text", "text", "Its text."),
)
"""One row for each retrieved chunk."""
CLAIMS = _columns(
    ("run", "text", "The id of the run."),
    ("question", "text", "The id of the question."),
    ("repeat", "integer", "How often the question was asked before, from 0."),
    ("of", "text", "Whose claim it is: of the `answer` or of the `gold` answer."),
    ("by", "text", "What it was compared with."),
    ("claim", "text", "The claim."),
    ("label", "text", "The label of the verdict that decided."),
    ("p", "number", "The judge's probability that the premise supports the claim."),
    ("premise", "text", "The place of the premise that decided."),
    ("premises", "integer", "How many premises it was compared with."),
    ("sentence", "integer", "The number of its sentence, from 0."),
    ("quote", "text", "The words of the premise that decided."),
    ("why", "text", "Why a verdict is missing or could not be read."),
)
"""One row for each judged claim and what it was compared with."""
COLUMN_KEYS = ("table", "column", "type", "meaning")
"""The columns of the list of columns."""


def metric_columns(metrics: Sequence[str], units: Sequence[str]) -> tuple[tuple[str, Column], ...]:
    """Return each metric with its column. A metric that is called like another column is `metric-NAME`."""
    taken = {column.name for column in ANSWERS}
    return tuple(
        (
            metric,
            Column(
                f"metric-{metric}" if metric in taken else metric,
                "number",
                f"The metric `{metric}` of the answer ({unit}).",
            ),
        )
        for metric, unit in zip(metrics, units, strict=True)
    )
