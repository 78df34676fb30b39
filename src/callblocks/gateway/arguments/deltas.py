"""The input of one call as JSON that grows, and the body of a free-text call as text that grows."""

from __future__ import annotations

from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.gateway.arguments.notations import reader_of
from callblocks.gateway.arguments.output import JsonOutput, PlainOutput
from callblocks.gateway.arguments.reader import MOST, Reader

# The parameter of a free-text tool (`GatewayRequest.free_text`).
FREE_TEXT = "input"

__all__ = ("ArgumentDeltas", "TextDeltas")


class ArgumentDeltas:
    """The input of one call as JSON that grows.

    `dialect` is that of the call (`Call.dialect`); `opening` is the text of the `CallStarted`'s
    span, which some dialects need because arguments stand in it. `restores`: the model was shown
    texts with the sign of `neutral`, which strings then lose. `agrees` is False if what was sent
    is not the input after all.
    """

    def __init__(
        self,
        dialect: str,
        spec: ToolSpec | None,
        *,
        opening: str = "",
        restores: bool = False,
        out: JsonOutput | None = None,
    ) -> None:
        self._out = JsonOutput(restores=restores) if out is None else out
        self._dialect, self._spec, self._opening = dialect, spec, opening
        self._reader: Reader | None = None
        self._stopped = False
        self._begun = ""

    @property
    def agrees(self) -> bool:
        """Whether what was sent could be made equal to the input."""
        return self._out.agrees

    def feed(self, raw: str) -> str:
        """Take more raw input; return the JSON to append, "" while nothing is certain."""
        reader = self._reader
        if reader is None:
            if self._stopped:
                return ""
            reader, raw = self._choose(raw)
            if reader is None:
                return ""
        reader.feed(raw)
        return self._out.take()

    def finish(self, given: dict[str, Any]) -> str:
        """Take the input as the parser read it; return the rest of its JSON."""
        return self._out.finish(given)

    def _choose(self, raw: str) -> tuple[Reader | None, str]:
        """Return the reader for the input once its first character is known, and its text."""
        self._begun += raw
        if len(self._begun) > MOST and not self._begun[:MOST].strip():
            self._stopped = True
            return None, ""
        char = self._begun.lstrip(" \t\r\n")[:1]
        if not char:
            return None, ""
        text, self._begun = self._begun, ""
        self._reader = reader_of(self._dialect, self._spec, self._out, char, self._opening)
        self._stopped = self._reader is None
        return self._reader, text


class TextDeltas:
    """The text of a free-text call as it grows: the value of its only parameter.

    It has the interface of `ArgumentDeltas`, and gives plain text in place of JSON.
    """

    def __init__(
        self,
        dialect: str,
        spec: ToolSpec | None,
        *,
        opening: str = "",
        restores: bool = False,
    ) -> None:
        names = list(spec.properties) if spec else []
        self._key = names[0] if len(names) == 1 else FREE_TEXT
        self._out = PlainOutput(self._key, restores=restores)
        self._deltas = ArgumentDeltas(dialect, spec, opening=opening, out=self._out)

    @property
    def agrees(self) -> bool:
        """Whether what was sent could be made equal to the text."""
        return self._out.agrees

    def feed(self, raw: str) -> str:
        """Take more raw input; return the text to append."""
        return self._deltas.feed(raw)

    def finish(self, given: dict[str, Any]) -> str:
        """Take the input as the parser read it; return the rest of the text.

        An input without the parameter, or with a value that is no text, is given as JSON.
        """
        return self._deltas.finish(given)
