"""Figures of MTEB beside a run, on a small task in the layout of ViDoRe v3.

The result files here have the layout of those that MTEB 1.38 and 2.1 wrote for ColQwen 2.5, and of those that
vidore-benchmark wrote. Their figures are made as MTEB makes them, by pytrec_eval and a mean over the queries
of a language that is rounded to five digits, and by no code of fathoms.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import pytrec_eval

from fathoms.cli import main
from fathoms.errors import DataError, UsageError
from fathoms.extras.papers.mteb import TASKS, read_published, task_of
from tests.support.project import Project

TASK = "Vidore3HrRetrieval"
LANGUAGES = {"english": "eng-Latn", "french": "fra-Latn"}
MEASURES = {"ndcg_at": "ndcg_cut", "map_at": "map_cut", "recall_at": "recall", "precision_at": "P"}


class Task:
    """A task with graded pages, and the ranking of a retriever: 40 queries in each of two languages."""

    def __init__(self) -> None:
        drawn = random.Random(5)
        self.language: dict[str, str] = {}
        self.qrels: dict[str, dict[str, int]] = {}
        self.run: dict[str, dict[str, float]] = {}
        for language in LANGUAGES:
            for number in range(40):
                query = f"{language}-{number}"
                self.language[query] = language
                pages = [f"{document}.pdf#page={page}" for document in "ab" for page in range(1, 11)]
                self.qrels[query] = {page: drawn.choice([1, 2]) for page in drawn.sample(pages, 3)}
                ranked = drawn.sample(pages, 12)
                self.run[query] = {page: 1 / rank for rank, page in enumerate(ranked, start=1)}

    def figures(self, language: str | None) -> dict[str, float]:
        """What MTEB writes for the queries of a language, or for all."""
        wanted = {f"{name}.1,3,5,10" for name in MEASURES.values()}
        found = pytrec_eval.RelevanceEvaluator(self.qrels, wanted).evaluate(self.run)
        own = [query for query, spoken in self.language.items() if language in (None, spoken)]
        return {
            f"{ours}_{k}": round(fmean(found[query][f"{theirs}_{k}"] for query in own), 5)
            for ours, theirs in MEASURES.items()
            for k in (1, 3, 5, 10)
        }

    def mteb(self) -> dict[str, Any]:
        rows = [
            {
                **self.figures(language),
                "nauc_recall_at_10_max": float("nan"),
                "main_score": self.figures(language)["ndcg_at_5"],
                "hf_subset": language,
                "languages": [code],
            }
            for language, code in LANGUAGES.items()
        ]
        return {
            "dataset_revision": "bc7d43d6",
            "task_name": TASK,
            "mteb_version": "2.1.4",
            "scores": {"test": rows},
            "evaluation_time": 50.1,
            "kg_co2_emissions": None,
        }

    def questions(self) -> str:
        rows = []
        for query, language in self.language.items():
            places = [page.split("#page=") for page in self.qrels[query]]
            evidence = [
                {"document": document, "page": int(page), "relevance": grade}
                for (document, page), grade in zip(places, self.qrels[query].values(), strict=True)
            ]
            rows.append(
                {
                    "id": query,
                    "question": f"{query}?",
                    "category": language,
                    "metadata": {"language": language},
                    "evidence": evidence,
                }
            )
        return "".join(json.dumps(row) + "\n" for row in rows)

    def trec(self) -> tuple[str, str]:
        run = "".join(
            f"{query} Q0 {page} {rank} {score} made\n"
            for query, pages in self.run.items()
            for rank, (page, score) in enumerate(pages.items(), start=1)
        )
        qrels = "".join(
            f"{query} 0 {page} {grade}\n"
            for query, pages in self.qrels.items()
            for page, grade in pages.items()
        )
        return run, qrels


@pytest.fixture(scope="module")
def task() -> Task:
    return Task()


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory, task: Task) -> Project:
    """A project with a run that retrieved on the task, and MTEB's result file."""
    project = Project(tmp_path_factory.mktemp("task"))
    run, qrels = task.trec()
    for name, text in (("run.trec", run), ("qrels.trec", qrels), ("questions.jsonl", task.questions())):
        project.write(name, text)
    project.write("mteb.json", json.dumps(task.mteb()))
    done = project.fathoms(
        *("import", "trec", "run.trec", "--qrels", "qrels.trec", "--questions", "questions.jsonl")
    )
    assert done.returncode == 0, done.stderr
    return project


@pytest.mark.slow
def test_a_run_stands_beside_mtebs_figures_cell_by_cell(imported: Project) -> None:
    shown = imported.json("reproduce", f"vidore/{TASK}", "--results", "mteb.json", "--run", "run")
    assert (shown["task"], shown["data"], shown["made_by"]) == (TASK, "vidore/vidore_v3_hr", "MTEB 2.1.4")
    assert {(cell["subset"], cell["n"]) for cell in shown["cells"]} == {
        ("english", 40),
        ("french", 40),
        ("mean", 80),
    }
    metrics = ["ndcg@5", "ndcg@10", "recall@5", "recall@10", "map@10"]
    assert [cell["metric"] for cell in shown["cells"] if cell["subset"] == "french"] == metrics
    assert all(cell["same"] and abs(cell["difference"]) < 5.1e-6 for cell in shown["cells"]), shown["cells"]
    arguments = ("reproduce", "vidore/vidore_v3_hr", "--results", "mteb.json", "--run", "run")
    done = imported.fathoms(*arguments, "--within", "0.00001")
    assert done.returncode == 0, done.stderr
    assert "15 of 15 cells compared: 15 are the same in 5 digits" in done.stdout
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()[:-1]) <= 80


@pytest.mark.slow
def test_differences_are_shown_and_judged_only_on_demand(imported: Project, task: Task) -> None:
    other = task.mteb()
    other["scores"]["test"][0]["ndcg_at_5"] += 0.02
    imported.write("other.json", json.dumps(other))
    arguments = ("reproduce", f"vidore/{TASK}", "--results", "other.json", "--run", "run")
    done = imported.fathoms(*arguments)
    assert (done.returncode, "-0.02000" in done.stdout) == (0, True), done.stdout
    assert "13 are the same in 5 digits; the largest difference is 0.02000" in done.stdout
    assert imported.fathoms(*arguments, "--within", "0.019").returncode == 1
    assert imported.fathoms(*arguments, "--within", "0.021").returncode == 0
    assert imported.fathoms(*arguments, "--within", "0.001", "--row", "french").returncode == 0
    done = imported.fathoms(*arguments, "--row", "frensh")
    assert (done.returncode, "no subset 'frensh' (did you mean 'french'?)" in done.stderr) == (2, True)


@pytest.mark.slow
def test_what_makes_figures_incomparable_is_said(imported: Project, task: Task) -> None:
    counted = {"num_queries": 41}
    english = {
        **{key.replace("ndcg_at", "ndcg_cut"): value for key, value in task.figures("english").items()},
        **counted,
    }
    file = {
        "dataset": "vidore/vidore_v3_hr",
        "split": "test",
        "class_name": "RandomPipeline",
        "aggregated_metrics": {"by_language": {"english": english, "german": english}, "overall": english},
    }
    imported.write("v3.json", json.dumps(file))
    shallow = "".join(
        line
        for line in imported.path.joinpath("run.trec").read_text().splitlines(True)
        if int(line.split()[3]) < 6
    )
    imported.write("shallow.trec", shallow)
    again = ("--qrels", "qrels.trec", "--questions", "questions.jsonl")
    assert imported.fathoms("import", "trec", "shallow.trec", *again).returncode == 0
    done = imported.fathoms("reproduce", f"vidore/{TASK}", "--results", "v3.json", "--run", "latest")
    for sentence in (
        "english: 41 queries were published, and the run has 40",
        "the run has no question of the subset 'german'",
        "the file has no subset 'french', but the run has questions of it",
        "the run has fewer than 10 pages for 80 questions",
    ):
        assert sentence in " ".join(done.stderr.split()), done.stderr
    # without the pages after the fifth, nDCG@5 is the same, and the mean needs all subsets
    cells = {
        (cell["subset"], cell["metric"]): cell
        for cell in imported.json("reproduce", f"vidore/{TASK}", "--results", "v3.json", "--run", "latest")[
            "cells"
        ]
    }
    assert cells["english", "ndcg@5"]["same"]
    assert cells["english", "ndcg@10"]["difference"] < -0.01
    assert cells["german", "ndcg@5"]["ours"] is None is cells["mean", "ndcg@5"]["ours"]


def test_published_figures_alone(tmp_path: Path, task: Task, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that MTEB wrote lie in MODEL/REVISION/TASK.json, with the name of the model beside them."""
    folder = tmp_path / "results" / "vidore__colqwen" / "abc"
    folder.mkdir(parents=True)
    (folder / f"{TASK}.json").write_text(json.dumps(task.mteb()))
    (folder / "model_meta.json").write_text(json.dumps({"name": "vidore/colqwen2.5-v0.2"}))
    assert main(["reproduce", "vidore/vidore3hr", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "published: MTEB 2.1.4, vidore/colqwen2.5-v0.2" in shown
    assert f"{task.figures('french')['ndcg_at_10']:.5f}" in shown
    assert "ours" not in shown
    assert main(["reproduce", "vidore/Vidore3EnergyRetrieval", "--results", str(tmp_path)]) == 2
    assert "holds no Vidore3EnergyRetrieval.json" in capsys.readouterr().err
    assert main(["reproduce", f"vidore/{TASK}"]) == 2
    assert "needs --results FILE" in capsys.readouterr().err
    second = tmp_path / "results" / "other"
    second.mkdir()
    (second / f"{TASK}.json").write_text("{}")
    with pytest.raises(UsageError, match="holds 2 files of Vidore3HrRetrieval: give one of them"):
        read_published(tmp_path, TASK)


def test_the_files_of_vidore_benchmark_have_figures_by_data_set(tmp_path: Path) -> None:
    """With the figures that it wrote for ColPali on `arxivqa_test_subsampled`."""
    rows = {
        "vidore/arxivqa_test_subsampled": {"ndcg_at_5": 0.77015, "ndcg_at_10": 0.78713, "recall_at_5": 0.818}
    }
    file = tmp_path / "metrics.json"
    for data in (rows, {"metadata": {"vidore_benchmark_version": "5.0.0"}, "metrics": rows}):
        file.write_text(json.dumps(data))
        found = read_published(file, "VidoreArxivQARetrieval")
        assert found.cells == {"default": {"ndcg@5": 0.77015, "ndcg@10": 0.78713, "recall@5": 0.818}}
        assert found.metrics == ("ndcg@5", "ndcg@10", "recall@5")
    with pytest.raises(
        DataError, match="holds the figures of VidoreArxivQARetrieval, not of VidoreDocVQARetrieval"
    ):
        read_published(file, "VidoreDocVQARetrieval")


def test_tasks_are_known_by_both_names() -> None:
    assert {task_of(task) for task in TASKS} == set(TASKS)
    assert {task_of(f"vidore/{data}") for data in TASKS.values()} == set(TASKS)
    assert task_of("vidore/docvqa_test_subsampled_beir") == "VidoreDocVQARetrieval"
    assert task_of("vidore/vidore_v3_hr_mteb_format") == task_of("vidore/Vidore3Hr") == TASK
    with pytest.raises(
        UsageError, match=r"ViDoRe has no task 'Vidore3Hrr' .did you mean 'Vidore3HrRetrieval'"
    ):
        task_of("vidore/Vidore3Hrr")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: rows[1].pop("ndcg_at_10"),
            "lacks ndcg@10 of the subset 'french', without which nothing",
        ),
        (lambda rows: rows[0].update(ndcg_at_5=float("nan")), "lacks ndcg@5 of the subset 'english'"),
        (
            lambda rows: rows[0].update(ndcg_at_5=46.8),
            "ndcg_at_5 of the subset 'english' is 46.8, not a share",
        ),
        (lambda rows: rows[0].update(hf_subset="french"), "'hf_subset' is missing or occurs twice: 'french'"),
        (lambda rows: rows.clear(), "the split has no list of subsets"),
    ],
)
def test_a_file_that_lacks_cells_is_refused(tmp_path: Path, task: Task, change: Any, message: str) -> None:
    data = task.mteb()
    change(data["scores"]["test"])
    file = tmp_path / "mteb.json"
    file.write_text(json.dumps(data))
    with pytest.raises(DataError, match=message):
        read_published(file, TASK)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "holds no object"),
        ({"a": {"ndcg_at_5": 0.5}}, "it names no task of ViDoRe"),
        (
            {"task_name": "NFCorpus", "scores": {"test": [{"hf_subset": "default"}]}},
            "is of the task 'NFCorpus'",
        ),
        (
            {"task_name": TASK, "scores": {"dev": [], "train": []}},
            "has the splits dev, train, but not 'test'",
        ),
        (
            {"task_name": "Vidore3EnergyRetrieval", "scores": {"test": [{"hf_subset": "french"}]}},
            "not of Vidore3Hr",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: Any, message: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps(data))
    with pytest.raises(DataError, match=message):
        read_published(file, TASK)
