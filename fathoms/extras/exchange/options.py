"""The common parts of the commands of all formats: an option that names the format, and options defined
once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

import typer
from typer.core import TyperGroup

from fathoms.errors import UsageError, suggest


class ByFormat(TyperGroup):
    """A group with a command for each format, which an option may name instead of the first word."""

    option: ClassVar[str]
    standard: ClassVar[str | None] = None
    """The format where neither is given; without one, the format of a file must be said."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, with the format as the first of them."""
        try:
            args = self._format_first(args)
        except UsageError:
            if not ctx.resilient_parsing:  # as for completion
                raise
        return super().parse_args(ctx, args)

    def _format_first(self, args: list[str]) -> list[str]:
        for at, argument in enumerate(args[: args.index("--") if "--" in args else None]):
            name, is_joined, value = argument.partition("=")
            if name == self.option:
                value = value if is_joined else "".join(args[at + 1 : at + 2])
                if value not in self.commands:
                    said, hint = f"{self.option} {value}".rstrip(), suggest(value, self.commands)
                    raise UsageError(f"{said}: there is no such format{hint}")
                return [value, *args[:at], *args[at + (1 if is_joined else 2) :]]
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            if self.standard is not None:
                return [self.standard, *args]
            if Path(args[0]).exists():
                known = ", ".join(self.commands)
                raise UsageError(f"{args[0]}: say in which format it is, by {self.option}: one of {known}")
        return args


def command(
    app: typer.Typer, given: type[Any], name: str, *options: str
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the command of a format to its group.

    The function has arguments of its own, and `given`: a dataclass of which the named fields are options of
    this format. Each is defined there once for all formats, and follows the own options of the command.
    """

    def added(function: Callable[..., int]) -> Callable[..., int]:
        hints, shared = (
            get_type_hints(function, include_extras=True),
            get_type_hints(given, include_extras=True),
        )
        own = [one for one in inspect.signature(function).parameters.values() if one.name != "given"]
        defaults = {one.name: one.default for one in own}
        for field in fields(given):
            if field.name in options:
                hints[field.name] = shared[field.name]
                defaults[field.name] = inspect.Parameter.empty if field.default is MISSING else field.default

        @wraps(function)
        def called(**values: Any) -> int:
            said = {name: values.pop(name) for name in options}
            return function(given=given(**said), **values)

        called.__annotations__ = {one: hints[one] for one in defaults} | {"return": int}
        called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[one])
                for one, default in defaults.items()
            ]
        )
        app.command(name)(called)
        return function

    return added
