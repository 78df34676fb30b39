"""A reader of xgrammar's structural tags, and a writer for llama.cpp.

xgrammar itself needs torch. What a format means was compared with xgrammar 0.2.8: text is free
until a trigger, then a tag must follow; free text never holds what is excluded.
"""

from __future__ import annotations

import json
from typing import Any

from callblocks.parsing.grammar import notations
from callblocks.parsing.grammar.expressions import without
from support.gbnf import tokens

__all__ = ("to_gbnf",)


def to_gbnf(text: str) -> str:
    """The GBNF grammar of the same language."""
    tag = json.loads(text)
    assert tag.keys() == {"type", "format"}
    assert tag["type"] == "structural_tag"
    reader = _Reader()
    root = reader.format(tag["format"])
    return f"root ::= {root}\n" + "".join(f"{name} ::= {rule}\n" for name, rule in reader.lines)


class _Reader:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self._grammars: dict[str, str] = {}

    def format(self, form: dict[str, Any]) -> str:
        """What stands in a rule for the format."""
        match form:
            case {"type": "grammar", "grammar": str(grammar), **rest} if not rest:
                return self._grammar(grammar)
            case {"type": "tag", "begin": begin, "content": content, "end": end, **rest}:
                assert not rest
                return f"({_literal(begin)} {self.format(content)} {_literal(end)})"
            case {"type": "sequence", "elements": elements}:
                return f"({' '.join(map(self.format, elements))})"
            case {"type": "or", "elements": elements}:
                return f"({' | '.join(map(self.format, elements))})"
            case {"type": "any_text", "excludes": excluded}:
                return self._prose(excluded)
            case {"type": "triggered_tags"}:
                return self._triggered(**form)
            case _:
                raise AssertionError(f"no format: {form}")

    def _triggered(
        self,
        type: str,
        triggers: list[str],
        tags: list[dict[str, Any]],
        *,
        at_least_one: bool,
        stop_after_first: bool,
        excludes: list[str] | None = None,
    ) -> str:
        assert not at_least_one
        assert not stop_after_first
        for tag in tags:
            assert len([one for one in triggers if tag["begin"].startswith(one)]) == 1
        # Seen with xgrammar: what is excluded is also looked for inside of triggers.
        assert not any(one in trigger for trigger in triggers for one in excludes or ())
        prose = self._prose([*triggers, *(excludes or ())])
        return f"({prose} (({' | '.join(map(self.format, tags))}) {prose})*)"

    def _prose(self, excluded: list[str]) -> str:
        return self._grammar(notations.gbnf_text({"root": without(excluded)}))

    def _grammar(self, grammar: str) -> str:
        """Add the rules under names of their own."""
        if grammar not in self._grammars:
            prefix = f"g{len(self._grammars)}-"
            self._grammars[grammar] = f"{prefix}root"
            for line in grammar.splitlines():
                name, rule = line.split(" ::= ", 1)
                self.lines.append((prefix + name, _renamed(rule, prefix)))
        return self._grammars[grammar]


def _renamed(rule: str, prefix: str) -> str:
    return " ".join(prefix + one[0] if one["name"] else one[0] for one in tokens(rule))


def _literal(text: str) -> str:
    return '"' + "".join(f"\\U{ord(char):08X}" for char in text) + '"'
