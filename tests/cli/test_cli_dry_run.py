"""`run --dry-run`: what would be asked and what is missing, with nothing asked and no key shown."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.http_stub import serving
from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes of their own

CLOSED = """\
name: closed
data: {questions: questions.json, documents: pdfs}
retrieve: {kind: files}
prompt: {template: attached}
generate: {kind: anthropic, model: some-model, api_key_env: DRY_RUN_KEY, base_url: http://127.0.0.1:9}
"""
KEY = "sk-ant-planted-0815"


@pytest.mark.slow
def test_the_plan_of_attached_files(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRY_RUN_KEY", KEY)
    project.write("closed.yaml", CLOSED)
    done = project.fathoms("run", "closed.yaml", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    # two questions on varn.pdf with two pages, two on lune.pdf with one
    assert "closed: 4 questions (Text-Only 2, Tables 2), data set questions" in done.stdout
    assert "4 requests, with 6 pages attached" in done.stdout
    assert "generate: anthropic some-model" in done.stdout
    assert KEY not in done.stdout
    assert project.runs() == []


@pytest.mark.slow
def test_pictures_are_counted_and_priced(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: a page of A4 at 36 dpi has 298 x 421 pixels, which 11 x 16 blocks of 28 pixels cover: 176
    tokens. Each of the four questions is shown one page."""
    monkeypatch.setenv("DRY_RUN_KEY", KEY)
    shown = "chunk: {kind: page, image_dpi: 36}\nretrieve: {kind: bm25, top_k: 1}\n"
    text = CLOSED.replace("retrieve: {kind: files}\n", shown).replace("attached", "page-images")
    project.write("seen.yaml", text)
    done = project.fathoms(
        "run", "seen.yaml", "--dry-run", "--set", "generate.price={input: 1000, output: 0}"
    )
    assert done.returncode == 0, done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "of prompts" in line]
    assert " of prompts with 704 of 4 pictures, 400 of replies)" in line
    prompts = int(line.partition("(")[2].partition(" of")[0].replace(",", ""))
    assert prompts > 704
    assert f"cost about ${prompts / 1000:.2f}" in line
    # described, the three pages are pictures for the describing model only, and each is counted once
    seeing = "{kind: anthropic, model: some-model, api_key_env: DRY_RUN_KEY, max_tokens: 1000}"
    described = f"retrieve={{kind: describe, first: {{kind: bm25, top_k: 1}}, generate: {seeing}}}"
    done = project.fathoms("run", "seen.yaml", "--dry-run", "--set", described, "--set", "prompt={}")
    lines = [line for line in done.stdout.splitlines() if " requests, about " in line]
    assert [line.split(",")[0] for line in lines] == ["  answer: 4 requests", "  describe: 3 requests"]
    assert " with 528 of 3 pictures, 1,500 of replies)" in lines[1]
    assert "picture" not in lines[0]


@pytest.mark.slow
def test_the_missing_key_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRY_RUN_KEY", raising=False)
    project.write("closed.yaml", CLOSED)
    done = project.fathoms("run", "closed.yaml", "--dry-run")
    assert done.returncode == 2
    unset = "the environment variable DRY_RUN_KEY is not set: it holds the key"
    missing = f"missing: generate: {unset}; set it: export DRY_RUN_KEY=..."
    assert missing in done.stdout
    doctor = project.fathoms("doctor", "closed.yaml", "--json")
    assert doctor.returncode == 1
    checks = {check["name"]: check for check in json.loads(doctor.stdout)["configs"][0]["checks"]}
    assert checks["generate"]["detail"] == missing.removeprefix("missing: generate: ")
    assert checks["retrieve"]["ok"]


@pytest.mark.slow
def test_splitting_shows_in_the_requests(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRY_RUN_KEY", KEY)
    project.write("closed.yaml", CLOSED)
    arguments = ("run", "closed.yaml", "--dry-run", "--set", "generate.max_pages=1")
    refused = project.fathoms(*arguments)
    assert refused.returncode == 2
    assert "2 questions have more attached than the model takes in one request (1 pages" in refused.stdout
    # the questions on varn.pdf take a request a page and one that merges
    split = project.fathoms(*arguments, "--set", "retrieve.too_long=split")
    assert split.returncode == 0
    assert "8 requests, with 6 pages attached" in split.stdout


def test_a_plan_of_stages_asks_nothing(project: Project) -> None:
    done = project.fathoms("run", "tiny.yaml", "tiny.yaml", "--dry-run", "--limit", "3")
    assert done.returncode == 0
    assert done.stdout.count("3 requests\n") == 2
    assert done.stdout.endswith("nothing was asked\n")
    assert project.runs() == []


@pytest.mark.slow
def test_tokens_and_cost_are_estimated_without_a_call(project: Project) -> None:
    priced = ("--set", "generate.price={input: 2, output: 8}")
    done = project.fathoms("run", "tiny.yaml", "--dry-run", "--repeats", "2", *priced)
    assert done.returncode == 0, done.stderr
    assert "4 questions (Text-Only 2, Tables 2), 2 times each, data set questions" in done.stdout
    # 173 words of prompts, by hand; a reply is taken to have 100 tokens, and may have 256
    assert "  8 requests" in done.stdout
    assert "  about 1,146 tokens (346 of prompts, 800 of replies), at most 2,394;" in done.stdout
    # 346 * 2 + 800 * 8 = 7,092 millionths; 346 * 2 + 2,048 * 8 = 17,076
    assert "; cost about $0.0071, at most $0.017" in done.stdout
    assert project.runs() == []
    unknown = project.fathoms("run", "tiny.yaml", "--dry-run")
    assert "; cost not known" in unknown.stdout


@pytest.mark.slow
def test_what_cannot_be_estimated_says_why(project: Project) -> None:
    server = "embed={kind: openai-compatible, base_url: 'http://127.0.0.1:9/v1', model: m}"
    done = project.fathoms("run", "tiny.yaml", "--dry-run", "--set", server)
    assert "tokens and cost not estimated: embed: something is missing" in done.stdout
    data = "data: {questions: questions.json, documents: pdfs}"
    project.write("own.yaml", f"name: own\n{data}\npipeline: {{kind: python, target: json:dumps}}\n")
    done = project.fathoms("run", "own.yaml", "--dry-run")
    assert "tokens and cost not estimated: the pipeline makes its own prompts" in done.stdout


@pytest.mark.slow
def test_several_runs_are_summed_up_by_provider(project: Project) -> None:
    priced = ("--set", "generate.price={input: 1000, output: 0}")
    done = project.fathoms("run", "tiny.yaml", "tiny.yaml", "--dry-run", *priced)
    assert (
        "\nscripted: about 1,146 tokens (346 of prompts, 800 of replies), at most 2,394; cost about $0.35"
        in (done.stdout)
    )


@pytest.mark.slow
def test_calls_are_estimated_by_what_they_are_for(project: Project) -> None:
    """Three candidates a question are graded by a model of another price."""
    reranker = (
        "retrieve={kind: rerank, first: {kind: dense, top_k: 3}, top_k: 1, by: {kind: llm,"
        " prompt: '{question} {passage}', generate: {kind: scripted, max_tokens: 2,"
        " price: {input: 1000, output: 5000}}}}"
    )
    priced = ("--set", "generate.price={input: 2, output: 8}", "--set", reranker)
    done = project.fathoms("run", "tiny.yaml", "--dry-run", *priced)
    assert done.returncode == 0, done.stderr
    assert "  16 requests\n" in done.stdout
    assert "  answer: 4 requests, about 573 tokens (173 of prompts, 400 of replies)" in done.stdout
    # 23 words of questions for each of 3 pages, and 20 words of pages for each of 4 questions
    assert (
        "  rerank: 12 requests, about 173 tokens (149 of prompts, 24 of replies), at most 173;" in done.stdout
    )
    # 149 * 1,000 + 24 * 5,000 = 269,000 millionths
    assert "; cost about $0.27, at most $0.27\n" in done.stdout
    # 573 + 173 tokens
    assert "\n  about 746 tokens (322 of prompts, 424 of replies)" in done.stdout
    assert project.runs() == []


def test_judging_is_estimated_from_the_answers(project: Project) -> None:
    """Each of 4 answers has 3 sentences; one call makes two claims of each, and each claim is judged."""
    judge = "judge={kind: llm, model: {kind: scripted, max_tokens: 2, price: {input: 1000, output: 5000}}}"
    metrics = "metrics=[faithfulness]"
    done = project.fathoms("run", "tiny.yaml", "--dry-run", "--set", judge, "--set", metrics)
    assert done.returncode == 0, done.stderr
    assert "  answer: 4 requests, about 573 tokens (173 of prompts, 400 of replies)" in done.stdout
    # 4 + 4 * 3 * 2 calls; replies: 4 * 100 + 24 * 2
    assert "  judge: 28 requests, about " in done.stdout
    assert " of prompts, 448 of replies)" in done.stdout
    several = ("--set", judge, "--set", "judge.claims_a_call=6", "--set", "judge.model.max_tokens=50")
    done = project.fathoms("run", "tiny.yaml", "--dry-run", *several, "--set", metrics)
    assert "  judge: 8 requests" in done.stdout  # the claims of an answer take one call
    sentences = "metrics=[faithfulness, correctness-judged]"
    options = ("--set", judge, "--set", "judge.claims=sentences", "--set", sentences)
    done = project.fathoms("run", "tiny.yaml", "--dry-run", *options)
    # nothing is split, and an answer is graded by one call: 4 * 3 + 3 calls, without the unanswerable one
    assert "  judge: 15 requests, about " in done.stdout
    assert " of prompts, 30 of replies)" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("claims", ["model", "sentences"])
@pytest.mark.parametrize(
    "metrics", ["faithfulness", "ragchecker.precision, correctness-judged, alce.citation-recall"]
)
def test_the_calls_of_a_judge_are_those_that_the_run_says_of_answers_of_three_sentences(
    project: Project, claims: str, metrics: str
) -> None:
    """One estimator: the number is the same before the answers are known and once they are."""
    alone = f"kind: llm, claims_a_call: 1, claims: {claims}"
    judge = f"judge={{{alone}, model: {{kind: scripted, default: 'yes'}}}}"
    texts = [f"What has part {number} of the tower?" for number in range(8)]
    rows = [
        {"question": text, "files": ["varn.pdf"], "answers": [["41.5"]], "reference": f"It has {text}."}
        for text in texts
    ]
    project.write("questions.json", json.dumps({"Text-Only": rows}))
    answer = "The {0} is tall [1]. The {0} is green [1]. The {0} was built by Ada Brandt [1]."
    replies = json.dumps({text: answer.format(f"part {number}") for number, text in enumerate(texts)})
    options = [
        part
        for one in (judge, f"metrics=[{metrics}]", f"generate.replies={replies}")
        for part in ("--set", one)
    ]
    planned = project.fathoms("run", "tiny.yaml", "--dry-run", *options)
    done = project.fathoms("run", "tiny.yaml", *options)
    requests = re.search(r"judge: (\d+) requests", planned.stdout)
    said = re.findall(r"judging: (?:about )?(\d+) calls", done.stdout + done.stderr)
    assert requests, planned.stdout + planned.stderr
    assert said == [requests[1]], done.stderr


@pytest.mark.slow
def test_a_reranker_of_another_provider_has_its_own_sum(project: Project) -> None:
    listing = {"/v1/models": {"object": "list", "data": [{"id": "m"}]}}
    with serving(listing) as server:
        model = f"{{kind: openai-compatible, model: m, base_url: '{server.address}/v1'}}"
        first = "{kind: dense, top_k: 3}"
        reranker = f"retrieve={{kind: rerank, first: {first}, by: {{kind: llm, generate: {model}}}}}"
        done = project.fathoms("run", "tiny.yaml", "tiny.yaml", "--dry-run", "--set", reranker)
        assert done.returncode == 0, done.stderr
        assert server.bodies("/v1/chat/completions") == []
    lines = {line.partition(": about")[0]: line for line in done.stdout.splitlines()}
    assert "800 of replies" in lines["scripted"]  # two runs of four answers
    other = f"openai-compatible {server.address}/v1"
    assert "2,400 of replies" in lines[other]  # two runs of twelve grades


@pytest.mark.slow
def test_the_time_is_that_of_the_same_pipeline_before_that_of_the_same_model(project: Project) -> None:
    """The run of another pipeline is newer."""
    for name in ("tiny", "other"):
        assert project.fathoms("run", "tiny.yaml", "--set", f"name={name}").returncode == 0
    planned = project.fathoms("run", "tiny.yaml", "--dry-run").stdout
    own, _ = sorted(run.name for run in project.runs())
    assert own.split("_")[1] == "tiny"
    assert f"as {own} took" in planned
