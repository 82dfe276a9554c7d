"""The command line. Its commands are thin wrappers around the other packages, and only they print. The exit
codes are those of `fathoms.errors.ExitCode`.

The module of a command is imported when the command is called (`commands.py`). It imports nothing slow at its
head, but what it needs while it runs.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import typer

from fathoms.cli import console
from fathoms.cli.commands import LazyGroup
from fathoms.errors import ExitCode, FathomsError, UsageError
from fathoms.safety.signals import ending_command, leave, set_stop_timeout

app = typer.Typer(
    name="fathoms",
    cls=LazyGroup,
    help="Benchmark RAG pipelines over PDFs: how correct the answers are, at which stage each answer was"
    " lost, and whether the pipeline abstained when it should have.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: importing Rich for it would triple the time to the first word
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    """Print the versions and exit, if `--version` was given."""
    if wanted:
        from fathoms.cli.version import version_lines

        for line in version_lines():
            console.say(line)
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: bool = typer.Option(
        False,
        "--version",
        callback=_version,
        is_eager=True,
        help="Print the versions of fathoms, Python and libraries.",
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Do not show progress."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Print every event, one per line."),
    debug: bool = typer.Option(False, "--debug", help="Like --verbose, and also show tracebacks."),
) -> None:
    if quiet and (verbose or debug):
        raise UsageError("--quiet cannot be combined with --verbose or --debug: use only one of them")
    console.settings.quiet = quiet
    console.settings.verbose = verbose or debug
    console.settings.debug = debug
    from fathoms.paths import load_env

    if ignored := load_env(Path.cwd()):
        console.complain(ignored)
    set_stop_timeout()
    if console.settings.verbose:  # after `.env` is loaded, so that its secrets are masked, too
        from fathoms.cli.verbose import show_events

        context.with_resource(show_events())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (`docs/reference/exit-codes.md` lists them)."""
    command = typer.main.get_command(app)
    try:
        with _old_names_explained():
            result = command.main(args=arguments, prog_name="fathoms", standalone_mode=False)
        sys.stdout.flush()  # reports a full disk now, before the exit code is decided
        return result if isinstance(result, int) else ExitCode.OK
    except FathomsError as error:
        if console.settings.debug:
            console.show_traceback()
        else:
            console.complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        console.complain("stopped")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # the reader closed the pipe (`fathoms report | head`), which is no error of fathoms
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FAILED
    except OSError as error:
        return _refused(error)
    except Exception as error:
        return _other(error)


@contextmanager
def _old_names_explained() -> Iterator[None]:
    """Print warnings of deprecated options as sentences, and leave other warnings to Python."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if category.__name__ == "OldNameWarning":  # its module is not imported before it is needed
            console.complain(str(message))
        else:
            shown(message, category, *place, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown


def _refused(error: OSError) -> int:
    """Report an OSError that no command handled, such as a full disk; returns the exit code."""
    place = f"{error.filename}: " if error.filename else ""
    if not place and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        place = "the output cannot be written: "
    if console.settings.debug:
        console.show_traceback()
    else:
        console.complain(f"{place}{error.strerror or type(error).__name__}")
    with suppress(OSError):  # or Python would try to flush stdout again at exit, and fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.FAILED


def _other(error: Exception) -> int:
    """Report a usage error of Typer, or an unexpected exception; returns the exit code."""
    show = getattr(error, "show", None)
    if show is not None:
        said = io.StringIO()
        show(file=said)
        console.aside(said.getvalue().rstrip("\n"))
        return int(getattr(error, "exit_code", ExitCode.UNUSABLE))
    if type(error).__name__ == "Abort":
        console.complain("stopped")
        return ExitCode.INTERRUPTED
    if console.settings.debug:
        console.show_traceback()
        return ExitCode.FAILED
    console.complain(f"{type(error).__name__}: {error}\nthis is a bug in fathoms; --debug shows where")
    return ExitCode.FAILED


def entry() -> None:
    """The entry point of the `fathoms` console script."""
    # With Python's 700 allocations, each start would look for reference cycles among all that it imports;
    # with 100,000, a run of one question twice, for a twentieth of its time.
    gc.set_threshold(250_000)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # file names may hold undecodable bytes, and a terminal may not support all characters
            stream.reconfigure(errors="backslashreplace")
    with ending_command():
        leave(main())
