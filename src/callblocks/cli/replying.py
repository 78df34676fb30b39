"""The text with the results in it, written for the model in a dialect that can say them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from callblocks.cli.exits import Refusal, say
from callblocks.dialects import dialects
from callblocks.model.calls import Call, Item
from callblocks.model.errors import Unwritable
from callblocks.model.specs import ToolSpecs

__all__ = ("write_reply",)

_CAN_SAY_RESULTS = "tool-fence"


def write_reply(items: Sequence[Item], dialect: str | None, tools: ToolSpecs) -> None:
    """Write items to standard output, in the dialect of the calls where none is named."""
    spoken = next((item.dialect for item in items if isinstance(item, Call)), "")
    own = spoken or _CAN_SAY_RESULTS
    names = [dialect] if dialect else list(dict.fromkeys((own, _CAN_SAY_RESULTS)))
    problems: list[str] = []
    for name in names:
        try:
            text = dialects[name].write(items, tuple(tools))
        except Unwritable as error:
            problems.append(str(error))
            continue
        if problems:
            say(f"{problems[0]}; replied in {name}")
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        return
    raise Refusal(f"{'; '.join(problems)}; choose another with --reply-in")
