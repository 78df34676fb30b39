"""A reader for a row of elements: `<path>a.txt</path><content>…</content>`.

Only keys that the caller accepts are tags. A value may contain its own closing tag: the first one
that a tag or the end of the text follows counts, else the last one. If a dialect `escapes` tags in
text, `<![CDATA[…]]>` holds text, and a doubled closing tag belongs to no value.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

from callblocks.parsing.readers.announce import BadBody
from callblocks.parsing.readers.tags import as_text
from callblocks.parsing.values.schema_shape import Schemas, elements, kind, members
from callblocks.parsing.values.typed import Typed, typed, types_of

__all__ = (
    "Elements",
    "Nesting",
    "Tree",
    "grouped",
    "joined",
    "read_elements",
    "read_tree",
    "repeated_items",
    "typed_members",
    "typed_tree",
    "write_tree",
)

_BLANKS = r"[ \t\r\n]{0,100}"
_ATTRIBUTE = (
    r"[ \t\r\n]{1,100}[\w:.-]{1,100}=(?:\"[^\"<>]{0,400}\"|'[^'<>]{0,400}'|[^\s\"'<>/]{1,400})"
)
# A CDATA section as a whole, so that tags inside of it are skipped, or a tag: its slash, blanks
# before the name, the name, attributes, and the slash of an empty element.
_TAG = re.compile(
    r"<!\[CDATA\[.*?\]\]>"
    rf"|<(?P<ends>/?)(?P<early>{_BLANKS})(?P<name>[A-Za-z_][\w.:-]*)"
    rf"(?P<more>(?:{_ATTRIBUTE}){{0,20}}{_BLANKS})(?P<whole>/?)>",
    re.DOTALL,
)
_SOLID = re.compile(r"\S")


class Elements(NamedTuple):
    """The keys with their texts, and the repairs, each a code and a detail."""

    found: list[tuple[str, str]]
    repairs: list[tuple[str, str]]


def read_elements(text: str, is_key: Callable[[str], bool], *, escapes: bool = False) -> Elements:
    """Read the elements whose names are keys; other text is dropped and reported."""
    # All tags are found first. Closing tags are queued per name, and those before the current
    # element are dropped for good (`_end`): they are not searched again for the next element.
    tags = list(_tags(text, escapes))
    opens = [tag for tag in tags if not tag["ends"] and _is_opening(tag) and is_key(tag["name"])]
    places = {tag.start() for tag in opens}
    ends: dict[str, deque[re.Match[str]]] = defaultdict(deque)
    for tag in tags:
        if tag["ends"] and not tag["whole"]:
            ends[tag["name"]].append(tag)
    found: list[tuple[str, str]] = []
    repairs: list[tuple[str, str]] = []
    at = 0
    for number, tag in enumerate(opens, 1):
        if tag.start() < at:
            continue
        name = tag["name"]
        if stray := text[at : tag.start()].strip():
            repairs.append(("stray-text", f"{stray!r:.60}"))
        if tag[0] != f"<{name}>":
            repairs.append(("misspelt-tag", f"{tag[0]!r:.80} stands for <{name}>"))
        end = tag if tag["whole"] else _end(text, tag, ends[name], places)
        if end is None:
            stop = opens[number].start() if number < len(opens) else len(text)
            repairs.append(("missing-closer", f"</{name}> is missing"))
            found.append((name, text[tag.end() : stop].rstrip("\r\n")))
            at = stop
        else:
            value = text[tag.end() : end.start()] if end is not tag else ""
            if escapes and (doubled := _doubled(value, name)):
                repairs.append(("stray-text", f"</{name}> closes nothing"))
                value = value[: doubled.start()]
            found.append((name, value))
            at = end.end()
    rest = text[at:].strip()
    if rest:
        repairs.append(("stray-text", f"{rest!r:.60}"))
    return Elements(found, repairs)


def _tags(text: str, escapes: bool) -> Iterator[re.Match[str]]:
    """Yield the tags of a text, in order."""
    hit = _TAG.search(text)
    while hit:
        if hit["name"]:
            yield hit
        hit = _TAG.search(text, hit.end() if escapes or hit["name"] else hit.start() + 1)


def _is_opening(tag: re.Match[str]) -> bool:
    """Return whether a tag may open an element: `< name/>` may, `< name>` may not."""
    return not tag["early"] or bool(tag["whole"])


def _end(
    text: str, tag: re.Match[str], ends: deque[re.Match[str]], places: set[int]
) -> re.Match[str] | None:
    """Return the closing tag that counts; tags before this element are removed for good."""
    while ends and ends[0].start() < tag.end():
        ends.popleft()
    for end in ends:
        solid = _SOLID.search(text, end.end())
        if solid is None or solid.start() in places:
            return end
    return ends[-1] if ends else None


def _doubled(value: str, name: str) -> re.Match[str] | None:
    """Return the closing tags at the end of a value that close nothing in it, or None."""
    if value.count(f"</{name}>") <= value.count(f"<{name}>"):
        return None
    return re.search(rf"(?:\s*</{re.escape(name)}>)+\s*\Z", value)


# --- Values nested in elements, read by their schema: objects by member, lists by item ---
#
# A list may also be written by repeating its own element, or with items of any one name. An object
# whose members the schema does not name has the members that are written.


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


# --- Values as trees of elements: objects by member, lists by `item`, everything else as text ---

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
