"""Texts of a server, a model or a PDF never make a pattern take more than linear time, and a frozen process
can still be ended."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest

from fathoms.answers.reasoning import split_reasoning
from fathoms.metrics.abstention import label_answers
from fathoms.metrics.clauses import split_clauses
from fathoms.metrics.cues import Cues
from fathoms.metrics.nearest_neighbour import NearestNeighbour
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.models.chat.closed_errors import Fault, is_file_gone, quoted, refusal_in
from fathoms.pipeline.prompt import after_mark
from fathoms.retrieve.llm_reranker import grade_of
from fathoms.safety.masking import Mask, is_secret_name, without_logins, without_shapes
from fathoms.text.folding import fold_words

pytestmark = pytest.mark.slow  # signals to whole processes

KEY = "sk-planted/7Q+x9Zk2=vW4&mB8~Jt6%Rd3"
UNITS = (
    *' \n\t\\%a1.,"(*_`-@#?\u0301\u200b\u65e0\u00bd\u0e01\x00|;',
    *("a\n ", "\n \n", "://", "://a", "?&=", "?a", "&amp;", "no ", "no.\n", 'a"', "()", "{[", "e\u0301"),
    *(
        "\u6ca1\u6709\u3002",
        "# ",
        "- ",
        "1) ",
        ", however",
        ", and the x",
        "1,",
        "123,",
        "-1",
        "<think>",
        "%25",
    ),
    *("</think>", "://u:p@", "\\u00", "*** ", "A/", "violat ", "violat", "token count ", "file ", "\x1b["),
    *("sk-", 'aB1 \n"(,', "the document does not ", "there is no ", "so ", "short ", "answer "),
)
MASK = Mask([KEY, "a" * 16 + "b", "%" * 16 + "1", "p\u00e4ssw\u00f6rd-1234"])
TEXTS: dict[str, Callable[[str], object]] = {
    "mask": MASK.text,
    "logins": without_logins,
    "shapes": without_shapes,
    "name": is_secret_name,
    "quoted": quoted,
    "mark": lambda text: after_mark(text, "Short answer:"),
    "mark of a word": lambda text: after_mark(text, "Answer:"),
    "refusal": lambda text: refusal_in(Fault(text, 400, "x")),
    "file gone": lambda text: is_file_gone(Fault(text, 400)),
    "clauses": split_clauses,
    "folded": lambda text: fold_words(text, hyphens=True),
    "recall": lambda text: phrase_recall(text, [["aa", "1", "no"]], "word"),
    "reasoning": split_reasoning,
    "grade": grade_of,
}


def seconds(read: Callable[[str], object], unit: str, size: int, times: int = 1) -> float:
    """The least CPU seconds of this thread for a text of a size, without other threads and collections."""
    text = (unit * (size // len(unit) + 1))[:size]
    found = []
    gc.disable()
    for _ in range(times):
        started = time.thread_time()
        read(text)
        found.append(time.thread_time() - started)
    gc.enable()
    return min(found)


def grows(read: Callable[[str], object], unit: str, small: int, large: int, times: int = 1) -> bool:
    """Whether a text that is N times as long takes more than 2.5 N times as long."""
    least, most = seconds(read, unit, small, times), seconds(read, unit, large, times)
    return most > 0.1 and most > 2.5 * large / small * max(least, 0.005)


def slow_ones(texts: Mapping[str, Callable[[str], object]]) -> list[tuple[str, str, int]]:
    """The readers of texts that take more than linear time, with the text."""
    slow = []
    for name, read in texts.items():
        for unit in UNITS:
            for small, large in ((4_000, 16_000), (16_000, 64_000)):
                if grows(read, unit, small, large) and grows(read, unit, small, large, times=3):
                    slow.append((name, unit, large))
                    break
    return slow


def test_every_pattern_takes_linear_time() -> None:
    """What is quadratic takes 16 times as long for four times the text. Times too short to compare are left
    out, and what looks slow is measured three times more, because a busy machine has slow moments."""
    assert slow_ones(TEXTS) == []


def test_the_mask_takes_linear_time_up_to_256k() -> None:
    for unit in UNITS:
        assert not (
            grows(MASK.text, unit, 16_000, 256_000) and grows(MASK.text, unit, 16_000, 256_000, times=3)
        ), unit


def test_an_answer_of_twelve_megabytes_is_classified_by_its_beginning_and_its_end() -> None:
    answer = "The document does not say it. " * 400_000
    started = time.process_time()
    (cues,) = Cues().classify(["The document does not say it."])
    for classifier in (Cues(), NearestNeighbour(), NearestNeighbour().plain()):
        verdicts, _ = label_answers([answer], classifier, {})
        assert verdicts[answer].label == cues.label
    assert time.process_time() - started < 20  # it was minutes


FROZEN = """
import asyncio, re, sys
from fathoms.models.calling.stop import StopSignals
from fathoms.safety.signals import ending_in_time

async def main():
    tasks = [asyncio.create_task(asyncio.sleep(600))]
    asked = asyncio.Event()
    signals = StopSignals(lambda: (print("asked", flush=True), asked.set()), lambda: tasks[0].cancel())
    with signals.on(asyncio.get_running_loop()):
        await asyncio.sleep(0.1)
        print("ready", flush=True)
        if sys.argv[1] == "frozen":
            re.match(r"(a+)+$", "a" * 60 + "b")  # holds the GIL for longer than anybody waits
        if sys.argv[1] == "later":
            await asked.wait()
            print("frozen", flush=True)
            re.match(r"(a+)+$", "a" * 60 + "b")
        await asyncio.gather(*tasks, return_exceptions=True)

with ending_in_time():
    asyncio.run(main())
print("closed", flush=True)
"""


def stopped(how: str) -> tuple[int, str]:
    """The exit code and the output of a process that gets two signals."""
    with subprocess.Popen([sys.executable, "-c", FROZEN, how], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        said = "".join(process.stdout.readline() for _ in range({"calm": 1, "later": 2, "frozen": 0}[how]))
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        if how == "frozen":  # it says nothing: on a busy machine it may have taken both signals for one
            with suppress(subprocess.TimeoutExpired):
                process.wait(2)
            process.send_signal(signal.SIGTERM)
        try:
            said += process.communicate(timeout=60)[0]
        finally:
            process.kill()
    return process.returncode, said


def test_a_second_signal_closes_what_runs() -> None:
    assert stopped("calm") == (0, "asked\nclosed\n")


def test_a_second_signal_ends_a_process_whose_loop_is_frozen() -> None:
    assert stopped("frozen") == (-signal.SIGTERM, "")


def test_a_second_signal_ends_a_process_that_froze_after_the_first() -> None:
    code, said = stopped("later")
    assert code != 0
    assert said == "asked\nfrozen\n"
