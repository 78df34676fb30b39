"""A server's tool as a tool of ours, and a server's result as the outcome of a call.

An MCP tool is judged like any other, as the worst: it destroys, it reaches out, it brings text of
others. Its annotations change nothing of that. Only the person's own `read_only` in the config says
that a tool changes nothing. A rule must name it to let it run without a question.

    text, structured content     the output, up to 8 MiB; longer ones are kept as files
    images, audio, resources     artifacts
    links to resources           their addresses, never fetched
    isError                      a failed call, with the text
    progress                     shown while the call runs
    elicitation                  a question to the person, about exactly what would be answered

Elicitation. A server may ask for confirmation or a choice in the middle of a call. The person sees
the server's words and the answer that a yes would send: defaults, `true` for a yes or no, the only
choice. What has no such answer is declined, and the model is told what the server wanted, so that
the person can say it in the chat. Passwords, keys and addresses to open are always declined.
"""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from callblocks.core.errors import ToolError
from callblocks.core.redaction import is_secret_key
from callblocks.guard.sandbox.sandbox import MIB
from callblocks.protocols.mcp.definitions import Definition, changes_of, spec_of, visible
from callblocks.protocols.mcp.servers import ServerEntry
from callblocks.tools.registry import foreign_tool
from callblocks.tools.tool import Context, Tool, Traits

if TYPE_CHECKING:
    from callblocks.protocols.mcp.server_link import ServerLink

__all__ = ("Elicited", "answer_of", "read_result", "tool_of")

_MAX_TEXT = 8 * MIB
_MAX_FILES = 32
_MAX_PARTS = 256
_MAX_PROGRESS = 200
# A person may think about a question for that long, beside the time that the call itself has.
_THINKING = 900.0


def tool_of(entry: ServerEntry, definition: Definition, link: Callable[[], ServerLink]) -> Tool:
    """Return a tool that calls one of a server; raise `BadSpec` for one that cannot be offered."""
    spec = spec_of(entry.name, definition)
    # The schema of the check is the server's own, with the words of the model's in messages.
    known = foreign_tool(spec, {})
    is_quiet = any(fnmatchcase(definition.name, one) for one in entry.read_only)
    call = partial(_call, entry, definition, link)

    async def run(context: Context, **values: Any) -> dict[str, Any]:
        return await call(context, values)

    return Tool(
        spec=spec,
        check=known.check,
        function=run,
        # It reaches beyond this machine, for all that is known, so its output taints the turn.
        traits=Traits(read_only=is_quiet, destructive=not is_quiet, open_world=True),
        origin="external",
        needs_approval=True,
        timeout=entry.timeout + _THINKING,
        context="context",
        stores=f"mcp:{entry.name}",
    )


async def _call(
    entry: ServerEntry,
    definition: Definition,
    link: Callable[[], ServerLink],
    context: Context,
    values: dict[str, Any],
) -> dict[str, Any]:
    """Call the tool in the loop of the connections; ask in the loop of the turn."""
    home = asyncio.get_running_loop()
    server = link()
    now = await server.current(definition.name)
    if now is None:
        raise ToolError("not_found", f"{entry.name} has no tool {definition.name} any more")
    if now.digest != definition.digest and not server.accepted(now):
        await _ask_again(entry, definition, now, context)
        server.accept(now)

    asked = Elicited(context, home)
    told = CallProgress(context, home)
    result = await server.call(definition.name, values, told, asked)
    if asked.unanswered and result.is_error:
        raise ToolError("tool_error", f"{entry.name} asked for what nobody gave: {asked.words}")
    output = read_result(result, context)
    if result.is_error:
        words = output if isinstance(output, str) else str(output)
        return _envelope(None, visible(words, 4_000) or "the server says that it failed")
    if asked.unanswered:
        context.notice("elicitation_declined", f"{entry.name} asked: {asked.words}")
    return _envelope(output, None)


def _envelope(output: Any, error: str | None) -> dict[str, Any]:
    """Return the envelope of an external tool: a server cannot forge one inside its output."""
    failure = None if error is None else {"code": "tool_error", "message": error}
    return {"ok": error is None, "error": failure, "ret": output}


async def _ask_again(
    entry: ServerEntry, before: Definition, now: Definition, context: Context
) -> None:
    name = f"{entry.name}.{now.name}"
    refusal = await context.confirm(
        "definition",
        {"tool": name},
        reason=f"{entry.name} changed what {name} says of itself",
        preview=changes_of(before, now),
    )
    if refusal is not None:
        words = f"its definition changed, and nobody accepted it: {refusal}"
        raise ToolError("approval_mismatch", f"{name} did not run: {words}")


class CallProgress:
    """Shows what a server says of its progress, so much and no more."""

    def __init__(self, context: Context, home: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._home = home
        self._count = 0

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self._count += 1
        if self._count > _MAX_PROGRESS:
            return
        share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
        words = visible(message or "", 200).replace("\n", " ")
        self._home.call_soon_threadsafe(self._context.report, f"{share} {words}".strip() + "\n")


# --- Results ---


def read_result(result: Any, context: Context) -> Any:
    """Return the output of a result; files in it become artifacts of the call."""
    parts: list[str] = []
    size = 0
    files = 0
    for block in cast("list[Any]", result.content)[:_MAX_PARTS]:
        text, content, mime, name = _part(block)
        if content is not None:
            files += 1
            if files > _MAX_FILES:
                continue
            artifact = context.keep(name or f"result-{files}{_ending(mime)}", content, mime)
            text = f"[file {artifact.path}, {mime or 'of unknown type'}, {artifact.size:,} bytes]"
        size += len(text)
        if size > _MAX_TEXT:
            raise ToolError("response_too_large", f"the result passes {_MAX_TEXT // MIB} MiB")
        parts.append(text)
    if files > _MAX_FILES:
        context.notice("files_left_out", f"{files - _MAX_FILES} more files were left out")
    said = "\n".join(parts)
    data = getattr(result, "structured_content", None)
    if data is None:
        return said
    return data if not files else {"data": data, "text": said}


def _part(block: Any) -> tuple[str, bytes | None, str, str]:
    """Return the text, the content, the type and the name of one part of a result."""
    match block.type:
        case "text":
            return block.text, None, "", ""
        case "image" | "audio":
            return "", _decoded(block.data), _mime(block.mime_type), ""
        case "resource_link":
            return (
                f"[link {visible(block.name, 200)}: {visible(str(block.uri), 2_000)}]",
                None,
                "",
                "",
            )
        case "resource":
            held = block.resource
            if hasattr(held, "text"):
                return f"[{visible(str(held.uri), 2_000)}]\n{held.text}", None, "", ""
            return "", _decoded(held.blob), _mime(held.mime_type), _file_name(str(held.uri))
        case _:
            return f"[a part of the type {visible(str(block.type), 40)}]", None, "", ""


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise ToolError("bad_output", "the result has a file that is no base64") from error


_MIME = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,60}/[a-z0-9][a-z0-9!#$&^_.+-]{0,60}")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _mime(given: str | None) -> str:
    text = (given or "").partition(";")[0].strip().lower()
    return text if _MIME.fullmatch(text) else "application/octet-stream"


def _ending(mime: str) -> str:
    return mimetypes.guess_extension(mime) or ".bin"


def _file_name(uri: str) -> str:
    name = uri.partition("?")[0].rstrip("/").rpartition("/")[2]
    return name if _FILE_NAME.fullmatch(name) else ""


# --- Elicitation: the server's questions ---


class Elicited:
    """The questions of a server during one call. `words` is what it asked for in vain."""

    def __init__(self, context: Context, home: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._home = home
        self._count = 0
        self.unanswered = False
        self.words = ""
        # Stops the clock of the call while a person thinks; the connection sets it.
        self.pause: Callable[[], AbstractContextManager[None]] = nullcontext

    async def __call__(self, params: Any) -> tuple[str, dict[str, Any] | None]:
        """Return `accept` with the answer, or `decline`; called in the loop of the connections."""
        self._count += 1
        message = visible(str(params.message), 1_000)
        fields = answer_of(params) if self._count <= 5 else None
        if fields is None:
            self._note(params, message)
            return "decline", None
        asking = self._context.confirm(
            "answer",
            fields,
            reason=f"the server asks: {message}",
            preview="",
        )
        refusal = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asking, self._home))
        return ("accept", fields) if refusal is None else ("decline", None)

    def _note(self, params: Any, message: str) -> None:
        wanted = ", ".join(list(_fields(params))[:8])
        self.unanswered = True
        self.words = visible(f"{message} ({wanted})" if wanted else message, 600)


def answer_of(params: Any) -> dict[str, Any] | None:
    """Return the answer that a plain yes gives to a question; `None` where there is none."""
    if getattr(params, "mode", "form") != "form":
        return None
    fields = _fields(params)
    if any(is_secret_key(name) or _asks_for_secret(schema) for name, schema in fields.items()):
        return None
    answer: dict[str, Any] = {}
    required: Any = _schema(params).get("required") or ()
    for name, schema in fields.items():
        value = _plain_answer(schema)
        if value is not None:
            answer[name] = value
        elif name in required:
            return None
    return answer


def _plain_answer(schema: dict[str, Any]) -> Any:
    default = schema.get("default")
    if isinstance(default, str | bool | int | float):
        return default
    if schema.get("type") == "boolean":
        return True
    choices = schema.get("enum")
    if isinstance(choices, list) and len(cast("list[Any]", choices)) == 1:
        return choices[0] if isinstance(choices[0], str) else None
    return None


_SECRET_WORDS = re.compile(r"(?i)pass(?:word|phrase|code)|secret|token|api.?key|credential|\bpin\b")


def _asks_for_secret(schema: dict[str, Any]) -> bool:
    texts: Iterable[Any] = (schema.get(key) for key in ("title", "description", "format"))
    return any(isinstance(text, str) and _SECRET_WORDS.search(text) for text in texts)


def _schema(params: Any) -> dict[str, Any]:
    given: Any = getattr(params, "requested_schema", None)
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def _fields(params: Any) -> dict[str, dict[str, Any]]:
    properties = _schema(params).get("properties")
    if not isinstance(properties, dict):
        return {}
    named = cast("dict[str, Any]", properties).items()
    return {
        visible(name, 80): cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
        for name, schema in named
    }
