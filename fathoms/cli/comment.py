"""`fathoms comment`: put the comment of a gate on the pull or merge request of a CI job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console


def comment(
    file: Annotated[
        Path, typer.Argument(help="What 'fathoms gate --comment FILE' wrote.", show_default=False)
    ],
) -> int:
    """Post or update the comment of a gate on the pull or merge request of this job.

    In GitHub Actions, `GITHUB_TOKEN` needs the permission `pull-requests: write`. In GitLab, `GITLAB_TOKEN`
    is an access token with the scope `api`. An earlier comment about runs of the same name is replaced.
    """
    from fathoms.gate.posting import post, request_of
    from fathoms.safety.inputs import read_text

    console.say(post(request_of(os.environ), read_text(file)))
    return 0
