"""The output of running code: reported in batches, and kept at both ends if it is long.

Output of 100 ms is collected and reported at once, in whole lines where there are any. Of more than
20 lines only the last are reported, with a count, so a loop that prints a million lines costs ten
reports per second and bounded memory.
"""

from __future__ import annotations

import asyncio
import codecs
import io
import re

from callblocks.model.shown import format_size
from callblocks.tools.context import Context

__all__ = ("Printed",)

_MOMENT = 0.1
_LINES = 20
_HELD = 4_000
_LINE = 300
# Control characters that move a cursor or ring a bell. Carriage returns were translated to newlines
# before, so progress bars become lines.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Printed:
    """Both streams of one run; each keeps half of `keep` characters."""

    def __init__(self, context: Context, keep: int) -> None:
        self._kept = {"stdout": _Ends(keep // 2), "stderr": _Ends(keep // 2)}
        self._shown = _Shown(context)

    def take(self, stream: str, piece: bytes) -> None:
        """Take a piece of bytes in any encoding."""
        if text := self._kept[stream].take(piece):
            self._shown.add(text, len(piece))

    def close(self) -> None:
        """Report the text that was held back."""
        self._shown.flush()

    def texts(self) -> dict[str, str]:
        """Return both streams without the empty ones."""
        texts = {stream: ends.text() for stream, ends in self._kept.items()}
        return {stream: text for stream, text in texts.items() if text}

    @property
    def last_error(self) -> str:
        """The last line of standard error that is not blank."""
        lines = [line.strip() for line in self._kept["stderr"].last.splitlines()]
        said = next((line for line in reversed(lines) if line), "")
        return said if len(said) <= _LINE else f"{said[:_LINE]}…"


class _Ends:
    """The start and the end of a stream, without control characters."""

    def __init__(self, keep: int) -> None:
        self._half = keep // 2
        utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = io.IncrementalNewlineDecoder(utf8, translate=True)
        self._first = ""
        self._left_out = 0
        self._rest = ""
        self.last = ""

    def take(self, piece: bytes, *, final: bool = False) -> str:
        plain = self._decoder.decode(piece, final=final)
        text = _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", plain)
        self.last = (self.last + text)[-_HELD:]
        # Invariant: `_first` is full before anything goes to `_rest`, and `_rest` never exceeds
        # `_half`, so memory is bounded by `keep` however much is printed.
        room = self._half - len(self._first)
        self._first += text[:room]
        rest = self._rest + text[room:]
        self._left_out += max(0, len(rest) - self._half)
        self._rest = rest[len(rest) - self._half :] if len(rest) > self._half else rest
        return text

    def text(self) -> str:
        self.take(b"", final=True)
        between = f"\n… {self._left_out:,} characters left out …\n" if self._left_out else ""
        return f"{self._first}{between}{self._rest}"


class _Shown:
    """Debounce of reports: one report per moment."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._timer: asyncio.TimerHandle | None = None
        self._held = ""
        self._skipped = False
        self._lines = 0
        self._bytes = 0

    def add(self, text: str, size: int) -> None:
        self._lines += text.count("\n")
        self._bytes += size
        held = self._held + text
        self._skipped = self._skipped or len(held) > _HELD
        self._held = held[-_HELD:]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_MOMENT, self._moment_is_over)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._show(self._held)

    def _moment_is_over(self) -> None:
        self._timer = None
        # Hold an incomplete last line back until its end arrives, unless there is no newline at
        # all: a prompt or a row of dots must still be shown.
        whole = self._held.rfind("\n") + 1 or len(self._held)
        said, self._held = self._held[:whole], self._held[whole:]
        self._show(said)

    def _show(self, said: str) -> None:
        lines = said.split("\n")
        if self._skipped or len(lines) > _LINES:
            size = format_size(self._bytes)
            told = f"… {self._lines:,} lines, {size} printed so far\n"
            said = "\n".join(lines[-_LINES:]).rstrip("\n") + f"\n{told}"
        self._skipped = False
        if said:
            self._context.report(said)
