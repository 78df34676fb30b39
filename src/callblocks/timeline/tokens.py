"""Token costs: counted by the caller's tokenizer, else characters / 4.

The name of the method is recorded with a timeline, so that its counts stay comparable. Binary
content is estimated by its type: nothing is decoded, and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable

from callblocks.timeline.keeping.mime import is_shown_binary

__all__ = ("Tokens",)

# The approximate cost of an image once it is scaled to the size that models use.
_PICTURE = 1_600

# The approximate cost of the text and the image of one page of a PDF.
_PAGE = 2_000

_BYTES_OF_A_PAGE = 50_000
# No model reads more pages of one document.
_PAGES = 100


class Tokens:
    """A method of counting: `Tokens()`, or `Tokens(tokenizer.count, name="o200k")`."""

    def __init__(self, count: Callable[[str], int] | None = None, name: str = "") -> None:
        self._count = count
        self.name = name or ("chars/4" if count is None else "custom")

    # At least one token for a text that is not empty: a budget of zero-cost blocks would never end.
    def text(self, text: str) -> int:
        """Return the tokens of a text; a text that is not empty has at least one."""
        if self._count is not None:
            return self._count(text)
        return -(-len(text) // 4)

    def binary(self, size: int, mime: str) -> int:
        """Return an estimate for an image or a PDF; 0 for a type that a model is not shown."""
        if size <= 0 or not is_shown_binary(mime):
            return 0
        if mime == "application/pdf":
            return _PAGE * min(_PAGES, -(-size // _BYTES_OF_A_PAGE))
        return _PICTURE
