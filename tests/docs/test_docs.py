"""Every command in the README and in docs/ is run, and every configuration in them is valid."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from fathoms.config import Source, validate
from fathoms.corpora.manifests import Manifest
from fathoms.errors import FathomsError
from fathoms.experiment import KEYS, Experiment, ExternalExperiment, load_experiment
from fathoms.extras.questions.making.recipe import Recipe, load_recipe
from fathoms.extras.watch.config import WatchConfig
from fathoms.judges import AnyJudge
from fathoms.models import Embedded, OnnxEmbedder
from fathoms.pipeline.matrix import at_cell, axes_of, cells_in
from fathoms.pipeline.pipeline import Pipeline
from tests.support.doc_pages import PAGES, ROOT, SETS_UP, Block, blocks, blocks_of, words
from tests.support.project import Project, write_one_page

COMMANDS = {
    line
    for block in blocks("bash")
    for line, _ in block.commands
    if not block.is_walked or line.startswith(SETS_UP)
}
FATHOMS = {line for line in COMMANDS if re.match(r"(\.venv/bin/)?fathoms ", line)}
OTHERS = sorted(COMMANDS - FATHOMS)


def shorter(line: str) -> tuple[str, ...]:
    """The same command on one question, answered by a script: the first run of `place` asks the small model,
    and .ci/run runs the whole demo."""
    arguments = words(line)[1:]
    if arguments[0] == "tune":
        arguments += ["--out", "others", "--set", "generate={kind: scripted}"]
    if arguments[0] == "run" and "--resume" not in arguments:
        if "--limit" in arguments:
            place = arguments.index("--limit")
            del arguments[place : place + 2]
        # `latest` stays the run of the demo
        arguments += ["--limit", "1", "--out", "others", "--set", "generate={kind: scripted}"]
    return tuple(arguments)


RUN = sorted({shorter(line) for line in FATHOMS})
"""What is the same when it is shorter runs once."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, smollm: Embedded, minilm: OnnxEmbedder) -> Project:
    """A folder with the project's configs, and one run of the demo in it.

    The pipelines read one page of the sample corpus, and take at most 512 tokens, of which two are the reply.
    """
    path = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "configs", path / "configs")
    for docling in path.glob("configs/side-by-side/docling*.yaml"):  # tests/ingest reads with it
        docling.unlink()
    shutil.copytree(ROOT / "examples", path / "examples")
    write_one_page(path / "one", ROOT)
    (path / "pdfs").mkdir()
    for pdf in (ROOT / "data" / "sample").glob("*.pdf"):
        shutil.copy(pdf, path / "pdfs")
    shutil.copy(ROOT / "data" / "sample" / "questions.json", path)
    shorter = {
        r"\bdata: sample\b": f"data: {{questions: {path}/one/questions.json, documents: {path}/one/pdfs}}",
        r"\bmax_chars: 15000\b": "max_chars: 500",
        r"\btop_k: [2-5]\b": "top_k: 1",
        r"\bn_ctx: \d+\b": "n_ctx: 512",
        r"\bmax_tokens: (24|64)\b": "max_tokens: 2, threads: 1",
        r"\bmax_concurrency: 2\b": "max_concurrency: 1",
        r"\bscale: 2\.0\b": "scale: 1.0",
    }
    for config in path.glob("configs/**/*.yaml"):
        text = config.read_text()
        for found, small in shorter.items():
            text = re.sub(found, small, text)
        config.write_text(text)
    (path / "goldens.json").write_text('[{"input": "How tall is it?", "expected_output": "41.5 m"}]')
    (path / "promptfooconfig.yaml").write_text(
        "prompts: ['{{question}}']\n"
        "tests:\n"
        "  - vars: {question: 'How tall is it?'}\n"
        "    assert: [{type: contains, value: 41.5 m}]\n"
    )
    (path / "table.csv").write_text("Frage,Antwort\nWie hoch ist er?,41.5 m\n")
    project = Project(path, cache=None)
    done = project.fathoms("run", "configs/demo.yaml", "--question", "text-01", timeout=600)
    assert done.returncode == 0, done.stderr
    return project


@pytest.mark.slow
@pytest.mark.parametrize("arguments", RUN, ids=" ".join)
def test_every_fathoms_command_in_the_docs_runs(
    place: Project, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-sent-anywhere")  # a dry run asks nothing
    found: list[str] = []
    for argument in arguments:
        paths = sorted(place.path.glob(argument)) if "*" in argument else []
        found += [str(path.relative_to(place.path)) for path in paths] or [argument]
    done = place.fathoms(*found, timeout=900)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_other_commands_are_those_of_the_makefile() -> None:
    """`.ci/run` runs `make demo` and `make test`; the plain commands must be what these do."""
    ci = (ROOT / ".ci" / "run").read_text()
    outer = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    dry = [
        subprocess.run(
            ["make", "-n", "-B", target], cwd=ROOT, env=outer, capture_output=True, text=True, check=True
        ).stdout
        for target in ("demo", "test")
    ]
    for line in OTHERS:
        if line.startswith("make "):
            assert line in ci
        elif not line.startswith(("uv ", "uvx ", "pipx ")):
            assert line in dry[0]


@pytest.mark.slow
def test_the_uv_commands_in_the_docs_run(tmp_path: Path) -> None:
    if not shutil.which("uv"):
        pytest.skip("uv is not installed")
    lines = [line for line in OTHERS if line.startswith("uv ")]
    assert lines
    for line in sorted(lines, reverse=True):  # the environment first
        moved = {
            "requirements.lock": f"{ROOT}/requirements.lock",
            ".[embedded,llamaindex]": f"{ROOT}[embedded,llamaindex]",
        }
        command = [moved.get(word, word) for word in words(line)]
        if "install" in command:
            command.insert(3, "--dry-run")
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.slow
def test_configurations_in_the_docs_are_valid() -> None:
    wrong = []
    for block in blocks("yaml"):
        try:
            _validate(block)
        except (FathomsError, yaml.YAMLError) as error:
            wrong.append(f"{block}: {error}")
    assert not wrong, "\n".join(wrong)


def _validate(block: Block) -> None:
    """Validate a block of YAML as what it is: a manifest, a recipe, a job, an experiment or a pipeline."""
    if block.page == "data.md":
        for line in block.text.splitlines():
            data = {**yaml.safe_load(line), "name": "x", "generate": {"kind": "scripted"}}
            validate(Experiment, Source(block.page, data))
        return
    data = yaml.safe_load(block.text)
    names_judges = block.chapter == "judges" or block.page in ("writing-questions.md", "without-gold.md")
    if names_judges and "kind" in data:
        TypeAdapter(AnyJudge).validate_python(data)
    elif "licence" in data:
        validate(Manifest, Source(block.page, data))
    elif block.page == "building.md" and "data" not in data:
        validate(Recipe, Source(block.page, {"model": {"kind": "scripted"}, **data}))
    elif "traces" in data:
        validate(WatchConfig, Source(block.page, data))
    elif "pipeline" in data:
        validate(ExternalExperiment, Source(block.page, data))
    elif "matrix" in data:
        axes = axes_of(Source(block.page, data), KEYS)
        for cell in cells_in(axes):
            validate(Experiment, at_cell(Source(block.page, data), axes, cell))
    else:
        validate(Experiment if "data" in data else Pipeline, Source(block.page, data))


def test_every_block_is_seen() -> None:
    """A block without a language, or in one that nobody looks at, would be neither run nor validated."""
    for page in PAGES:
        fences = re.findall(r"^\s*```.*$", page.read_text(), re.MULTILINE)
        seen = list(blocks_of(page))
        assert len(fences) == 2 * len(seen), page.name
        known = {"bash", "csv", "python", "text", "yaml"}
        read = known | {"json"}  # by a walk
        assert all(block.language in (read if block.is_walked else known) for block in seen), page.name


def test_configurations_and_commands_are_marked_as_such() -> None:
    """What is marked as plain text is not looked at, so no configuration may hide there."""
    for block in blocks("text"):
        hides = re.search(r"^(name|generate|retrieve|ingest|pipeline|data): ", block.text, re.MULTILINE)
        assert not hides, block


def test_shipped_configs_are_valid_and_named_as_their_files() -> None:
    for path in sorted((ROOT / "configs").rglob("*.yaml")):
        if path.stem == "build":  # no pipeline, but the recipe of a question set
            assert load_recipe(path, []).wanted()
        else:
            assert load_experiment(path).name == path.stem, path


def test_links_lead_somewhere() -> None:
    others = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
    for page in [*PAGES, *(ROOT / name for name in others)]:
        for target in re.findall(r"\]\(([^)#]+)\)", re.sub(r"`[^`\n]*`", "", page.read_text())):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
                assert (page.parent / target).is_file() or page.parent == ROOT, f"{page.name}: {target}"


def test_tables_are_whole() -> None:
    """A row with a bar too many loses its end."""
    for page in PAGES:
        prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for table in re.findall(r"(?:^\|.*\n)+", prose, re.MULTILINE):
            widths = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
            assert len(widths) == 1, f"{page.name}: {table[:80]}"


def test_nothing_is_left_to_fill_in() -> None:
    for page in PAGES:
        assert not re.findall(r"^[A-Z_]{4,}$", page.read_text(), re.MULTILINE), page.name


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text().count("\n") < 150
