r"""A YAML mapping, as calls hold it: keys at one indent, text as block scalars or in quotes.

    content: |           A literal block streams, without its indent; a newline waits, since those
      line               at the end of the block may be dropped.
    note: "a\nb"         A string in double quotes on one line streams.
    days: 3              Any other member waits for the next key, and the parser's reader reads it.
    tags: [a, b]

Anything else (tabs, anchors, an indent indicator, a key that is not plain) stops the reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from callblocks.gateway.arguments.json_notation import decode
from callblocks.gateway.arguments.reader import JsonOutput, Reader

__all__ = ("YamlReader",)

_MEMBER = re.compile(
    r"( *)([A-Za-z_][\w.-]{0,200}|\"[^\"\\\n]{1,200}\"):(?:[ ]++([^\r\n]*+))?\r?\n"
)
_MAY_BE_MEMBER = re.compile(
    r"( *)([A-Za-z_][\w.-]{0,200}|\"[^\"\\\n]{1,200}\"):[ ]++(?=[^ \r\n])",
)
_LITERAL = re.compile(r"\|([-+]?)[ ]*")
_BLANK_LINE = re.compile(r" *\r?\n")
_INDENT = re.compile(r" *")
_LINE = re.compile(r"[^\n]*\n")

# Reads the text of one member, and returns its value.
ReadMember = Callable[[str, str], Any]


class YamlReader(Reader):
    """A reader of one mapping; with `header`, the line that it stands below."""

    def __init__(self, out: JsonOutput, read: ReadMember, header: str = "") -> None:
        super().__init__(out)
        self._read, self._header = read, header
        self._indent = -1
        self._seen: set[str] = set()
        self._name = ""
        self._lines: list[str] = []
        self._in_line = False
        # Of a literal block: its indent, the newlines that wait, and what it keeps of the last.
        self._block_indent = -1
        self._newlines = 0
        self._chomps = ""
        self._has_text = False

    def begin(self) -> bool:
        """Read the header and blank lines before the first member."""
        buf = self.buf
        if blank := _BLANK_LINE.match(buf, self.pos):
            self.pos = blank.end()
            return True
        if self._header:
            return self._read_header()
        indent = self._indent_here()
        if indent < 0:
            return self.wait()
        self._indent = indent
        self.step = self._member
        return True

    def _read_header(self) -> bool:
        buf, header, pos = self.buf, self._header, self.pos
        if not buf.startswith(header, pos):
            begun = buf[pos : pos + len(header)]
            return self.wait() if header.startswith(begun) else self.stop()
        line = _BLANK_LINE.match(buf, pos + len(header))
        if line is None:
            return self.stop() if buf[pos + len(header) :].strip(" \r") else self.wait()
        self.pos = line.end()
        self._header = ""
        return True

    def _indent_here(self) -> int:
        """Return the indent of a line that is not blank; -1 if more text is needed."""
        found = _INDENT.match(self.buf, self.pos)
        end = found.end() if found else self.pos
        return end - self.pos if end < len(self.buf) and self.buf[end] != "\r" else -1

    def _member(self) -> bool:
        """Read a key, and decide how its value is read."""
        buf = self.buf
        if blank := _BLANK_LINE.match(buf, self.pos):
            self.pos = blank.end()
            return True
        indent = self._indent_here()
        if indent != self._indent:
            return self.wait() if indent < 0 else self.stop()
        begun = _MAY_BE_MEMBER.match(buf, self.pos)
        if begun and buf[begun.end()] != "|":
            return self._named(begun[2]) and self._begin_value(begun)
        found = _MEMBER.match(buf, self.pos)
        if found is None:
            return self.stop() if _LINE.match(buf, self.pos) else self.wait()
        return self._named(found[2]) and self._plain(found)

    def _begin_value(self, member: re.Match[str]) -> bool:
        """Read the first character of a value on the line of its key."""
        self.pos = member.end()
        if self.buf[self.pos] == '"':
            return self._quoted(self.pos)
        self._lines = [member[0]]
        self._in_line = True
        self.step = self._rest
        return True

    def _plain(self, member: re.Match[str]) -> bool:
        """Read the end of the line of a key: a literal block begins, or any other value."""
        literal = _LITERAL.fullmatch(member[3] or "")
        self.pos = member.end()
        if literal:
            self.out.key(self._name)
            self.out.open()
            self._block_indent, self._newlines, self._has_text = -1, 0, False
            self._chomps = literal[1]
            self.step = self._block
        else:
            self._lines = [member[0]]
            self._in_line = False
            self.step = self._rest
        return True

    def _named(self, written: str) -> bool:
        name = written[1:-1] if written.startswith('"') else written
        if name in self._seen:
            return self.stop()
        self._seen.add(name)
        self._name = name
        return True

    def _quoted(self, at: int) -> bool:
        self.out.key(self._name)
        self.out.open()
        self.pos = at + 1
        self.step = self._string
        return True

    def _string(self) -> bool:
        # Lines in quotes are folded: nothing behind a newline is certain.
        line = self.buf.find("\n", self.pos)
        text, self.pos, why = decode(self.buf if line < 0 else self.buf[:line], self.pos)
        if text:
            self.out.text(text)
        if why == "bad" or (why == "more" and line >= 0):
            return self.stop()
        if why == "more":
            return False
        self.step = self._quote
        return True

    def _quote(self) -> bool:
        """Read the quote that ends a string, and the end of its line."""
        buf, at = self.buf, self.pos + 1
        if blank := _BLANK_LINE.match(buf, at):
            indent = _INDENT.match(buf, blank.end())
            end = indent.end() if indent else blank.end()
            if end == len(buf) or buf[end] in "\r\n":
                return self.wait()
            if end - blank.end() != self._indent:
                return self.stop()
            self.out.close()
            self.pos = blank.end()
            self.step = self._member
            return True
        return self.stop() if buf[at:].strip(" \r") else self.wait()

    def _block(self) -> bool:
        """Read the beginning of a line of a literal block."""
        buf, pos = self.buf, self.pos
        found = _INDENT.match(buf, pos)
        end = found.end() if found else pos
        size, known = end - pos, self._block_indent
        if end < len(buf):
            if buf[end] in "\r\n" and (known < 0 or size <= known):
                return self._blank_line(end, size)
            if size <= self._indent and buf[end] not in "\r\n":
                return self._end_block(size)
            if known < 0:
                self._block_indent = known = size
        if known < 0 or size < known:
            return self.stop() if end < len(buf) else self.wait()
        self.pos += known
        self._tell_newlines()
        self.step = self._line
        return True

    def _blank_line(self, end: int, size: int) -> bool:
        """Read a line of a block with no more blanks than its indent."""
        line = _BLANK_LINE.match(self.buf, self.pos)
        if line is None:
            return self.wait() if end + 1 == len(self.buf) else self.stop()
        if self._block_indent < 0 and size > self._indent:
            # Blanks before the first line of text count, if they are deeper than it is.
            return self.stop()
        self._newlines += 1
        self.pos = line.end()
        return True

    def _end_block(self, indent: int) -> bool:
        """Tell the end of a block, at a line with a smaller indent."""
        if indent != self._indent:
            return self.stop()
        if self._chomps == "" and self._has_text:
            self._newlines = 1
        if self._chomps == "-":
            self._newlines = 0
        if self._has_text or self._chomps == "+":
            self._tell_newlines()
        self.out.close()
        self.step = self._member
        return True

    def _tell_newlines(self) -> None:
        if self._newlines:
            self.out.text("\n" * self._newlines)
        self._newlines = 0

    def _line(self) -> bool:
        """Read the text of a line of a block, as far as it has come."""
        buf = self.buf
        end = buf.find("\n", self.pos)
        stop = end if end >= 0 else len(buf)
        text = buf[self.pos : stop]
        if text.endswith("\r"):
            text = text[:-1]
            if "\r" not in text and end < 0:
                stop -= 1
        if "\r" in text:
            return self.stop()
        if text:
            self._has_text = True
            self.out.text(text)
        self.pos = stop
        if end < 0:
            return False
        self._has_text = True
        self._newlines += 1
        self.pos = end + 1
        self.step = self._block
        return True

    def _rest(self) -> bool:
        """Collect the lines of a member up to the next key."""
        buf = self.buf
        if not self._in_line:
            found = _INDENT.match(buf, self.pos)
            end = found.end() if found else self.pos
            if end == len(buf):
                return self.wait()
            # `- a` may stand at the indent of its key.
            if end - self.pos <= self._indent and buf[end] not in "-\r\n":
                return self._tell()
        end = buf.find("\n", self.pos) + 1
        self._lines.append(buf[self.pos : end or len(buf)])
        self._in_line = not end
        self.pos = end or len(buf)
        return bool(end)

    def _tell(self) -> bool:
        text = "".join(self._lines)
        try:
            value = self._read(self._name, text)
        except (ValueError, RecursionError, KeyError):
            return self.stop()
        self.out.key(self._name)
        self.out.value(value)
        self.step = self._member
        return True
