"""Positional arguments and a body, bound to a tool's parameters and back.

`create-file notes.txt utf-8` with a body binds `notes.txt` and `utf-8` to the first two
parameters and the body to the parameter marked as body, or else to the last string one that
is not given yet. Words are split as a shell would.

A word `name=value` whose name is a parameter goes to that one, wherever it stands; the words
without a name go to the parameters that are left. A value that would be taken for a named one is
written by its own name, `query=limit=5`, and so is one that comes after a parameter left out.

A body that goes to a list of strings has one string on each line, or is a JSON list. Words
that no other parameter takes come before them: `read a.md b.md` reads two. A body that goes to
another list, or to an object, is JSON.

A word for an object is JSON. A word for a list is JSON without the outer brackets, for a `]` would
end the head that the words stand in: `'"a.csv", "b.csv"'`. A word that is no JSON, and has neither
commas nor brackets nor quotes in it, is the only element. Where the elements are objects of which
only one member is required, a string stands for that member: `run sales.csv` gives the list
`[{"filename": "sales.csv"}]`.

Where no words are given, and the body alone would leave out what is required, the body may be the
whole input as one JSON object. So what does not fit into a head can be said, too.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard, cast

from callblocks.model.specs import ToolSpec
from callblocks.parsing.json_value import read_json
from callblocks.parsing.limits import Limits
from callblocks.parsing.same import same
from callblocks.parsing.schema_order import fits, in_schema_order
from callblocks.parsing.schema_shape import Plain, Schemas, elements, members
from callblocks.parsing.typed import read_any, typed, types_of

__all__ = ("Bound", "bind", "may_be_whole", "split_words", "unbind", "unbind_whole")

# A part of a word: plain, in either quotes, or after a backslash; or blanks, which end one.
_PART = re.compile(
    r"""(?P<blanks>[ \t\r\n]+)|([^ \t\r\n'"\\]+)|'([^']*)'"""
    r"""|"(?P<escaped>[^"\\]*(?:\\.[^"\\]*)*)"|\\(.)""",
    re.DOTALL,
)
_QUOTING = re.compile(r"""['"\\]""")
_WORD = re.compile(r"[^ \t\r\n]+")
# Text that can be one element only: no several ones, and no JSON that broke.
_ONE = re.compile(r"""[^,;\[\]{}"'\r\n]*[^,;\[\]{}"'\s][^,;\[\]{}"'\r\n]*""")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')  # of JSON
_ESCAPE = re.compile(r"""\\(["\\])""")


def split_words(text: str) -> list[str]:
    """Split as a shell would; text with an open quote is split at blanks."""
    found = _split(text) if _QUOTING.search(text) else None
    return _WORD.findall(text) if found is None else found


def _split(text: str) -> list[str] | None:
    """The words, as `shlex.split` gives them, but in linear time; None if a quote is open."""
    words: list[str] = []
    parts: list[str] = []
    at = 0
    while part := _PART.match(text, at):
        at = part.end()
        if part["blanks"] is None:
            inside = part[part.lastindex or 0]
            parts.append(_ESCAPE.sub(r"\1", inside) if part["escaped"] is not None else inside)
        elif parts:
            words.append("".join(parts))
            parts = []
    if parts:
        words.append("".join(parts))
    return words if at == len(text) else None


class Bound(NamedTuple):
    """What words and a body give; `value` is None where they do not fit the parameters.

    `misfits` are parameters whose text is not of their type, `named` those given by their name.
    """

    value: dict[str, Any] | None
    misfits: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


def bind(args: str, body: str, tool: ToolSpec) -> Bound:
    """Return the input that the words and the body give a tool."""
    bound = _bind_parts(args, body, tool)
    is_enough = bound.value is not None and bound.value.keys() >= {*tool.required}
    whole = None if is_enough or args.strip() else _read_whole(body, tool)
    return bound if whole is None else Bound(whole)


def may_be_whole(tool: ToolSpec) -> bool:
    """Whether a body can be the whole input of a tool: alone it leaves out what is required."""
    return not {*tool.required} <= {_body_target(tool, {})}


def _read_whole(body: str, tool: ToolSpec) -> dict[str, Any] | None:
    """Return the whole input if the body is one, as a JSON object."""
    if not body.lstrip().startswith("{"):
        return None
    value = read_any(body)
    if not isinstance(value, dict):
        return None
    found = cast("dict[str, Any]", value)
    return found if tool.properties.keys() >= found.keys() >= {*tool.required} else None


def _bind_parts(args: str, body: str, tool: ToolSpec) -> Bound:
    said = _by_name(split_words(args), tool)
    if said is None:
        return Bound(None)
    named, words = said
    names = [name for name in tool.properties if name != tool.body and name not in named]
    left = words[len(names) :]
    if left and not tool.body_is_lines:
        return Bound(None)
    texts = {**named, **dict(zip(names, words, strict=False))}
    given: dict[str, Any] = {}
    misfits: list[str] = []
    for name in tool.properties:
        if name in texts and not (name == tool.body and tool.body_is_lines):
            given[name], fits = _read_word(texts[name], tool.properties[name], tool.parameters)
            misfits += [] if fits else [name]
    if tool.body and tool.body_is_lines:
        lines = [*_read_lines(named.get(tool.body, "")), *left, *_read_lines(body)]
        if lines or body.strip() or tool.body in named or tool.body in tool.required:
            given[tool.body] = lines
    elif not _bind_body(given, misfits, body, tool):
        return Bound(None)
    return Bound(given, tuple(misfits), tuple(named))


def _by_name(words: list[str], tool: ToolSpec) -> tuple[dict[str, str], list[str]] | None:
    """The words that name their parameter, and the others; None if one is named twice."""
    named: dict[str, str] = {}
    others: list[str] = []
    for word in words:
        name = _name_in(word, tool)
        if name is None:
            others.append(word)
        elif name in named:
            return None
        else:
            named[name] = word[len(name) + 1 :]
    return named, others


def _name_in(word: str, tool: ToolSpec) -> str | None:
    name, equals, _ = word.partition("=")
    return name if equals and name in tool.properties else None


def _read_word(text: str, schema: object, document: object) -> tuple[Any, bool]:
    """Return what a word is by its schema, and whether it fits; a list needs no brackets."""
    value, fits_schema, _ = typed(text, schema, document)
    if fits_schema:
        return value, True
    schemas = Schemas(document)
    for plain in schemas.plain(schema):
        for one in _read_elements(text, plain, schemas) if "array" in types_of(plain) else ():
            if fits(one, schema, document):
                return one, True
    return value, False


def _read_elements(text: str, plain: Plain, schemas: Schemas) -> Iterator[list[Any]]:
    """The lists that a word may be, with brackets or without."""
    one = [text] if _ONE.fullmatch(text) else None
    for read in (read_any(text), read_any(f"[{text}]"), one):
        if not isinstance(read, list):
            continue
        found = cast("list[Any]", read)
        yield found
        for element in schemas.plain(elements(plain).rest):
            if len(required := members(element).required) == 1:
                (name,) = required
                yield [{name: item} if isinstance(item, str) else item for item in found]


def _bind_body(given: dict[str, Any], misfits: list[str], body: str, tool: ToolSpec) -> bool:
    """Whether a parameter takes the body, or there is none to take."""
    target = _body_target(tool, given)
    is_required = tool.body is not None and target in tool.required
    if target is None or target in given:
        return not body.strip() or _bind_json(given, body, tool)
    if tool.body_is_json:
        if body.strip() or is_required:
            given[target], fits, _ = typed(body, tool.properties[target], tool.parameters)
            misfits += [] if fits else [target]
    elif body or is_required:
        given[target] = body
    return True


def _bind_json(given: dict[str, Any], body: str, tool: ToolSpec) -> bool:
    """Whether the body is JSON for a list or an object not given yet, the last that it fits."""
    if not body.lstrip().startswith(("[", "{")):
        return False
    for name in reversed(tool.properties):
        if name not in given and tool.properties[name].get("type") in ("array", "object"):
            value, fits_schema = _read_word(body, tool.properties[name], tool.parameters)
            if fits_schema:
                given[name] = value
                return True
    return False


def unbind(value: Mapping[str, Any], tool: ToolSpec) -> tuple[str, str] | None:
    """Return arguments and body that `bind` would bind to this input, or None if none would."""
    rest = {name: value[name] for name in tool.properties if name in value}
    if len(rest) != len(value):
        return None
    target = _body_choice(rest, tool)
    body = rest.pop(target, "") if target else ""
    if tool.body_is_lines and tool.body in value:
        body = _write_lines(body)
    elif tool.body_is_json and tool.body in value and not isinstance(body, str):
        body = f"{_word(body)}\n"
    if not isinstance(body, str):
        return None
    return " ".join(_arguments(rest, tool)), body


def unbind_whole(value: Mapping[str, Any], tool: ToolSpec) -> str | None:
    """Return a body that `bind` would take for the whole of this input, or None."""
    body = f"{_word(in_schema_order(value, tool.parameters))}\n"
    bound = bind("", body, tool)
    return body if bound.value is not None and same(bound.value, dict(value)) else None


def _arguments(rest: Mapping[str, Any], tool: ToolSpec) -> Iterator[str]:
    """Each value as a word; by its name after a gap, or where it would be read as another's."""
    is_gap = False
    for name in tool.properties:
        if name not in rest:
            is_gap = is_gap or name != tool.body
            continue
        # Grammars know no names: a list after a gap keeps its brackets, and so needs a body.
        word = _write_word(rest[name], tool.properties[name], tool.parameters, bare=not is_gap)
        by_name = is_gap or _name_in(word, tool) is not None
        yield f"{shlex.quote(name)}={shlex.quote(word)}" if by_name else shlex.quote(word)


def _write_word(value: Any, schema: object, document: object, *, bare: bool) -> str:
    """Return a word that is read as this value, without a `]` where that can be."""
    if not isinstance(value, dict | list):
        return _word(value)
    text = _STRING.sub(_escape_bracket, _word(value))
    if isinstance(value, list) and bare:
        read, fits_schema = _read_word(text[1:-1], schema, document)
        return text[1:-1] if fits_schema and same(read, value) else text
    return text


def _escape_bracket(string: re.Match[str]) -> str:
    return string[0].replace("]", "\\u005d").replace("'", "\\u0027")


def _body_target(tool: ToolSpec, given: Mapping[str, Any]) -> str | None:
    if tool.body:
        return tool.body
    left = [
        name
        for name, schema in tool.properties.items()
        if name not in given and schema.get("type") == "string"
    ]
    return left[-1] if left else None


def _body_choice(value: Mapping[str, Any], tool: ToolSpec) -> str | None:
    if tool.body:
        return tool.body
    target = _body_target(tool, {})
    text = value.get(target or "")
    return target if isinstance(text, str) and ("\n" in text or "]" in text) else None


def _read_lines(body: str) -> list[str]:
    if body.lstrip().startswith("["):
        try:
            value = read_json(body, Limits().depth)
        except ValueError:
            value = None
        if _are_strings(value):
            return value
    return [line.strip() for line in body.split("\n") if line.strip()]


def _write_lines(value: Any) -> str | None:
    """One string on each line, if they are read so again; else a JSON list of them."""
    if not _are_strings(value):
        return None
    lines = "".join(f"{line}\n" for line in value)
    return lines if value and _read_lines(lines) == value else _word(value) + "\n"


def _are_strings(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[Any]", value))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
