"""What the length of answers says about their support, in a sentence."""

from __future__ import annotations

from fathoms.errors import amount
from fathoms.types.run.summary import LengthSupport


def length_sentence(found: LengthSupport) -> str:
    """Say whether longer answers are supported less, with Spearman's rank correlation and its interval.

    Only an interval without 0 tells a direction. A correlation is no cause, and the sentence says so.
    """
    value, low, high = found.spearman.value, found.spearman.low, found.spearman.high
    if value is None:
        return (
            f"No correlation can be computed from {amount(found.n, 'question')}: there are too few"
            " questions, or all"
            " answers have the same length or support."
        )
    if low is None or high is None:
        return (
            f"Spearman's correlation is {value:.2f} over {amount(found.n, 'question')}, without an"
            " interval: nothing"
            " can be said of other questions."
        )
    over = amount(found.n, "question")
    figure = f"Spearman's correlation {value:.2f}, 95 % interval {low:.2f} to {high:.2f}, {over}"
    if low <= 0 <= high:
        return (
            "Whether longer answers are supported less or more cannot be told from these questions"
            f" ({figure}, which includes 0)."
        )
    way = "less" if value < 0 else "more"
    return (
        f"Longer answers are supported {way} ({figure}). This need not be because of their length: questions"
        " that are harder can have longer answers, too."
    )
