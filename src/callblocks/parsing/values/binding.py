"""Binding: a command line of words and a body, to a tool's parameters (`bind`) and back (`unbind`).

    🛠️[create-file notes.txt utf-8]body[/end]     {"path": …, "encoding": …, "content": "body"}

Binding, in this order
    1. Words are split as a shell splits them.
    2. A word `name=value` whose name is a parameter is bound to that one, wherever it stands.
    3. The other words are bound to the remaining parameters in the tool's order.
    4. The body is bound to the parameter that is marked as body, else to the last string parameter
       without a value.

Values
    list, body      one string on each line, or a JSON list. Words that no other parameter takes
                    come first: `read a.md b.md` reads two files. A list of other things is JSON.
    object          JSON, in a word as in the body.
    list, word      JSON without the outer brackets, because a `]` would end the head that the words
                    stand in: `'"a.csv", "b.csv"'`. A word that is no JSON and has no comma, bracket
                    or quote is the only element. If the elements are objects with a single
                    required member, a string stands for that member: `run sales.csv` gives
                    `[{"filename": "sales.csv"}]`.
    whole input     Without words, a body that would leave out a required parameter may be the whole
                    input as one JSON object. An input that fits into no head can be written so.

Invariant: `bind(*unbind(value))` is `value`, or `unbind` returns None. `unbind` therefore writes by
name each value that would be bound elsewhere: one behind a parameter that is left out, and one that
looks like a named value (`query=limit=5`).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard, cast

from callblocks.core.json_values import same
from callblocks.core.specs import ToolSpec
from callblocks.parsing.limits import Limits
from callblocks.parsing.values.schema_shape import (
    Plain,
    Schemas,
    elements,
    fits,
    in_schema_order,
    members,
)
from callblocks.parsing.values.strict_json import read_json
from callblocks.parsing.values.typed import read_any, typed, types_of

__all__ = ("Bound", "bind", "may_be_whole", "split_words", "unbind", "unbind_whole")

# A part of a word: plain, in either quotes, or behind a backslash; or blanks, which end a word. The
# alternatives exclude each other by their first character, so matching does not backtrack.
_PART = re.compile(
    r"""(?P<blanks>[ \t\r\n]+)|([^ \t\r\n'"\\]+)|'([^']*)'"""
    r"""|"(?P<escaped>[^"\\]*(?:\\.[^"\\]*)*)"|\\(.)""",
    re.DOTALL,
)
# Without any of these characters a text is split at blanks, which is much faster.
_QUOTING = re.compile(r"""['"\\]""")
_WORD = re.compile(r"[^ \t\r\n]+")
# Text that can only be a single element: neither several elements nor broken JSON.
_ONE = re.compile(r"""[^,;\[\]{}"'\r\n]*[^,;\[\]{}"'\s][^,;\[\]{}"'\r\n]*""")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')  # of JSON
_ESCAPE = re.compile(r"""\\(["\\])""")


def split_words(text: str) -> list[str]:
    """Split as a shell would; text with an open quote is split at blanks."""
    found = _split(text) if _QUOTING.search(text) else None
    return _WORD.findall(text) if found is None else found


def _split(text: str) -> list[str] | None:
    """Return the words as `shlex.split` does, but in linear time; None if a quote is open."""
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
    """The bound input; `value` is None if the words and the body do not fit the parameters.

    `misfits` are parameters whose text does not have their type, `named` those bound by name.
    """

    value: dict[str, Any] | None
    misfits: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


def bind(args: str, body: str, tool: ToolSpec) -> Bound:
    """Bind words and a body to a tool's parameters.

    The whole-input form is tried only if the usual binding lacks something: a tool with one string
    parameter must be able to receive a JSON object as text.
    """
    bound = _bind_parts(args, body, tool)
    is_enough = bound.value is not None and bound.value.keys() >= {*tool.required}
    whole = None if is_enough or args.strip() else _read_whole(body, tool)
    return bound if whole is None else Bound(whole)


def may_be_whole(tool: ToolSpec) -> bool:
    """Return whether a body may be the whole input: bound alone it omits a required parameter."""
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
    # Named words first, then the others in order (`names`), then the body. Surplus words (`left`)
    # fit only a body that is a list of lines. `tool.body` is skipped by the positional words: it
    # must not be taken by a word while a body follows.
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
    """Return the words with a parameter's name, and the others; None if one is named twice."""
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
    """Return a word as the value of its schema, and whether it fits; a list needs no brackets."""
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
    """Yield the lists that a word may stand for, with or without brackets."""
    # Candidates from the most literal to the most lenient; the caller takes the first that fits the
    # schema. A string element may stand for an object with one required member.
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
    """Bind the body; return False if there is a body and no parameter takes it."""
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
    """Bind a JSON body to the last unbound list or object that it fits; return whether."""
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
    """Return words and a body that `bind` binds to this input, or None if there are none."""
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
    """Return a body that `bind` reads as the whole input, or None."""
    body = f"{_word(in_schema_order(value, tool.parameters))}\n"
    bound = bind("", body, tool)
    return body if bound.value is not None and same(bound.value, dict(value)) else None


def _arguments(rest: Mapping[str, Any], tool: ToolSpec) -> Iterator[str]:
    """Yield each value as a word; by name behind a gap, or where it would be bound elsewhere."""
    is_gap = False
    for name in tool.properties:
        if name not in rest:
            is_gap = is_gap or name != tool.body
            continue
        # The grammar of the dialect allows no `name=value`. Behind a gap a list keeps its brackets,
        # so the caller finds a `]` in the head and writes the input as a body instead.
        word = _write_word(rest[name], tool.properties[name], tool.parameters, bare=not is_gap)
        by_name = is_gap or _name_in(word, tool) is not None
        yield f"{shlex.quote(name)}={shlex.quote(word)}" if by_name else shlex.quote(word)


def _write_word(value: Any, schema: object, document: object, *, bare: bool) -> str:
    """Return a word that is read as this value, without `]` if possible."""
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
    """Write one string per line if that reads back, else a JSON list of the strings."""
    if not _are_strings(value):
        return None
    lines = "".join(f"{line}\n" for line in value)
    return lines if value and _read_lines(lines) == value else _word(value) + "\n"


def _are_strings(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[Any]", value))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
