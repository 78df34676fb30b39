"""Values that are nested in elements as their schema says: objects by member, lists by item."""

from __future__ import annotations

from typing import Any

from callblocks.parsing.schema_shape import Schemas, elements, kind, members
from callblocks.parsing.shapes.bad_body import BadBody
from callblocks.parsing.shapes.elements import read_elements
from callblocks.parsing.typed import Typed, typed

__all__ = ("nested",)


def nested(texts: list[str], schema: object, document: object, key: str, depth: int) -> Typed:
    """The value of an element that stands there once, or again and again as items of a list."""
    items = _items_schema(schema, document)
    if len(texts) > 1 and items is None:
        raise BadBody("repeated-argument", f"{key!r:.60} is given twice")
    if len(texts) > 1:
        return _list(texts, items, document, depth)
    (text,) = texts
    if depth > 0 and text.lstrip().startswith("<"):
        inner = _inner(text, schema, items, document, depth - 1)
        if inner is not None:
            return inner
    return typed(text, schema, document, repair=True)


def _inner(text: str, schema: object, items: object, document: object, depth: int) -> Typed | None:
    """The object or list whose members or items stand in elements, if it is one."""
    if items is not None:
        found, repairs = read_elements(text, lambda key: key == "item")
        if found and not repairs:
            return _list([one for _, one in found], items, document, depth)
    for plain in Schemas(document).plain(schema):
        known = dict(members(plain).known) if kind(plain) == "object" else dict[str, object]()
        found, repairs = read_elements(text, known.__contains__)
        if found and not repairs:
            return _object(found, known, document, depth)
    return None


def _object(
    found: list[tuple[str, str]], known: dict[str, object], document: object, depth: int
) -> Typed:
    texts: dict[str, list[str]] = {}
    for key, text in found:
        texts.setdefault(key, []).append(text)
    values = {
        key: nested(written, known[key], document, key, depth) for key, written in texts.items()
    }
    return _joined({key: value.value for key, value in values.items()}, list(values.values()))


def _list(texts: list[str], items: object, document: object, depth: int) -> Typed:
    values = [nested([text], items, document, "item", depth) for text in texts]
    return _joined([value.value for value in values], values)


def _joined(whole: Any, parts: list[Typed]) -> Typed:
    repairs = dict.fromkeys(code for part in parts for code in part.repairs)
    return Typed(whole, all(part.fits for part in parts), tuple(repairs))


def _items_schema(schema: object, document: object) -> object:
    """What the items of a list are, where the schema allows one; else None."""
    for plain in Schemas(document).plain(schema):
        if kind(plain) == "array":
            return elements(plain).rest
    return None
