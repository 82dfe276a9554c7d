"""Puts a comment on a pull request of GitHub or a merge request of GitLab, or updates the one from before.

A job in CI says by environment variables where it runs; see the documentation of "default environment
variables" (GitHub) and "predefined CI/CD variables" (GitLab).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fathoms.errors import ServerError, UsageError
from fathoms.gate.comment import MARKER
from fathoms.safety.transport import client

if TYPE_CHECKING:
    import httpx

PAGE = 100
MOST_PAGES = 50
LONGEST = 65_536
"""The most characters of a comment that GitHub accepts; GitLab accepts more."""


@dataclass(frozen=True)
class ChangeRequest:
    """Where the comments of a pull or merge request are: `comments` lists them and takes new ones, and `one`
    with the id of a comment behind it is its address, which takes its new text by `method`. `token` is sent
    in `headers`; `rights` says what it must allow."""

    comments: str
    one: str
    method: str
    headers: Mapping[str, str]
    rights: str


def request_of(environment: Mapping[str, str]) -> ChangeRequest:
    """Return the pull or merge request that the job of CI with these variables is about.

    Raises UsageError outside of such a job, and where the token is missing.
    """
    if "GITHUB_REPOSITORY" in environment:
        return _github(environment)
    if "CI_MERGE_REQUEST_IID" in environment:
        return _gitlab(environment)
    raise UsageError(
        "this is no job for a pull request of GitHub or a merge request of GitLab, so there is nothing to"
        " comment on (GITHUB_REPOSITORY and CI_MERGE_REQUEST_IID are not set)"
    )


def _github(environment: Mapping[str, str]) -> ChangeRequest:
    """The pull request of a job in GitHub Actions."""
    api = environment.get("GITHUB_API_URL", "https://api.github.com")
    number = _pull_number(environment)
    if number is None:
        raise UsageError("this job of GitHub Actions is not about a pull request: run it on 'pull_request'")
    issues = f"{api}/repos/{quote(environment['GITHUB_REPOSITORY'])}/issues"
    return ChangeRequest(
        comments=f"{issues}/{number}/comments",
        one=f"{issues}/comments/",
        method="PATCH",
        headers={
            "Authorization": f"Bearer {_token(environment, 'GITHUB_TOKEN')}",
            "Accept": "application/vnd.github+json",
        },
        rights="GITHUB_TOKEN needs the permission 'pull-requests: write'; the token of a pull request from"
        " a fork never has it",
    )


def _pull_number(environment: Mapping[str, str]) -> int | None:
    """The number of the pull request, from the ref or the event of the job."""
    if found := re.fullmatch(r"refs/pull/(\d+)/\w+", environment.get("GITHUB_REF", "")):
        return int(found[1])
    with suppress(OSError, ValueError, KeyError, TypeError):
        event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        return int(event["pull_request"]["number"])
    return None


def _gitlab(environment: Mapping[str, str]) -> ChangeRequest:
    """The merge request of a job in GitLab."""
    for name in ("CI_API_V4_URL", "CI_PROJECT_ID"):
        if name not in environment:
            raise UsageError(f"{name} is not set, although GitLab sets it in every job")
    project = f"{environment['CI_API_V4_URL']}/projects/{quote(environment['CI_PROJECT_ID'], safe='')}"
    notes = f"{project}/merge_requests/{quote(environment['CI_MERGE_REQUEST_IID'], safe='')}/notes"
    return ChangeRequest(
        comments=notes,
        one=f"{notes}/",
        method="PUT",
        headers={"PRIVATE-TOKEN": _token(environment, "GITLAB_TOKEN")},
        rights="GITLAB_TOKEN must be an access token with the scope 'api'",
    )


def _token(environment: Mapping[str, str], name: str) -> str:
    """The token in a variable; raises UsageError if it is not set, or cannot be sent in a header."""
    token = environment.get(name, "").strip()
    if not token:
        raise UsageError(f"{name} is not set: pass the token to this step as an environment variable")
    if not (token.isascii() and token.isprintable()):
        raise UsageError(
            f"{name} has characters that no token can have, such as a line break: copy the token again"
        )
    return token


def post(request: ChangeRequest, text: str) -> str:
    """Put a comment on a request; if one of its own comments begins with the same line, that one gets the new
    text. Returns a sentence about what was done.

    Raises UsageError for a text that `fathoms gate --comment` did not write, and ServerError if the server
    refuses or cannot be reached.
    """
    import httpx

    first = text.partition("\n")[0]
    if not first.startswith(MARKER):
        raise UsageError("this is no comment of fathoms: 'fathoms gate RUN --comment FILE' writes one")
    if len(text) > LONGEST:
        raise UsageError(f"the comment has {len(text):,} characters, more than the {LONGEST:,} of GitHub")
    try:
        with client(headers=dict(request.headers), timeout=30.0) as http:
            known = next((each for each in _comments(http, request) if _begins(each, first)), None)
            if known is None:
                _send(http, request, "POST", request.comments, text)
                return "the comment was posted"
            _send(http, request, request.method, f"{request.one}{int(known['id'])}", text)
            return "the comment was updated"
    except httpx.HTTPError as error:
        raise ServerError(f"{request.comments}: cannot be reached ({type(error).__name__})") from error


def _begins(comment: Mapping[str, Any], first: str) -> bool:
    """Return whether a comment begins with a line."""
    return str(comment.get("body", "")).partition("\n")[0].strip() == first


def _comments(http: httpx.Client, request: ChangeRequest) -> Iterator[Mapping[str, Any]]:
    """Yield the comments of a request, page by page."""
    for page in range(1, MOST_PAGES + 1):
        address = f"{request.comments}?per_page={PAGE}&page={page}"
        try:
            found = _send(http, request, "GET", address).json()
        except ValueError:
            raise ServerError(f"{address}: answered with something else than JSON") from None
        if not isinstance(found, list) or not all(isinstance(one, dict) and "id" in one for one in found):
            raise ServerError(f"{address}: answered with something else than a list of comments")
        yield from found
        if len(found) < PAGE:
            return


def _send(
    http: httpx.Client, request: ChangeRequest, method: str, address: str, text: str = ""
) -> httpx.Response:
    """Send one request and return the answer; raises ServerError for a status that is not success."""
    answer = http.request(method, address, json={"body": text} if text else None)
    if answer.status_code in (401, 403):
        raise ServerError(f"{address}: refused with status {answer.status_code}: {request.rights}")
    if not answer.is_success:
        raise ServerError(f"{address}: answered with status {answer.status_code}")
    return answer
