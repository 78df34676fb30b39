"""The discovery documents of the six services, as routes and schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import unquote

import msgspec

from support.google.state import Json

__all__ = ("DOCUMENTS", "Description", "Route", "all_methods", "find_route")

DOCUMENTS = ("gmail.v1", "drive.v3", "calendar.v3", "docs.v1", "sheets.v4", "tasks.v1")


class Description(msgspec.Struct, frozen=True):
    """A method: its entry in the document, and the document around it."""

    id: str
    http_method: str
    entry: Json
    document: Json

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset(self.entry.get("scopes", ()))

    def parameters(self, location: str) -> dict[str, Json]:
        """The parameters of a place (`path`, `query`); those of every method are `query`."""
        own: dict[str, Json] = self.entry.get("parameters", {})
        found = {name: given for name, given in own.items() if given["location"] == location}
        return {**self.document["parameters"], **found} if location == "query" else found

    def schema(self, side: str) -> Json | None:
        """What a `request` or a `response` holds; None if it holds nothing."""
        return self.entry.get(side)


class Route(msgspec.Struct, frozen=True):
    """What a path leads to."""

    method: Description
    path: dict[str, str]
    upload: bool


class _Pattern(msgspec.Struct, frozen=True):
    regex: re.Pattern[str]
    method: Description
    upload: bool
    literal: int


def find_route(http_method: str, path: str) -> Route | None:
    """The method that a path, still encoded, leads to; the one with the most fixed letters."""
    for pattern in _patterns():
        found = pattern.regex.fullmatch(path)
        if found and pattern.method.http_method == http_method:
            values = {_name(key): unquote(value) for key, value in found.groupdict().items()}
            return Route(pattern.method, values, pattern.upload)
    return None


@cache
def all_methods() -> dict[str, Description]:
    """Every method of the six services by its id."""
    return {method.id: method for document in _documents() for method in _methods(document)}


def _documents() -> list[Json]:
    folder = resources.files("googleapiclient") / "discovery_cache" / "documents"
    return [json.loads((folder / f"{name}.json").read_bytes()) for name in DOCUMENTS]


def _methods(document: Json) -> Iterator[Description]:
    def within(resource: Json) -> Iterator[Json]:
        yield from resource.get("methods", {}).values()
        for inner in resource.get("resources", {}).values():
            yield from within(inner)

    for entry in within(document):
        yield Description(entry["id"], entry["httpMethod"], entry, document)


@cache
def _patterns() -> list[_Pattern]:
    found: list[_Pattern] = []
    for method in all_methods().values():
        path = "/" + method.document["servicePath"] + method.entry["path"]
        found.append(_pattern(path, method, upload=False))
        if "mediaUpload" in method.entry:
            upload: Any = method.entry["mediaUpload"]["protocols"]["simple"]["path"]
            found.append(_pattern(upload, method, upload=True))
    return sorted(found, key=lambda pattern: -pattern.literal)


def _pattern(path: str, method: Description, *, upload: bool) -> _Pattern:
    regex, literal = "", 0
    for piece in re.split(r"(\{[^}]*\})", path):
        if piece.startswith("{"):
            name = piece.strip("{}+")
            # A plain variable is encoded: it holds neither `/` nor `:`.
            regex += f"(?P<{_group(name)}>{'.+' if '+' in piece else '[^/:]+'})"
        else:
            regex += re.escape(piece)
            literal += len(piece)
    return _Pattern(re.compile(regex), method, upload, literal)


def _group(name: str) -> str:
    return name.replace(".", "__")


def _name(group: str) -> str:
    return group.replace("__", ".")
