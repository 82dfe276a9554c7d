"""Calls models while a question set is built: every reply is stored, and calls and costs are counted by
stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from fathoms.errors import ModelError, OverBudgetError, StoreError
from fathoms.extras.questions.drafting import READ, ask_all
from fathoms.extras.questions.making.components import Component, opening
from fathoms.judges.replies import read_json
from fathoms.models.caching import ReplyCache
from fathoms.models.protocols import ChatModel
from fathoms.runs.cache import Cache
from fathoms.types import Failure, Form, Message, Prompt, Reply

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Reports progress; called with (stage, items done, items in total)."""
STAGES = (
    *("drafts", "clarity", "graph", "walks", "hops", "answers", "closed-book", "checklist"),
    *("labels", "unanswerable", "interleaved", "update", "fields", "facts", "second-reading"),
)
"""The stages of a build that call models."""


@dataclass
class Spent:
    """What a stage took: calls to models, stored replies that were used again, tokens, and US dollars.
    `unpriced` counts calls whose cost is not known."""

    calls: int = 0
    reused: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0


class Journal(ReplyCache):
    """All replies of models while a question set is built, on the disk as soon as they arrive.

    A build that is resumed or repeated calls models only for what has no reply yet. `spent` has what each
    stage took in this process. After a reply with which the costs exceed `max_cost`, in US dollars,
    OverBudgetError is raised. The stages in `redo` call models again and replace the earlier replies.
    """

    advice = (
        "name another model, or change its settings (such as --set model.max_tokens=2048), and go on with"
        " --resume, which asks again what could not be read; --redo STAGE asks for all of a stage again"
    )

    def __init__(self, cache: Cache, max_cost: float | None = None, redo: Collection[str] = ()) -> None:
        super().__init__(cache)
        self.max_cost, self.redo = max_cost, redo
        self.spent: dict[str, Spent] = {}
        self.failed: dict[str, int] = {}
        """How many calls failed, by the reason."""
        self._before = cache.load("spent", "cost", float) or 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the replies of the block for this stage."""
        before, self.stage_name = self.stage_name, name
        self.spent.setdefault(name, Spent())
        try:
            yield
        finally:
            self.stage_name = before

    @property
    def cost(self) -> float:
        """What was paid in this process, in US dollars, as far as it is known."""
        return sum(spent.cost for spent in self.spent.values())

    @property
    def whole_cost(self) -> float:
        """What was ever paid for the set, in US dollars, as far as it is known."""
        return self._before + self.cost

    def get(self, key: str, *, again: bool = False) -> Reply | None:
        """Return the stored reply, `None` if there is none."""
        if (found := super().get(key, again=again or self.stage_name in self.redo)) is not None:
            self._now.reused += 1
        return found

    def put(self, key: str, reply: Reply) -> None:
        """Store a new reply, and count what it took. Raises StoreError if it cannot be stored, because all
        later replies would have to be paid for again."""
        super().put(key, reply)
        if self.cache.is_full:
            raise StoreError(
                f"the replies cannot be stored in {self.cache.folder}: make room on the disk, and go on with"
                " --resume or --update"
            )
        now = self._now
        now.calls += 1
        now.prompt_tokens += reply.usage.prompt_tokens or 0
        now.reply_tokens += reply.usage.completion_tokens or 0
        now.cost += reply.cost or 0.0
        now.unpriced += reply.cost is None
        if reply.cost:
            self.cache.put_text("spent", "cost", repr(self.whole_cost))
        if self.max_cost is not None and self.cost > self.max_cost:
            raise OverBudgetError(
                f"stopped after ${self.cost:.2f}, which is more than --max-cost {self.max_cost:g};"
                " everything that was paid for is kept, and --resume goes on from there"
            )

    def note_failure(self, error: ModelError) -> None:
        """Count a call that failed."""
        self.failed[str(error)] = self.failed.get(str(error), 0) + 1

    @property
    def remark(self) -> str:
        """What was paid so far, and how many calls failed, for a progress bar."""
        failed = sum(self.failed.values())
        parts = [f"${self.cost:.2f}" if self.cost else "", f"{failed} failed" if failed else ""]
        return ", ".join(part for part in parts if part)

    @property
    def _now(self) -> Spent:
        return self.spent.setdefault(self.stage_name, Spent())


@dataclass(frozen=True)
class Asker:
    """The models of a build, and the journal of their replies. `judge` gives verdicts, `model` writes; `sees`
    says whether both get the pictures of figures and tables."""

    model: ChatModel
    judge: ChatModel
    journal: Journal
    progress: Progress = lambda stage, done, total: None
    sees: bool = False

    def ask(
        self,
        stage: str,
        items: Sequence[K],
        prompt_for: Callable[[K], Prompt | Failure],
        read: Callable[[str], T | None],
        *,
        judging: bool = False,
        sample: Callable[[K], int] = lambda item: 0,
    ) -> dict[K, T | Failure]:
        """Return what the model, or with `judging` the judge, says of each item, as `ask_all` does. Raises
        ModelError if every call fails."""
        model = self.judge if judging else self.model
        with self.journal.stage(stage):
            found = ask_all(
                items, model, prompt_for, read, self.journal, partial(self.progress, stage), sample
            )
        failed = [one for one in found.values() if isinstance(one, Failure) and one.kind not in READ]
        if failed and len(failed) == len(found):
            raise ModelError(
                f"all calls of the stage '{stage}' failed ({len(failed)}): {failed[0].message}; all paid"
                " replies are stored, and --resume continues from there"
            )
        return found

    def about(self, component: Component, request: str, form: Form | None = None) -> Prompt:
        """Return the prompt that asks `request` about a component, which is shown first.

        The request loses its blank lines, because `cache_prompt: context` reuses what stands before the last
        one: so a model evaluates the component once for all that it is asked about it in a row.
        """
        return self.showing(component, opening(component) + _BLANK.sub("\n", request), form)

    def shows(self, component: Component) -> bool:
        """Whether the models are shown the picture of a component."""
        return self.sees and component.image is not None

    def showing(self, component: Component | None, text: str, form: Form | None = None) -> Prompt:
        """Return a prompt with the picture of a component, if it has one and the models see."""
        shown = () if component is None or component.image is None or not self.sees else (component.image,)
        return Prompt(messages=(Message(role="user", text=text, images=shown),), form=form)


def json_form(**properties: object) -> Form:
    """Return the form of a JSON object that has exactly these properties, given by their schemas."""
    return Form(
        json_schema={
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )


def texts_in(reply: str, *keys: str) -> tuple[str, ...] | None:
    """Read texts from the JSON of a reply, on one line each; `None` if one of them is missing or empty."""
    data = read_json(reply)
    if not isinstance(data, dict):
        return None
    found = tuple(" ".join(str(data.get(key) or "").split()) for key in keys)
    return found if all(found) else None


_BLANK = re.compile(r"\n{2,}")
TEXT = {"type": "string"}
"""The schema of a text."""
