"""One document from call to file: resolve its text, render it, check it and write it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.timeline.keeping.written import check_written
from callblocks.toolkits.rendering.apart import render_apart
from callblocks.toolkits.rendering.cleaning import clean
from callblocks.toolkits.rendering.places import Place
from callblocks.toolkits.rendering.wire import Cited, Job, Kind
from callblocks.tools.context import Context

__all__ = ("require_text", "target_of", "write_document")

# Length limit of a document's text in characters.
_LONGEST = 5_000_000


def write_document(place: Place, job: Job, source: str, context: Context) -> dict[str, Any]:
    """Render a job, write the document, and return facts about it."""
    _require_one(job.content, source, job.rows)
    target = target_of(place, job.name, job.kind)
    if (found := place.target(job.name)).rewritten:
        context.notice(
            "protocol_violation.path_rewritten",
            f"files of this turn are written to {found.path}; give that path, or a bare name",
            original=job.name,
            normalized=found.path,
        )
    text = _text(place, source, context) if source.strip() else job.content
    if source.strip() and (path := place.unseen(source.strip())):
        context.notice(
            "protocol_violation.param_ref_not_visible",
            f"source names {path}, which you do not see now: you cannot know what the document"
            " says; bring it before you with react.read",
            param="source",
            path=path,
        )
    if len(text) > _LONGEST:
        words = f"the text has {len(text):,} characters, more than {_LONGEST:,}; give it in parts"
        raise ToolError("document_too_large", words)
    sources = place.sources(text)
    ready = _ready(job, text, target, sources)
    made = render_apart(ready, lambda name: place.read(name, context), context)
    # The output of the child process is checked like a file of a model: it may have been taken over
    # by the document that it rendered.
    _check(target, made.content)
    _put(place, job.name, target, made.content)
    used = {"sources_used": [one.sid for one in sources]} if sources else {}
    return {"ok": True, "error": None, **made.about, "size_bytes": len(made.content), **used}


def require_text(place: Place, content: str, source: str, rows: object) -> None:
    """Raise what `write_document` would raise for this input."""
    _require_one(content, source, rows)
    if source.strip():
        _text(place, source, Context())


def _require_one(content: str, source: str, rows: object) -> None:
    given = [name for name, one in (("content", content), ("source", source)) if one.strip()]
    given += ["rows"] if rows is not None else []
    if len(given) != 1:
        which = " and ".join(given) or "neither"
        words = f"give the text as content, or name a file that holds it as source; not {which}"
        raise ToolError("invalid_input", words)


def target_of(place: Place, path: str, kind: Kind) -> str:
    """Return the path of the document; its suffix must match its kind."""
    target = place.target(path).path
    if not target.lower().endswith(f".{kind}"):
        stem = path.strip().rpartition("/")[2].partition(".")[0] or "report"
        words = f"{brief(path)} does not end in .{kind}; name it {stem}.{kind}"
        raise ToolError("wrong_file_type", words)
    return target


def _text(place: Place, source: str, context: Context) -> str:
    content = place.read(source.strip(), context)
    if content is None:
        raise ToolError("path_not_found", f"{brief(source)} is no file that can be read here")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ToolError("not_text", f"{brief(source)} is not UTF-8 text") from error


def _ready(job: Job, text: str, target: str, sources: list[Cited]) -> Job:
    """Return the job for the child: cleaned text, and the bare name of the file."""
    name = target.rpartition("/")[2].rpartition(".")[0]
    return clean(replace(job, name=name, content=text, sources=sources))


def _check(target: str, content: bytes) -> None:
    """Raise `ToolError` if the content is not what its name says."""
    fault = check_written(target, content).error
    if fault is not None:
        raise ToolError(fault.code, fault.message, **fault.details)


def _put(place: Place, path: str, target: str, content: bytes) -> None:
    try:
        place.write(path, content)
    except OSError as error:
        words = f"{target}: {error.strerror or type(error).__name__}; nothing was written"
        raise ToolError("file_error", words) from error
