"""Definitions of a server's tools as a person and a model are shown them, and a check of changes.

A definition is a stranger's word. On its way to a model its texts lose what could act (the markers
of calls, headings and chat templates, invisible characters), and their length is bounded. A name or
a schema that cannot be made harmless is left out with a reason.

A definition is pinned when it is first seen: name, description, schema and annotations, by their
hash. The model is shown what was pinned, also after the server changed it. A call of a tool whose
definition changed asks a person, who sees what changed, whatever the policy says; the yes pins the
new definition. So no server gets a tool approved and turns it into another one.

    definitions.json       {"git": {"git_log": {"digest": …, "description": …, "schema": …}}}
"""

from __future__ import annotations

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

import msgspec

from callblocks.core.errors import BadSpec, CallerError
from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.guard.files.replace_file import replace_private
from callblocks.protocols.mcp.servers import ServerEntry
from callblocks.tools.registry import foreign_tool
from callblocks.tools.tool import is_name
from callblocks.views.model_view.neutral import neutralize

__all__ = ("Definition", "Definitions", "LeftOut", "changes_of", "read_definitions", "spec_of")

MAX_TOOLS = 512
_MAX_DESCRIPTION = 4_000
_MAX_TEXT = 1_000
_MAX_SCHEMA = 64_000
_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]{0,79}")
_KEY = re.compile(r"[\w$][\w$.:@ -]{0,99}")
# Words for people in a schema. They are a stranger's prose, and change nothing of what is valid.
_PROSE = frozenset(("description", "title", "$comment"))
_MAPS = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_VALUES = frozenset(("default", "const", "examples", "enum", "example"))
_BLANKS = re.compile(r"[^\S\n]+")


class Definition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool as its server describes it, unchanged."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    annotations: dict[str, Any] = {}

    @property
    def digest(self) -> str:
        """Return the hash of everything that it says."""
        form = msgspec.json.encode(
            [self.name, self.description, self.schema, self.annotations], order="deterministic"
        )
        return hashlib.sha256(b"callblocks mcp definition 1\n" + form).hexdigest()


class LeftOut(msgspec.Struct, frozen=True):
    """A tool that is not offered, and why."""

    name: str
    reason: str


def read_definitions(
    entry: ServerEntry, listed: Iterable[Any]
) -> tuple[dict[str, Definition], tuple[LeftOut, ...]]:
    """Return the definitions of a list of the SDK's tools, by name, and what is left out."""
    known: dict[str, Definition] = {}
    left_out: list[LeftOut] = []
    for tool in listed:
        name = str(tool.name)
        if entry.tools and not any(fnmatchcase(name, one) for one in entry.tools):
            continue
        try:
            definition = _read(tool)
            # Also compiled as the check of inputs: a schema that points elsewhere fails here.
            foreign_tool(spec_of(entry.name, definition), {})
        except (BadSpec, ValueError, TypeError, RecursionError) as error:
            left_out.append(LeftOut(visible(name, 80), visible(str(error), 200)))
            continue
        if name in known:
            left_out.append(LeftOut(visible(name, 80), "the server lists it twice"))
        elif len(known) >= MAX_TOOLS:
            left_out.append(LeftOut(visible(name, 80), f"there are more than {MAX_TOOLS} tools"))
        else:
            known[name] = definition
    return known, tuple(left_out[:MAX_TOOLS])


def _read(tool: Any) -> Definition:
    hints: dict[str, Any] = {}
    if tool.annotations is not None:
        hints = tool.annotations.model_dump(exclude_none=True)
    schema = cast("dict[str, Any]", tool.input_schema)
    if len(msgspec.json.encode(schema)) > _MAX_SCHEMA:
        raise BadSpec(f"its schema has more than {_MAX_SCHEMA:,} characters")
    description = str(tool.description or "")[: 10 * _MAX_DESCRIPTION]
    return Definition(
        name=str(tool.name), description=description, schema=schema, annotations=hints
    )


# --- The specification that a model sees ---


def spec_of(server: str, definition: Definition) -> ToolSpec:
    """Return the specification under the name `server.tool`, with nothing in it that acts.

    Raise `BadSpec` where a name in it cannot be made harmless: changing it would change the tool.
    """
    name = f"{server}.{definition.name}"
    if not _NAME.fullmatch(definition.name) or not is_name(name):
        raise BadSpec("its name is none that a policy could tell from others")
    return ToolSpec(
        name,
        neutral_text(definition.description, _MAX_DESCRIPTION),
        _harmless_schema(definition.schema),
    )


def neutral_text(text: str, most: int) -> str:
    """Return a stranger's text for a model: nothing in it acts, and it is not too long."""
    return neutralize(visible(text, most))


def visible(text: str, most: int) -> str:
    """Return a text with only what can be seen of it: no controls, no invisible characters."""
    shown = "".join(char for char in text[: 4 * most] if char == "\n" or _is_visible(char))
    shown = _BLANKS.sub(" ", shown).strip()
    return shown if len(shown) <= most else f"{shown[:most]}…"


def _is_visible(char: str) -> bool:
    return (char.isascii() and char.isprintable()) or unicodedata.category(char) not in _HIDDEN


_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def _harmless_schema(value: Any, *, names: bool = False) -> Any:
    if isinstance(value, list):
        return [_harmless_schema(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, part in cast("dict[str, Any]", value).items():
        if names:
            _check_name(key)
        if not names and key in _PROSE:
            if isinstance(part, str):
                made[key] = neutral_text(part, _MAX_TEXT)
        elif not names and key in _VALUES:
            _check_values(key, part)
            made[key] = part
        else:
            made[key] = _harmless_schema(part, names=not names and key in _MAPS)
    return made


def _check_name(name: str) -> None:
    if not _KEY.fullmatch(name) or neutralize(name) != name:
        raise BadSpec(f"a parameter has a name that could act: {brief(visible(name, 40))}")


def _check_values(key: str, value: Any) -> None:
    for text in _texts(value):
        if visible(text, _MAX_TEXT) != text.strip() or neutralize(text) != text:
            raise BadSpec(f"`{key}` has a value that could act: {brief(visible(text, 40))}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield key
            yield from _texts(item)


# --- The pinned definitions, and the tools that a person switched off ---


class _File(msgspec.Struct, kw_only=True):
    servers: dict[str, dict[str, Definition]] = {}
    off: list[str] = []


class Definitions:
    """The pinned definitions of all servers, in one file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, server: str) -> Mapping[str, Definition]:
        """Return what is pinned of a server; nothing where it was never seen."""
        return self._read().servers.get(server, {})

    def pin(self, server: str, definitions: Mapping[str, Definition]) -> None:
        """Pin definitions of a server in the place of all that it had before."""
        kept = self._read()
        kept.servers = kept.servers | {server: dict(definitions)}
        self._write(kept)

    def pin_one(self, server: str, definition: Definition) -> None:
        """Pin one definition, and leave the others."""
        self.pin(server, {**self.of(server), definition.name: definition})

    def forget(self, server: str) -> None:
        """Forget a server: its tools are new when they are seen again."""
        kept = self._read()
        kept.servers = {name: tools for name, tools in kept.servers.items() if name != server}
        kept.off = [name for name in kept.off if not name.startswith(f"{server}.")]
        self._write(kept)

    def switch(self, name: str, *, on: bool) -> None:
        """Offer a tool, or a whole server, or do not."""
        kept = self._read()
        kept.off = sorted({*kept.off} - {name} if on else {*kept.off, name})
        self._write(kept)

    @property
    def off(self) -> frozenset[str]:
        """Return the names of servers and tools that are switched off."""
        return frozenset(self._read().off)

    def _read(self) -> _File:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_File)
        except FileNotFoundError:
            return _File()
        except (OSError, msgspec.MsgspecError) as error:
            # Without the pins nobody would notice a change: that must not pass silently.
            words = f"{self._path}: cannot be read ({error}); remove it, and look at the tools anew"
            raise CallerError(words) from error

    def _write(self, kept: _File) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_private(self._path, msgspec.json.format(msgspec.json.encode(kept)))


def changes_of(before: Definition | None, now: Definition) -> str:
    """Return the differences of two definitions as a person can read them."""
    old = [] if before is None else _lines(before)
    diff = difflib.unified_diff(old, _lines(now), "as it was", "as it is now", lineterm="", n=1)
    text = "\n".join(diff)
    return text if len(text) <= 4 * _MAX_DESCRIPTION else f"{text[: 4 * _MAX_DESCRIPTION]}…"


def _lines(definition: Definition) -> list[str]:
    parts = msgspec.json.format(
        msgspec.json.encode([definition.schema, definition.annotations], order="deterministic")
    ).decode()
    return [
        visible(line, 400) for line in (*definition.description.splitlines(), *parts.splitlines())
    ]
