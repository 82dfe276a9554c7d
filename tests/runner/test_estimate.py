"""What questions will take, before they are asked, beside what was billed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest
from PIL import Image

from fathoms import corpora
from fathoms.errors import ModelError
from fathoms.experiment import load_experiment
from fathoms.models import AnthropicLLM, Embedded, GoogleLLM, OnnxEmbedder, OpenAILLM, ScriptedModel
from fathoms.pipeline.prompt import Draft, PromptBuilder
from fathoms.runner.budget import Budget
from fathoms.runner.estimate import PAGE, REPLY, Estimate, by_rule
from fathoms.runner.plan import plan
from fathoms.runner.runner import Job, Selection, run
from fathoms.runs.cache import Cache
from fathoms.types import Attachment, Hit, Message, Prompt, Question, Reply, Usage
from tests.support.project import Project, write_one_page


def test_tokens_are_estimated_where_no_counter_exists(tmp_path: Path) -> None:
    """A token for four characters; 258 for a page at Google, 2,000 elsewhere."""
    file = Attachment(document="a.pdf", pages=(1, 2, 3), path=tmp_path / "a.pdf", sha256="0", size=1)
    messages = (Message(role="user", text="x" * 40, files=(file,)),)
    assert by_rule(ScriptedModel(), messages) == 10 + 3 * PAGE
    assert by_rule(AnthropicLLM(model="claude-x"), messages) == 10 + 3 * 2000
    assert by_rule(GoogleLLM(model="gemini-x"), messages) == 10 + 3 * 258


def test_pictures_count_by_their_size(tmp_path: Path) -> None:
    """1,296 tokens is what Anthropic's documentation states for 1,000 x 1,000 pixels; where no formula is
    known, and for a file that is no picture, it is a page."""
    image, broken = tmp_path / "page.png", tmp_path / "broken.png"
    Image.new("L", (1000, 1000)).save(image)
    broken.write_bytes(b"no picture")
    messages = (Message(role="user", text="x" * 40, images=(image, image, broken)),)
    assert by_rule(AnthropicLLM(model="claude-x"), messages) == 10 + 2 * 1296 + 2000
    assert by_rule(OpenAILLM(model="unknown"), messages) == 10 + 3 * 2000
    assert by_rule(ScriptedModel(), messages) == 10 + 3 * PAGE


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    known = Estimate(1, 10, 5, 20, 0.5, 1.0)
    assert known + known == Estimate(2, 20, 10, 40, 1.0, 2.0)
    assert known + Estimate(1, 10, 5, None, None, None) == Estimate(2, 20, 10, None, None, None)


@pytest.mark.slow
def test_estimated_against_billed_on_a_page_of_the_sample(
    root: Path, tmp_path: Path, smollm: Embedded, minilm: OnnxEmbedder
) -> None:
    """Within 15 % of what the embedded model counts: the promise of `--dry-run`."""
    path = root / "configs" / "demo.yaml"
    write_one_page(tmp_path, root)
    data = f"data={{questions: {tmp_path}/questions.json, documents: {tmp_path}/pdfs}}"
    experiment = load_experiment(path, [data, "generate.price={input: 1, output: 4}", "generate.threads=1"])
    corpus = corpora.load(experiment.data, path.parent)
    chosen = corpus.select(limit=2)
    cache = Cache()
    try:
        found = plan(experiment, corpus, chosen, cache)
        (outcome,) = run(
            [Job(experiment, corpus, path.parent)],
            out=tmp_path / "runs",
            cache=cache,
            selection=Selection(limit=2),
        )
    finally:
        cache.close()
    totals = outcome.run.manifest.plain()["totals"]
    assert found.estimate is not None
    assert (found.estimate.requests, found.missing, found.unknown) == (2, {}, None)
    assert found.estimate.prompt_tokens == totals["prompt_tokens"]  # the model's own count
    billed = totals["prompt_tokens"] + totals["completion_tokens"]
    assert found.estimate.prompt_tokens + found.estimate.reply_tokens == pytest.approx(billed, rel=0.15)
    assert found.estimate.most_reply_tokens is not None
    assert billed <= found.estimate.prompt_tokens + found.estimate.most_reply_tokens
    assert found.estimate.cost == pytest.approx(totals["cost"], rel=0.15)
    assert found.estimate.reply_tokens == min(REPLY, experiment.generate.max_tokens) * 2


class CountingModel(ScriptedModel):
    """Notes every prompt whose tokens it counts."""

    counted: ClassVar[list[str]] = []

    def count_tokens(self, messages: Sequence[Message]) -> int:
        self.counted.append(messages[-1].text)
        return super().count_tokens(messages)

    async def reply(self, prompt: Prompt) -> Reply:
        return Reply(text="41.5 m", usage=Usage(prompt_tokens=prompt.tokens, completion_tokens=2))


class CountingBuilder(PromptBuilder):
    """Notes every question that it makes a prompt for."""

    drafted: ClassVar[list[str]] = []

    def draft(self, question: Question, hits: Sequence[Hit]) -> Draft:
        self.drafted.append(question.text)
        return super().draft(question, hits)


class BrokenCounter(ScriptedModel):
    """Cannot count the tokens of one question."""

    def count_tokens(self, messages: Sequence[Message]) -> int:
        if "door" in messages[-1].text:
            raise ModelError("the tokenizer broke")
        return super().count_tokens(messages)


@pytest.mark.slow
def test_an_estimate_that_fails_costs_its_own_question_only(project: Project) -> None:
    experiment = load_experiment(project.config).model_copy(update={"generate": BrokenCounter(default="7")})
    corpus = corpora.load(experiment.data, project.path)
    with closing(Cache(project.path / "cache")) as cache:
        job, budget = Job(experiment, corpus, project.path), Budget(max_tokens=100_000)
        (outcome,) = run([job], out=project.path / "runs", cache=cache, budget=budget)
    assert (outcome.done, outcome.stopped) == (4, False)
    failed = [record for record in outcome.run.records.all() if record.error]
    assert [(record.question.text, record.error and record.error.message) for record in failed] == [
        ("Which colour is the Varn door?", "the tokenizer broke")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [None, Budget(max_tokens=100_000)], ids=["no budget", "a budget"])
def test_a_prompt_is_packed_once(project: Project, budget: Budget | None) -> None:
    """The estimate for the budget and the request use the same packed prompt."""
    CountingModel.counted.clear()
    CountingBuilder.drafted.clear()
    experiment = load_experiment(project.config).model_copy(
        update={"generate": CountingModel(context_window=10_000), "prompt": CountingBuilder()}
    )
    corpus = corpora.load(experiment.data, project.path)
    with closing(Cache(project.path / "cache")) as cache:
        (outcome,) = run(
            [Job(experiment, corpus, project.path)], out=project.path / "runs", cache=cache, budget=budget
        )
    records = outcome.run.records.all()
    sent = [record.prompt.messages[-1].text for record in records if record.prompt is not None]
    assert (len(sent), outcome.errors) == (4, 0)
    assert sorted(CountingModel.counted) == sorted(sent)
    assert sorted(CountingBuilder.drafted) == sorted(question.text for question in corpus.questions)
    assert all(record.timings["prompt"] > 0 for record in records)
