"""A reader of calls that are a Markdown fence with the tool's name as its language::

    ```save hello.py
    print("hi")
    ```

Words behind the name, and the body, are bound to the tool's parameters (see `binding`).
"""

from __future__ import annotations

from callblocks.parsing.binding import bind
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.fences import END_OF_LINE, read_fence, read_fence_body
from callblocks.parsing.line_ends import without_line_end
from callblocks.parsing.stage import Reading

__all__ = ("read_named_fence",)


def read_named_fence(block: Block) -> Reading[Refused | None]:
    """Read the call of a declared tool, or refuse any other fence."""
    rest, newline = yield from block.until(END_OF_LINE)
    fence, stage = read_fence(block.opening + rest), block.stage
    name, _, args = fence.info.partition(" ") if fence else ("", "", "")
    tool = stage.tools.get(name)
    if fence is None or tool is None or not newline:
        return block.refuse(expected="a fence named as a declared tool", at=block.start)
    stage.scan.fresh = True
    block.started(name)
    body, closed_at = yield from read_fence_body(block, fence.run)
    value, misfits, _ = bind(args, without_line_end(body), tool)
    given = {"args": args, "body": body} if value is None else value
    block.ready(given, size=len(body), ended=closed_at is not None)
    if value is None:
        block.problem("unbound-arguments", f"{name} takes {', '.join(tool.properties)}")
    for misfit in misfits:
        block.problem("mistyped-argument", f"{misfit}: {given[misfit]!r:.60}")
    return None
