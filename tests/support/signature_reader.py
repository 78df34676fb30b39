"""Reads the lines of a compact prompt back, by their notation alone.

It is written from the description of the notation, and shares no code with what writes it.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

__all__ = ("Signature", "read_signatures")

WORDS = ("string", "int", "number", "bool", "null", "any", "object", "scalar", "…")
TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|[][(){}|?=*]|: |, |[^][(){},|?=*:\s\"]+")


class Signature(NamedTuple):
    """A tool: each parameter with whether it is optional, its type and its default."""

    name: str
    parameters: dict[str, tuple[bool, Any, Any]]
    body: str | None


def read_signatures(prompt: str) -> list[Signature]:
    """The tools of a compact prompt, from the line that explains the signs on."""
    lines = re.split(r"\nTools \(.*\):\n\n", prompt)[1].removesuffix("\n").split("\n")
    found: list[Signature] = []
    for line in lines:
        reader = _Reader(line)
        name = reader.name()
        reader.take("(")
        if line[reader.at :].startswith("same as "):
            reader.at += len("same as ")
            same = reader.name()
            first = next(one for one in found if one.name == same)
            parameters, body = first.parameters, first.body
        else:
            parameters, body = reader.parameters(")"), reader.body
        reader.take(")")
        assert line[reader.at :] == "" or line[reader.at :].startswith(": ")
        found.append(Signature(name, parameters, body))
    return found


class _Reader:
    def __init__(self, line: str) -> None:
        self.line, self.at, self.body = line, 0, None

    def peek(self) -> str:
        found = TOKEN.match(self.line, self.at)
        return found[0] if found else ""

    def take(self, token: str | None = None) -> str:
        found = self.peek()
        assert found, self.line[self.at :]
        assert token in (None, found), (token, self.line[self.at :])
        self.at += len(found)
        return found

    def name(self) -> str:
        token = self.take()
        return json.loads(token) if token.startswith('"') else token

    def parameters(self, end: str) -> dict[str, tuple[bool, Any, Any]]:
        found: dict[str, tuple[bool, Any, Any]] = {}
        while self.peek() != end:
            name = self.name()
            if self.peek() == "*":
                self.take()
                self.body = name
            is_optional = self.peek() == "?" and bool(self.take())
            found[name] = (is_optional, *self.tail())
            if self.peek() == ", ":
                self.take()
        return found

    def tail(self) -> tuple[Any, Any]:
        if self.peek() == ": ":
            self.take()
            found = self.type()
            return found, self.default() if self.peek() == "=" else None
        if self.peek() != "=":
            return "string", None
        self.take()
        values = [self.alternative()]
        while self.peek() == "|":
            self.take()
            values.append(self.alternative())
        default = values[0]["choice"]
        if len(values) > 1:
            return _union(values), default
        names = {str: "string", bool: "bool", int: "int", float: "number"}
        return names[type(default)], default

    def default(self) -> Any:
        self.take("=")
        return self.alternative()["choice"]

    def type(self) -> Any:
        found = [self.alternative()]
        while self.peek() == "|":
            self.take()
            found.append(self.alternative())
        return _union(found)

    def alternative(self) -> Any:
        token = self.take()
        if token == "[":
            inner = self.type()
            self.take("]")
            return [inner]
        if token == "{":
            if self.line.startswith("any key: ", self.at):
                self.at += len("any key: ")
                inner, keys = self.type(), {}
            else:
                inner, keys = None, self.parameters("}")
            self.take("}")
            return {"keys": keys, "others": inner}
        if token in WORDS:
            return token
        try:
            return {"choice": json.loads(token)}
        except json.JSONDecodeError:
            return {"choice": token}


def _union(found: list[Any]) -> Any:
    if all(isinstance(one, dict) and "choice" in one for one in found):
        return {"choices": sorted(repr(one["choice"]) for one in found)}
    return found[0] if len(found) == 1 else {"union": found}
