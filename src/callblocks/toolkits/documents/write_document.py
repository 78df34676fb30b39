"""One document from call to file: resolve its text, render it, check it and write it."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar, cast

import msgspec
from msgspec.structs import replace

from callblocks.core.errors import BadPath, ToolError
from callblocks.core.outcomes import Notice
from callblocks.core.paths import (
    FilePath,
    cited,
    file_path,
    parse_path,
    parse_physical,
    written_path,
)
from callblocks.core.text import brief
from callblocks.guard.files.root import Root
from callblocks.guard.workers.worker_process import Patience, Worker
from callblocks.timeline.artifacts.validate import check_written
from callblocks.timeline.recall.lookup import Shows
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.documents.render_protocol import (
    LONGEST,
    Cited,
    Failed,
    Given,
    Heard,
    Kind,
    Made,
    RenderJob,
    RenderProgress,
    Told,
    Wanted,
    frame,
)
from callblocks.tools.tool import Context

__all__ = (
    "LARGEST",
    "SECONDS",
    "DocumentPlace",
    "FolderPlace",
    "Target",
    "TurnPlace",
    "clean",
    "patience_of",
    "render_apart",
    "require_text",
    "target_of",
    "write_document",
)

# --- Cleaning of text for XML and MessagePack: surrogates and control characters become U+FFFD ---

T = TypeVar("T")
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def clean(value: T) -> T:
    """Return a copy with every string in it cleaned and with Unix line ends."""
    return cast("T", _clean(value))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _ODD.sub("\ufffd", value.replace("\r\n", "\n").replace("\r", "\n"))
    if isinstance(value, list):
        return [_clean(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        given = cast("dict[Any, Any]", value)
        return {_clean(key): _clean(one) for key, one in given.items()}
    if isinstance(value, msgspec.Struct):
        fields = {name: _clean(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value


# --- The places to which documents are written, and from which their pictures come ---
#
# TurnPlace     the files of a turn; pictures by `fi:` path, or by name from this turn's files
#               and attachments, then from earlier turns; sources from the timeline's pool
# FolderPlace   the workspace, where there is no timeline; no sources


class Target(msgspec.Struct, frozen=True):
    """The path of a document, as shown to a person."""

    path: str
    rewritten: bool = False


class DocumentPlace(Protocol):
    """A source of files and a target of documents; `replaces` if a write can lose content."""

    replaces: bool

    def target(self, path: str) -> Target:
        """Resolve a path; `ToolError` if nothing may be written there."""
        ...

    def judged(self, path: str, source: str) -> list[str]:
        """Return the paths that a policy judges before a call runs."""
        ...

    def read(self, name: str, context: Context) -> bytes | None:
        """Return a file by the name that a document or a call uses."""
        ...

    def unseen(self, name: str) -> str:
        """Return the path of a named file that the model no longer sees; "" otherwise."""
        ...

    def write(self, path: str, content: bytes) -> None:
        """Write a document atomically."""
        ...

    def sources(self, text: str) -> list[Cited]:
        """Return the sources that a text cites."""
        ...


class TurnPlace:
    """The files of one turn of a timeline."""

    replaces = False

    def __init__(
        self,
        recorder: Recorder,
        turn: str,
        root: Root | None = None,
        shows: Shows | None = None,
    ) -> None:
        self._recorder = recorder
        self._shows = shows
        self._turn = turn
        self._folder = root and FolderPlace(root)

    def target(self, path: str) -> Target:
        found, rewritten = self._target(path)
        return Target(found.physical, rewritten)

    def judged(self, path: str, source: str) -> list[str]:
        of_the_workspace = source and self._find(source.strip()) is None
        return [self.target(path).path, *([source] if of_the_workspace else [])]

    def read(self, name: str, context: Context) -> bytes | None:
        path, content = self._find(name) or (None, None)
        if path is None:
            return self._folder.read(name, context) if self._folder else None
        if path.place == "attachments":
            context.taint(f"shown in a document: {path}")
        return content

    def unseen(self, name: str) -> str:
        found = self._find(name)
        if found is None:
            return ""
        path = str(found[0])
        with self._recorder.lock:
            is_written = bool(self._recorder.state.at(path))
            visible = self._recorder.state.visible(path)
        # A file without a block was left in the folder by a tool; the view never hid it.
        is_seen = any(self._shows is None or self._shows(one.seq) for one in visible)
        return path if is_written and not is_seen else ""

    def write(self, path: str, content: bytes) -> None:
        self._recorder.holdings.files.write(self._target(path)[0], content)

    def sources(self, text: str) -> list[Cited]:
        with self._recorder.lock:
            pool = self._recorder.pool
            found = [pool.get(sid) for sid in cited(text, pool.sids)]
        return [
            Cited(one.sid, one.title, one.url or one.path, one.date)
            for one in found
            if one is not None
        ]

    def _target(self, path: str) -> tuple[FilePath, bool]:
        try:
            found = written_path(path, self._turn, self._recorder.state.turns)
        except BadPath as error:
            raise ToolError(error.code, f"{error}; nothing was written") from error
        return found.path, found.rewritten

    def _find(self, name: str) -> tuple[FilePath, bytes] | None:
        for path in self._named(name):
            content = self._recorder.holdings.read(path)
            if content is not None:
                return path, content
        return None

    def _named(self, name: str) -> Iterator[FilePath]:
        """Yield the files that a name may mean, the likeliest first."""
        for parse in (parse_path, parse_physical):
            try:
                path = parse(name)
            except BadPath:
                continue
            if isinstance(path, FilePath):
                yield path
                return
        bare = name.removeprefix("./").removeprefix("files/")
        with self._recorder.lock:
            earlier = [turn for turn in self._recorder.state.turns if turn != self._turn]
        # This turn first, then the newest: a name means the latest file that has it.
        for turn in (self._turn, *reversed(earlier)):
            for place in ("files", "attachments"):
                try:
                    yield file_path(turn, bare.removeprefix(f"{place}/"), place)
                except BadPath:
                    return


class FolderPlace:
    """The workspace: documents are written where a path says, and replace what is there."""

    replaces = True

    def __init__(self, root: Root) -> None:
        self._root = root

    def target(self, path: str) -> Target:
        return Target(path)

    def judged(self, path: str, source: str) -> list[str]:
        return [one for one in (path, source) if one]

    def read(self, name: str, context: Context) -> bytes | None:
        try:
            # The policy judges the resolved path: a link must not lead around a rule.
            real = self._root.resolve(name) or name
            if why := context.path_refusal(real):
                raise ToolError("policy_denied", why)
            content = self._root.read(name)
        except ToolError:
            return None
        return content

    def unseen(self, name: str) -> str:
        return ""

    def write(self, path: str, content: bytes) -> None:
        self._root.write(path, content)

    def sources(self, text: str) -> list[Cited]:
        return []


# --- Rendering of a document in a child process ---
#
# The process has limited memory and time, and is killed when the call is cancelled. It requests the
# files that the document shows one by one; the callback `files` provides them after policy checks.
# So the child needs no access to the file system, and a path in a document cannot read a file that
# the call may not read.

# Time limit for one document in seconds.
SECONDS = 90.0

# Size limit in bytes for a file that a document shows.
LARGEST = 64 * 1024 * 1024


def render_apart(
    job: RenderJob, files: Callable[[str], bytes | None], context: Context, seconds: float = SECONDS
) -> Made:
    """Render a document; raise `ToolError` with the reason if that fails."""
    patience = patience_of(context, seconds)
    # Temporary files of the libraries are in a folder that is deleted afterwards.
    with tempfile.TemporaryDirectory(prefix="callblocks-") as folder:
        try:
            worker = Worker(
                "callblocks.toolkits.documents.render_program", cwd=folder, TMPDIR=folder
            )
        except OSError as error:
            why = f"no process can be started for it: {error}"
            raise ToolError("render_failed", why) from error
        made = None
        try:
            made = _rendered(worker, job, files, context, patience)
        except msgspec.MsgspecError as error:
            raise ToolError("render_failed", "it went astray; write it more plainly") from error
        finally:
            # Always: an abandoned process would keep its memory until its CPU limit.
            status = worker.end()
    if made is None:
        raise ToolError("render_failed", _why(status))
    return made


def _rendered(
    worker: Worker,
    job: RenderJob,
    files: Callable[[str], bytes | None],
    context: Context,
    patience: Patience,
) -> Made | None:
    """Return the document; `None` if the process ends without an answer."""
    worker.write(frame(job), patience)
    for heard in _heard(worker, patience):
        match heard:
            case RenderProgress():
                context.report(heard.text)
            case Told():
                context.notices.append(
                    Notice(code=heard.code, message=heard.message, details=heard.details)
                )
            case Wanted():
                worker.write(frame(_given(heard.name, files, context)), patience)
            case Made():
                return heard
            case Failed():
                raise ToolError(heard.code, heard.message)
    return None


def _given(name: str, files: Callable[[str], bytes | None], context: Context) -> Given:
    content = files(name)
    if content is not None and len(content) > LARGEST:
        words = f"{brief(name)} has more than {LARGEST >> 20} MiB; make it smaller"
        context.notice("image_left_out", words)
        content = None
    return Given(content)


def _heard(worker: Worker, patience: Patience) -> Iterator[Heard]:
    """Yield the messages of the process until it ends."""
    decode = msgspec.msgpack.Decoder(Heard).decode
    while head := _read(worker, 4, patience):
        size = int.from_bytes(head, "big")
        if size > LONGEST:
            raise ToolError("document_too_large", f"it has more than {LONGEST >> 20} MiB")
        yield decode(_read(worker, size, patience))


def _read(worker: Worker, size: int, patience: Patience) -> bytes:
    """Read exactly `size` bytes; none if the process ended before."""
    whole = bytearray()
    while len(whole) < size:
        piece = worker.read(patience, size - len(whole))
        if not piece:
            return b""
        whole += piece
    return bytes(whole)


def patience_of(context: Context, seconds: float) -> Patience:
    """Return a check that raises after a time limit or once the call is cancelled."""
    latest = time.monotonic() + seconds

    def patience() -> None:
        if context.cancelled:
            raise ToolError("cancelled", "nobody waits for it any more")
        if time.monotonic() > latest:
            raise ToolError("render_timeout", "it takes too long; give less at once, or plainer")

    return patience


def _why(status: int) -> str:
    """Explain why the child ended without an answer: out of memory, out of time, or a crash."""
    how = f"signal {-status}" if status < 0 else f"exit code {status}"
    return f"it broke off ({how}): it is too large, or made to break; give less at once"


# --- One document from call to file: resolve its text, render it, check it and write it ---

# Length limit of a document's text in characters.
_LONGEST = 5_000_000


def write_document(
    place: DocumentPlace, job: RenderJob, source: str, context: Context
) -> dict[str, Any]:
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


def require_text(place: DocumentPlace, content: str, source: str, rows: object) -> None:
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


def target_of(place: DocumentPlace, path: str, kind: Kind) -> str:
    """Return the path of the document; its suffix must match its kind."""
    target = place.target(path).path
    if not target.lower().endswith(f".{kind}"):
        stem = path.strip().rpartition("/")[2].partition(".")[0] or "report"
        words = f"{brief(path)} does not end in .{kind}; name it {stem}.{kind}"
        raise ToolError("wrong_file_type", words)
    return target


def _text(place: DocumentPlace, source: str, context: Context) -> str:
    content = place.read(source.strip(), context)
    if content is None:
        raise ToolError("path_not_found", f"{brief(source)} is no file that can be read here")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ToolError("not_text", f"{brief(source)} is not UTF-8 text") from error


def _ready(job: RenderJob, text: str, target: str, sources: list[Cited]) -> RenderJob:
    """Return the job for the child: cleaned text, and the bare name of the file."""
    name = target.rpartition("/")[2].rpartition(".")[0]
    return clean(replace(job, name=name, content=text, sources=sources))


def _check(target: str, content: bytes) -> None:
    """Raise `ToolError` if the content is not what its name says."""
    fault = check_written(target, content).error
    if fault is not None:
        raise ToolError(fault.code, fault.message, **fault.details)


def _put(place: DocumentPlace, path: str, target: str, content: bytes) -> None:
    try:
        place.write(path, content)
    except OSError as error:
        words = f"{target}: {error.strerror or type(error).__name__}; nothing was written"
        raise ToolError("file_error", words) from error
