"""Calls with words in their head and a body of text: `🛠️[write a.txt]` body `🛠️[/end]`.

The head is known before the body. `bind` itself is asked what the words and a body mean: it is
given a body that no text has, and the parameter that gets this body is the one that streams.
"""

from __future__ import annotations

import re
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.gateway.arguments.output import JsonOutput
from callblocks.gateway.arguments.reader import Reader
from callblocks.parsing.values.binding import bind, may_be_whole

__all__ = ("BodyReader",)

_PROBE = "a body\nthat stands for any other"
# An escaped end marker: one backslash more than the body has.
_ESCAPED = re.compile(r"\[(?:\\(?:(\\*/end\])|\\*(?:/(?:e(?:n(?:d)?)?)?)?\Z)|\Z)")
_TOOLS = ("\U0001f6e0", "\U0001f6e0\ufe0f")


class BodyReader(Reader):
    """A reader of a body; `opening` is the text of the call's head."""

    def __init__(self, out: JsonOutput, spec: ToolSpec | None, opening: str) -> None:
        super().__init__(out)
        self._spec = spec
        self._head = opening
        self._before = ""

    def begin(self) -> bool:
        """Read the words of the head, and tell what they are bound to."""
        start, end = self._head.find("["), self._head.rfind("]")
        if not 0 <= start < end:
            return self.stop()
        bare = self._head[start + 1 : end].lstrip()
        name = bare.split(maxsplit=1)[0] if bare else ""
        args = bare[len(name) + 1 :]
        members = self._members(args)
        if members is None:
            return self.stop()
        # The body itself must not decide what it is bound to.
        char, _ = self.ahead(self.pos)
        if not char:
            return self.wait()
        spec = self._spec
        if spec and char == "{" and not args.strip() and may_be_whole(spec):
            return self.stop()
        target = ""
        for key, value in members.items():
            if value == _PROBE:
                target = key
            else:
                self.out.key(key)
                self.out.value(value)
        self.out.key(target)
        self.out.open()
        self.step = self._text
        return True

    def _members(self, args: str) -> dict[str, Any] | None:
        """Return the input for the probe as the body; None if that says nothing for others."""
        spec = self._spec
        if spec is None:
            return {"args": args, "body": _PROBE}
        if "[" in args or spec.body_is_json or spec.body_is_lines:
            return None
        bound = bind(args, _PROBE, spec)
        value = bound.value
        if value is None or bound.misfits or list(value.values()).count(_PROBE) != 1:
            return None
        # The body comes last: what the words say is known, it is not.
        target = next(key for key, one in value.items() if one == _PROBE)
        return {**{key: one for key, one in value.items() if key != target}, target: _PROBE}

    def _text(self) -> bool:
        found = _ESCAPED.search(self.buf, self.pos)
        end = found.start() if found else len(self.buf)
        self._tell(self.buf[self.pos : end])
        self.pos = end
        if found is None:
            return False
        if found[1] is None:
            return self.wait()
        if not self._before.endswith(_TOOLS):
            return self.stop()
        self._tell(f"[{found[1]}")
        self.pos = found.end()
        return True

    def _tell(self, text: str) -> None:
        if text:
            self.out.text(text)
            self._before = (self._before + text)[-4:]
