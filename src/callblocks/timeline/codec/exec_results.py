"""The result of code: a report, then digest and content of each file that it made.

    Runtime error: execution_failed — Missing output files: turn_1/files/report.xlsx
    File errors:
    - turn_1/files/report.xlsx: file not produced
    Succeeded:
    - turn_1/files/summary.pdf

The call's `contract` lists the expected files: `[{filename, description, mime?}]`. An empty list is
left out of the report. All errors are in the report: there are no notices of errors. Code that did
not run made no file, whatever stands at the paths of its contract. A tool that knows what it made
declares it in its output, by paths on disk: `{"produced": ["turn_1/files/a.md"], "problems":
{"turn_1/files/b.md": "…"}}`. Then no other file counts, also not one that was there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from callblocks.core.blocks import Block
from callblocks.core.json_values import json_text, plain, whole
from callblocks.core.outcomes import Failure, Notice
from callblocks.core.paths import FilePath
from callblocks.core.redaction import without_secrets
from callblocks.core.text import brief
from callblocks.timeline.artifacts.validate import check_written, fault_in
from callblocks.timeline.codec.call_stamp import Stamp, error_payload, shown
from callblocks.timeline.codec.ended_call import Emitted, EndedCall, left_out, whole_output
from callblocks.timeline.codec.file_blocks import TurnFile, file_blocks
from callblocks.timeline.codec.file_results import rewritten, target_of

__all__ = ("EMBEDDED", "exec_results")

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
