"""Exit codes of the command, and the message for each failure.

    0    fine
    1    problems found, a call failed or was refused, a text that cannot be written in the
         dialect asked for, or a timeline that cannot be read or written
    2    usage: no such file, an unknown dialect, a tools file that is none, binary input
    130  interrupted
    141  the reader of the output has closed the pipe

No mistake of a user and no text ends in a traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import IO, Any

import click

from callblocks.core.errors import CallblocksError, TimelineError

__all__ = (
    "EXIT_CODES",
    "INTERRUPTED",
    "PROBLEMS",
    "USAGE",
    "Fault",
    "Refusal",
    "is_pipe",
    "reported",
    "say",
)

PROBLEMS = 1
USAGE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141

EXIT_CODES = """\b
Exit codes:
  0    fine
  1    problems found, a call failed or was refused, or not to be written so
  2    usage: no such file, unknown dialect, bad tools file, binary input
  130  interrupted
  141  the reader of the output has gone
"""


class Fault(click.ClickException):
    """One line on standard error, and an exit code."""

    exit_code = USAGE

    def show(self, file: IO[Any] | None = None) -> None:
        say(self.message)


class Refusal(Fault):
    """The text is not such that it could be done."""

    exit_code = PROBLEMS


class Interrupted(Fault):
    """The person wants no more of it."""

    exit_code = INTERRUPTED


def say(message: str) -> None:
    """Say one line on standard error; nothing in it steers the terminal."""
    from callblocks.views.rows import visible_line

    click.echo(f"callblocks: {visible_line(message)}", err=True)


@contextmanager
def reported() -> Generator[None]:
    """Turn what may go wrong into a line and an exit code."""
    try:
        yield
        if sys.stdout is not None:  # it is, where the shell closed it
            sys.stdout.flush()
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None
    except BrokenPipeError:
        _hush()
        raise click.exceptions.Exit(CLOSED_PIPE) from None
    except TimelineError as error:
        is_usage = error.code == "bad_name" or "extra" in error.details
        kind = Fault if is_usage else Refusal
        raise kind(f"{error.code}: {error.message}") from error
    except CallblocksError as error:
        raise Fault(str(error)) from error
    except OSError as error:
        _hush()
        raise Fault(f"{error.filename or 'standard output'}: {error.strerror or error}") from error


def _hush() -> None:
    """Let the interpreter's last flush of standard output go nowhere."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def is_pipe() -> bool:
    """Return whether a program reads what is printed; a file is no pipe."""
    import stat

    try:
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return False
