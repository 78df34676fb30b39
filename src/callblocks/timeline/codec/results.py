"""The results of a call as blocks, one function for each kind of result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from callblocks.core.blocks import Block
from callblocks.core.errors import BadPath
from callblocks.core.json_values import json_text, plain, whole
from callblocks.core.outcomes import Failure, Notice
from callblocks.core.paths import FilePath, SourcesPath, WrittenPath, cited, ranges_of, written_path
from callblocks.core.redaction import without_secrets
from callblocks.core.sources import Source, rows_text
from callblocks.core.text import brief
from callblocks.timeline.artifacts.validate import WrittenFile, check_written, fault_in
from callblocks.timeline.codec.call_blocks import (
    JSON,
    ROOM,
    Stamp,
    error_payload,
    shown,
)
from callblocks.timeline.codec.ended_call import (
    Binary,
    Emitted,
    EndedCall,
    TurnFile,
    content_results,
    failed,
    file_blocks,
    left_out,
    plain_results,
    whole_output,
)

__all__ = (
    "EMBEDDED",
    "MOST_ROWS",
    "PAGE_TEXT",
    "PATH_REWRITTEN",
    "ROW_TEXT",
    "SOURCE_TEXT",
    "exec_results",
    "fetch_results",
    "file_fault",
    "rendering_results",
    "rewritten",
    "search_results",
    "target_of",
    "write_results",
)

# --- Results of searches and fetches, which become sources ---
#
#     search   digest, then the rows with their numbers, at `so:sources_pool[…]`
#     fetch    digest, then the pages by URL with their numbers, at `tc:…result`
#
# Rows keep their order. A long text is cut in the block and stays longer in the pool, from where
# `react.read` brings it. New sources are a record, before all results.

# The most rows of one search that become sources; a notice counts the others.
MOST_ROWS = 1_000

# The most characters that a search result shows of its text.
ROW_TEXT = 4_000

# The most bytes that a fetched page shows of its content.
PAGE_TEXT = 20_000

# The most bytes of a text that stay in the pool.
SOURCE_TEXT = 100_000

_META = 10_000


def search_results(ended: EndedCall) -> Emitted:
    """Return the rows of a search; an output that is no list is shown like any other."""
    given = whole_output(ended)
    if not isinstance(given, list):
        return plain_results(ended)
    pool = ended.holdings.pool
    given_rows = _search_rows(given)
    # Bounded before they enter the pool: the pool is a record on the timeline, which is read at
    # every start.
    sids = pool.add(_bounded(pool.read(row)) for row in given_rows[:MOST_ROWS])
    if not sids:
        return content_results(ended, given)
    found = [ended.holdings.pool.get(sid) for sid in dict.fromkeys(sids)]
    rows = [_row(source) for source in found if source is not None]
    path = str(SourcesPath(ranges_of(sids)))
    emitted = content_results(ended, rows, path=path)
    told = (*emitted.notices, *_left_out(len(given_rows)))
    return _recorded(ended, msgspec.structs.replace(emitted, notices=told))


def fetch_results(ended: EndedCall) -> Emitted:
    """Return the fetched pages; an output that is no object is shown like any other."""
    given = whole_output(ended)
    if not isinstance(given, dict):
        return plain_results(ended)
    pages = cast("dict[str, Any]", plain(given)).items()
    return _recorded(
        ended, content_results(ended, {url: _page(ended, url, page) for url, page in pages})
    )


def _page(ended: EndedCall, url: str, page: Any) -> Any:
    """Return a page with its number; one that could not be fetched gets none."""
    if isinstance(page, str):
        page = {"content": page}
    if not isinstance(page, dict):
        return page
    said = cast("dict[str, Any]", page)
    cut_short = {name: _cut(value) for name, value in said.items()}
    source = ended.holdings.pool.read({**said, "url": url})
    if said.get("error") or not (source.text or source.title):
        return cut_short
    (sid,) = ended.holdings.pool.add((_bounded(source),))
    return {"sid": sid, **cut_short}


def _cut(value: Any) -> Any:
    return shown(value, PAGE_TEXT) if isinstance(value, str) else value


def _search_rows(given: Any) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", row) for row in plain(given) if isinstance(row, dict)]


def _left_out(count: int) -> list[Notice]:
    if count <= MOST_ROWS:
        return []
    words = f"the search found {count} rows; only the first {MOST_ROWS} are sources: ask for less"
    return [Notice(code="rows_left_out", message=words, details={"count": count - MOST_ROWS})]


def _row(source: Source) -> dict[str, Any]:
    """Return a row as the model reads it."""
    (row,) = msgspec.json.decode(rows_text((source,), ROW_TEXT))
    return row


def _bounded(source: Source) -> Source:
    """Return a source without secrets, small enough that many fit into one block."""
    meta = source.meta if len(json_text(source.meta)) <= _META else {}
    return Source(
        url=source.url,
        digest=source.digest,
        path=source.path[:_META],
        title=shown(source.title, _META),
        text=shown(source.text, SOURCE_TEXT),
        date=shown(source.date, _META),
        meta=without_secrets(meta),
    )


def _recorded(ended: EndedCall, emitted: Emitted) -> Emitted:
    """Return the blocks with the records of what is new in the pool."""
    records = tuple(_record(ended, text) for text in _texts(ended.holdings.pool.record()))
    return msgspec.structs.replace(emitted, records=(*emitted.records, *records))


def _record(ended: EndedCall, text: str) -> Block:
    return ended.stamp.block("timeline.sources", mime=JSON, text=text, author="timeline")


def _texts(record: str) -> list[str]:
    """Return the record, or its rows in several, where one block cannot hold them."""
    if not record:
        return []
    if len(record) * 2 <= ROOM:
        return [record]
    groups: list[list[msgspec.Raw]] = [[]]
    size = 0
    # Rows are moved as raw JSON: decoding and encoding them again could change their bytes.
    for row in msgspec.json.decode(record, type=list[msgspec.Raw]):
        if size + len(bytes(row)) > ROOM // 2:
            groups.append([])
            size = 0
        groups[-1].append(row)
        size += len(bytes(row))
    return [msgspec.json.encode(group).decode() for group in groups if group]


# --- A file that a tool wrote (`react.write`, `rendering_tools.write_*`): digest, then content ---
#
# The path comes from the checked call, never from the tool's output, which could name any file. The
# file is checked at that place: one that is missing, empty, or not what its name says is an error
# of the result, and then there is no content and nothing is kept.

PATH_REWRITTEN = "protocol_violation.path_rewritten"
HOSTING_FAILED = "react.write.hosting_failed"

_CHANNELS = ("canvas", "timeline_text", "internal")


class _Manner(msgspec.Struct, frozen=True):
    """The display of a kind of tool's file; `not_kept` is the code where it cannot be kept."""

    fields: dict[str, Any]
    binary: Binary
    not_kept: str


def write_results(ended: EndedCall) -> Emitted:
    """Return the result of `react.write`."""
    channel = ended.param("channel")
    channel = channel if channel in _CHANNELS else "canvas"
    fields = {
        "kind": "file" if ended.param("kind") == "file" else "display",
        "visibility": "internal" if channel == "internal" else "external",
        "channel": channel,
        "edited": ended.answer.get("edited") is True,
    }
    return _results(ended, _Manner(fields, "empty", HOSTING_FAILED))


def rendering_results(ended: EndedCall) -> Emitted:
    """Return the result of a rendering tool: only PDF and images have a content."""
    return _results(ended, _Manner({"kind": "file", "visibility": "external"}, "none", "not_kept"))


def target_of(text: str, stamp: Stamp) -> WrittenPath | Failure:
    """Return the place of a file that a call names; or why there is none."""
    try:
        return written_path(text, stamp.turn, stamp.turns)
    except BadPath as error:
        return Failure(code=error.code, message=str(error))


def file_fault(path: FilePath, written: WrittenFile) -> Failure:
    """Return the fault of a written file, with its path."""
    assert written.error is not None
    return Failure(
        code=written.error.code,
        message=written.error.message,
        where=written.error.where or str(path),
        details=written.error.details,
    )


def _results(ended: EndedCall, manner: _Manner) -> Emitted:
    target = target_of(ended.param("path"), ended.stamp)
    if isinstance(target, Failure):
        return failed(ended, ended.outcome.error or target, **manner.fields)
    emitted = _file(ended, target.path, manner)
    told = (*rewritten(ended, ended.param("path"), target), *emitted.notices)
    return msgspec.structs.replace(emitted, notices=told)


def _file(ended: EndedCall, path: FilePath, manner: _Manner) -> Emitted:
    """Return the file, or its fault."""
    if not ended.has_run and ended.outcome.error is not None:
        # A file that is there was not written by this call.
        return failed(ended, ended.outcome.error, **manner.fields)
    fields = {**manner.fields, "artifact_path": str(path), "physical_path": path.physical}
    if ended.outcome.error is not None:
        return failed(ended, ended.outcome.error, **fields)
    content = ended.holdings.read(path)
    written = check_written(path.name, content)
    if content is None:
        emitted = failed(ended, file_fault(path, written), **fields)
        told = (*_missing(path, manner), *emitted.notices)
        return msgspec.structs.replace(emitted, notices=told)
    if written.error is not None:
        fields |= {"mime": written.mime, "size_bytes": written.size}
        return failed(ended, file_fault(path, written), **fields)
    return _shown(ended, path, content, written, manner)


def _shown(
    ended: EndedCall, path: FilePath, content: bytes, written: WrittenFile, manner: _Manner
) -> Emitted:
    """Return a valid file: kept, with its digest and its content."""
    told: tuple[Notice, ...] = ()
    file = ended.holdings.keep(path, content, written.mime)
    if isinstance(file, Notice):
        # The file exists and is shown, although no copy of it could be kept.
        told = (msgspec.structs.replace(file, code=manner.not_kept),)
        file = TurnFile(path=path, content=content, mime=written.mime)
    fields = {
        **manner.fields,
        "write_warning": written.warning,
        "sources_used": _cited(ended, file),
    }
    blocks = file_blocks(
        ended.stamp, file, tokens=ended.holdings.tokens, fields=fields, binary=manner.binary
    )
    return Emitted(
        notices=(*told, *left_out(file)), results=tuple(blocks), shown=frozenset((file.digest,))
    )


def rewritten(ended: EndedCall, original: str, target: WrittenPath) -> tuple[Notice, ...]:
    """Return the notice of a rewritten path; a tool may have given it itself."""
    told = (n.details.get("original") for n in ended.outcome.notices if n.code == PATH_REWRITTEN)
    if not target.rewritten or original in told:
        return ()
    normalized = target.path.physical
    words = f"files of this turn are written to {normalized}; give that path, or a bare name"
    details = {"original": original, "normalized": normalized}
    return (Notice(code=PATH_REWRITTEN, message=words, details=details),)


def _missing(path: FilePath, manner: _Manner) -> tuple[Notice, ...]:
    """Return the notice that a missing file cannot be hosted, which `react.write` gives as well."""
    if manner.not_kept != HOSTING_FAILED:
        return ()
    words = f"{path} is not there, so it could not be kept"
    return (Notice(code=HOSTING_FAILED, message=words, details={"path": str(path)}),)


def _cited(ended: EndedCall, file: TurnFile) -> list[int]:
    """Return the sources that the file cites; for a binary, those of the text it was made from.

    That may be another file, which only the tool has read.
    """
    known = ended.holdings.pool.sids
    text = file.text if file.text is not None else ended.param("content")
    told = ended.answer.get("sources_used") if file.text is None else None
    said = cast("list[object]", told) if isinstance(told, list) else []
    return cited(text, known) or sorted(sid for sid in known if sid in said)


# --- The result of code: a report, then digest and content of each file that it made ---
#
#     Runtime error: execution_failed — Missing output files: turn_1/files/report.xlsx
#     File errors:
#     - turn_1/files/report.xlsx: file not produced
#     Succeeded:
#     - turn_1/files/summary.pdf
#
# The call's `contract` lists the expected files: `[{filename, description, mime?}]`. An empty list
# is left out of the report. All errors are in the report: there are no notices of errors. Code that
# did not run made no file, whatever stands at the paths of its contract. A tool that knows what it
# made declares it in its output, by paths on disk: `{"produced": ["turn_1/files/a.md"], "problems":
# {"turn_1/files/b.md": "…"}}`. Then no other file counts, also not one that was there before.

# The most bytes shown of a text file.
EMBEDDED = 20_000

_NAME = 300
_CODE = 100
_LINE = 1_000
# The most files that the report lists.
_ROWS = 100

_DESCRIPTION = 2_000
_OUTPUT = 100_000
_PROMISE = 'write [{"filename": "report.md", "description": "…"}]'
_NOT_PRODUCED = "file not produced"
_FAULTS = {"file_not_found": _NOT_PRODUCED, "empty_file": "file is empty"}
# The code of a contract that was refused before anything ran.
_NO_CONTRACT = "unsafe_path"


class _Expected(msgspec.Struct, frozen=True):
    filename: str
    description: str = ""
    mime: str = ""


class _Produced(msgspec.Struct, frozen=True):
    file: TurnFile
    fields: dict[str, Any]


class _FileFault(msgspec.Struct, frozen=True):
    where: str
    problem: str


def exec_results(ended: EndedCall) -> Emitted:
    """Return the report, and the files that were made."""
    notices: list[Notice] = []
    found = _found(ended, notices)
    faults = [one for one in found.values() if isinstance(one, _FileFault)]
    produced = [one for one in found.values() if isinstance(one, _Produced)]
    report = _report(ended, faults, produced)
    results = [_report_block(ended, report)]
    for one in produced:
        results += _blocks(ended, one)
        notices += left_out(one.file)
    return Emitted(
        notices=tuple(notices),
        results=tuple(results),
        shown=frozenset(one.file.digest for one in produced),
    )


def _found(ended: EndedCall, notices: list[Notice]) -> dict[str, _Produced | _FileFault]:
    """Return each file of the contract once, by its expected place."""
    found: dict[str, _Produced | _FileFault] = {}
    for expected in _contract(ended.call.input.get("contract")):
        if isinstance(expected, _FileFault):
            found.setdefault(expected.where, expected)
            continue
        target = target_of(expected.filename, ended.stamp)
        if isinstance(target, Failure):
            name = brief(whole(expected.filename), _NAME)
            found.setdefault(name, _FileFault(name, "is no name of a file of this turn"))
            continue
        notices += rewritten(ended, expected.filename, target)
        if target.path.physical not in found:
            found[target.path.physical] = _look(ended, target.path, expected, notices)
    return found


def _contract(given: Any) -> list[_Expected | _FileFault]:
    """Return the promised files of a call, and the invalid entries."""
    if given is None:
        return []
    if not isinstance(given, list | tuple):
        return [_FileFault("contract", f"is no list of files; {_PROMISE}")]
    return [_expected(at, one) for at, one in enumerate(cast("list[Any]", given))]


def _expected(at: int, given: Any) -> _Expected | _FileFault:
    if isinstance(given, str):
        given = {"filename": given}
    entry = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else {})
    name, description, mime = (entry.get(key) for key in ("filename", "description", "mime"))
    if not isinstance(name, str) or not name.strip():
        return _FileFault(f"contract[{at}]", f"promises no file; {_PROMISE}")
    told = shown(description, _DESCRIPTION) if isinstance(description, str) else ""
    return _Expected(name, told, mime.strip().lower() if isinstance(mime, str) else "")


def _look(
    ended: EndedCall, path: FilePath, expected: _Expected, notices: list[Notice]
) -> _Produced | _FileFault:
    if fault := _not_made(ended, path):
        return fault
    content = ended.holdings.read(path)
    written = check_written(path.name, content)
    if content is None or written.error is not None:
        code = "file_not_found" if written.error is None else written.error.code
        problem = "" if written.error is None else written.error.message
        return _FileFault(path.physical, _FAULTS.get(code, problem))
    if fault := fault_in(expected.mime, content):
        return _FileFault(path.physical, f"is no {expected.mime}: {fault}")
    kept = ended.holdings.keep(path, content, written.mime)
    if isinstance(kept, Notice):
        notices.append(kept)
        kept = TurnFile(path=path, content=content, mime=written.mime)
    fields = {"description": expected.description, "write_warning": written.warning}
    return _Produced(kept, fields)


def _not_made(ended: EndedCall, path: FilePath) -> _FileFault | None:
    """Return why a file is not of this call, whatever stands at its path."""
    error = ended.outcome.error
    if not ended.has_run or (error is not None and error.code == _NO_CONTRACT):
        return _FileFault(path.physical, _NOT_PRODUCED)
    given = whole_output(ended)
    answer = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else {})
    produced: Any = answer.get("produced")
    # Without a declaration any file at the path counts; with one, only the declared files do.
    if not isinstance(produced, list) or path.physical in cast("list[Any]", produced):
        return None
    problems: Any = answer.get("problems")
    known = cast("Mapping[str, Any]", problems if isinstance(problems, Mapping) else {})
    told: Any = known.get(path.physical)
    return _FileFault(path.physical, told if isinstance(told, str) and told else _NOT_PRODUCED)


def _report(ended: EndedCall, faults: list[_FileFault], produced: list[_Produced]) -> str:
    lines = [_runtime_error(ended.stamp, ended.outcome.error)]
    if faults:
        lines += ["File errors:", *_rows(f"{fault.where}: {fault.problem}" for fault in faults)]
    if produced:
        lines += ["Succeeded:", *_rows(one.file.path.physical for one in produced)]
    return "\n".join(map(_line, lines))


def _rows(told: Iterable[str]) -> list[str]:
    rows = [f"- {one}" for one in told]
    more = len(rows) - _ROWS
    return [*rows[:_ROWS], f"- … and {more} more"] if more > 0 else rows


def _line(text: str) -> str:
    """Return a message as one line: a message with line breaks could forge lines of the report."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"


def _runtime_error(stamp: Stamp, error: Failure | None) -> str:
    if error is None:
        return "Runtime error: none"
    payload = error_payload(stamp, error)
    code = "_".join(payload["code"][:_CODE].split())
    # "none" is the word for a run without a failure, so no failure may be called that.
    return f"Runtime error: {code if code not in ('', 'none') else 'error'} — {payload['message']}"


def _report_block(ended: EndedCall, report: str) -> Block:
    """Return the report; what the code printed is not for the model here, and stays in the meta."""
    output = plain(ended.outcome.output)
    printed = output is not None and len(json_text(output)) <= _OUTPUT
    meta = {"output": without_secrets(output)} if printed else {}
    return ended.stamp.result("report", shown(report), mime="text/markdown", **meta)


def _blocks(ended: EndedCall, one: _Produced) -> list[Block]:
    return file_blocks(
        ended.stamp,
        one.file,
        tokens=ended.holdings.tokens,
        fields=one.fields,
        binary="empty",
        text_limit=EMBEDDED,
    )
