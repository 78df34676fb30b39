"""The output of any other tool: its digest, then the output itself, both at `tc:…result`.

A text stays text, everything else is JSON, also null. An output beside an error is shown too.
"""

from __future__ import annotations

from typing import Any

from callblocks.model.outcomes import Artifact, Notice
from callblocks.model.secret_values import without_secrets
from callblocks.timeline.emitting.digest import digest_text
from callblocks.timeline.emitting.ended import Emitted, Ended, failed
from callblocks.timeline.emitting.fitting import TEXT, shown
from callblocks.timeline.emitting.notices import error_payload, notice_of_failure
from callblocks.timeline.keeping.mime import mime_of
from callblocks.timeline.plain_json import json_text, plain, whole
from callblocks.timeline.stamp import JSON

__all__ = ("content_results", "plain_results")


def plain_results(ended: Ended) -> Emitted:
    """Return digest and content of an output."""
    output = ended.outcome.output
    if output is None and ended.outcome.error is not None:
        return failed(ended, ended.outcome.error, kind="file", visibility="internal")
    if isinstance(output, str):
        return content_results(ended, output, mime=_text_mime(whole(output)))
    return content_results(ended, output)


def content_results(ended: Ended, output: Any, *, mime: str = JSON, path: str = "") -> Emitted:
    """Return an output as the result: its digest, then its text without secrets, at `path`."""
    path = path or ended.stamp.path("result")
    error = ended.outcome.error
    told: tuple[Notice, ...] = () if error is None else (notice_of_failure(ended.stamp, error),)
    text, cut_short, kept = _fitting(ended, output, mime)
    fields: dict[str, Any] = {
        "artifact_path": path,
        "mime": mime,
        "kind": "file",
        "visibility": "internal",
        "tool_call_id": ended.stamp.call,
        "error": error and error_payload(ended.stamp, error),
        "tokens": ended.holdings.tokens.text(text),
    }
    digest = ended.stamp.result("digest", digest_text(**fields))
    content = ended.stamp.result("content", text, mime=mime, path=path)
    return Emitted(notices=(*told, *cut_short), results=(digest, content), kept=kept)


def _text_mime(text: str) -> str:
    """Return Markdown where the text plainly is, else plain text: an output has no name."""
    return "text/markdown" if mime_of("", text.encode()) == "text/markdown" else "text/plain"


def _fitting(
    ended: Ended, output: Any, mime: str
) -> tuple[str, tuple[Notice, ...], tuple[Artifact, ...]]:
    """Return the output as text, or the start of one that is too long; all of it is kept then."""
    # The size is judged before redaction, which is expensive on a text that is not shown whole
    # anyway.
    raw = json_text(output) if mime == JSON else whole(output)
    if len(raw) <= TEXT:
        safe = json_text(without_secrets(plain(output))) if mime == JSON else shown(raw)
        return safe, (), ()
    content = raw.encode()
    details = {"size_bytes": len(content)}
    try:
        artifact = ended.holdings.artifacts(
            f"{ended.stamp.call}.{'json' if mime == JSON else 'txt'}", content, mime
        )
    except OSError as error:
        words = f"the whole output could not be kept: {error.strerror or type(error).__name__}"
        return shown(raw), (Notice(code="not_kept", message=words, details=details),), ()
    words = "the output is too large to show; all of it is kept as a file"
    told = Notice(code="output_too_large", message=words, details=details)
    return shown(raw), (told,), (artifact,)
