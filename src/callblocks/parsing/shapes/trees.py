"""Values as trees of elements: objects by member, lists by `item`, everything else as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from callblocks.parsing.schema_shape import Schemas, elements, kind, members
from callblocks.parsing.shapes.bad_body import BadBody
from callblocks.parsing.shapes.nested import grouped, joined, repeated_items
from callblocks.parsing.shapes.xml_form import as_text
from callblocks.parsing.typed import Typed, typed

__all__ = ("Tree", "read_tree", "typed_members", "typed_tree", "write_tree")

# Text, or a list of named elements.
Tree: TypeAlias = "str | list[tuple[str, Tree]]"


def read_tree(text: str, tag: re.Pattern[str], depth: int) -> list[tuple[str, Tree]]:
    """Read a text into a tree; `tag` matches a tag, with groups for its slash and its name."""
    # A stack of open elements instead of recursion, so that depth is only limited by `depth`.
    open_: list[tuple[str, list[tuple[str, Tree]]]] = [("", [])]
    at = 0
    for found in tag.finditer(text):
        between, at = text[at : found.start()], found.end()
        name, inside = open_[-1]
        if not found[1]:
            _check_blank(between)
            if len(open_) > depth:
                raise BadBody("too-deep", f"more than {depth} levels")
            open_.append((found[2], []))
        elif found[2] != name:
            raise BadBody("missing-closer", f"</{found[2]}> closes nothing here")
        else:
            open_.pop()
            if inside:
                _check_blank(between)
            open_[-1][1].append((name, inside or between))
    if len(open_) > 1:
        raise BadBody("missing-closer", f"</{open_[-1][0]}> is missing")
    _check_blank(text[at:])
    return open_[0][1]


def _check_blank(text: str) -> None:
    if text.strip():
        raise BadBody("stray-text", f"{text.strip()!r:.60}")


def typed_tree(tree: Tree, schema: object, document: object) -> Typed:
    """Return a tree as a value of its schema; without a schema, leaves are text."""
    if isinstance(tree, str):
        return typed(tree, schema, document, repair=True)
    plain = Schemas(document).plain(schema)
    lists = [elements(one).rest for one in plain if kind(one) == "array"]
    objects = [members(one).known for one in plain if kind(one) == "object"]
    names = {name for name, _ in tree}
    if names == {"item"} and (lists or not objects):
        rest = lists[0] if lists else True
        items = [typed_tree(inner, rest, document) for _, inner in tree]
        return joined([item.value for item in items], items)
    known = next((dict(one) for one in objects if one.keys() >= names), dict[str, object]())
    values = typed_members(tree, known, document)
    return joined({name: one.value for name, one in values.items()}, values.values())


def typed_members(
    tree: list[tuple[str, Tree]], known: Mapping[str, object], document: object
) -> dict[str, Typed]:
    """Return the members of an object; a repeated one is a list."""
    return {
        name: _member(name, given, known.get(name, True), document)
        for name, given in grouped(tree).items()
    }


def _member(name: str, given: list[Tree], schema: object, document: object) -> Typed:
    if len(given) == 1:
        return typed_tree(given[0], schema, document)
    items = repeated_items(schema, document, name)
    values = [typed_tree(one, items, document) for one in given]
    return joined([one.value for one in values], values, "repaired-repeats")


def write_tree(dialect: str, key: str, value: Any, prefix: str) -> str:
    """Return a value as an element; `prefix` stands before each tag."""
    if isinstance(value, dict) and value:
        pairs = cast("dict[str, Any]", value).items()
        inner = "".join(write_tree(dialect, name, one, prefix) for name, one in pairs)
    elif isinstance(value, list) and value:
        items = cast("list[Any]", value)
        inner = "".join(write_tree(dialect, "item", one, prefix) for one in items)
    else:
        inner = as_text(dialect, value)
    return f"{prefix}<{key}>{inner}{prefix}</{key}>"
