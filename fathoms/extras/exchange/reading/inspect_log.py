"""Imports logs of Inspect (`inspect_ai`): a `.eval` file, or a `.json` log.

As Inspect 0.3 writes them, in version 2 of its format. A `.eval` file is a zip archive with `header.json` and
one file per sample and epoch, which recent releases compress by Zstandard.

| in the log | becomes |
|---|---|
| `eval.model`, `eval.task` | the model and the pipeline |
| `input` of a sample (its last message of the user), with `choices` | the question's text |
| `id`, `metadata.category` | the question's id and category |
| `target` | the gold answer in running text; further targets are metadata |
| `output.completion` | the answer; a sample with an `error` is a failed call |
| `contexts` or `context` in `store`, `metadata` or `output.metadata` | the hits |
| `output.usage`, `output.time`, `epoch` | tokens, seconds, and the repeat |
| `scores` | released scores: `C`, `P`, `I` and `N` are 1, 0.5, 0 and 0, as in Inspect itself |

Events, tool calls, explanations of scores and scores that are texts are not kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from fathoms.answers.reasoning import split_parts
from fathoms.errors import DataError, MissingExtraError
from fathoms.extras.exchange.reading.foreign import (
    ForeignRow,
    Options,
    contexts_in,
    found_hits,
    imported,
    numbers,
    scalars,
    usable,
    value_at,
)
from fathoms.importers.imported import Imported
from fathoms.importers.rows import Row
from fathoms.pipeline.external.answer import Parts
from fathoms.safety.inputs import LARGEST, LARGEST_IMPORT, parse_json, read_text

_PLACES = (("store",), ("metadata",), ("output", "metadata"))
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_ATTACHED = "attachment://"
_LARGEST_LOG = 16 * 2**30
"""Most bytes of an archive when unpacked; the events of its samples take most of them."""


def read_inspect(path: Path, options: Options) -> Imported:
    """Read a log; a sample that cannot be used is left out and named in a warning.

    Raises DataError if the file is no log of Inspect, or if none of its samples can be used, and
    MissingExtraError if its compression needs a package.
    """
    header, samples, complaints = _archive(path) if path.suffix.lower() == ".eval" else _whole(path)
    if not isinstance(value_at(header, "eval"), dict):
        raise DataError(f"{path}: not a log of Inspect: it has no 'eval'")
    rows, more = usable(samples, partial(_row, options=options), path, "sample")
    model, task = value_at(header, "eval", "model"), value_at(header, "eval", "task")
    status = value_at(header, "status")
    if status != "success":
        complaints.append(f"{path}: the status of the log is '{status}': it may lack samples")
    return imported(
        path,
        rows,
        [*complaints, *more],
        options,
        model=model if isinstance(model, str) else None,
        pipeline=task if isinstance(task, str) else None,
    )


def _whole(path: Path) -> tuple[Any, list[tuple[int, Any]], list[str]]:
    """Read a JSON log; returns it, its samples with their numbers, and no complaints."""
    data = parse_json(read_text(path, LARGEST_IMPORT), str(path), nan_as_null=True)
    samples = value_at(data, "samples")
    return data, list(enumerate(samples if isinstance(samples, list) else (), start=1)), []


def _archive(path: Path) -> tuple[Any, list[tuple[int, Any]], list[str]]:
    """Read a `.eval` archive; returns its header, its samples with their numbers, and a complaint for each
    sample that cannot be read."""
    with _opened(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > _LARGEST_LOG:
            raise DataError(f"{path}: unpacks to more than {_LARGEST_LOG // 2**30} GB, the most that is read")
        names = archive.namelist()
        header = _member(archive, "header.json" if "header.json" in names else "_journal/start.json", path)
        samples: list[tuple[int, Any]] = []
        complaints: list[str] = []
        for number, name in enumerate((n for n in names if n.startswith("samples/")), start=1):
            try:
                samples.append((number, _without_events(_member(archive, name, path))))
            except DataError as error:
                complaints.append(f"{path}: sample {number}: left out: {error}")
    return header, samples, complaints


def _opened(path: Path) -> Any:
    """Open a zip archive; raises DataError, and MissingExtraError."""
    try:
        from backports.zstd import zipfile  # the standard library reads Zstandard from Python 3.14 on
    except ImportError:
        import zipfile  # type: ignore[no-redef]
    if path.exists() and not path.is_file():  # opening a pipe would wait for a writer
        raise DataError(f"{path}: not a log of Inspect: it is not a regular file")
    try:
        return zipfile.ZipFile(path)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: not a log of Inspect: {error}") from error


def _member(archive: Any, name: str, path: Path) -> Any:
    """Return the JSON of one file of the archive, which may be as large as a question file."""
    file: IO[bytes]
    try:
        with archive.open(name) as file:
            data = file.read(LARGEST + 1)
    except KeyError as error:
        raise DataError(f"{path}: not a log of Inspect: it has no {name}") from error
    except NotImplementedError as error:
        raise MissingExtraError(
            "backports.zstd", "inspect", "a log that is compressed by Zstandard"
        ) from error
    except Exception as error:  # damaged data raises errors of its own with each compression
        raise DataError(f"{path}: {name[:200]}: {error}") from error
    if len(data) > LARGEST:
        raise DataError(f"{path}: {name[:200]}: holds more than {LARGEST // 2**20} MB, the most that is read")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {name[:200]}: not UTF-8") from error
    return parse_json(text, f"{path}/{name[:200]}", nan_as_null=True)


def _without_events(sample: Any) -> Any:
    """Return a sample without its events, which are long and not used."""
    if isinstance(sample, dict):
        for name in ("events", "events_data"):
            sample.pop(name, None)
    return sample


def _row(number: int, sample: Any, *, options: Options) -> ForeignRow:
    """Convert one sample; raises DataError."""
    if not isinstance(sample, dict) or sample.get("id") is None:
        raise DataError("expected an object with 'id'")
    attached = value_at(sample, "attachments") or {}
    sample = {
        name: _resolved(value, attached)
        for name, value in _without_events(sample).items()
        if name != "attachments"
    }
    error = sample.get("error")
    answer = _completion(sample.get("output"))
    if error or answer is None:
        reason = value_at(error, "message") or value_at(sample, "output", "error") or "no output"
        answer, error = None, str(reason)
    epoch = sample.get("epoch")
    first, *others = _targets(sample.get("target"))
    seconds = value_at(sample, "output", "time")
    metadata = value_at(sample, "metadata") or {}
    row = Row(
        number,
        id=str(sample["id"]),
        question=_question(sample),
        what="sample",
        answer=answer,
        error=error or None,
        parts=Parts.model_validate(
            {
                "reasoning": (split_parts(_content(sample.get("output"))) or [None])[0],
                "usage": _usage(value_at(sample, "output", "usage")),
                "model": value_at(sample, "output", "model"),
                "stop_reason": value_at(sample, "output", "choices", 0, "stop_reason"),
            }
        ),
        hits=found_hits(contexts_in(sample, _PLACES, options)),
        repeat=epoch - 1 if isinstance(epoch, int) and epoch > 0 else 0,
        latency=seconds if isinstance(seconds, int | float) else None,
        released=numbers(dict(_scores(sample.get("scores")))),
    )
    return ForeignRow(
        row,
        category=str(value_at(metadata, "category") or "Uncategorised"),
        reference=first or None,
        metadata={
            **dict(scalars(metadata, ("category",))),
            **({"other targets": " | ".join(others)} if others else {}),
        },
    )


def _resolved(value: Any, attached: Any) -> Any:
    """Return a value with the long texts that the log keeps apart (`attachment://HASH`) back in place."""
    if isinstance(value, str):
        found = attached.get(value[len(_ATTACHED) :]) if value.startswith(_ATTACHED) else None
        return found if isinstance(found, str) else value
    if isinstance(value, list):
        return [_resolved(item, attached) for item in value]
    if isinstance(value, dict):
        return {name: _resolved(item, attached) for name, item in value.items()}
    return value


def _text(content: Any) -> str:
    """Return the text of a message's content: a text, or a list of parts, some with a text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(
        part["text"]
        for part in parts
        if value_at(part, "type") == "text" and isinstance(part.get("text"), str)
    )


def _question(sample: Any) -> str:
    """Return the text of the input, with the choices below it; raises DataError where there is none."""
    given = sample.get("input")
    if isinstance(given, list):
        said = [value_at(message, "content") for message in given if value_at(message, "role") == "user"]
        given = _text(said[-1]) if said else None
    if not isinstance(given, str) or not given.strip():
        raise DataError("'input' has no text")
    choices = sample.get("choices")
    listed = [f"{chr(65 + at)}) {one}" for at, one in enumerate(choices)] if isinstance(choices, list) else []
    return "\n".join([given, *listed])


def _completion(output: Any) -> str | None:
    """Return the text of the model's output; `None` where it gave none."""
    if not value_at(output, "choices"):
        return None
    completion = value_at(output, "completion")
    return completion if isinstance(completion, str) else _text(_content(output))


def _content(output: Any) -> Any:
    """Return the content of the first message that the model wrote."""
    return value_at(output, "choices", 0, "message", "content")


def _targets(target: Any) -> list[str]:
    """Return the targets of a sample, at least one, which may be empty."""
    targets = target if isinstance(target, list) else [target]
    return [one for one in targets if isinstance(one, str)] or [""]


def _usage(usage: Any) -> dict[str, Any] | None:
    """Return the token counts; `None` where unknown."""
    if not isinstance(usage, dict):
        return None
    return {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}


def _scores(scores: Any) -> Iterator[tuple[str, Any]]:
    """Yield each score by the name of its scorer; those of a scorer with several are `SCORER.NAME`."""
    for scorer, score in scores.items() if isinstance(scores, dict) else ():
        value = value_at(score, "value")
        if isinstance(value, dict):
            yield from ((f"{scorer}.{name}", _number(item)) for name, item in value.items())
        else:
            yield scorer, _number(value)


def _number(value: Any) -> Any:
    """Return the number that a letter means in Inspect; any other value as it is."""
    return _LETTERS.get(value, value) if isinstance(value, str) else value
