"""Commands that a page shows beside what they print: run too, on runs and files of the names it gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fathoms.models.weights.weights import is_installed
from tests.support.doc_pages import blocks, words
from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes of their own

SHOWN = {
    line.removeprefix("$ ")
    for block in blocks("text")
    for line in block.text.splitlines()
    if re.match(r"(\$ )?(fathoms|ollama|python) ", line) and block.page != "cli.md"
}

ELSEWHERE = {
    "fathoms tune --replay baseline --replay docling": "test_tune_command.py",
    "fathoms tune choice.yaml --write best.yaml": "test_tune_command.py, with scripted models",
    "fathoms compare RUN@v1.json RUN": "test_cli_question_versions.py",
    "fathoms show RUN --scoring v1.json": "test_cli_question_versions.py",
    "fathoms gate RUN --baseline RUN~1@own": "test_cli_question_versions.py",
    "python service.py": "test_docs_walks.py",
    "fathoms premerge branch.yaml --against main.yaml --comment fathoms-comment.md": "test_cli_premerge.py",
    "fathoms doctor --executor ray --address HOST:6379": "test_ray_executor.py",
    "fathoms score RUN --executor ray --address HOST:6379": "test_ray_executor.py",
    "ollama pull gemma3:4b": "a hub",
    "ollama pull nomic-embed-text": "a hub",
    "fathoms doctor ollama.yaml": "test_cli_doctor.py, test_cli_ollama.py: a real server and a small model",
    "fathoms run ollama.yaml --limit 10": "test_cli_ollama.py",
    'fathoms reproduce fathoms-rag/table-2 --live --row "LlamaIndex gemma3:4b" --limit 10': (
        "test_reproducing.py, with a scripted model"
    ),
    "fathoms reproduce mirage/table-1 --results mirage/": "test_reproducing_mirage.py",
    "fathoms agree scores.csv --people ratings.csv": "test_metrics_and_people.py",
    "fathoms reproduce mmdocrag/quotes20 --results mmdocrag/": "test_reproducing_mmdocrag.py",
    "fathoms reproduce mmdocir/table-5 --results mmdocir/": "test_reproducing_retrieval.py",
    "fathoms reproduce mmdocir/table-6 --run latest": "test_reproducing_retrieval.py, with a small table",
    "fathoms import mmdocrag gpt-4.1_response.jsonl --gold gold.jsonl --judge gpt-4.1_llm-judge.jsonl": (
        "test_importers_mmdocrag.py"
    ),
    "fathoms run configs/reading.yaml": "test_cli_reading.py, with a server that sees in place of the vendor",
    "fathoms run configs/quotes.yaml": "test_cli_quotes.py, with one question",
    "fathoms run closed.yaml --repeats 10": "test_filtering.py, with a scripted model",
    "fathoms questions filter mine.json filtered.json --closed-book closed --baseline baseline": (
        "test_filtering.py"
    ),
    "fathoms questions ambiguity mine.json marked.json --judge judge.yaml": "test_ambiguity.py",
    "fathoms questions ambiguity marked.json --review --reviewer ann": "test_ambiguity.py",
    "fathoms questions ambiguity marked.json --review --reviewer ben": "test_ambiguity.py",
    "fathoms questions ambiguity marked.json set.json --judge judge.yaml --matched --rewrite pdfs": (
        "test_ambiguity.py"
    ),
    "fathoms questions label mine.json pdfs --judge judge.yaml --dry-run": "test_labelling.py",
    "fathoms questions label mine.json pdfs --judge judge.yaml --to labelled.json": "test_labelling.py",
    "fathoms questions label data/sample/questions.json data/sample --judge small.yaml": (
        "a measurement of half an hour; test_labelling.py, with a scripted model"
    ),
    "fathoms questions inspect mine.json pdfs --judge judge.yaml --dry-run": "test_inspecting.py",
    "fathoms questions inspect mine.json pdfs --judge judge.yaml --to inspected.json": "test_inspecting.py",
    "fathoms questions inspect mine.json pdfs --judge judge.yaml --card --dry-run": "test_screening.py",
    "fathoms questions inspect mine.json pdfs --judge judge.yaml --card-out card.md": "test_screening.py",
    "fathoms questions edit mine.json pdfs --as ann": "test_cli_edit.py, in Chromium",
    "fathoms questions edit mine.json --summary": "test_cli_edit.py",
    "fathoms questions edit set.json pdfs": "test_cli_edit.py, in Chromium",
    "fathoms build --out set.json --resume": "test_cli_build.py",
    "fathoms build --out set.json --update": "test_cli_build.py",
    "fathoms build graph set.json --html graph.html": "test_making_graph.py",
    "fathoms build configs/build.yaml pdfs --out set.json --dry-run": "test_cli_build.py",
    "fathoms questions candidates mine.yaml quotes.json -n 20": "test_candidates.py, with a smaller number",
    "fathoms run configs/visual.yaml": "test_cli_visual.py, with a small model of random weights",
    **dict.fromkeys(
        (
            "fathoms run many.yaml --matrix retrieve.top_k=10,20,50,100",
            "fathoms run many.yaml --set name=packed --matrix generate.context_window=550,1050,2050",
            'fathoms run many.yaml --set name=dense --set "retrieve={kind: dense}"'
            " --matrix retrieve.top_k=10,100",
            "fathoms run many.yaml --set name=each"
            ' --set "retrieve={kind: each-document, retriever: {kind: bm25}, chunks: 2}"',
            "fathoms show each --only retrieval",
        ),
        "a measurement of minutes; test_each_document.py has such runs on a few documents",
    ),
    "fathoms doctor mine.yaml": "test_page_index.py, with a small model of random weights",
    "fathoms ingest mine.yaml": "test_page_index.py",
    "fathoms run mine.yaml": "test_page_index.py",
    "fathoms run configs/reading.yaml --matrix reading=picture,describe --limit 10": (
        "test_cli_reading.py runs every cell, test_cli_matrix.py chooses among cells"
    ),
    "fathoms reproduce vidore/Vidore3HrRetrieval --results Vidore3HrRetrieval.json --run latest": (
        "test_reproducing_vidore.py"
    ),
    "fathoms review demo docling --sample 3 --seed 1": "test_cli_review.py, in a pseudo-terminal",
    "fathoms review demo docling --sample 3 --seed 1 --reviewer ben": "test_cli_review.py",
    "fathoms review small large --quality --sample 20": "test_cli_review_modes.py, with every key",
    "fathoms review small --errors --sample 20": "test_cli_review_modes.py",
    "fathoms review small --claims --metric faithfulness --sample 50": "test_cli_review_modes.py",
    "fathoms agree small large": "test_cli_review_modes.py, with grades of two people",
    "fathoms questions nuggets questions.json with-nuggets.json --from banks.jsonl": "test_cli_questions.py",
    "fathoms questions nuggets questions.json with-nuggets.json --judge judge.yaml": "test_cli_questions.py",
    "fathoms questions perturb questions.json perturbed.json --kind paraphrase --kind translated"
    " --judge judge.yaml": "test_cli_perturb.py, from Python",
    "fathoms questions check mine.csv pdfs": "test_cli_questions.py; it ends with 1",
    "fathoms gate night --sequential --baseline baseline.json --min correctness=0.6"
    " --max-rate hallucination=0.2": "test_cli_first_night.py; it ends with 100 where answers are wrong",
    "fathoms comment fathoms-comment.md": "test_ci_templates.py",
    "fathoms gate latest --max-rate position-gap=0.2": "test_cli_distractors.py",
    "fathoms gate latest --min gpd-go-gap=-0.1": "test_cli_distractors.py",
    "fathoms export mlflow latest --tracking-uri http://127.0.0.1:5000 --experiment nights": (
        "test_writing_mlflow.py, with a real server"
    ),
    "fathoms export otel latest --endpoint http://127.0.0.1:4318": (
        "test_writing_otel.py and test_cli_traceparent.py, with a receiver"
    ),
    "fathoms questions check questions.json --fix": "test_cli_question_versions.py",
    "fathoms questions diff old.json new.json": "test_cli_question_versions.py",
    "fathoms questions log questions.json": "test_cli_question_versions.py",
    "fathoms score RUN --questions new.json": "test_cli_question_versions.py",
    "fathoms score NAME --history --questions new.json": "test_cli_question_versions.py",
    "fathoms view": "test_cli_view.py; test_view_browser.py in Chromium",
    "fathoms import otel traces.jsonl": "test_cli_exchange.py, with what a receiver of OTLP got",
    "fathoms import otel traces.jsonl --since 7d --by route --sample 200 --dedupe .95"
    " --redact email,phone,iban": "test_watch.py and test_reading_traces.py, with smaller numbers",
    "fathoms questions add support --failed 20 --to questions.json --pdfs manuals": "test_questions_add.py",
    "fathoms questions candidates many.yaml quotes50.json -n 50": "test_candidates.py, with a smaller number",
    'fathoms run configs/quotes.yaml --set "data={questions: quotes50.json}" --set name=quotes50': (
        "test_cli_quotes.py"
    ),
    "fathoms report quotes20 quotes50 quotes100": "test_metrics_mmdocrag.py, with other places",
    "fathoms questions edit facts.csv pdfs --as ann": "test_facts_editing.py",
    "fathoms questions edit facts.csv --questions questions.json --summary": "test_build_facts.py",
    "fathoms import answers system-a.csv --questions mine.csv": "test_importers_answers.py",
    "fathoms import answers system-b.csv --questions mine.csv": "test_importers_answers.py",
    "fathoms compare system-a system-b": "test_compare.py and test_cli_screens.py",
    "fathoms questions from-facts facts.csv --out questions.json --update": "test_build_facts.py",
    "fathoms run configs/many-documents.yaml": "test_docs_walks.py, as it stands on the page",
    "fathoms run configs/many-documents.yaml --category List --set name=top"
    ' --set "retrieve={kind: bm25, top_k: 12}"'
    ' --set "generate={kind: embedded, model: qwen2.5-coder-1.5b, n_ctx: 4096, max_tokens: 96}"': (
        "test_each_document.py, with other models"
    ),
    "fathoms run configs/many-documents.yaml --category List --set name=each"
    ' --set "retrieve={kind: each-document, retriever: {kind: bm25}, chunks: 1, documents: 12}"'
    ' --set "generate={kind: embedded, model: qwen2.5-coder-1.5b, n_ctx: 4096, max_tokens: 96}"'
    " --set question_timeout=7200": "test_each_document.py, with other models",
    "fathoms questions facts monday tuesday --to bank.json --judge judge.yaml": "test_questions_facts.py",
    "fathoms score monday --questions bank.json --metric nuggets --judge judge.yaml": (
        "test_questions_facts.py"
    ),
    "fathoms run live.yaml --limit 15": "test_metrics_without_gold.py, with other questions",
    "fathoms score live --metric without-gold": "test_metrics_without_gold.py",
    "fathoms score live --metric without-gold --judge judge.yaml": "test_metrics_without_gold.py",
    "fathoms score tower --metric faithfulness --judge judge.yaml --until-width 0.05": (
        "test_cli_until_width.py, with another width"
    ),
    "fathoms report Results/ --scores released": "test_cli_released.py",
    "fathoms reproduce ragchecker/table-5 --results ragchecker/": "test_reproducing_ragchecker.py",
    "fathoms run configs/quote-search.yaml --retrieval-only": "test_quote_search.py, with other questions",
    "fathoms watch week.yaml": "test_watch.py",
    "fathoms watch week.yaml --dry-run": "test_watch.py",
    "python benchmarks/simulate_statistics.py": "make slow",
}
"""What is not run here, and by whom else."""

OF_RUNS = [
    "fathoms compare gpt-4.1 gpt-4o",
    "fathoms compare gpt-4.1 gpt-4o --all",
    "fathoms compare A B C --metric correctness --profile fathoms --json",
    "fathoms gate nightly nightly~1 nightly~2 nightly~3 nightly~4 --save-baseline baseline.json",
    "fathoms gate night --sequential --baseline baseline.json --log-file night.jsonl --junit night.xml",
    "fathoms run nightly.yaml",
    "fathoms gate nightly --sequential --baseline baseline.json",
    "fathoms run nightly.yaml",
    "fathoms gate nightly --last 3 --baseline baseline.json",
    "fathoms trends night --log night.jsonl",
]
"""In this order: a baseline is written, then come nights, judged in the order of time."""
OF_RELEASED_FILES = [
    "fathoms import fathoms-rag results/*Docling*.json",
    "fathoms import fathoms-rag results/*.json --documents papers",
    "fathoms show llama3_3-70b_Docling_with_easyOCR",
    "fathoms reproduce fathoms-rag/table-2 --results results/",
]
OF_PDFS = [
    "fathoms run configs/side-by-side/docling.yaml configs/side-by-side/docling-picture-text.yaml"
    ' --set "generate={kind: scripted, echo: true, max_tokens: 100000}"'
]
"""`test_cli_images.py` runs such pipelines; here they are asked what they would do."""

CONFIG = """\
name: {name}
data: {{questions: questions.json, documents: pdfs}}
chunk: {{kind: page}}
embed: {{kind: lexical}}
generate: {{kind: scripted}}
scoring: {{abstention: {{embed: {{kind: lexical}}}}}}
"""


def test_every_command_is_run_somewhere() -> None:
    here = {*OF_RUNS, *OF_RELEASED_FILES, *OF_PDFS}
    assert here | set(ELSEWHERE) == SHOWN


def test_commands_on_runs(project: Project) -> None:
    for name in ("gpt-4.1", "gpt-4o", "A", "B", "C", *["nightly"] * 5, "night"):
        project.write(f"{name}.yaml", CONFIG.format(name=name))
        run(project, f"fathoms run {name}.yaml")
    for line in OF_RUNS:
        run(project, line)


def test_commands_on_released_files(project: Project, shared: Path) -> None:
    """On two of the eight files; `test_reproducing.py` takes all of them."""
    (project.path / "papers").symlink_to(shared / "fathoms-rag" / "papers")
    (project.path / "results").mkdir()
    for name in ("llama3_3-70b_Docling_with_easyOCR.json", "gemma3-4b__LlamaIndex_RAG.json"):
        (project.path / "results" / name).symlink_to(shared / "fathoms-rag" / "results" / name)
    for line in OF_RELEASED_FILES:
        run(project, line)


@pytest.mark.parametrize("line", OF_PDFS)
def test_commands_on_pdfs(project: Project, line: str) -> None:
    (project.path / "configs").symlink_to(Path(__file__).resolve().parents[2] / "configs")
    if not is_installed("layout-cdla"):
        pytest.skip("no weights: run 'fathoms models pull layout-cdla'")
    run(project, f"{line} --dry-run")


def run(project: Project, line: str) -> None:
    """What a shell would do with the line."""
    found = []
    for word in words(line)[1:]:
        paths = sorted(project.path.glob(word)) if "*" in word else []
        found += [str(path.relative_to(project.path)) for path in paths] or [word]
    done = project.fathoms(*found, timeout=300)
    # equal nights are ranked at random, so that --sequential raises a false alarm now and then, as it says
    ends = (0, 100) if "--sequential" in line else (0,)
    assert done.returncode in ends, f"{line}\n{done.stdout}{done.stderr}"
    assert done.stdout
