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
      collected up to its end, and `repair.calls.mend` reads it as a whole. An element that cannot
      be repaired is malformed, and its neighbours are not.
"""

from __future__ import annotations

from callblocks.model.calls import Span
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.json_scan import ScanState
from callblocks.parsing.repair.brackets import Brackets
from callblocks.parsing.repair.calls import Broken, Mended, mend
from callblocks.parsing.shapes.call_object import CallObject
from callblocks.parsing.shapes.keys import Parts, resolve
from callblocks.parsing.shapes.row import Row
from callblocks.parsing.shapes.telling import Telling
from callblocks.parsing.stage import Reading

__all__ = ("RowReader",)


class RowReader:
    """A reader of the row at the current offset."""

    def __init__(self, block: Block, row: Row) -> None:
        self.block = block
        self.row = row
        self.telling = Telling(
            block, as_text=row.as_text, id_later=bool(row.keys.id), general=row.general
        )
        self._in_array = False
        self._end = block.offset
        self._ended = True
        self._repairs: list[str] = []

    def read(self, char: str = "") -> Reading[Refused | None]:
        """Emit the calls of the row, or refuse it; `char` is the next character, if known."""
        char = char or (yield from self.block.peek())
        if char == "[":
            self.block.step()
            self._in_array = True
            char = yield from self.block.peek()
            if char != "{" and not self.row.is_closed:
                return self.block.refuse(expected="`{`")
        more = True
        while more:
            call = self._object()
            if char != "{" or not (yield from call.read()):
                return (yield from self._break_off(call))
            more = yield from self._tail()
            if not self._finish(call):
                return self._leave(call)
            char = "{"
        return self._stop()

    def _object(self) -> CallObject:
        """Return a reader for the object here; only the first of a row may be silent."""
        row, silent = self.row, () if self.telling.any else self.row.silent
        return CallObject(
            self.block,
            row.keys,
            row.heads,
            sure=row.sure,
            silent=silent,
            as_text=row.as_text,
            any_name=self._any_name,
            early=row.early,
        )

    def _stop(self) -> None:
        if self._end < self.block.offset:
            self.block.give_back(self._end)

    def _leave(self, call: CallObject) -> Refused | None:
        """Return an object that is no call to the scanner; refuse if it is the first one."""
        if not self.telling.any:
            expected, at = "an object that calls a tool", call.start
            return self.block.refuse(until=self.block.offset, expected=expected, at=at)
        self._end = call.start
        return self._stop()

    def _tail(self) -> Reading[bool]:
        """Read the tail of an object; return whether another object follows."""
        self._end, self._ended, self._repairs = self.block.offset, True, [*self.row.repairs]
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
            self._close_array(char)
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
            stray = yield from block.match(self.row.strays(in_array=self._in_array))
            if stray:
                text = stray.partition("{")[0]
                block.give_back(block.offset - len(stray) + len(text))
                self._note_stray(text)
                self._end, commas = block.offset, max(commas, 1)
                char = yield from block.peek()
        return char, commas

    def _note_stray(self, text: str) -> None:
        self._repairs.append("stray-text")
        self.telling.details["stray-text"] = f"{text.strip()!r:.80} stands between calls"

    def _close_array(self, char: str) -> None:
        if char == "]":
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
        if parts is None or not self._is_call(parts):
            return self._bad("call", "it has no name", call.started)
        if call.renamed:
            return self._bad("call", "it has two names", call.started)
        repairs, ended = [*self._repairs, *call.repairs], self._ended
        if call.is_silent:
            self.telling.nothing(self._end)
            return True
        self.telling.call(parts, repairs, started=call.started, ended=ended, end=self._end)
        return True

    @property
    def _any_name(self) -> bool:
        """True if a call may name an undeclared tool: no other dialect is read."""
        stage = self.block.stage
        return stage.alone and not (self.row.only_known and stage.tools)

    def _is_call(self, parts: Parts) -> bool:
        """Return whether an object is a call, in a row that its markers do not make certain."""
        given = parts.input
        known = self._any_name or parts.name in self.block.stage.tools
        is_input = _is_object(given) or (isinstance(given, str) and given[:1] == "{")
        if given is None and self.row.may_lack_input:
            tool = self.block.stage.tools.get(parts.name)
            is_input = tool is not None and not tool.required
        return self.row.sure or (is_input and known)

    def _bad(self, code: str, detail: str, started: bool) -> bool:
        if started or self.row.sure:
            self.telling.bad(code, detail, end=self._end)
        return started or self.row.sure

    def _break_off(self, call: CallObject) -> Reading[Refused | None]:
        """Read the rest of a row with broken JSON, or that the text cuts off, with repairs."""
        # A row that is not certain to be calls is repaired only if its dialect says so (`natural`,
        # `mends`), and only if all its elements turn out to be calls: repairing any JSON in prose
        # would invent calls. `certain` also holds once a call was started, since its events cannot
        # be revoked.
        certain = call.started or call.meant or self.row.sure
        if not (certain or self.row.natural or self.row.mends):
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
        started = call.started
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
                codes = (*self.row.repairs, *one.repairs)
                self._repairs = [code for code in codes if code not in self.row.natural]
                if one is last:
                    self._ended = ended or "repaired-closing" not in one.repairs
                    self.block.give_back(self._end)
                    yield from self._close()
                self._say_mended(one, call.start, started)
            started = False
        return self._stop()

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
