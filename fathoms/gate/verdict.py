"""The verdict of a gate, as Python code and notebooks use it."""

from __future__ import annotations

from dataclasses import dataclass

from fathoms.gate.against_baseline import Gated
from fathoms.gate.comment import Explained, change, comment, failure_text, interval_of, limit_name
from fathoms.gate.lines import check_name, gate_line, loss_text
from fathoms.report.notebook.parts import grid, page, said, small


@dataclass(frozen=True)
class Verdict:
    """What a gate found. `verdict` is PASS, FAIL or UNDECIDED, and a notebook shows the figures behind it."""

    explained: Explained

    @property
    def found(self) -> Gated:
        """The checks and limits with their figures, as `fathoms gate --json` prints them."""
        return self.explained.found

    @property
    def verdict(self) -> str:
        """The verdict itself: PASS, FAIL or UNDECIDED."""
        return self.found.verdict

    def failed(self, *, strict: bool = False) -> bool:
        """Return whether `fathoms gate` would end with an exit code other than 0: the verdict is FAIL, or it
        is UNDECIDED after a large loss, or `strict` is given and it is UNDECIDED."""
        undecided = self.verdict == "UNDECIDED" and (strict or bool(self.found.large_losses))
        return self.verdict == "FAIL" or undecided

    @property
    def line(self) -> str:
        """The verdict on one line, as `fathoms gate` prints it."""
        return gate_line(self.found)

    @property
    def text(self) -> str:
        """The verdict with figures, intervals, the worst questions and the place of the run."""
        return failure_text(self.explained)

    @property
    def comment(self) -> str:
        """The verdict as Markdown for a pull request, as `fathoms gate --comment` writes it."""
        return comment(self.explained)

    def __repr__(self) -> str:
        return f"<Verdict {self.line}>"

    def _repr_html_(self) -> str:
        """Show the verdict in a notebook."""
        found, parts = self.found, [said(self.line)]
        if found.checks:
            rows = [(check_name(each), change(each), each.verdict) for each in found.checks]
            parts.append(grid("Against the baseline", ("Check", "Change", "Verdict"), rows, 0))
        if found.losses:
            losses = [(each.metric, loss_text(each), each.verdict) for each in found.losses]
            parts.append(grid("Right answers lost", ("Metric", "Lost", "Verdict"), losses, 0))
        if found.limits:
            limits = [
                (
                    limit_name(each),
                    "PASS" if each.kept else "FAIL",
                    f"{each.limit.value:g}",
                    f"{each.found:.2f} {interval_of(self.explained.view, found.profile, each)}",
                    str(each.questions),
                )
                for each in found.limits
            ]
            parts.append(grid("Limits", ("Limit", "Verdict", "Wanted", "Found", "n"), limits, 3))
        if self.explained.worst:
            worst = [(each.id, each.question, each.answer, each.scores) for each in self.explained.worst]
            heads = ("Question", "Text", "Answer", self.explained.metric)
            parts.append(grid("Worst questions", heads, worst, 1))
        return page(*parts, small(f"run: {self.explained.run.path}"))
