"""The tools that are compared: each asks the same questions of the same server, in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from measuring import HERE, Cost, Server, run
from project import MODEL, prompts, write_project

ROOT = HERE.parents[1]
INSPECT, LM_EVAL, PROMPTFOO = "inspect-ai", "lm-eval", "promptfoo"
PACKAGES = {
    INSPECT: ("inspect-ai==0.3.285", "openai==3.54.0"),
    LM_EVAL: ("lm-eval[api]==0.4.13",),
    PROMPTFOO: ("promptfoo@0.121.20",),  # of npm; later releases need a newer Node
}
PROGRAMS = {INSPECT: "bin/inspect", LM_EVAL: "bin/lm-eval", PROMPTFOO: "node_modules/.bin/promptfoo"}

_INSPECT_TASK = """\
import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate


@task
def benchmark():
    prompts = json.loads(Path("prompts.json").read_text())
    return Task(dataset=[Sample(input=text, target="41.5") for text in prompts], solver=generate())
"""

_LM_EVAL_TASK = """\
task: benchmark
dataset_path: json
dataset_kwargs: {data_files: {test: documents.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{prompt}}"
doc_to_target: "41.5"
generation_kwargs: {until: [], max_gen_toks: 512, temperature: 0}
metric_list: [{metric: exact_match}]
"""


class Contestant(Protocol):
    """Who asks."""

    @property
    def name(self) -> str:
        """As in the tables."""

    def ask(self, server: Server, folder: Path, count: int, concurrency: int) -> Cost:
        """Ask so many questions from an empty folder; what it cost."""


@dataclass(frozen=True)
class Bare:
    """aiohttp and nothing else."""

    stream: bool

    @property
    def name(self) -> str:
        return "bare aiohttp, streamed" if self.stream else "bare aiohttp"

    def ask(self, server: Server, folder: Path, count: int, concurrency: int) -> Cost:
        (folder / "prompts.json").write_text(json.dumps(prompts(count)))
        options = ["--stream"] if self.stream else []
        command = [sys.executable, str(HERE / "bare.py"), server.base_url, "prompts.json", str(concurrency)]
        return run([*command, *options], folder)


@dataclass(frozen=True)
class Fathoms:
    """This checkout's command line; the PDF was parsed before, into `cache`."""

    cache: Path
    score: bool = False
    stream: bool = False

    @property
    def name(self) -> str:
        return "fathoms" + (", streamed" if self.stream else "") + (", with scoring" if self.score else "")

    def ask(self, server: Server, folder: Path, count: int, concurrency: int) -> Cost:
        write_project(folder, server.base_url, count, concurrency, stream=self.stream)
        return self.run(folder, "run", "benchmark.yaml", *([] if self.score else ["--no-score"]))

    def run(self, folder: Path, *arguments: str) -> Cost:
        """Any of its commands."""
        env = {"PYTHONPATH": str(ROOT), "FATHOMS_CACHE_DIR": str(self.cache)}
        return run([sys.executable, "-m", "fathoms", *arguments], folder, env)


@dataclass(frozen=True)
class InspectAI:
    """`inspect eval` with its provider for servers that speak OpenAI's API, no scorer, no display."""

    program: Path
    name: str = INSPECT

    def ask(self, server: Server, folder: Path, count: int, concurrency: int) -> Cost:
        (folder / "prompts.json").write_text(json.dumps(prompts(count)))
        (folder / "task.py").write_text(_INSPECT_TASK)
        model = ["--model", f"openai-api/local/{MODEL}", "--model-base-url", server.base_url]
        limits = ["--max-connections", str(concurrency), "--max-samples", str(concurrency)]
        quiet = ["--display", "none", "--log-dir", "logs"]
        return run(
            [str(self.program), "eval", "task.py", *model, *limits, *quiet], folder, {"LOCAL_API_KEY": "none"}
        )


@dataclass(frozen=True)
class LmEval:
    """`lm-eval run` with `local-chat-completions` and a task of its own; it keeps the samples, as all do."""

    program: Path
    name: str = LM_EVAL

    def ask(self, server: Server, folder: Path, count: int, concurrency: int) -> Cost:
        rows = [json.dumps({"prompt": text}) + "\n" for text in prompts(count)]
        (folder / "documents.jsonl").write_text("".join(rows))
        (folder / "benchmark.yaml").write_text(_LM_EVAL_TASK)
        model = {
            "model": MODEL,
            "base_url": f"{server.base_url}/chat/completions",
            "num_concurrent": concurrency,
            "max_retries": 1,
            "tokenized_requests": False,
        }
        joined = ",".join(f"{key}={value}" for key, value in model.items())
        task = ["--tasks", "benchmark", "--include_path", ".", "--apply_chat_template"]
        texts = ["--output_path", "out", "--log_samples"]
        return run(
            [
                str(self.program),
                "run",
                "--model",
                "local-chat-completions",
                "--model_args",
                joined,
                *task,
                *texts,
            ],
            folder,
            {"HF_HOME": str(folder / "hub"), "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"},
        )


@dataclass(frozen=True)
class Promptfoo:
    """`promptfoo eval` with its provider for OpenAI's API, no assertion, no cache, no table; it writes all
    results to a file, as all do."""

    program: Path
    name: str = PROMPTFOO

    def ask(self, server: Server, folder: Path, count: int, concurrency: int) -> Cost:
        options = {"apiBaseUrl": server.base_url, "apiKey": "none", "max_tokens": 512, "temperature": 0}
        task = {
            "prompts": ["{{prompt}}"],
            "providers": [{"id": f"openai:chat:{MODEL}", "config": options}],
            "tests": [{"vars": {"prompt": text}} for text in prompts(count)],
        }
        (folder / "promptfooconfig.json").write_text(json.dumps(task))
        quiet = ["--no-cache", "--no-table", "--no-progress-bar", "--no-share"]
        some_texts = ["--config", "promptfooconfig.json", "--output", "results.json"]
        env = {
            "PROMPTFOO_CONFIG_DIR": str(folder / "home"),
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
            # release 0.121.20 sometimes fails at its end, where it writes to logs that are closed
            "PROMPTFOO_DISABLE_DEBUG_LOG": "1",
            "PROMPTFOO_DISABLE_ERROR_LOG": "1",
        }
        limit = ["--max-concurrency", str(concurrency)]
        return run([str(self.program), "eval", *some_texts, *limit, *quiet], folder, env)


def installed(work: Path, name: str) -> Path:
    """The program of another tool, in a folder of its own, installed if it is not there."""
    folder = work / "venvs" / name
    program = folder / PROGRAMS[name]
    if not program.exists():
        print(f"installing {', '.join(PACKAGES[name])} into {folder}", file=sys.stderr)
        if name == PROMPTFOO:
            folder.mkdir(parents=True, exist_ok=True)
            quiet = ["--silent", "--no-audit", "--no-fund"]
            subprocess.run(["npm", "install", *quiet, *PACKAGES[name]], cwd=folder, check=True)
            return program
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", *PACKAGES[name]], check=True)
    return program


def commands(others: Mapping[str, Path]) -> dict[str, Sequence[str]]:
    """The command line of each tool."""
    return {
        "fathoms": [sys.executable, "-m", "fathoms"],
        **{name: [str(program)] for name, program in others.items()},
    }


def fresh(folder: Path) -> Path:
    """The folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
