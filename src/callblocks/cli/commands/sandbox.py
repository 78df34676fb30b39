"""`callblocks sandbox`: where commands of a model run on this machine."""

from __future__ import annotations

import asyncio

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, Refusal
from callblocks.cli.terminal.paint import Paper
from callblocks.guard.sandbox.sandbox import MIB, Limits, Missing, find_sandbox
from callblocks.views.rows import Row, wrap

__all__ = ("command",)

HELD = ("filesystem", "network", "syscalls", "processes", "uid", "memory", "disk")


@click.command(
    "sandbox", short_help="Say where commands run, and what holds there.", epilog=EXIT_CODES
)
def command() -> None:
    """Say where commands run on this machine, what is kept apart there, and the limits.

    It is found out by running something small. There is exit code 1 where there is none.
    """
    sandbox = asyncio.run(find_sandbox())
    if isinstance(sandbox, Missing):
        raise Refusal(sandbox.reason)
    paper = Paper()
    marks: list[Row] = [_mark(name, name in sandbox.holds) for name in HELD]
    limits = ", ".join(f"{name} {_say(value)}" for name, value in _limits())
    paper.print([(("name", sandbox.name),), *marks])
    paper.print(wrap((("quiet", f"  limits: {limits}"),), paper.width, (("plain", "    "),)))


def _mark(name: str, holds: bool) -> Row:
    return (("code", "  ✓ "), ("plain", name)) if holds else (("error", "  ✗ "), ("plain", name))


def _limits() -> list[tuple[str, float]]:
    return list(msgspec.structs.asdict(Limits()).items())


def _say(value: float) -> str:
    return f"{value / MIB:g} MiB" if value >= MIB else f"{value:g}"
