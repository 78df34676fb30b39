"""One call object while it arrives: `{"name": "ls", "arguments": {"path": "."}}`.

The members are read one by one, so the name is known as soon as its string closes, and the
arguments are emitted while they arrive. Members may stand in any order: arguments before the name
are held back until the name is known.

Two paths: most objects begin in the same way, and `_quick` consumes `{"name": "ls", "arguments": `
with two markers. Everything else goes member by member (`_any`). Both record their keys in `_seen`,
by which duplicates are found.
"""

from __future__ import annotations

from typing import Any

from callblocks.model.calls import Span
from callblocks.parsing.block import Block
from callblocks.parsing.ids import read_id
from callblocks.parsing.json_scan import JsonScan, ScanState
from callblocks.parsing.json_value import read_json
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.repair.calls import read_mended
from callblocks.parsing.shapes.keys import Heads, Keys, Parts, extra_of
from callblocks.parsing.stage import Reading

__all__ = ("CallObject",)

# A short string without escapes, as most keys and ids are: one match instead of a scan.
_PLAIN = Markers(Shape(('"', r'[^"\\\x00-\x1f]{0,64}', '"')))


class CallObject:
    """A reader of one call object, and the members that were read so far.

    `heads`: patterns for the usual beginnings. `sure`: a name alone makes it a call, unless it is
    one of the `silent` names. `as_text`: its arguments are a string. `any_name`: the name need not
    be a declared tool's. `early`: the call starts with its arguments although it may be no call.

    Of a duplicate key the last value counts, which is a repair. A second name that differs from the
    emitted one sets `renamed`: the call is then bad, because an event cannot be revoked.
    """

    def __init__(
        self,
        block: Block,
        keys: Keys,
        heads: Heads,
        *,
        sure: bool,
        silent: tuple[str, ...],
        as_text: bool,
        any_name: bool,
        early: bool,
    ) -> None:
        self.block = block
        self.keys = keys
        self.sure = sure
        self.silent = silent
        self.any_name = any_name
        self.early = early
        self.opens = '{"' if as_text else "{"
        self.start = block.offset
        self.mark = len(block.taken)
        self.name = ""
        self.id: str | None = None
        self.input: Span | None = None
        self.written = ""
        self.started = False
        self.meant = False
        self.too_deep = False
        self.renamed = False
        self.repairs: dict[str, None] = {}
        self._name_key = self._input_key = ""
        self._others: dict[str, Any] = {}
        self._heads = heads
        self._empty = False
        self._seen: set[tuple[int, str]] = set()

    def read(self, level: int = 0) -> Reading[bool]:
        """Read the object at the current offset; return whether it is complete."""
        going = yield from self._first(level)
        return (yield from self._rest(level)) if going else self._empty

    def _rest(self, level: int) -> Reading[bool]:
        """Read the members behind the first one, up to the closing brace."""
        going, id_after = True, self._heads.id_after
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
        if level == 0 and (quick := (yield from self.block.match(self._heads.begin))):
            return (yield from self._quick(quick))
        self.block.step()
        self._empty = (yield from self.block.peek()) == "}"
        if self._empty:
            self.block.step()
            return False
        return (yield from self._any(level))

    def _quick(self, head: str) -> Reading[bool]:
        keys, level = self.keys, int(self.keys.wrapped)
        self.id, self.name = self._heads.told(head)
        self._name_key = keys.name[0]
        self._seen |= self._heads.seen
        if not self._may_be_called:
            return False
        if self.sure and not self.is_silent:
            self.begin()
        going = True
        if (yield from self.block.match(self._heads.then)):
            self._seen.add((level, keys.input[0]))
            self._input_key = keys.input[0]
            going = yield from self._input(self.block.scan.text[self.block.scan.pos])
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
            return None
        value = self._read(self.written) if self.input else None
        return Parts(self.name, self.id, value, self.input, extra_of(self._others))

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
        is_first = level == 0 and not self.name
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
        start = self.block.offset
        if self.name and char and char in self.opens and self._is_known and not self.is_silent:
            self.meant = True
            if self.early or self.block.stage.alone or self.block.opening.strip():
                self.begin()
        if self.started:
            self.block.input("", end=start)
        raw, whole = yield from self._value(live=self.started)
        self.written, self.input = raw, (start, start + len(raw))
        return whole

    def _value(self, *, live: bool = False) -> Reading[tuple[str, bool]]:
        """Return the text of the JSON value at the current offset, and whether it is complete."""
        if not live and (plain := (yield from self.block.match(_PLAIN))):
            return plain, True
        mark, scan = len(self.block.taken), JsonScan(self.block.stage.limits.depth, exact=True)
        yield from self.block.consume(scan, live=live)
        self.too_deep = self.too_deep or scan.too_deep
        return "".join(self.block.taken[mark:]), scan.state is ScanState.STOPPED
