"""YAML with places: every complaint names file, line and column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from fathoms.component import Component
from fathoms.config import Source, import_target, override, read_yaml, validate
from fathoms.errors import ConfigError, UsageError, suggest
from fathoms.text.fingerprints import fingerprint


class Red(Component):
    packages = ("pydantic",)
    neutral = frozenset({"threads"})
    kind: Literal["red"] = "red"
    depth: int = Field(default=1, ge=1)
    threads: int = 1


class Blue(Component):
    kind: Literal["blue"] = "blue"
    inner: Annotated[Red, Field()] = Red()


class House(Component):
    name: str
    paint: Annotated[Red | Blue, Field(discriminator="kind")] = Red()
    rooms: tuple[Red, ...] = ()


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    return path


def complaint(tmp_path: Path, text: str, *settings: str) -> str:
    with pytest.raises(ConfigError) as caught:
        validate(House, override(read_yaml(write(tmp_path, text)), settings))
    return str(caught.value).replace(str(tmp_path) + "/", "")


def test_a_valid_file(tmp_path: Path) -> None:
    house = validate(House, read_yaml(write(tmp_path, "name: a\npaint: {kind: blue, inner: {depth: 3}}\n")))
    assert house.paint == Blue(inner=Red(depth=3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: a\npiant: {}\n", "c.yaml:2:1: unknown key 'piant' (did you mean 'paint'?)"),
        (
            "name: a\npaint:\n  kind: red\n  dept: 2\n",
            "c.yaml:4:3: unknown key 'dept' (did you mean 'depth'?)",
        ),
        (
            "name: a\npaint: {kind: blue, inner: {dpeth: 2}}\n",
            "c.yaml:2:29: unknown key 'dpeth' (did you mean 'depth'?)",
        ),
        ("name: a\npaint: {kind: rde}\n", "c.yaml:2:9: unknown kind 'rde' for paint (did you mean 'red'?)"),
        ("name: a\npaint: {depth: 2}\n", "c.yaml:2:1: 'paint' needs a 'kind'"),
        ("paint: {kind: red}\n", "c.yaml:1:1: 'name' is missing"),
        (
            "name: a\npaint: {kind: red, depth: 0}\n",
            "c.yaml:2:20: paint.depth: input should be greater than or equal to 1 (this is 0)",
        ),
        (
            "name: a\nrooms:\n- {kind: red}\n- {depth: x}\n",
            "c.yaml:4:4: rooms.1.depth: input should be a valid integer, unable to parse string as an integer"
            " (this is 'x')",
        ),
        ("name: a\nname: b\n", "c.yaml:2:1: 'name' occurs twice (first at c.yaml:1:1)"),
        ("name: [a\n", "c.yaml:2:1: not valid YAML: expected ',' or ']', but got '<stream end>'"),
        (
            "name: a\n\tpaint: red\n",
            "c.yaml:2:1: not valid YAML: found character '\\t' that cannot start any token",
        ),
        ("- a\n- b\n", "c.yaml:1:1: expected a mapping of keys, but this is a list"),
        ("", "c.yaml:1:1: expected a mapping of keys, but this is empty"),
        ("just text\n", "c.yaml:1:1: expected a mapping of keys, but this is text"),
    ],
)
def test_complaints_name_the_place(tmp_path: Path, text: str, expected: str) -> None:
    assert complaint(tmp_path, text) == expected


def test_every_complaint_at_once(tmp_path: Path) -> None:
    lines = complaint(tmp_path, "nam: a\npaint: {kind: red, depth: no}\n").splitlines()
    assert [line.split(": ")[0] for line in lines] == ["c.yaml:1:1", "c.yaml:2:20", "c.yaml:1:1"]


def test_python_tags_are_refused(tmp_path: Path) -> None:
    text = complaint(tmp_path, "name: !!python/object/apply:os.system [echo]\n")
    assert text.startswith("c.yaml:1:7: not valid YAML: could not determine a constructor")


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    text = complaint(tmp_path, "name: " + "[" * 100_000 + "]" * 100_000 + "\n")
    assert text == "c.yaml:1:56: nested too deeply for a configuration"


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "too many keys" in complaint(tmp_path, "\n".join(lines))


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "docling.yaml").write_text("name: a\n")
    with pytest.raises(ConfigError, match=r"docing.yaml: no such file \(did you mean '.*docling.yaml'\?\)"):
        read_yaml(tmp_path / "docing.yaml")


def test_set_overrides_and_makes_parents() -> None:
    source = override(Source("c", {"name": "a"}), ["paint.kind=red", "paint.depth=4", "name=b"])
    assert validate(House, source) == House(name="b", paint=Red(depth=4))


def test_set_is_named_in_complaints(tmp_path: Path) -> None:
    text = complaint(tmp_path, "name: a\npaint: {kind: red}\n", "paint.depht=2")
    assert text == "--set paint.depht: unknown key 'depht' (did you mean 'depth'?)"


def test_set_writes_out_a_short_form() -> None:
    written = {"data": "sample", "pipeline": {"response": {"contexts": "$.hits"}}}
    settings = ["data.missing=skip", "pipeline.response.contexts.text=$.body"]
    assert override(Source("c", written), settings).data == {
        "data": {"name": "sample", "missing": "skip"},
        "pipeline": {"response": {"contexts": {"each": "$.hits", "text": "$.body"}}},
    }


@pytest.mark.parametrize("setting", ["name", "=1", "a..b=1", "name.x=1", "name={"])
def test_a_setting_that_cannot_be_read(setting: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        override(Source("c", {"name": "a"}), [setting])


def test_identity_leaves_out_what_changes_nothing() -> None:
    assert fingerprint(Red(threads=1).identity()) == fingerprint(Red(threads=8).identity())
    assert fingerprint(Red(depth=1).identity()) != fingerprint(Red(depth=2).identity())
    assert Red().identity()["versions"]["pydantic"]


def test_fingerprint_is_the_same_everywhere() -> None:
    # sha256 of the canonical JSON, worked out with another tool
    import hashlib

    assert fingerprint({"b": 1, "a": "é"}) == hashlib.sha256('[{"a":"é","b":1}]'.encode()).hexdigest()[:32]


def test_import_target() -> None:
    assert import_target("pathlib:Path") is Path
    for bad in ("pathlib", "nowhere:x", "pathlib:Nothing", ""):
        with pytest.raises(ConfigError, match="cannot import"):
            import_target(bad)


def test_suggest() -> None:
    assert suggest("lama", ["llama", "gemma"]) == " (did you mean 'llama'?)"
    assert suggest("zzz", ["llama", "gemma"]) == " (available: llama, gemma)"
    assert suggest("zzz", []) == ""


def test_set_takes_the_kind_of_the_default_that_it_changes() -> None:
    source = override(Source("c", {"name": "a"}), ["paint.depth=4"])
    assert validate(House, source).paint == Red(depth=4)


def test_an_unknown_key_that_set_made_is_named_as_such(tmp_path: Path) -> None:
    text = complaint(tmp_path, "name: a\n", "piant.depth=2")
    assert text == "--set piant.depth: unknown key 'piant' (did you mean 'paint'?)"


def test_a_key_that_is_no_text(tmp_path: Path) -> None:
    assert complaint(tmp_path, "name: a\n2020-01-01: x\n") == (
        "c.yaml:2:1: a key must be text: put '2020-01-01' in quotes"
    )


@pytest.mark.parametrize("value", ["2020-13-45", "[" * 5000])
def test_a_value_that_no_yaml_can_be(value: str) -> None:
    with pytest.raises(UsageError, match=r"^--set name(:1:51)?: (not valid YAML|nested too deeply)"):
        override(Source("c", {"name": "a"}), [f"name={value}"])
