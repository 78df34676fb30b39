"""One unit of a job: read its records, count what they hold, and write them converted.

`run_unit` is all that a process pool or a cluster calls. The job and the unit are JSON, so that
nothing has to be unpickled from elsewhere; the result lies in the output place under the unit's
name, the part first and its tally last. A unit whose tally is there is done, and doing it again
gives equal bytes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

import msgspec

from callblocks.bulk.records import STATE, Slot, Unit, convert_groups, encode_line, lines, slots
from callblocks.bulk.storage import RangeFile, Storage, open_storage
from callblocks.bulk.tally import MAX_SAMPLES, Tally, count
from callblocks.core.calls import Call
from callblocks.core.events import CallReady, Malformed, Problem
from callblocks.core.specs import ToolSpec
from callblocks.dialects import dialects
from callblocks.parser import Parser
from callblocks.parsing.conversion import conversion
from callblocks.parsing.dialect import Parsed
from callblocks.parsing.limits import Limits
from callblocks.parsing.values.tolerant_json import Tolerant, Unrepairable
from callblocks.policy.policy import parse_policy
from callblocks.policy.rules import gather
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool, Traits

__all__ = ("BulkJob", "ToolNote", "part_name", "run_unit", "tally_name")

# Problems of calls that a strict reader takes as well.
_NO_REPAIR = frozenset(
    (
        *("duplicate-id", "positional-arguments", "unbound-arguments", "mistyped-argument"),
        *("unlikely-key", "empty-calls", "too-many-calls"),
    )
)
_NO_LIMIT = 1 << 62


class ToolNote(msgspec.Struct, frozen=True):
    """What a unit has to know of a tool: its specification, and what a policy asks for."""

    spec: ToolSpec
    traits: Traits = Traits()
    needs_approval: bool = False


class BulkJob(msgspec.Struct, frozen=True, kw_only=True):
    """The work on each text. `target` is "" where nothing is written."""

    target: str = ""
    source: tuple[str, ...] = ("auto",)
    model: str = ""
    reasoning: tuple[tuple[str, str], ...] = ()
    tools: tuple[ToolNote, ...] = ()
    keep: bool = False
    field: str = ""
    policy: str = ""
    """The text of a policy file."""


def part_name(unit: Unit) -> str:
    """Return the name of what a unit has converted."""
    return f"{STATE}/{unit.id}.part"


def tally_name(unit: Unit) -> str:
    """Return the name of what a unit has counted."""
    return f"{STATE}/{unit.id}.json"


def run_unit(job: bytes, unit: bytes, out: str) -> tuple[bytes, str]:
    """Do one unit, and leave it in `out`; return its tally as JSON, and the unit's id."""
    one, work = msgspec.json.decode(unit, type=Unit), _work(job)
    target = open_storage(out)
    tally, part = work.run(one, open_storage(one.place))
    if part is not None:
        target.write(part_name(one), part)
    content = msgspec.json.encode(tally)
    target.write(tally_name(one), content)
    return content, one.id


@lru_cache(maxsize=2)
def _work(job: bytes) -> _Work:
    return _Work(msgspec.json.decode(job, type=BulkJob))


class _Work:
    """A job, made ready once for each process."""

    def __init__(self, job: BulkJob) -> None:
        self._job = job
        self._source: str | list[str] = job.source[0] if len(job.source) == 1 else list(job.source)
        self._specs = tuple(note.spec for note in job.tools)
        # Parsing binds by the tools that were given; a policy also knows those that come with us.
        self._tools = _checked_tools(job.tools)
        self._policy = parse_policy(job.policy, "--policy") if job.policy else None

    def run(self, unit: Unit, storage: Storage) -> tuple[Tally, bytes | None]:
        """Return what a unit holds, and its records converted where the job converts."""
        made = _Counted(self, unit.name)
        made.tally.bytes = unit.size
        match unit.format:
            case "jsonl":
                part = self._lines(unit, storage, made)
            case "text":
                part = self._text(unit, storage, made)
            case "parquet":
                part = self._rows(unit, storage, made)
        return made.tally, part if self._job.target else None

    def _lines(self, unit: Unit, storage: Storage, made: _Counted) -> bytes:
        written: list[bytes] = []
        for line in lines(storage, unit.name, unit.start, unit.end, unit.file_size):
            made.at, record = f"{line.start}", None
            if line.content.strip():
                made.tally.records += 1
                record = _object(line.content, made)
            changed = record is not None and self.convert(record, made)
            if self._job.target:
                content = encode_line(record, line.content) if changed and record else line.content
                written.append(content)
        return b"".join(written)

    def _text(self, unit: Unit, storage: Storage, made: _Counted) -> bytes:
        content = storage.read(unit.name, 0, unit.file_size)
        made.tally.records += 1
        try:
            record: dict[str, Any] = {"text": content.decode()}
        except UnicodeDecodeError as error:
            made.at = str(error.start)
            made.fault("invalid-utf8")
            if self._job.target:
                return content
            record = {"text": content.decode(errors="replace")}
        return record["text"].encode() if self.convert(record, made) else content

    def _rows(self, unit: Unit, storage: Storage, made: _Counted) -> bytes:
        def convert(group: int, rows: list[dict[str, Any]]) -> bool:
            changed = False
            for number, row in enumerate(rows):
                made.at = f"group {group}, row {number}"
                made.tally.records += 1
                changed |= self.convert(row, made)
            return changed

        file, groups = RangeFile(storage, unit.name, unit.file_size), range(unit.start, unit.end)
        writes = bool(self._job.target)
        return convert_groups(file, unit.name, groups, self._job.field, convert, writes=writes)

    def convert(self, record: dict[str, Any], made: _Counted) -> bool:
        """Count a record, and convert its texts in place; return whether one has changed."""
        found, changed = slots(record, self._job.field), False
        made.begin_record(found)
        for slot in found:
            parser = Parser(
                self._source,
                tools=self._specs,
                model=self._job.model,
                reasoning=self._job.reasoning,
                limits=Limits(calls=_NO_LIMIT),
            )
            parsed = Parsed(parser.feed(slot.text) + parser.close())
            made.text(slot, parsed)
            if self._job.target and slot.holder is not None:
                changed |= self._convert_text(slot, parsed, made)
        made.end_record()
        return changed

    def _convert_text(self, slot: Slot, parsed: Parsed, made: _Counted) -> bool:
        target, tools, reasoning = dialects[self._job.target], self._specs, self._job.reasoning
        new = conversion(parsed, slot.text, target, tools, reasoning)
        faults = [one.what for one in new.unsaid if one.is_fault]
        for what in faults:
            count(made.tally.kept, what.partition(":")[0])
            made.sample("not-converted")
        if new.text is None or (faults and not self._job.keep) or new.text == slot.text:
            return False
        slot.put(new.text)
        made.tally.converted += 1
        return True

    def judge(self, call: Call, tally: Tally) -> None:
        """Count whether a call's tool is known, its input fits, and the policy's verdict."""
        tool = self._tools.get(call.name)
        if tool is None:
            if self._tools:
                count(tally.unknown, call.name)
            if self._policy is not None:
                count(tally.verdicts, "no such tool")
            return
        checked = tool.check(call.input)
        if checked.faults:
            count(tally.unfit, call.name)
        if self._policy is None:
            return
        if checked.faults or not call.ended:
            count(tally.verdicts, "input does not fit")
            return
        given = call.input if checked.input is None else checked.input
        decision = self._policy.decide(gather(tool, given, resolve=lexical, person=True))
        count(tally.verdicts, decision.verdict)
        count(tally.rules, decision.reason)


class _Counted:
    """The counting of one unit. `at` is the place of the record that is read."""

    def __init__(self, work: _Work, name: str) -> None:
        self.tally = Tally()
        self.at = ""
        self._work = work
        self._name = name
        self._before: tuple[set[str], str] | None = None
        """The names called in the text before, and the dialect whose strict reader got all."""

    def fault(self, code: str) -> None:
        count(self.tally.faulty, code)
        self.sample(code)

    def sample(self, code: str) -> None:
        """Note the place of something, if few of its kind are noted."""
        known = self.tally.samples.setdefault(code, [])
        place = f"{self._name}:{self.at}" if self.at else self._name
        if len(known) < MAX_SAMPLES and place not in known:
            known.append(place)

    def begin_record(self, found: Sequence[Slot]) -> None:
        self.tally.without_text += not found
        self._before = None

    def end_record(self) -> None:
        self._before = None

    def text(self, slot: Slot, parsed: Parsed) -> None:
        """Count what stands in one text."""
        tally, calls = self.tally, parsed.calls
        tally.texts += slot.holder is not None
        tally.chars += len(slot.text)
        whole = self._calls(parsed)
        self._native(slot, len(calls))
        names = {call.name for call in calls}
        if self._before is not None and names & self._before[0]:
            tally.repeats += 1
            if self._before[1]:
                count(tally.read_repeats, self._before[1])
        self._before = (names, whole) if names else None
        count_per_text = min(len(calls), 10)
        tally.per_text[count_per_text] = tally.per_text.get(count_per_text, 0) + 1
        if calls:
            tally.with_calls += 1
            tally.called_chars += len(slot.text)
        if whole:
            count(tally.read_whole, whole)
            count(tally.read_chars, whole, len(slot.text))
        tally.broken_texts += any(isinstance(event, Malformed) for event in parsed.events)

    def _calls(self, parsed: Parsed) -> str:
        """Count the calls of a text; return the dialect whose strict reader gets all, or ""."""
        tally, mended = self.tally, set[int]()
        for event in parsed.events:
            if isinstance(event, Problem):
                count(tally.problems, event.code)
                self.sample(event.code)
                if event.index is not None and event.code not in _NO_REPAIR:
                    mended.add(event.index)
            elif isinstance(event, Malformed):
                count(tally.malformed, event.code)
                self.sample(event.code)
        readers = set[str]()
        for event in parsed.events:
            if not isinstance(event, CallReady):
                continue
            call, is_clean = event.call, event.index not in mended and event.call.ended
            count(tally.calls, call.dialect)
            count(tally.tools, call.name)
            tally.unended += not call.ended
            tally.repaired += event.index in mended
            if is_clean:
                count(tally.clean, call.dialect)
            readers.add(call.dialect if is_clean else "")
            self._work.judge(call, tally)
        return readers.pop() if len(readers) == 1 else ""

    def _native(self, slot: Slot, in_text: int) -> None:
        """Count the native calls of a message, and text calls where it has none."""
        arguments = list(_native_arguments(slot.message))
        if not arguments:
            is_message = "role" in slot.message or "from" in slot.message
            self.tally.in_content += in_text if is_message else 0
        # The calls of a message of several parts count once.
        for given in arguments if slot.is_first else ():
            self.tally.native += 1
            if isinstance(given, dict) or _is_object(given):
                continue
            self.tally.native_faults += 1
            self.tally.native_mended += _can_be_mended(given)
            self.sample("native-arguments")


def _native_arguments(message: dict[str, Any]) -> Iterator[Any]:
    """Yield the arguments of OpenAI's `tool_calls` and of Anthropic's `tool_use` parts."""
    for call in _dicts(message.get("tool_calls")):
        function = call.get("function")
        yield (cast("dict[str, Any]", function) if isinstance(function, dict) else call).get(
            "arguments"
        )
    for part in _dicts(message.get("content")):
        if part.get("type") == "tool_use":
            yield part.get("input")


def _dicts(value: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [one for one in items if isinstance(one, dict)]


def _is_object(text: Any) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, TypeError, RecursionError, UnicodeError):
        return False


def _can_be_mended(text: Any) -> bool:
    if not isinstance(text, str):
        return False
    try:
        value, _ = Tolerant(text, ended=True, max_depth=100).read(0)
    except (Unrepairable, RecursionError):
        return False
    return isinstance(value, dict)


def _object(line: bytes, made: _Counted) -> dict[str, Any] | None:
    """Return the record of a line; count one that is none."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        made.fault("not-json")
        return None
    if isinstance(record, dict):
        return cast("dict[str, Any]", record)
    made.fault("not-an-object")
    return None


def _checked_tools(notes: Sequence[ToolNote]) -> dict[str, Tool]:
    """Return the tools as a policy judges them; they cannot run here."""
    known = Registry.from_json([note.spec for note in notes])
    return {
        note.spec.name: msgspec.structs.replace(
            known[note.spec.name], traits=note.traits, needs_approval=note.needs_approval
        )
        for note in notes
    }


def lexical(path: str) -> str | None:
    """Return a path below the workspace by its text alone, or `None` for one that leaves it.

    Links are not followed: the workspace of these calls is not here.
    """
    if "\0" in path or path.startswith("~"):
        return None
    found = posixpath.normpath(path.replace("\\", "/"))
    return None if found.startswith("/") or found.split("/")[0] == ".." else found
