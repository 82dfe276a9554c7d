"""Makes the run folders: a small corpus of its own, one pipeline of each kind, and files of other tools.

The folder in which they are made is gone afterwards, so that no output depends on what is in it.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fathoms.runs.people import ERRORS_FILE, GRADES_FILE, FoundErrors, Grade, append_said
from fathoms.runs.ratings import FILE as RATINGS_FILE
from fathoms.runs.ratings import Rating, append_rating
from tests.golden.outputs import RUNS, key_file
from tests.support.mmdocrag import GRADES, write
from tests.support.project import Project, write_pdf
from tests.support.raw_service import answer, service
from tests.support.ray_cluster import RayCluster
from tests.support.tiny_pages import tiny_models

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS / "extras" / "exchange" / "samples"

PAGES = {
    "varn.pdf": [
        "The Varn tower is 41.5 m tall. It was built by Ada Brandt in 1898.",
        "The door of the Varn tower is painted green.",
        "Visitors of the Varn tower: 1200 in 1997, 1350 in 1998.",
    ],
    "lune.pdf": ["In Lune, ore costs 17 crowns a ton.", "The mine of Lune is 310 m deep."],
    "mill.pdf": ["The mill of Orsk grinds 4150 kg a day.", "The mill of Orsk has 6 stages and two wheels."],
}


def _question(id: str, text: str, answers: list[list[str]], place: tuple[str, int], **more: Any) -> Any:
    evidence = {"document": place[0], "page": place[1], "modality": more.pop("modality", "text")}
    return {
        "id": id,
        "question": text,
        "answers": answers,
        "files": [place[0]],
        "evidence": [evidence],
        **more,
    }


QUESTIONS: dict[str, list[Any]] = {
    "Text-Only": [
        _question(
            "tall", "How tall is the Varn tower?", [["41.5"]], ("varn.pdf", 1), reference="It is 41.5 m tall."
        ),
        _question("door", "Which colour has the Varn door?", [["green"]], ("varn.pdf", 2)),
    ],
    "Tables": [
        _question(
            "visitors",
            "How many visitors came to the Varn tower in 1998?",
            [["1350"], ["1,350"]],
            ("varn.pdf", 3),
            modality="table",
            metadata={"language": "en", "hops": 1},
        ),
        _question(
            "ore", "What does ore cost in Lune?", [["17", "crowns"]], ("lune.pdf", 1), modality="table"
        ),
    ],
    "Unanswerable": [
        {
            "id": "owner",
            "question": "Who owns the Lune mine?",
            "answers": [],
            "files": ["lune.pdf"],
            "answerable": False,
        },
        _question("stages", "How many stages has the mill of Orsk?", [["6 stages"]], ("mill.pdf", 2)),
    ],
}
REPLIES = {
    "tall": "The Varn tower is 41.5 m tall [1].",
    "colour": "I do not know the colour.",
    "visitors": "There were 1200 visitors. The mine is deep.",
    "ore": "Ore costs 17 crowns a ton. It is mined in Lune.",
    "owns": "Ada Brandt owns the mine.",
}
SCRIPTED = {"kind": "scripted", "replies": REPLIES, "default": "The mill has 6 stages."}
DATA = {"questions": "questions.json", "documents": "pdfs"}
DENSE = {"chunk": {"kind": "page"}, "embed": {"kind": "lexical"}, "retrieve": {"kind": "dense", "top_k": 2}}
BM25 = {"chunk": {"kind": "sentence", "size": 24, "overlap": 4}, "retrieve": {"kind": "bm25", "top_k": 3}}
HYBRID = {"kind": "hybrid", "of": [{"kind": "dense", "top_k": 3}, {"kind": "bm25", "top_k": 3}], "top_k": 2}
JUDGE = {"kind": "scripted", "labels": "three-way", "labels_by": {"1200": "contradiction", "deep": "neutral"}}
GRADING = {"kind": "scripted", "labels_by": {"41.5": "9", "1200": "2"}}
PLACES = ("first", "second", "third")
PRICE = {"input": 0.5, "output": 1.5}

PIPELINES: dict[str, dict[str, Any]] = {
    "dense": DENSE,
    "other": {**DENSE, "generate": {**SCRIPTED, "default": "Nobody can say.", "replies": {"tall": "41 m."}}},
    "bm25": BM25,
    "hybrid": {**DENSE, "retrieve": HYBRID},
    "closed-book": {"retrieve": {"kind": "none"}, "prompt": {"template": "closed-book"}},
    "oracle": {"chunk": {"kind": "page"}, "retrieve": {"kind": "oracle"}},
    "whole-document": {
        "retrieve": {"kind": "whole-document", "by": "question-files", "max_chars": 100},
        "prompt": {"template": "documents"},
    },
    "degraded": {
        **DENSE,
        "retrieve": {"kind": "degrade", "retriever": {"kind": "dense"}, "recall": 0.5, "seed": 1},
    },
    "expanded": {
        **BM25,
        "retrieve": {
            "kind": "expand",
            "retriever": {"kind": "bm25", "top_k": 1},
            "generate": {"kind": "scripted", "default": "ore price"},
        },
    },
    "pages": {
        "chunk": {"kind": "page", "image_dpi": 24},
        "retrieve": {"kind": "bm25", "top_k": 1},
        "prompt": {"template": "page-images"},
    },
    "priced": {**DENSE, "generate": {**SCRIPTED, "price": PRICE}},
    "judged": {**DENSE, "metrics": ["ragchecker", "faithfulness"], "judge": JUDGE},
    "graded": {**DENSE, "metrics": ["correctness-judged"], "judge": GRADING},
    "some-failed": {**DENSE, "generate": {**SCRIPTED, "fail_on": {"visitors": "ModelError"}}},
}
"""One run each."""

SWEEPS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "matrix": (
        {
            **DENSE,
            "matrix": {
                "by": {
                    "one": {"retrieve": {"kind": "dense", "top_k": 1}},
                    "words": {"retrieve": {"kind": "bm25"}},
                }
            },
        },
        (),
    ),
    "settings": (DENSE, ("--settings", "closed-book,oracle,rag")),
    "distractors": (
        {**BM25, "retrieve": {"kind": "distractors", "retriever": {"kind": "bm25"}, "distractors": 1}},
        ("--settings", "gold,gold+distractors,distractors"),
    ),
    "injected": (DENSE, ("--settings", "injected,injected-leak")),
}
"""Several runs each, with what the command is given."""


def record(target: Path = RUNS) -> None:
    """Make all run folders anew."""
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name)
        os.environ["FATHOMS_KEY_FILE"] = str(key_file(folder / "signing.key"))
        project = _project(folder)
        _pipelines(project)
        _external(project)
        _stopped(project)
        _variants(project)
        _imports(project)
        _said(project)
        _cluster(project)
        shutil.copytree(TESTS / "runs" / "made_before", project.path / "runs", dirs_exist_ok=True)
        _store(project.path / "runs", target)


def _cluster(project: Project) -> None:
    """A run whose documents were parsed and whose answers were scored by a Ray cluster."""
    cluster = RayCluster(1)
    if cluster.why_not:
        raise SystemExit(f"the run on a cluster cannot be recorded: {cluster.why_not}")
    try:
        execution = {"kind": "ray", "address": cluster.address}
        config = {"name": "cluster", "data": DATA, "generate": SCRIPTED, **DENSE, "execution": execution}
        project.write("cluster.yaml", yaml.safe_dump(config, sort_keys=False))
        command = cluster.start(["run", "cluster.yaml"], project.path, {"FATHOMS_CACHE_DIR": "cluster-cache"})
        done = cluster.wait(command)
        if done.returncode:
            raise SystemExit(f"fathoms run cluster.yaml ended with {done.returncode}:\n{done.stderr}")
    finally:
        cluster.close()


def _project(folder: Path) -> Project:
    (folder / "pdfs").mkdir()
    for name, pages in PAGES.items():
        write_pdf(folder / "pdfs" / name, pages)
    project = Project(folder)
    project.write("questions.json", json.dumps(QUESTIONS))
    return project


def _run(project: Project, name: str, config: Mapping[str, Any], *arguments: str, code: int = 0) -> None:
    head = {"name": name, "data": DATA} | ({} if "pipeline" in config else {"generate": SCRIPTED})
    project.write(f"{name}.yaml", yaml.safe_dump({**head, **config}, sort_keys=False))
    _do(project, "run", f"{name}.yaml", *arguments, code=code)


def _do(project: Project, *arguments: str, code: int = 0) -> None:
    done = project.fathoms(*arguments)
    if done.returncode != code:
        raise SystemExit(
            f"fathoms {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        )


def _pipelines(project: Project) -> None:
    for name, config in PIPELINES.items():
        _run(project, name, config, *(("--fail-on-error", "50%") if "failed" in name else ()))
    for name, (config, arguments) in SWEEPS.items():
        _run(project, name, config, *arguments)
    _run(project, "repeats", DENSE, "--repeats", "3", "--limit", "3")
    _run(project, "retrieval-only", BM25, "--retrieval-only")
    _run(project, "profiles", {**DENSE, "scoring": {"profile": "paper"}, "metrics": ["retrieval"]})
    small = {
        "embed": {"kind": "onnx", "model": "minilm-l6-v2"},
        "generate": {
            "kind": "embedded",
            "model": "smollm2-135m",
            "n_ctx": 1024,
            "max_tokens": 24,
            "threads": 1,
        },
    }
    _run(Project(project.path, cache=None), "embedded", {**DENSE, **small}, "--limit", "3", "--no-cache")
    pages = {"kind": "multi-vector", "model": tiny_models()["colqwen2"], "device": "cpu"}
    visual = {
        "retrieve": {"kind": "visual", "embed": pages, "dpi": 24, "top_k": 2},
        "prompt": {"template": "page-images"},
    }
    _run(project, "visual", {"chunk": {"kind": "page", "image_dpi": 24}, **visual}, "--limit", "3")
    replies = {"kind": "scripted", "default": "Moor voles. ![faults](image5) [99]"}
    quotes = {
        "data": "sample-quotes",
        "prompt": {"template": "quotes"},
        "metrics": ["mmdocrag"],
        "generate": replies,
    }
    _run(project, "quotes", {**quotes, "retrieve": {"kind": "quotes", "mode": "description"}}, "--limit", "2")


RAG = """
class Rag:
    def __init__(self, known=()):
        self.known = dict(known)

    def ingest(self, documents):
        self.files = [document.id for document in documents]

    def answer(self, question):
        for word, told in self.known.items():
            if word in question:
                context = {"text": told, "document": "varn.pdf", "page": 1, "score": 2.5}
                return {"answer": told, "contexts": [context]}
        return {"answer": "I do not know.", "contexts": []}
"""


def _external(project: Project) -> None:
    """Pipelines that are not fathoms's: a class, a service, and a service that fails at first."""
    project.write("rag.py", RAG)
    known = {"tall": "It is 41.5 m tall.", "ore": "Ore costs 17 crowns."}
    _run(
        project, "python", {"pipeline": {"kind": "python", "target": "rag:Rag", "options": {"known": known}}}
    )
    failing = threading.Event()

    def act(connection: Any, sent: Any) -> None:
        if failing.is_set() and "tall" not in sent["question"]:
            connection.sendall(answer({"error": "down"}, status="500 Internal Server Error"))
            return
        context = {"text": "The Varn tower is 41.5 m tall.", "document": "varn.pdf", "page": 1}
        connection.sendall(answer({"answer": "It is 41.5 m tall.", "contexts": [context]}))

    with service(act) as server:
        pipeline = {"kind": "http", "url": f"{server.address}/ask", "max_concurrency": 1}
        config = {"execution": {"max_attempts": 1}, "pipeline": pipeline}
        _run(project, "http", config)
        failing.set()
        _run(project, "http-failed", config, code=1)
        _run(project, "http-resumed", config, code=1)
        failing.clear()
        _do(project, "run", "--resume", "http-resumed")


def _stopped(project: Project) -> None:
    """A run that a limit stopped, with questions that nobody was asked."""
    _run(project, "stopped", DENSE, "--max-tokens-total", "150", "-j", "1", code=3)


def _variants(project: Project) -> None:
    _do(
        project,
        "questions",
        "perturb",
        "questions.json",
        "varied.json",
        "--kind",
        "typos",
        "--kind",
        "wrong-premise",
    )
    _run(
        project,
        "variants",
        {**DENSE, "data": {**DATA, "questions": "varied.json"}, "metrics": ["premise-adopted"]},
    )


def _imports(project: Project) -> None:
    """Answers, hits and files of every tool that there is an import for."""
    folder = project.path
    rows = [
        {"id": "tall", "answer": "It is 41.5 m tall.", "contexts": ["The Varn tower is 41.5 m tall."]},
        {"id": "door", "answer": "I do not know."},
        {"id": "ore", "answer": "17 crowns.", "citations": [{"document": "lune.pdf", "page": 1}]},
    ]
    own = ("--questions", "questions.json", "--partial")
    file = write(folder / "answers.jsonl", rows)
    _do(project, "import", "answers", str(file), *own, "--name", "answers", "--documents", "pdfs")
    _do(project, "export", "hits", "bm25", "--to", "hits.jsonl")
    _do(project, "import", "hits", "hits.jsonl", *own, "--name", "hits")
    _do(project, "export", "trec", "bm25", "--to", "trec")
    _do(project, "import", "trec", "trec/run.trec", "--qrels", "trec/qrels.trec", *own, "--name", "trec")
    _do(project, "import", "ragas", str(SAMPLES / "ragas-dataset.jsonl"), "--name", "ragas", "--partial")
    _do(project, "import", "promptfoo", str(SAMPLES / "promptfoo.json"), "--partial")
    _do(project, "import", "inspect", str(SAMPLES / "inspect.eval"), "--name", "inspect", "--partial")
    (folder / "checked.json").write_text(json.dumps({"results": [CHECKED]}))
    _do(project, "import", "ragchecker", "checked.json", "--name", "ragchecker", "--partial")
    _do(project, "score", "ragchecker", "--metric", "ragchecker")
    (folder / "traces.json").write_text(json.dumps(_traces()))
    _do(project, "import", "otel", "traces.json", "--name", "otel", "--partial")
    (folder / "tiny_RAG.json").write_text(json.dumps(_fathoms_rag()))
    _do(project, "import", "fathoms-rag", "tiny_RAG.json")
    _mmdocrag(project)
    _mirage(project)


CHECKED: dict[str, Any] = {
    "query_id": 7,
    "query": "How tall is the mast?",
    "gt_answer": "It is 41.5 m tall.",
    "response": "The mast is 41 m tall and of pine.",
    "retrieved_context": [{"doc_id": "000", "text": "The mast is 41.5 m tall."}],
    "response_claims": [["mast", "height", "41 m"], "The mast is of pine."],
    "gt_answer_claims": [["mast", "height", "41.5 m"]],
    "answer2response": ["Contradiction", "Neutral"],
    "response2answer": ["Neutral"],
    "retrieved2response": [["Contradiction"], ["Neutral"]],
    "retrieved2answer": [["Entailment"]],
}


def _traces() -> Any:
    """A question that an application answered, with its search, as OpenTelemetry has it in JSON."""

    def span(id: str, parent: str, at: int, **attributes: str) -> Any:
        listed = [
            {"key": key.replace("__", "."), "value": {"stringValue": one}} for key, one in attributes.items()
        ]
        return {
            "traceId": "a" * 32,
            "spanId": id * 16,
            "parentSpanId": parent and parent * 16,
            "name": id,
            "startTimeUnixNano": str((1_700_000_000 + at) * 10**9),
            "endTimeUnixNano": str((1_700_000_001 + at) * 10**9),
            "attributes": listed,
            "status": {},
        }

    def said(role: str, text: str) -> str:
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    found = [
        {"id": "papers/varn.pdf#page=3", "score": 0.9, "content": "The mast of the Varn is 41.5 m tall."}
    ]
    one_text = "How tall is the mast?"
    spans = [
        span("1", "", 0, gen_ai__operation__name="invoke_workflow"),
        span(
            "2",
            "1",
            1,
            gen_ai__operation__name="retrieval",
            gen_ai__retrieval__query__text=one_text,
            gen_ai__retrieval__documents=json.dumps(found),
        ),
        span(
            "3",
            "1",
            2,
            gen_ai__operation__name="chat",
            gen_ai__input__messages=said("user", one_text),
            gen_ai__output__messages=said("assistant", "It is 41.5 m tall."),
        ),
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def _fathoms_rag() -> Any:
    """Two responses in the form of the result files of FATHOMS-RAG."""
    chunk = {"chunk_id": 1, "file_name": "varn.pdf", "page_number": 1, "relevance_score": 0.74}
    right = {
        "category": "Text-Only",
        "question": "How tall is the Varn tower?",
        "required_files": ["varn.pdf"],
        "rag_context": [{**chunk, "content": "The Varn tower is 41.5 m tall."}],
        "pred_answer": "It is 41.5 m tall.",
        "ground_truth": [["41.5"]],
        "correctness_score": 1.0,
        "suspected_hallucination": False,
    }
    wrong = {"question": "Which colour has its door?", "pred_answer": "Blue.", "ground_truth": [["green"]]}
    wrong |= {"category": "Tables", "correctness_score": 0.0, "suspected_hallucination": True}
    return {"model": "tiny_ RAG", "api_model": "tiny:1b", "responses": [right, {**right, **wrong}]}


def _mmdocrag(project: Project) -> None:
    gold = [
        {"q_id": 0, "gold_quotes": ["image4", "text9"], "answer_short_joined": "46"},
        {"q_id": 1, "gold_quotes": ["text2"], "answer_short_joined": "7"},
    ]
    answers = [
        {
            "q_id": 0,
            "model": "m",
            "in_tok": 9,
            "out_tok": 5,
            "response": "<think>Is it [9]?</think>\n\nIt is 46 ![a](image4).",
        },
        {"q_id": 1, "model": "m", "in_tok": 7, "out_tok": 3, "response": "It is 7 [2] [3]."},
    ]
    grades = [{"q_id": row["q_id"], "response": json.dumps(dict.fromkeys(GRADES, 4))} for row in answers]
    folder = project.path / "mmdocrag"
    write(folder / "gold.jsonl", gold)
    write(folder / "judge.jsonl", grades)
    write(folder / "some-model_pure-text_quotes20_response.jsonl", answers)
    file = "mmdocrag/some-model_pure-text_quotes20_response.jsonl"
    _do(
        project,
        "import",
        "mmdocrag",
        file,
        "--gold",
        "mmdocrag/gold.jsonl",
        "--judge",
        "mmdocrag/judge.jsonl",
        "--name",
        "mmdocrag",
    )


def _mirage(project: Project) -> None:
    """One topic of three systems and one person."""
    folder = project.path / "mirage"
    folder.mkdir()
    systems = ("qwen3_llm_only", "qwen_72b_cag", "qwen_72b_rag")
    claims = ["The tower fell in 1998.", "Nobody was hurt."]

    def put(name: str, data: Any) -> None:
        (folder / name).write_text(json.dumps({"Fall of the Varn tower": data}))

    put(
        "preference_key.json",
        {f"{place}_prediction": one for place, one in zip(PLACES, systems, strict=True)},
    )
    attested = {claim: {"supporting_videos": ["v1"]} for claim in claims}
    put(
        "human_eval_subset.json",
        {
            "article": " ".join(claims),
            "claims": [[one] for one in claims],
            "claims_to_supporting_videos": attested,
            "videos": {"v1": {}},
        },
    )
    for number, system in enumerate(systems):
        short = system.removesuffix("_only")
        put(
            f"{system}_relevant_citations.json",
            {"prediction": claims[0], "sentences": claims[:1], "claims": [claims[:1]], "citations": [["v1"]]},
        )
        said = [{"claim": one, "judgment": number < 2} for one in claims]
        put(f"metric_prediction_{short}_annotator_1_DONE.json", {"claims": {claims[0]: said[:1]}})
        put(f"metric_reference_{short}_annotator_1_DONE.json", {"claims": said})
    _do(project, "import", "mirage", "mirage", "--partial")


def _said(project: Project) -> None:
    """A run with what people say of its scores, its answers and its claims."""
    _run(project, "reviewed", DENSE)
    run = project.runs()[-1]
    about = {"run": run.name, "reviewer": "ann", "seed": 1, "time": "2026-01-02T03:04:05+00:00"}
    scores = {"profile": "fathoms", "correctness": 1.0, "hallucination": 0.0, "abstained": False}
    for question in ("tall", "ore"):
        rating = {**scores, "score_rating": 4, "flag_rating": 5, "comment": "Good."}
        append_rating(run / RATINGS_FILE, Rating.model_validate({**about, "question": question, **rating}))
        append_said(run / GRADES_FILE, Grade.model_validate({**about, "question": question, "grade": 4}))
    found = {**about, "question": "visitors", "errors": ("contradicts-source",), "taxonomy": "made-up"}
    append_said(run / ERRORS_FILE, FoundErrors.model_validate(found))


def _store(path: Path, target: Path) -> None:
    """Copy what a run needs; reports are made from it."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        path,
        target,
        ignore=shutil.ignore_patterns(
            ".lock", "report.*", "scores.csv", "table.tex", "radar-*", "README.md", "reports"
        ),
    )
