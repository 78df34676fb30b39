"""Incremental parsing of one XML part of a package, with names stripped of namespaces."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from typing import TypeAlias
from xml.parsers.expat import ExpatError, ParserCreate

from callblocks.toolkits.finding.unreadable import Unreadable

__all__ = ("Attributes", "Start", "parse_part")

Attributes: TypeAlias = dict[str, str]
Start: TypeAlias = Callable[[str, Attributes], object]

_PIECE = 64 * 1024
_APART = " "


def parse_part(
    package: zipfile.ZipFile,
    name: str,
    start: Start,
    end: Callable[[str], object] = lambda _: None,
    data: Callable[[str], object] = lambda _: None,
) -> Iterator[None]:
    """Call the handlers for elements and text; yield after each piece, so that work can stop."""
    parser = ParserCreate(namespace_separator=_APART)
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, given: start(
        _local(name), {_local(key): value for key, value in given.items()}
    )
    parser.EndElementHandler = lambda name: end(_local(name))
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = _refuse
    try:
        with package.open(name) as part:
            while piece := part.read(_PIECE):
                parser.Parse(piece, False)
                yield
        parser.Parse(b"", True)
        yield
    except ExpatError as error:
        raise Unreadable(f"it is no DOCX: {error}") from error
    except KeyError as error:
        raise Unreadable("it is no DOCX: a part is missing") from error


def _local(name: str) -> str:
    return name.rpartition(_APART)[2]


def _refuse(*_: object) -> None:
    raise Unreadable("it has a document type, which no DOCX has; it may be made to harm")
