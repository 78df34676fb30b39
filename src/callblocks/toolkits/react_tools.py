"""The tools by which a model works on its own timeline.

    react.write   path, content, channel, kind   a file of this turn
    react.read    paths                          brings blocks, files, sources and skills back
    react.hide    path                           puts a placeholder where blocks were

The tools do not append blocks themselves. They leave the blocks with the recorder, which appends
them together with the call's result, so that a crash leaves either both or none. Reading foreign
text again taints the turn again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from callblocks.core.blocks import Block
from callblocks.core.errors import BadPath, ToolError
from callblocks.core.paths import (
    CallPath,
    FilePath,
    Path,
    SourcesPath,
    WrittenPath,
    parse_path,
    written_path,
)
from callblocks.guard.files.root import Root, change_text, encode_text
from callblocks.timeline.artifacts.validate import check_written
from callblocks.timeline.recall.lookup import Finder, Shows, asked_paths
from callblocks.timeline.recall.read import hide, read_paths
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.file_tools import PathText
from callblocks.toolkits.standard import EXEC_TOOLS, RENDERING_TOOLS
from callblocks.toolkits.turn_files import FolderFiles
from callblocks.tools.declare import declared
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Context, Tool

__all__ = (
    "in_turn",
    "react_tools",
    "turn_tools",
)

_HOSTING_FAILED = "react.write.hosting_failed"
# Failure codes of a write that are the caller's fault, so no `hosting_failed` notice is added.
_NOT_HOSTING = ("unsafe_path", "protected_path", "file_too_large", "not_text")


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


# Paths of the timeline; one text with all of them is taken too.
Paths = Annotated[
    list[str],
    BeforeValidator(_listed),
    Field(
        json_schema_extra={"examples": [["fi:turn_1.files/report.md", "so:sources_pool[1,3-5]"]]}
    ),
]


def react_tools(recorder: Recorder, turn: str, shows: Shows | None = None) -> tuple[Tool, ...]:
    """Return `react.write`, `react.read` and `react.hide` for one turn of a timeline.

    `shows` tells which blocks the model's view shows, if it does not show all of them: blocks that
    the view folded away can then be read again.
    """
    return (_write(recorder, turn), _read(recorder, turn, shows), _hide(recorder, turn))


def _write(recorder: Recorder, turn: str) -> Tool:
    def target_of(path: str) -> WrittenPath:
        return _target(path, turn, recorder.state.turns)

    def preview(path: str, content: str, channel: str = "canvas", kind: str = "display") -> str:
        target = target_of(path).path
        return change_text(target.physical, recorder.holdings.read(target), encode_text(content))

    @declared(
        name="react.write",
        # The write replaces files of its own turn only, and the replaced version is kept.
        destructive=False,
        idempotent=True,
        kind="writer",
        result="write",
        body="content",
        preview=preview,
        paths=lambda given: [target_of(given["path"]).path.physical],
        origin="builtin",
    )
    def react_write(
        path: PathText,
        content: str,
        context: Context,
        channel: Literal["canvas", "timeline_text", "internal"] = "canvas",
        kind: Literal["display", "file"] = "display",
    ) -> dict[str, Any]:
        """Write a text file of this turn; one that has the name already is replaced.

        Cite sources in it by their numbers: [[S:1,3-5]].

        Args:
            path: the name of the file, such as report.md or charts/sales.md
            content: all that the file shall hold
            channel: where it is shown: canvas beside the chat, timeline_text in it, internal to
                nobody but you
            kind: display for what is to be looked at, file for what is to be downloaded
        """
        target = target_of(path)
        if target.rewritten:
            _tell_rewritten(context, path, target.path)
        new = encode_text(content)
        edited = recorder.holdings.read(target.path) is not None
        _put(recorder, context, target.path, new)
        _check(target.path, new)
        return {
            "path": str(target.path),
            "physical_path": target.path.physical,
            "size_bytes": len(new),
            "edited": edited,
        }

    return react_write


def _target(path: str, turn: str, turns: Collection[str]) -> WrittenPath:
    try:
        return written_path(path, turn, turns)
    except BadPath as error:
        raise ToolError(error.code, f"{error}; nothing was written") from error


def _tell_rewritten(context: Context, original: str, path: FilePath) -> None:
    context.notice(
        "protocol_violation.path_rewritten",
        f"files of this turn are written to {path.physical}; give that path, or a bare name",
        original=original,
        normalized=path.physical,
    )


def _put(recorder: Recorder, context: Context, path: FilePath, content: bytes) -> None:
    """Write the file, and report failures of the machine as a notice too."""
    try:
        recorder.holdings.files.write(path, content)
    except OSError as error:
        words = f"{path}: {error.strerror or type(error).__name__}; nothing was written"
        context.notice(_HOSTING_FAILED, words, path=str(path))
        raise ToolError("file_error", words) from error
    except ToolError as error:
        if error.code not in _NOT_HOSTING:
            context.notice(_HOSTING_FAILED, error.message, path=str(path))
        raise


def _check(path: FilePath, content: bytes) -> None:
    """Raise `ToolError` if the file is empty or damaged for its type."""
    fault = check_written(path.name, content).error
    if fault is not None:
        raise ToolError(fault.code, fault.message, **fault.details)


def _read(recorder: Recorder, turn: str, shows: Shows | None) -> Tool:
    @declared(name="react.read", read_only=True, result="read", body="paths", origin="builtin")
    def react_read(paths: Paths, context: Context) -> dict[str, Any]:
        """Bring things of the timeline before you again, also hidden ones.

        What you can see already is not repeated.

        Args:
            paths: what to read, a path each: fi:turn_1.files/report.md, tc:turn_1.abc.result,
                so:sources_pool[1,3-5], sk:namespace.id, or another that a result named
        """
        # The lock covers finding and reading: a concurrent call could otherwise append blocks
        # between the two, and the status would describe a timeline that no longer exists.
        with recorder.lock:
            finder = Finder(
                state=recorder.state,
                holdings=recorder.holdings,
                skills=recorder.skills,
                stamp=recorder.stamp(turn, context.call_id, "react.read"),
                shows=shows,
            )
            asked = asked_paths(paths, finder.knows)
            if not asked:
                raise ToolError("invalid_input", "name what to read, such as fi:turn_1.files/a.md")
            reading = read_paths(asked, finder)
        for notice in reading.notices:
            context.notice(notice.code, notice.message, **notice.details)
        _taint(context, reading.blocks, but=finder.stamp.path("result"))
        recorder.bring(finder.stamp, reading.blocks)
        return reading.status

    return react_read


def _taint(context: Context, blocks: list[Block], but: str) -> None:
    """Taint the turn with each foreign path among the blocks.

    Attached files, web pages and tool results can carry instructions that the user did not write.
    `but` is the path of this call's own result, which holds only digests.
    """
    for path in dict.fromkeys(block.path for block in blocks if block.path != but):
        if _is_foreign(parse_path(path)):
            context.taint(f"read again: {path}")


def _is_foreign(path: Path) -> bool:
    match path:
        case FilePath(place="attachments") | SourcesPath() | CallPath(part="result"):
            return True
        case _:
            return False


def _hide(recorder: Recorder, turn: str) -> Tool:
    @declared(
        name="react.hide", destructive=False, idempotent=True, result="hide", origin="builtin"
    )
    def react_hide(path: str, context: Context) -> dict[str, Any]:
        """Put a short placeholder where something new is shown that you need no longer.

        Only what is near the end can be hidden; react.read brings it back.

        Args:
            path: what to hide, by the path that its result named
        """
        with recorder.lock:
            stamp = recorder.stamp(turn, context.call_id, "react.hide")
            hidden = hide(path, state=recorder.state, tokens=recorder.holdings.tokens, stamp=stamp)
        if hidden.failure is not None:
            raise ToolError(hidden.failure.code, hidden.failure.message)
        if hidden.record is not None:
            recorder.lay(stamp, hidden.record)
        return {
            "ok": True,
            "path": hidden.path,
            "blocks": hidden.blocks,
            "tokens_freed": hidden.tokens_freed,
        }

    return react_hide


# --- The tools that work in one turn of a timeline, and their merge with the other tools ---
#
#     tools = in_turn(tools, turn_tools(recorder, turn))
#
# `react.*` are there in every turn. The exec and rendering tools exist twice: without a timeline
# they write into the workspace, in a turn they write files of that turn. `in_turn` replaces the
# former by the latter, and only if the former is present: a caller that left a tool out does not
# get it back.


_IN_A_TURN = frozenset((*EXEC_TOOLS, *RENDERING_TOOLS))


def turn_tools(
    recorder: Recorder, turn: str, shows: Shows | None = None, root: Root | None = None
) -> Registry:
    """Return the tools of a turn; the exec tools only if the turn's files are on a disk.

    With the workspace `root`, documents may embed files of it. `shows` is as for `react_tools`.
    """
    registry = Registry(react_tools(recorder, turn, shows))
    registry.add_later(RENDERING_TOOLS, lambda: _rendering_tools(recorder, turn, root, shows))
    files = recorder.holdings.files
    if isinstance(files, FolderFiles):
        registry.add_later(EXEC_TOOLS, lambda: _exec_tools(recorder, files, turn))
    return registry


def in_turn(known: Registry, own: Registry) -> Registry:
    """Return `known` with its own tools rebound to a turn; a caller's tool of the same name
    stays.
    """
    ours = [name for name in own.names if name in _IN_A_TURN and _is_ours(known, name)]
    added = [name for name in own.names if name not in _IN_A_TURN and name not in known]
    return known.without(ours) | own.choose((*ours, *added))


def _is_ours(known: Registry, name: str) -> bool:
    tool = known.get(name)
    # The module tells our tool from a caller's tool with the same name, which must not be replaced.
    module = getattr(tool and tool.function, "__module__", "")
    return module.startswith("callblocks.toolkits.")


def _exec_tools(recorder: Recorder, files: FolderFiles, turn: str) -> tuple[Tool, ...]:
    from callblocks.toolkits.exec.exec_tools import exec_tools
    from callblocks.toolkits.exec.workdir import TurnPlace

    return exec_tools(TurnPlace(recorder, files, turn))


def _rendering_tools(
    recorder: Recorder, turn: str, root: Root | None, shows: Shows | None
) -> tuple[Tool, ...]:
    from callblocks.toolkits.documents.document_tools import rendering_tools
    from callblocks.toolkits.documents.write_document import TurnPlace

    return rendering_tools(TurnPlace(recorder, turn, root, shows))
