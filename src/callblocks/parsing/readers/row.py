"""The reader of a row of call objects: one object, an array, or lines, up to a closing marker.

Loop: read an object (`CallObject`), read its tail (`_tail`), emit the call (`_finish`). The tail is
everything between two objects, or between the last one and the end of the row.

Invariants
    - A call is emitted only when its tail is known, so the last call owns the closing marker.
    - `_end` is the offset up to which the current call owns the text. Text behind it that turns out
      not to belong to the row is returned by `_stop`.
    - Each element is judged alone. A fault between two elements (a missing or surplus comma, a
      brace, a few words) is a repair of the call before it.
    - At the first element that is no JSON the loop ends (`_break_off`): the rest of the row is
      collected up to its end, and `repair.mend` reads it as a whole. An element that
      cannot be repaired is malformed, and its neighbours are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, cast

from callblocks.core.calls import Span
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.ids import read_id
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading, Search
from callblocks.parsing.readers.announce import Telling
from callblocks.parsing.readers.call_keys import Heads, Keys, Parts, extra_of, resolve
from callblocks.parsing.repair import Brackets, Broken, Mended, mend, read_mended
from callblocks.parsing.values.strict_json import JsonScan, ScanState, read_json, read_json_at

__all__ = (
    "CallObject",
    "CallRow",
    "RowReader",
)

# --- The description of a row of call objects: one object, an array, or lines ---
#
# `Row` is data only; `RowReader` reads it. A dialect sets the fields that differ.

# Text without meaning that models put between calls: a word, a comment, a list mark.
_STRAY = r"[^{}\[\]<]{1,40}"
_STRAY_VALUE = r"[^{}\[\]<,]{1,40}"
_GAP = "[ \\t\\r\\n]{0,20}"
# A list where a call should stand. It holds no call: an object in it would be one.
_STRAY_LIST = (r"\[", r"[^{}\[\]<]{0,40}", r"\]")
_IN_ARRAY = Markers(
    Shape((_STRAY, r"(?=[{\]])")), Shape((*_STRAY_LIST, r"[^{}\[\]<]{0,20}", r"(?=[{\]])"))
)
_NESTED = Markers(Shape((r"\[", _GAP, r"(?=\{)")))


@dataclass(frozen=True)
class CallRow:
    """The syntax of a row.

    keys            the keys of a call object
    opening         markers that begin the next row
    closing         markers that end the row
    separators      characters that may stand between objects outside of an array
    many            objects may follow each other without a separator
    trailing        markers that may follow the row and belong to it
    silent          names that call nothing
    natural         repairs that are not reported, because the grammar is not quite JSON
    repairs         repairs that each call of the row needed
    as_text         arguments are strings that hold JSON
    sure            the markers alone make it a row; otherwise its objects need a name and arguments
    only_known      if tools are declared, the name must be one of them
    tools_suffice   the name of a declared tool makes an object a call, whatever its arguments are
    may_lack_input  an object without arguments calls a tool that requires none
    early           a call starts with its arguments; the caller can still discard its events
    mends           an object that is no JSON is repaired even if the row is not `sure`
    general         codes of problems are general ones, because no dialect owns the row
    """

    keys: Keys
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    separators: str = ",;"
    many: bool = True
    trailing: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    natural: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    as_text: bool = False
    sure: bool = True
    only_known: bool = False
    tools_suffice: bool = False
    may_lack_input: bool = False
    early: bool = False
    mends: bool = False
    general: bool = False

    @cached_property
    def heads(self) -> Heads:
        """Patterns for the usual beginnings of objects."""
        return self.keys.heads()

    @cached_property
    def closers(self) -> Markers:
        """The markers that end the row."""
        return Markers(*self.closing)

    @cached_property
    def usual_end(self) -> Markers | None:
        """Markers for all that usually follows the arguments of the only object of a row."""
        if self.trailing or self.heads.id_after or not self.is_closed:
            return None
        braces = (_GAP, r"\}") * (1 + self.keys.wrapped)
        return Markers(*(Shape((*braces, _GAP, *map(re.escape, one))) for one in self.closing))

    @cached_property
    def trailers(self) -> Markers:
        """The markers that may follow the row."""
        return Markers(*self.trailing)

    @cached_property
    def strays(self) -> Markers:
        """Markers for stray text between two calls; the next call confirms it."""
        between = Shape((_STRAY, r"\{", _GAP, '"'))
        return Markers(between) if self.sure and self.is_closed else Markers()

    @cached_property
    def first_strays(self) -> Markers:
        """Return markers for what is no call before the first object, with its comma."""
        values = ((_STRAY_VALUE,), _STRAY_LIST, ())
        rows = [*((*one, _GAP, ",") for one in values), ("//", r"[^\n]{0,100}", "\n")]
        is_certain = self.sure or self.tools_suffice
        return Markers(*(Shape((*one, _GAP, r"(?=\{)")) for one in rows if is_certain))

    @cached_property
    def stray_ends(self) -> Markers:
        """Markers for stray text between the last call and the marker that ends the row."""
        markers = self.closing if self.sure and self.is_closed else ()
        return Markers(*(Shape((_STRAY, *map(re.escape, one))) for one in markers))

    @cached_property
    def is_closed(self) -> bool:
        """True if a marker closes the row; a bracket is none, since it may stand anywhere."""
        return any(one.strip("}]") for one in self.closing)

    @cached_property
    def ends(self) -> Markers:
        """The markers that end a row with broken JSON."""
        tokens = (one for one in self.trailing if one.startswith("<|"))
        return Markers(*(self.closing if self.is_closed else ()), *self.opening, *tokens)


# --- One call object while it arrives: `{"name": "ls", "arguments": {"path": "."}}` ---
#
# The members are read one by one, so the name is known as soon as its string closes, and the
# arguments are emitted while they arrive. Members may stand in any order: arguments before the name
# are held back until the name is known.
#
# Two paths: most objects begin in the same way, and `_quick` consumes `{"name": "ls", "arguments":
# ` with two markers. Everything else goes member by member (`_any`). Both record their keys in
# `_seen`, by which duplicates are found.

# The value of arguments that were not read yet.
_UNREAD = object()
# The character that ends arguments, by the one that begins them.
_CLOSING = {"{": "}", '"': '"'}
# The keys under which models write a name, beside those of the dialect.
_NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action")
# The length up to which arguments wait for their end.
_SHORT = 64
# A short string without escapes, as most keys and ids are: one match instead of a scan.
_PLAIN = Markers(Shape(('"', r'[^"\\\x00-\x1f]{0,64}', '"')))


@cache
def _one_more_brace(braces: int) -> Search:
    """Return a search that waits in text with so many closing braces until there is one more.

    It is decided with a group (see `parse_state.Hit`), also if the text becomes too long to wait.
    """
    few = rf"(?:[^}}]*+\}}){{{braces}}}[^}}]*+\Z"
    return re.compile(rf"(?=[\s\S]{{0,{_SHORT - 1}}}\Z){few}|()").match


class CallObject:
    """A reader of one call object, and the members that were read so far.

    `any_name`: the name need not be a declared tool's. `silent`: names that call nothing. `keyed`:
    the only key may be the name of a declared tool.

    `is_answer`: a key shows that it is data, or describes a tool. `is_closed`: the marker that
    closes the row was consumed, too, for `end` matched.

    `name_key`: the key of the name, if it is none of the dialect's.

    Of a duplicate key the last value counts, which is a repair. A second name that differs from the
    emitted one sets `renamed`: the call is then bad, because an event cannot be revoked.
    """

    name = name_key = ""
    id: str | None = None
    input: Span | None = None
    written = ""
    started = False
    meant = False
    is_answer = False
    is_closed = False
    too_deep = False
    renamed = False
    _name_key = _input_key = ""
    _empty = False
    _value_read: Any = _UNREAD

    def __init__(
        self,
        block: Block,
        row: CallRow,
        end: Markers | None,
        silent: tuple[str, ...],
        *,
        any_name: bool,
    ) -> None:
        self.block = block
        self.row = row
        self.end = end
        self.keys = row.keys
        self.sure = row.sure
        self.silent = silent
        self.any_name = any_name
        self.start = block.scan.base + block.scan.pos
        self.repairs: dict[str, None] = {}
        self._others: dict[str, Any] = {}
        self._seen: set[tuple[int, str]] = set()

    @property
    def keyed(self) -> bool:
        """True if the only key may be the name of a declared tool."""
        return self.sure or (self.row.tools_suffice and not self.keys.deep)

    def read(self, level: int = 0) -> Reading[bool]:
        """Read the object at the current offset; return whether it is complete."""
        if level == 0 and (head := (yield from self.block.match(self.row.heads.begin))):
            going = yield from self._quick(head)
        else:
            going = yield from self._first(level)
        if self.is_closed:
            return True
        return (yield from self._rest(level)) if going else self._empty

    def _rest(self, level: int) -> Reading[bool]:
        """Read the members behind the first one, up to the closing brace."""
        going, id_after = True, self.row.heads.id_after
        if id_after is not None and level == 0 and (0, self.keys.id) not in self._seen:
            member = yield from self.block.match(id_after)
            if member:
                self._seen.add((0, self.keys.id))
                self.id = read_id(member[member.rindex('"', 0, -1) + 1 : -1])
        while going:
            char = yield from self.block.peek()
            if char not in (",", "}"):
                return False
            self.block.step()
            if char == "}":
                return True
            going = yield from self._any(level)
        return False

    def _first(self, level: int) -> Reading[bool]:
        """Read up to the end of the first member, or the whole of an empty object."""
        self.block.step()
        self._empty = (yield from self.block.peek()) == "}"
        if self._empty:
            self.block.step()
            return False
        return (yield from self._any(level))

    def _quick(self, head: str) -> Reading[bool]:
        """Read a usual object behind its name; return whether to go on, as `_first` does."""
        block, keys, heads = self.block, self.keys, self.row.heads
        if heads.has_id:
            self.id = read_id(head.split('"', 4)[3])
        self.name = head[head.rindex('"', 0, -1) + 1 : -1]
        self._name_key = keys.name[0]
        self._seen |= heads.seen
        if not (self.sure or self._is_known or self.name in self.silent):
            return False
        if self.sure and self.name not in self.silent:
            self.started = True
            block.started(self.name, self.id, id_later=bool(keys.id))
        level, going = int(keys.wrapped), True
        if (yield from block.match(heads.then)):
            self._seen.add((level, keys.input[0]))
            self._input_key = keys.input[0]
            going = yield from self._input(block.scan.text[block.scan.pos])
            end = self.end
            if going and end is not None and (yield from block.match(end)):
                self.is_closed = True
                return True
        return going and (not level or (yield from self._rest(level)))

    def _any(self, level: int) -> Reading[bool]:
        """Read a member; return whether it is complete."""
        if (yield from self.block.peek()) != '"':
            return False
        key = yield from self._key(level)
        return key is not None and (yield from self._member(key, level))

    def parts(self) -> Parts | None:
        """Return the parts of the complete object; raise `ValueError` for bad arguments."""
        if not self.name:
            return self._keyed()
        value = self._value_read
        if value is _UNREAD:
            value = self._read(self.written) if self.input else None
        extra = extra_of(self._others) if self._others else {}
        return Parts(self.name, self.id, value, self.input, extra)

    def plain_input(self) -> dict[str, Any] | None:
        """Return the input of a started call with nothing unusual, an object; else None."""
        if not self.started or self.too_deep or self.repairs or self.renamed:
            return None
        value = self._value_read
        if value is _UNREAD:
            try:
                value = read_json(self.written, self.block.stage.limits.depth)
            except ValueError:
                return None
        return cast("dict[str, Any]", value) if type(value) is dict else None

    def _keyed(self) -> Parts | None:
        """Return the parts of an object without a name under its key, if they are certain."""
        others = extra_of(self._others)
        if not self.keyed or self.block.stage.strict:
            return None
        return self._named_otherwise(others) or self._named_by_key(others)

    def _named_otherwise(self, others: dict[str, Any]) -> Parts | None:
        """Return the parts of a call with its name under another key: `{"tool": "ls", …}`.

        The name must be that of a declared tool, or arguments must stand beside it.
        """
        keys = [key for key in _NAME_KEYS if isinstance(others.get(key), str)]
        name = others[keys[0]] if len(keys) == 1 else ""
        if not name or not (name in self.block.stage.tools or (self.sure and self.input)):
            return None
        self.repairs["repaired-name"] = None
        self.name_key = keys[0]
        value = self._value_read
        if value is _UNREAD:
            value = self._read(self.written) if self.input else None
        extra = {key: one for key, one in others.items() if key != keys[0]}
        return Parts(name, self.id, value, self.input, extra)

    def _named_by_key(self, others: dict[str, Any]) -> Parts | None:
        """Return the parts of an object whose only key is a declared tool: `{"ls": {"path": "."}}`.

        The value must be arguments of that tool.
        """
        stage = self.block.stage
        if len(others) != 1:
            return None
        ((name, value),) = others.items()
        tool = stage.tools.get(name)
        if tool is None or not isinstance(value, dict):
            return None
        keys = cast("dict[str, Any]", value).keys()
        if tool.properties and not keys <= tool.properties.keys():
            return None
        self.repairs["repaired-name"] = None
        return Parts(name, self.id, value, None, {})

    def _read(self, text: str) -> Any:
        """Return the value of strict JSON in which keys may be duplicate."""
        stage = self.block.stage
        value, repairs = read_mended(text, strict=stage.strict, depth=stage.limits.depth)
        self.repairs |= dict.fromkeys(repairs)
        return value

    @property
    def is_silent(self) -> bool:
        """True if the name calls nothing."""
        return self.name in self.silent

    @property
    def _is_known(self) -> bool:
        """True if the name may be a tool's."""
        return self.any_name or self.name in self.block.stage.tools

    @property
    def _may_be_called(self) -> bool:
        """True if reading goes on: without a marker an undeclared name makes no call."""
        return self.sure or self._is_known or self.is_silent

    def begin(self) -> None:
        """Emit the start of the call, and arguments that were held back, once."""
        if self.started:
            return
        self.started = True
        start, end = self.input or (None, None)
        self.block.started(self.name, self.id, id_later=bool(self.keys.id), end=start)
        if end is not None:
            self.block.input(self.written, end=end)

    def _key(self, level: int) -> Reading[str | None]:
        raw, whole = yield from self._value()
        if not whole or (yield from self.block.peek()) != ":":
            return None
        self.block.step()
        yield from self.block.peek()
        key = raw[1:-1] if "\\" not in raw else str(read_json(raw))
        if (level, key) in self._seen:
            if self.block.stage.strict:
                return None
            self.repairs["repaired-keys"] = None
        self._seen.add((level, key))
        return key

    def _member(self, key: str, level: int) -> Reading[bool]:
        keys, char = self.keys, (yield from self.block.peek())
        if keys.single and self.name in ("", key):
            return (yield from self._single(key))
        if not self.sure and self._is_answer(key, level):
            self.is_answer = True
            return False
        if key in keys.nested and char == "{" and not keys.single:
            return (yield from self.read(level + 1))
        if key in keys.input and not keys.single and self._input_key in ("", key):
            self._input_key = key
            return (yield from self._input(char))
        raw, whole = yield from self._value()
        return whole and self._note(key, raw)

    def _is_answer(self, key: str, level: int) -> bool:
        """Return whether a key shows that an unmarked object is data, or describes a tool.

        `{"city": …}` begins with no key of a call; `{"name": …, "description": …}` is a tool.
        """
        is_named = self.keyed and key in self.block.stage.tools
        is_first = level == 0 and not self.name and not is_named
        is_described = key == "description" and self.input is None
        return is_described or (is_first and key not in self.keys.known)

    def _single(self, key: str) -> Reading[bool]:
        if not key:
            return False
        self.name = key
        self.begin()
        return (yield from self._input(""))

    def _note(self, key: str, raw: str) -> bool:
        """Record a member that is not the input; return False if its name is no string."""
        try:
            value = self._read(raw)
        except ValueError:
            return False
        if key in self.keys.name and key == self._name_key:
            self.renamed = self.renamed or value != self.name
            return True
        if key in self.keys.name and not self.name:
            self.name, self._name_key = value if isinstance(value, str) else "", key
            if self.name and self.sure and not self.is_silent:
                self.begin()
            return bool(self.name) and self._may_be_called
        if key and key == self.keys.id:
            self.id = read_id(value)
        else:
            self._others[key] = value
        return True

    def _input(self, char: str) -> Reading[bool]:
        """Read the arguments; if the name is known, emit them while they arrive."""
        # Stream the arguments only if the object is certain to be a call by now: a known name, and
        # arguments of the right form. In a guessed dialect without a marker the call starts only
        # when the object is complete, unless its events can still be discarded (`early`).
        block = self.block
        start = block.scan.base + block.scan.pos
        opens = '{"' if self.row.as_text else "{"
        if self.name and char and char in opens and self._is_known and self.name not in self.silent:
            self.meant = True
            if not self.started and (self.row.early or block.stage.alone or block.opening.strip()):
                self.begin()
        if self.started:
            block.input("", end=start)
        if whole := (yield from self._short()):
            if self.started:
                block.input(whole)
            self.written, self.input = whole, (start, start + len(whole))
            return True
        raw, is_complete = yield from self._value(live=self.started)
        self.written, self.input = raw, (start, start + len(raw))
        return is_complete

    def _short(self) -> Reading[str]:
        """Consume the arguments if they have arrived, or soon will, and return them; else `""`.

        Most arguments are short. They wait until a brace ends them or `_SHORT` characters are
        there: to decode them at one go costs a fraction of scanning each piece.
        """
        stage, scan = self.block.stage, self.block.scan
        whole = self._whole()
        if whole or scan.text[scan.pos : scan.pos + 1] != "{":
            return whole
        while not whole and len(scan.text) - scan.pos < _SHORT and not scan.closed:
            stage.settle(_one_more_brace(scan.text.count("}", scan.pos)), None, None)
            yield
            whole = self._whole()
        return whole

    def _whole(self) -> str:
        """Consume the arguments if all of them have arrived, and return them; else return `""`.

        A decoder in C finds their end and reads them at once. What it refuses, what is nested deep,
        and what is not all there yet is left to the scan, which tells these apart.
        """
        block, scan = self.block, self.block.scan
        text, start = scan.text, scan.pos
        self._value_read = _UNREAD
        closing = _CLOSING.get(text[start : start + 1])
        if closing is None or text.find(closing, start + 1) < 0:
            return ""
        try:
            value, end = read_json_at(text, start)
        except ValueError:
            return ""
        depth = block.stage.limits.depth
        if text.count("{", start, end) + text.count("[", start, end) > depth:
            return ""
        self._value_read = value
        scan.pos, scan.fresh = end, False
        block.taken.append(whole := text[start:end])
        return whole

    def _value(self, *, live: bool = False) -> Reading[tuple[str, bool]]:
        """Return the text of the JSON value at the current offset, and whether it is complete."""
        if not live and (plain := (yield from self.block.match(_PLAIN))):
            return plain, True
        block = self.block
        mark, scan = len(block.taken), JsonScan(block.stage.limits.depth, exact=True)
        yield from block.consume(scan, live=live)
        self.too_deep = self.too_deep or scan.too_deep
        return "".join(block.taken[mark:]), scan.state is ScanState.STOPPED


# --- The reader of a row of call objects, up to a closing marker ---


class RowReader:
    """A reader of the row at the current offset."""

    _in_array = False
    _nested = False
    _confirmed = False
    _goes_on = False
    _ended = True
    _telling: Telling | None = None

    def __init__(self, block: Block, row: CallRow) -> None:
        self.block = block
        self.row = row
        self._end = block.start
        self._repairs: list[str] = []

    @property
    def telling(self) -> Telling:
        """The emitter of the calls; made at first use, for a usual call needs none."""
        found, row = self._telling, self.row
        if found is None:
            found = self._telling = Telling(
                self.block, as_text=row.as_text, id_later=bool(row.keys.id), general=row.general
            )
        return found

    @property
    def _has_told(self) -> bool:
        """True if a call of the row was emitted."""
        return self._telling is not None and self._telling.any

    @property
    def _is_row(self) -> bool:
        """True if the markers, or a call in this array, make all that follows its elements."""
        return self.row.sure or (self._in_array and self._has_told)

    def read(self, char: str = "") -> Reading[Refused | None]:
        """Emit the calls of the row, or refuse it; `char` is the next character, if known."""
        char = char or (yield from self.block.peek())
        if char == "[":
            self.block.step()
            self._in_array = True
            char = yield from self._skip_element((yield from self.block.peek()))
            if char != "{" and not self.row.is_closed:
                return self.block.refuse(expected="`{`")
        return (yield from self._objects(char))

    def _objects(self, char: str) -> Reading[Refused | None]:
        """Emit the calls from the object at the current offset on, or refuse the row."""
        more = True
        while more:
            call = self._object()
            if char != "{" or not (yield from call.read()):
                refused = yield from self._break_off(call)
                more, self._goes_on = self._goes_on, False
                if not more:
                    return refused
                char = "{"
                continue
            self._confirmed = self._confirmed or call.started or call.meant
            more = False
            if call.is_closed:
                if self._close_usual(call):
                    return None
            else:
                more = yield from self._tail()
            if not self._finish(call):
                return self._leave(call)
            char = "{"
        return self._stop()

    def _skip_element(self, char: str) -> Reading[str]:
        """Consume what is no call before the first object of an array; return the next character.

        It is stray text, and costs no object behind it. A row that a marker closes is read as a
        whole instead (`_break_off`). A second bracket begins a list in the list, with all calls.
        """
        block = self.block
        if char in ("{", "]", "") or block.stage.strict:
            return char
        if self.row.sure and (yield from block.stands(_NESTED)):
            block.step()
            self._nested = True
            self._repairs.append("repaired-list")
            return (yield from block.peek())
        if self.row.is_closed:
            return char
        text = yield from block.match(self.row.first_strays)
        if not text:
            return char
        self._note_stray(text)
        return "{"

    def _object(self) -> CallObject:
        """Return a reader for the object here; only the first of a row may be silent."""
        row, silent = self.row, () if self._has_told else self.row.silent
        end = None if self._in_array else row.usual_end
        return CallObject(self.block, row, end, silent, any_name=self._any_name)

    def _stop(self) -> None:
        if self._end < self.block.offset:
            self.block.give_back(self._end)

    def _leave(self, call: CallObject) -> Refused | None:
        """Return an object that is no call to the scanner; refuse if it is the first one."""
        if not self._has_told:
            expected, at = "an object that calls a tool", call.start
            return self.block.refuse(until=self.block.offset, expected=expected, at=at)
        self._end = call.start
        return self._stop()

    def _close_usual(self, call: CallObject) -> bool:
        """End the row with an object that `usual_end` closed; return whether it was emitted."""
        self._end, self._ended = self.block.offset, True
        self._repairs = [*self.row.repairs, *(() if self._has_told else self._repairs)]
        value = None if self._repairs or self._has_told else call.plain_input()
        if value is None:
            return False
        self.block.ready(value, size=len(call.written), id_=call.id)
        return True

    def _tail(self) -> Reading[bool]:
        """Read the tail of an object; return whether another object follows."""
        self._end, self._ended = self.block.offset, True
        self._repairs = [*self.row.repairs, *(() if self._has_told else self._repairs)]
        char = ""
        if self._in_array or self.row.many or self.row.closing or self.row.trailing:
            char = yield from self.block.peek()
        char, commas = yield from self._separators(char)
        if char == "{" and (commas or self._may_lack_comma):
            if commas > 1 or (self._in_array and not commas):
                self._repairs.append("repaired-commas")
            self._end = self.block.offset
            return True
        if commas:
            self._repairs.append("repaired-commas")
        if self._in_array:
            yield from self._close_array(char)
            char = ""
        yield from self._close(char)
        return False

    @property
    def _may_lack_comma(self) -> bool:
        """True if an object may follow another without a comma."""
        return not self.block.stage.strict if self._in_array else self.row.many

    def _separators(self, char: str) -> Reading[tuple[str, int]]:
        """Consume the text between two objects; return the next character and the commas' number.

        `_end` is set behind the last comma, or behind the last fault.
        """
        # In this order: surplus braces (`}}` of an array's element), commas, a few stray words. A
        # stray text counts only if the next object or bracket confirms it (`Row.strays`).
        block, commas = self.block, 0
        separators = "," if self._in_array else self.row.separators
        if self._in_array and not block.stage.strict:
            separators = ",;"
            while char == "}":
                block.step()
                self._repairs.append("repaired-braces")
                self._end = block.offset
                char = yield from block.peek()
        while char and char in separators and not (commas and block.stage.strict):
            block.step()
            self._end, commas = block.offset, commas + 1
            char = yield from block.peek()
        if char not in ("{", "}", "]", "<", "") and not block.stage.strict:
            is_element = self._in_array and (self._is_row or self._confirmed)
            stray = yield from block.match(_IN_ARRAY if is_element else self.row.strays)
            if stray:
                text = stray.partition("{")[0]
                block.give_back(block.offset - len(stray) + len(text))
                self._note_stray(text)
                self._end, commas = block.offset, max(commas, 1)
                char = yield from block.peek()
        return char, commas

    def _note_stray(self, text: str) -> None:
        if text.startswith(("//", ",")):
            code = "repaired-commas" if text.startswith(",") else "repaired-comments"
            self._repairs.append(code)
            return
        self._repairs.append("stray-text")
        self.telling.details["stray-text"] = f"{text.strip()!r:.80} stands between calls"

    def _close_array(self, char: str) -> Reading[None]:
        if char == "]":
            self.block.step()
            self._end = self.block.offset
            if self._nested and (yield from self.block.peek()) == "]":
                self.block.step()
                self._end = self.block.offset
        else:
            self._repairs.append("repaired-closing")
            self._ended = bool(char)

    def _close(self, char: str = "") -> Reading[None]:
        """Read the end of the row: surplus braces or stray words, and the closing marker.

        `char` is the next character, if known.
        """
        # Cases, in this order:
        #   marker                 the row ends; it belongs to the last call;
        #   words and a marker     `stray_ends` matches both at once, or nothing: words without a
        #                          marker behind them are prose;
        #   braces, then a marker  each brace is tried, since the marker decides where they end;
        #   beginning of a marker  the text was cut off inside of it: consume it, not ended;
        #   none of these          the marker is missing. `_end` stays, so the text behind the last
        #                          object is returned and becomes prose.
        # `_ended` is False only if the text is over: then the call may lack more than its marker.
        if self.row.trailing:
            yield from self._trail()
        if not self.row.closing:
            return
        char = char or (yield from self.block.peek())
        marker = yield from self.block.match(self.row.closers)
        if not marker and char not in ("}", "]", "") and not self.block.stage.strict:
            stray = yield from self.block.match(self.row.stray_ends)
            marker = next((one for one in self.row.closing if stray.endswith(one)), "")
            if stray:
                self._note_stray(stray.removesuffix(marker))
        while not marker and char in ("}", "]"):
            self.block.step()
            self._repairs.append("repaired-braces")
            self._end = self.block.offset
            char = yield from self.block.peek()
            marker = yield from self.block.match(self.row.closers)
        cut = not marker and any(map(self.block.stops_within, self.row.closing))
        if marker or cut:
            self._end = self.block.offset
        if not marker:
            self._repairs.append("repaired-closing")
            self._ended = self._ended and bool(char) and not cut

    def _trail(self) -> Reading[None]:
        yield from self.block.peek()
        marker = yield from self.block.match(self.row.trailers)
        if marker or any(map(self.block.stops_within, self.row.trailing)):
            self._end = self.block.offset

    def _finish(self, call: CallObject) -> bool:
        """Emit the call of a complete object; return False if it is none and was not started."""
        if call.too_deep and (call.started or self.row.sure):
            depth = self.block.stage.limits.depth
            return self._bad("too-deep", f"more than {depth} levels", call.started)
        try:
            parts = call.parts()
        except ValueError as error:
            return self._bad("json", str(error), call.started)
        if parts is None or not (self.row.sure or self._is_call(parts)):
            return self._bad("call", "it has no name", call.started)
        if call.renamed:
            return self._bad("call", "it has two names", call.started)
        if not call.name:
            place = f"under {call.name_key!r}" if call.name_key else "as the key of the arguments"
            self.telling.details["repaired-name"] = f"the name stood {place}"
        if call.name in call.silent:
            self.telling.nothing(self._end)
            return True
        repairs = [*self._repairs, *call.repairs] if call.repairs else self._repairs
        self.telling.call(parts, repairs, started=call.started, ended=self._ended, end=self._end)
        return True

    @property
    def _any_name(self) -> bool:
        """True if a call may name an undeclared tool: no other dialect is read."""
        stage = self.block.stage
        return stage.alone and not (self.row.only_known and stage.tools)

    def _is_call(self, parts: Parts) -> bool:
        """Return whether an object is a call, in a row that its markers do not make certain."""
        if self.row.sure or (self.row.tools_suffice and parts.name in self.block.stage.tools):
            return True
        given = parts.input
        known = self._any_name or parts.name in self.block.stage.tools
        is_input = _is_object(given) or (isinstance(given, str) and given[:1] == "{")
        if given is None and self.row.may_lack_input:
            tool = self.block.stage.tools.get(parts.name)
            is_input = tool is not None and not tool.required
        return is_input and known

    def _bad(self, code: str, detail: str, started: bool) -> bool:
        if started or self._is_row:
            self.telling.bad(code, detail, end=self._end)
        return started or self._is_row

    def _break_off(self, call: CallObject) -> Reading[Refused | None]:
        """Read the rest of a row with broken JSON, or that the text cuts off, with repairs."""
        # A row that is not certain to be calls is repaired only if its dialect says so (`natural`,
        # `mends`) or if it names a declared tool, and only if all its elements turn out to be
        # calls: repairing any JSON in prose would invent calls. `certain` also holds once a call
        # was started, since its events cannot be revoked.
        certain = call.started or call.meant or self._is_row
        is_tool = call.name in self.block.stage.tools and not call.is_answer
        if not (certain or is_tool or self.row.natural or self.row.mends):
            return self._leave(call)
        ended = yield from self._seek_end(call)
        raw = self.block.pack(call.start)
        found = self._mended(raw, ended=ended)
        last = found[-1]
        error = last.reason if isinstance(last, Broken) else ""
        # Text that `_seek_end` searched to the end of the input must not be returned: it would be
        # searched again from the next opener, which is quadratic.
        if not (error or self.row.sure or ended) and raw[last.after :].strip():
            last = Broken(len(raw), "its brackets do not close")
            found.append(last)
        if not certain and not all(map(self._is_mended_call, found)):
            return self._leave(call)
        started, more = call.started, False
        for one in found:
            # An open string was emitted up to the next quote, which may lie in the next object, so
            # `said` can be beyond the end of this one.
            self._end = max(call.start + one.after, self.block.stage.said)
            self._ended = True
            if isinstance(one, Broken):
                if one is last:
                    yield from self.block.match(self.row.closers)
                    self._end = self.block.offset
                self.telling.bad("json", one.reason, end=self._end)
            else:
                self._repairs = [*self.row.repairs, *one.repairs]
                if one is last:
                    self._ended = is_whole = ended or "repaired-closing" not in one.repairs
                    self.block.give_back(self._end)
                    if self._in_array or self.row.sure:
                        yield from self._close()
                    else:
                        # The brackets of one object ended the search, and others may follow it.
                        more = yield from self._tail()
                        self._ended = self._ended and is_whole
                        self._repairs += one.repairs
                self._repairs = [code for code in self._repairs if code not in self.row.natural]
                self._say_mended(one, call.start, started)
            started = False
        self._goes_on = more
        return None if more else self._stop()

    def _seek_end(self, call: CallObject) -> Reading[bool]:
        """Consume text up to the end of a broken row; return whether it ends before the text.

        A row without an opening marker has no closing marker to wait for: its brackets decide.
        """
        if self.row.sure:
            _, marker = yield from self.block.until(self.row.ends)
            self.block.give_back(self.block.offset - len(marker))
            return marker in self.row.closing or marker in self.row.trailing
        brackets = Brackets(depth=int(self._in_array))
        brackets.feed(self.telling.slice(call.start, self.block.offset))
        yield from self.block.consume(brackets)
        return brackets.state is ScanState.STOPPED

    def _mended(self, raw: str, *, ended: bool) -> list[Mended | Broken]:
        """Return the objects that can be read, and the reasons why others cannot."""
        stage = self.block.stage
        if stage.strict and not self.row.natural:
            return [Broken(len(raw), "it is not JSON")]
        depth = stage.limits.depth
        return list(mend(raw, ended=ended, depth=depth, in_array=self._in_array))

    def _is_mended_call(self, one: Mended | Broken) -> bool:
        if isinstance(one, Broken):
            return False
        parts = resolve(self.row.keys, one.value, one.start, one.places)
        return parts is not None and self._is_call(parts)

    def _say_mended(self, one: Mended, base: int, started: bool) -> None:
        parts = resolve(self.row.keys, one.value, one.start, one.places)
        if parts is None:
            return self.telling.bad("call", "it has no name", end=self._end)
        if not (self.row.sure or started or self._is_call(parts)):
            return self.telling.bad("call", "it calls no tool", end=self._end)
        if started and parts.name != self.block.written_name:
            return self.telling.bad("call", "it has two names", end=self._end)
        if not (self._ended or parts.place):
            return self.telling.bad("json", "the text ends before the arguments", end=self._end)
        place = parts.place and _moved(parts.place, base)
        return self.telling.call(
            parts._replace(place=place),
            self._repairs,
            started=started,
            ended=self._ended,
            end=self._end,
        )


def _is_object(given: object) -> bool:
    """Return whether arguments are an object and not a JSON Schema, which describes a tool."""
    return isinstance(given, dict) and not {"type", "properties"} <= given.keys()


def _moved(place: Span, by: int) -> Span:
    return place[0] + by, place[1] + by
