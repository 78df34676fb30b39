'''Docstrings of functions: the description, and the text of each parameter.

    """Send a letter.

    Args:                      Parameters                 :param to: who gets it
        to: who gets it        ----------
                               to : str
                                   who gets it
    """

All three styles are read, also mixed. The description is everything else.
'''

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc

import msgspec

__all__ = ("Docstring", "read_docstring")

_GOOGLE = re.compile(r"(?:Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments):[ \t]*")
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)[ \t]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?[ \t]*:(.*)")
_NUMPY = re.compile(r"(?:Other )?Parameters[ \t]*")
_NUMPY_ITEM = re.compile(r"(\*{0,2}\w+(?:[ \t]*,[ \t]*\*{0,2}\w+)*)[ \t]*(?::.*)?")
_RULE = re.compile(r"-{3,}[ \t]*")
_FIELD = re.compile(r":(\w+)(?:[ \t]+([^:\n]*))?:(.*)")
_PARAMETER_FIELDS = ("param", "parameter", "arg", "argument", "key", "keyword")
_TYPE_FIELDS = ("type", "rtype")


class Docstring(msgspec.Struct, frozen=True):
    """A description, and the text of each parameter that has one."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Parse a docstring of any of the three styles; an absent one has no texts."""
    reader = _Reader(cleandoc(text or "").splitlines())
    reader.read()
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(reader.prose)).strip()
    said = {name: " ".join(" ".join(lines).split()) for name, lines in reader.parameters.items()}
    return Docstring(description, {name: words for name, words in said.items() if words})


class _Reader:
    """A reader that takes the lines one section at a time."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.prose: list[str] = []
        self.parameters: dict[str, list[str]] = {}

    def read(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            # A heading counts only with an indented line below it: "Args:" may also end a sentence.
            if _GOOGLE.fullmatch(line) and self._is_deeper(self.at + 1):
                self._google()
            elif _NUMPY.fullmatch(line) and self._is_rule(self.at + 1):
                self._numpy()
            elif not self._field(line):
                self.prose.append(line)
                self.at += 1

    def _is_rule(self, at: int) -> bool:
        return at < len(self.lines) and _RULE.fullmatch(self.lines[at]) is not None

    def _is_deeper(self, at: int) -> bool:
        return at < len(self.lines) and _indent(self.lines[at]) > 0

    def _google(self) -> None:
        self.at += 1
        depth = _indent(self.lines[self.at])
        into: list[str] = []
        for line in self._indented():
            item = _GOOGLE_ITEM.fullmatch(line.strip()) if _indent(line) <= depth else None
            if item:
                into = self.parameters.setdefault(item[1], [])
            into.append(item[2] if item else line)

    def _numpy(self) -> None:
        self.at += 2
        while self.at < len(self.lines) and not self._is_rule(self.at + 1):
            item = _NUMPY_ITEM.fullmatch(self.lines[self.at])
            if self.lines[self.at].strip() and not item:
                return
            self.at += 1
            words = list(self._indented())
            for name in re.findall(r"\w+", item[1]) if item else ():
                self.parameters.setdefault(name, []).extend(words)

    def _field(self, line: str) -> bool:
        """Take `:param x: text`, with the indented lines below it."""
        field = _FIELD.fullmatch(line)
        if not field or field[1] not in (*_PARAMETER_FIELDS, *_TYPE_FIELDS):
            return False
        self.at += 1
        words = [field[3], *self._indented()]
        if field[1] in _PARAMETER_FIELDS and field[2]:
            self.parameters.setdefault(field[2].split()[-1].lstrip("*"), []).extend(words)
        return True

    def _indented(self) -> Iterator[str]:
        """Yield the indented lines from here on, with the blank lines between them."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and not _indent(line):
                return
            self.at += 1
            yield line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0
