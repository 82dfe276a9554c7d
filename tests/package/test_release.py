"""What a release needs: forms, citation and workflow are valid by the public schemas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import fathoms

ROOT = Path(__file__).parents[2]
FORMS = ".github/ISSUE_TEMPLATE"
SCHEMAS = {
    "CITATION.cff": "citation-file-format",
    f"{FORMS}/config.yml": "github-issue-config",
    f"{FORMS}/failure.yml": "github-issue-forms",
    f"{FORMS}/wrong-figure.yml": "github-issue-forms",
    ".github/workflows/release.yml": "github-workflows",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_files_follow_the_public_schemas(name: str) -> None:
    command = [
        "check_jsonschema",
        "--builtin-schema",
        f"vendor.{SCHEMAS[name]}",
        "--default-filetype",
        "yaml",
    ]
    done = subprocess.run([sys.executable, "-m", *command, ROOT / name], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_forms_ask_for_version_and_manifest() -> None:
    for path in (ROOT / FORMS).glob("[!c]*.yml"):
        labels = " ".join(
            str(field["attributes"].get("label")) for field in yaml.safe_load(path.read_text())["body"]
        )
        assert "fathoms --version" in labels
        assert "manifest.json" in labels


def test_a_tag_that_is_not_the_version_is_not_published() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    (line,) = [step["run"] for step in workflow["jobs"]["build"]["steps"] if "TAG" in step.get("env", {})]
    codes = [
        subprocess.run(
            ["bash", "-c", line], cwd=ROOT, env={**os.environ, "TAG": tag}, capture_output=True
        ).returncode
        for tag in (f"v{fathoms.__version__}", "v99.0.0")
    ]
    assert codes == [0, 1]


def test_the_five_papers_are_cited() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert len(citation["references"]) == 5
