"""Writes a run as a JUnit XML file for CI servers: one test case per category or question, and one per check.

There is no standard for the format; this uses the elements that its common readers share.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from fathoms.report.metrics_table import metric_table
from fathoms.report.text import shorten
from fathoms.runs.run import Run
from fathoms.text.amounts import figure
from fathoms.types import Failure
from fathoms.types.run.figures import Means
from fathoms.types.run.rows import ScoredRepeat

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MESSAGE = 300


@dataclass(frozen=True)
class Case:
    """One test case of a JUnit file.

    `failure` is set if a check such as a gate was not passed, `error` if something broke; each holds a kind
    and a message. `said` is the text of the case's standard output.
    """

    name: str
    seconds: float = 0.0
    failure: tuple[str, str] | None = None
    error: tuple[str, str] | None = None
    said: str = ""


@dataclass(frozen=True)
class Suite:
    """The test cases of one run."""

    name: str
    cases: Sequence[Case]
    created: str | None = None


def junit(suites: Sequence[Suite], before: bytes | None = None) -> bytes:
    """Return a JUnit file with `suites`, keeping the suites of the file `before` that have other names.

    Raises ValueError if `before` is not a JUnit file.
    """
    names = {_text(suite.name) for suite in suites}
    others = [node for node in _read(before) if node.get("name") not in names]
    nodes = [*others, *map(_element, suites)]
    counts = {
        name: str(sum(int(node.get(name) or 0) for node in nodes)) for name in ("tests", "failures", "errors")
    }
    seconds = sum(float(node.get("time") or 0) for node in nodes)
    root = ET.Element("testsuites", {**counts, "time": f"{seconds:.3f}"})
    root.extend(nodes)
    try:
        ET.indent(root)
        text = ET.tostring(root, encoding="unicode")
    except RecursionError as error:
        raise ValueError("its elements are nested too deeply") from error
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _read(before: bytes | None) -> Sequence[ET.Element]:
    """Parse the suites of a file."""
    if before is None:
        return ()
    if b"<!DOCTYPE" in before:  # a few lines of entity definitions can expand to gigabytes
        raise ValueError("it has a document type declaration")
    try:
        root = ET.fromstring(before)
    except (ET.ParseError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if root.tag != "testsuites":
        raise ValueError(f"its root is <{root.tag}>")
    return root.findall("testsuite")


def _element(suite: Suite) -> ET.Element:
    """Build the XML element of a suite with its cases."""
    stamp = {"timestamp": suite.created[:19]} if suite.created else {}  # without the time zone
    counts = {
        "tests": str(len(suite.cases)),
        "failures": str(sum(case.failure is not None for case in suite.cases)),
        "errors": str(sum(case.error is not None for case in suite.cases)),
        "time": f"{sum(case.seconds for case in suite.cases):.3f}",
    }
    node = ET.Element("testsuite", {"name": _text(suite.name), **counts, **stamp})
    for case in suite.cases:
        _add(node, suite.name, case)
    return node


def _add(node: ET.Element, suite: str, case: Case) -> None:
    """Add the XML element of one case to its suite."""
    attributes = {"classname": _text(suite), "name": _text(case.name), "time": f"{case.seconds:.3f}"}
    found = ET.SubElement(node, "testcase", attributes)
    for tag, trouble in (("failure", case.failure), ("error", case.error)):
        if trouble is not None:
            kind, message = map(_text, trouble)
            ET.SubElement(found, tag, {"type": kind, "message": message}).text = message
    if case.said:
        ET.SubElement(found, "system-out").text = _text(case.said)


def _text(text: str) -> str:
    """Replace characters that XML cannot contain."""
    return _NOT_XML.sub("\ufffd", text)


def category_cases(run: Run, *, too_many_failed: bool) -> Iterator[Case]:
    """Yield a test case for each category that was asked.

    A case has an error if one of its questions has no answer yet. If `too_many_failed`, it also has an error
    if one of its questions failed.
    """
    views: dict[str, list[ScoredRepeat]] = {}
    for view in run.questions():
        views.setdefault(view.question.category, []).extend(view.repeats)
    sizes = run.manifest.data.asked_categories or dict.fromkeys(run.summary.categories, 0)
    figures = run.figures().categories
    further = metric_table([run]).lines
    for name, number in sizes.items():
        found = views.get(name, [])
        wanted = max(number * run.manifest.repeats, len(found))
        failed = [repeat.error for repeat in found if repeat.error]
        seconds = sum(repeat.timings.get("generate", 0.0) for repeat in found)
        correctness = figures.get(name, Means()).correctness
        score = f"correctness {figure(correctness)}"
        if run.summary.retrieval_only:
            score = "retrieval only"
        others = "".join(f", {line.metric} {line.text(line.figures.cell(name))}" for line in further)
        yield Case(
            name=name,
            seconds=seconds,
            error=_trouble(wanted, len(found), failed if too_many_failed else []),
            said=f"{score}{others} ({len(found)} of {wanted} answers, {len(failed)} failed)",
        )


def question_cases(run: Run, *, too_many_failed: bool) -> Iterator[Case]:
    """Yield a test case for each question that has an answer, with errors as in `category_cases`, and one for
    each category in which questions have no answer yet."""
    profile, wanted = run.profile(), run.manifest.repeats
    metrics = ["correctness", "hallucination", *(line.metric for line in metric_table([run]).lines)]
    answered: Counter[str] = Counter()
    for view in run.questions():
        question, found = view.question, view.repeats
        answered[question.category] += 1
        failed = [repeat.error for repeat in found if repeat.error]
        figures = (
            f"{metric} {figure(fmean(known))}"
            for metric in metrics
            if (known := [value for value in view.values(metric, profile) if value is not None])
        )
        yield Case(
            name=f"{question.category}: {question.id}",
            seconds=sum(repeat.timings.get("generate", 0.0) for repeat in found),
            error=_trouble(max(wanted, len(found)), len(found), failed if too_many_failed else [], "answers"),
            said=f"{', '.join(figures)} ({len(found)} of {wanted} answers, {len(failed)} failed)",
        )
    for name, number in (run.manifest.data.asked_categories or {}).items():
        if answered[name] < number:
            missing = f"{number - answered[name]} of {number} questions have no answer yet"
            yield Case(name=f"{name}: not answered", error=("incomplete", missing))


def _trouble(
    expected: int, found: int, failed: Sequence[Failure], what: str = "questions"
) -> tuple[str, str] | None:
    """Return the kind and message of an error, `None` if there is none."""
    if found < expected:
        missing = "are missing" if what == "answers" else "have no answer yet"
        return "incomplete", f"{expected - found} of {expected} {what} {missing}"
    if not failed:
        return None
    kinds = Counter(error.kind for error in failed)
    which = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    first = shorten(failed[0].message, _MESSAGE)
    return "failed", f"{len(failed)} of {found} {what} failed ({which}); the first: {first}"
