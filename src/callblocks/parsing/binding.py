"""Positional arguments and a body, bound to a tool's parameters and back.

`create-file notes.txt utf-8` with a body binds `notes.txt` and `utf-8` to the first two
parameters and the body to the parameter marked as body, or else to the last string one that
is not given yet. Words are split as a shell would.

A body that goes to a list of strings has one string on each line, or is a JSON list. Words
that no other parameter takes come before them: `read a.md b.md` reads two. A body that goes to
another list, or to an object, is JSON.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, TypeGuard, cast

from callblocks.model.specs import ToolSpec
from callblocks.parsing.json_value import read_json
from callblocks.parsing.limits import Limits
from callblocks.parsing.typed import typed

__all__ = ("bind", "split_words", "unbind")

# Most words need no shell: `shlex` takes fifty times as long.
_QUOTING = re.compile(r"""['"\\]""")
_WORD = re.compile(r"[^ \t\r\n]+")


def split_words(text: str) -> list[str]:
    """Split as a shell would; text with an open quote is split at blanks."""
    if not _QUOTING.search(text):
        return _WORD.findall(text)
    try:
        return shlex.split(text)
    except ValueError:
        return _WORD.findall(text)


def bind(args: str, body: str, tool: ToolSpec) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the input, or None if there are more words than parameters; and what did not fit."""
    words = split_words(args)
    names = [name for name in tool.properties if name != tool.body]
    if len(words) > len(names) and not tool.body_is_lines:
        return None, []
    given: dict[str, Any] = {}
    misfits: list[str] = []
    for name, word in zip(names, words, strict=False):
        given[name], fits = typed(word, tool.properties[name])
        if not fits:
            misfits.append(name)
    if tool.body and tool.body_is_lines:
        lines = [*words[len(names) :], *_read_lines(body)]
        if lines or body.strip() or tool.body in tool.required:
            given[tool.body] = lines
        return given, misfits
    if tool.body and tool.body_is_json:
        if body.strip() or tool.body in tool.required:
            given[tool.body], fits = typed(body, tool.properties[tool.body])
            misfits += [] if fits else [tool.body]
        return given, misfits
    target = _body_target(tool, given)
    if target and (body or (tool.body and target in tool.required)):
        given[target] = body
    elif body.strip():
        return None, []
    return given, misfits


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
    names = [name for name in tool.properties if name != tool.body][: len(rest)]
    if list(rest) != names or not isinstance(body, str):
        return None
    return " ".join(shlex.quote(_word(rest[name])) for name in names), body


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
