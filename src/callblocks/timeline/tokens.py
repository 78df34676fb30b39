"""How many tokens something costs a model: counted by the caller's tokenizer, else characters / 4.

The name of the way of counting is recorded with a timeline, so that its counts stay comparable.
What is no text is estimated by its type: nothing is decoded, and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable

from callblocks.timeline.keeping.mime import is_shown_binary

__all__ = ("Tokens",)

_PICTURE = 1_600
"""About what a picture costs once its sides are brought to the size that models look at."""

_PAGE = 2_000
"""About what the text and the picture of one page of a PDF cost."""

_BYTES_OF_A_PAGE = 50_000
_PAGES = 100
"""No model looks at more pages of one document."""


class Tokens:
    """A way of counting: `Tokens()`, or `Tokens(tokenizer.count, name="o200k")`."""

    def __init__(self, count: Callable[[str], int] | None = None, name: str = "") -> None:
        self._count = count
        self.name = name or ("chars/4" if count is None else "custom")

    def text(self, text: str) -> int:
        """The tokens of a text; a text that is not empty has at least one."""
        if self._count is not None:
            return self._count(text)
        return -(-len(text) // 4)

    def binary(self, size: int, mime: str) -> int:
        """An estimate for a picture or a PDF; what a model is not shown costs nothing."""
        if size <= 0 or not is_shown_binary(mime):
            return 0
        if mime == "application/pdf":
            return _PAGE * min(_PAGES, -(-size // _BYTES_OF_A_PAGE))
        return _PICTURE
