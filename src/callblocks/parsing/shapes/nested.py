"""Values nested in elements, read by their schema: objects by member, lists by item.

A list may also be written by repeating its own element, or with items of any one name. An object
whose members the schema does not name has the members that are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from callblocks.parsing.schema_shape import Schemas, elements, kind, members
from callblocks.parsing.shapes.bad_body import BadBody
from callblocks.parsing.shapes.elements import read_elements
from callblocks.parsing.typed import Typed, typed, types_of

__all__ = ("Nesting", "grouped", "joined", "repeated_items")


def grouped(found: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    """Return the values of each key, in order."""
    values: dict[str, list[Any]] = {}
    for key, value in found:
        values.setdefault(key, []).append(value)
    return values


def joined(whole: Any, parts: Iterable[Typed], *codes: str) -> Typed:
    """Return a list or an object as a typed value, with the repairs of its parts."""
    parts = list(parts)
    repairs = dict.fromkeys((*codes, *(code for part in parts for code in part.repairs)))
    return Typed(whole, all(part.fits for part in parts), tuple(repairs))


def repeated_items(schema: object, document: object, key: str) -> object:
    """Return the schema of the items of a repeated key; raise `BadBody` if it is no list."""
    plain = Schemas(document).plain(schema)
    items = [elements(one).rest for one in plain if kind(one) == "array"]
    if not items and any(map(types_of, plain)):
        raise BadBody("repeated-argument", f"{key!r:.60} is given twice")
    return items[0] if items else True


class Nesting(NamedTuple):
    """A reader of nested values by the schemas of one document; `decode` decodes leaf text."""

    document: object
    escapes: bool
    decode: Callable[[str], str]

    def value(self, texts: list[str], schema: object, key: str, depth: int) -> Typed:
        """Return the value of an element that was written once or repeatedly."""
        if len(texts) > 1:
            items = repeated_items(schema, self.document, key)
            is_list = self._items(schema) is not None
            return self._list(texts, items, depth, *(() if is_list else ("repaired-repeats",)))
        (text,) = texts
        if depth > 0 and text.lstrip().startswith("<"):
            inner = self._inner(text, schema, depth - 1)
            if inner is not None:
                return inner
        return typed(self.decode(text), schema, self.document, repair=True)

    def _items(self, schema: object) -> object:
        """Return the schema of list items if the schema allows a list; else None."""
        plain = Schemas(self.document).plain(schema)
        return next((elements(one).rest for one in plain if kind(one) == "array"), None)

    def _inner(self, text: str, schema: object, depth: int) -> Typed | None:
        """Return the object or list whose parts stand in elements, or None if it is none."""
        # A list is tried before an object: items of one name could also be a member of that name.
        # Text with anything but elements is no nested value, so `<b>bold</b> text` stays text.
        items = self._items(schema)
        if items is not None:
            found = self._clean(text, lambda _: True)
            if found and len({key for key, _ in found}) == 1:
                return self._list([one for _, one in found], items, depth)
        for plain in Schemas(self.document).plain(schema):
            if kind(plain) == "object":
                said = members(plain)
                known = dict(said.known)
                found = self._clean(text, known.__contains__ if known else lambda _: True)
                if found:
                    values = {
                        key: self.value(written, known.get(key, True), key, depth)
                        for key, written in grouped(found).items()
                    }
                    return joined({key: one.value for key, one in values.items()}, values.values())
        return None

    def _clean(self, text: str, is_key: Callable[[str], bool]) -> list[tuple[str, str]]:
        """Return the elements of a text without anything else; `[]` otherwise."""
        found, repairs = read_elements(text, is_key, escapes=self.escapes)
        return [] if any(code != "misspelt-tag" for code, _ in repairs) else found

    def _list(self, texts: list[str], items: object, depth: int, *codes: str) -> Typed:
        values = [self.value([text], items, "item", depth) for text in texts]
        return joined([value.value for value in values], values, *codes)
