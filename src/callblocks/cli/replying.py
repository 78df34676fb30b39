"""The text with the results in it, written for the model in a dialect that can say them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from callblocks.cli.exits import Refusal, say
from callblocks.dialects import dialects
from callblocks.model.calls import Call, Item, Result
from callblocks.model.errors import Unwritable
from callblocks.model.specs import ToolSpec, ToolSpecs

__all__ = ("check_reply", "write_reply")

_CAN_SAY_RESULTS = "tool-fence"
_SAMPLE = [Call(id="c", name="name"), Result(id="c", output="text")]
_SAMPLE_TOOL = ToolSpec("name", "", {"type": "object", "properties": {}})


def check_reply(dialect: str | None) -> None:
    """Refuse a dialect that has no way to say results, before anything runs."""
    if dialect is None:
        return
    try:
        dialects[dialect].write(_SAMPLE, (_SAMPLE_TOOL,))
    except Unwritable as error:
        raise click.BadParameter(str(error), param_hint="--reply-in") from error


def write_reply(items: Sequence[Item], dialect: str | None, tools: ToolSpecs) -> None:
    """Write items to standard output, in the dialect of the calls where none is named.

    What was done is told in any case: in another dialect where that one cannot say results, and
    without the prose where prose cannot be said beside them.
    """
    spoken = next((item.dialect for item in items if isinstance(item, Call)), "")
    names = [dialect] if dialect else [spoken or _CAN_SAY_RESULTS]
    bare = [item for item in items if not isinstance(item, str)]
    problems: list[str] = []
    for name in dict.fromkeys((*names, _CAN_SAY_RESULTS)):
        for some, what in ((items, ""), (bare, ", without the prose")):
            try:
                text = dialects[name].write(some, tools)
            except Unwritable as error:
                problems.append(str(error))
                continue
            if problems:
                say(f"{problems[0]}; replied in {name}{what}")
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            return
    raise Refusal("; ".join(problems))
