"""`fathoms watch`: a week of reference, a week like it, a week that is worse, and what went wrong in it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fathoms.extras.watch.failures import groups
from fathoms.stats.sequential import night_p
from tests.extras.exchange.test_reading_traces import chat, lines, otlp, span
from tests.support.project import Project
from tests.support.strict_server import CHAT, MODEL, strict_server

TOPICS = ("mast", "lift", "door", "roof")


def week(path: Path, number: int, size: int = 60, refused: str = "none") -> Path:
    """Traces of a service: the search finds the page on the topic, except for one that is refused."""
    rows = []
    for at in range(size):
        topic, id = TOPICS[at % 4], number * 1000 + at
        found = "Nothing of use." if topic == refused else f"The {topic} is {at} m tall."
        spans = [
            span("a", "1", id, http__route="/tall" if at % 2 else "/wide"),
            span(
                "a",
                "2",
                id + 0.1,
                "1",
                gen_ai__operation__name="retrieval",
                gen_ai__retrieval__query__text="x",
                gen_ai__retrieval__documents=[{"content": found, "id": f"{topic}.pdf"}],
            ),
            chat("a", "3", id + 0.2, "1", [("user", f"How tall is {topic} number {at}?")], answer=found),
        ]
        for one in spans:
            one["traceId"] = f"{id:032x}"
        rows.append(otlp(*spans))
    return lines(path, *rows)


def says(prompt: str) -> str:
    """A judge that grades passages as useful unless they say that they are not, and supports the rest."""
    if "Passages, numbered:" in prompt:
        return "0" if "Nothing of use" in prompt.partition("Passages, numbered:")[2] else "3"
    return "yes"


CONFIG: dict[str, Any] = {
    "name": "live",
    "traces": "week.jsonl",
    "by": "route",
    "embed": {"kind": "lexical"},
    "failed_by": ["umbrela.nothing-to-answer-from"],
    "metrics": ["umbrela"],
    "compare": ["umbrela.nothing-to-answer-from", "umbrela.precision"],
}


@pytest.mark.slow
def test_three_weeks(project: Project) -> None:
    with strict_server(says) as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": MODEL}
        project.write("week.yaml", yaml.safe_dump({**CONFIG, "judge": {"kind": "llm", "model": model}}))
        week(project.path / "week.jsonl", 1)
        planned = project.fathoms("watch", "week.yaml", "--dry-run")
        assert planned.returncode == 0, planned.stderr
        assert "60 answers to judge: about 60 calls" in " ".join(planned.stdout.split())
        closed = {"kind": "llm", "model": {"kind": "openai", "model": "gpt-5-mini", "max_tokens": 400}}
        project.write("closed.yaml", yaml.safe_dump({**CONFIG, "judge": closed}))
        planned = project.fathoms("watch", "closed.yaml", "--dry-run")  # without a key
        assert planned.returncode == 0, planned.stderr
        assert "60 answers to judge: about 60 calls" in " ".join(planned.stdout.split())
        assert not (project.path / "runs").exists()
        assert not server.bodies(CHAT)
        first = project.fathoms("watch", "week.yaml")
        assert first.returncode == 0, first.stdout + first.stderr
        assert first.stdout.rstrip().endswith("REFERENCE")
        assert len(server.bodies(CHAT)) == 60
        week(project.path / "week.jsonl", 2)
        same = project.fathoms("watch", "week.yaml")
        assert same.returncode == 0, same.stdout + same.stderr
        assert same.stdout.rstrip().endswith(": OK")
        week(project.path / "week.jsonl", 3, refused="roof")
        worse = project.fathoms("watch", "week.yaml")
        assert worse.returncode == 100, worse.stdout + worse.stderr
        said = " ".join(worse.stdout.split())
        assert said.endswith("report.html: WORSE (umbrela.nothing-to-answer-from, umbrela.precision)"), said
        assert "15 about roof" in said
        assert "/tall 0.00 0.00 0.50" in said  # the reference, and each week since
        assert said.index("about roof") < said.index("/tall")  # what went wrong comes first
        assert "60 questions of 60, umbrela.nothing-to-answer-from 0.25" in said
        assert (project.path / "runs" / "report.html").is_file()


def test_a_file_that_is_wrong_is_refused(project: Project) -> None:
    project.write("week.yaml", yaml.safe_dump({**CONFIG, "judge": {"kind": "scripted"}}))
    missing = project.fathoms("watch", "week.yaml")
    assert missing.returncode == 2
    assert "there is no file" in missing.stderr
    project.write("week.yaml", yaml.safe_dump({**CONFIG, "judge": {"kind": "scripted"}, "redact": "names"}))
    assert "redact" in project.fathoms("watch", "week.yaml").stderr


def test_groups_by_hand() -> None:
    vectors = {
        "mast a": (1, 0),
        "mast b": (0.9, 0.1),
        "lift a": (0, 1),
        "old lift": (0.1, 0.9),
        "fine": (1, 1),
    }

    def embed(texts: list[str]) -> Any:
        return np.array([vectors[text] for text in texts], dtype=float)

    failed = [("1", "lift a"), ("2", "mast a"), ("3", "mast b")]
    found = groups(failed, ["old lift"], ["fine a"], 0.6, embed)
    assert [(one.ids, one.words[0], one.is_new) for one in found] == [
        (("2", "3"), "mast", True),
        (("1",), "lift", False),
    ]
    assert groups([], [], [], 0.6, embed) == []


@pytest.mark.long
def test_routes_in_the_place_of_questions_give_uniform_p_values() -> None:
    """Weeks of the same service, with scores that are no whole numbers: as many p values below a level as the
    level says."""
    draw = random.Random(1)
    p = []
    for _ in range(300):
        routes = [[draw.betavariate(2, 1 + route) for _ in range(40)] for route in range(3)]
        found = night_p([one[:30] for one in routes], [one[30:] for one in routes], draw.random())
        assert found is not None
        p.append(found)
    for level in (0.05, 0.2, 0.5):
        share = sum(one <= level for one in p) / len(p)
        assert abs(share - level) < 4 * (level * (1 - level) / len(p)) ** 0.5
