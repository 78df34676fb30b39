"""Citations in a document: `[[S:4]]` becomes `[1]`, and the sources are listed at the end.

Numbers are assigned in the order of first citation. A citation of an unknown source stays as it was
written, and a notice reports it.
"""

from __future__ import annotations

from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from callblocks.model.citations import CITATION
from callblocks.model.selector import chosen, joined, parse_selector
from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.wire import Cited

__all__ = ("References", "citation_plugin")


class References:
    """The numbers of the sources that one document cites."""

    def __init__(self, sources: Iterable[Cited]) -> None:
        self._sources = {source.sid: source for source in sources}
        self._numbers: dict[int, int] = {}
        self._unknown: list[str] = []

    @property
    def listed(self) -> list[tuple[int, Cited]]:
        """The cited sources with their numbers."""
        return [(number, self._sources[sid]) for sid, number in self._numbers.items()]

    def numbers(self, selector: str) -> list[int]:
        """Return the numbers for a citation; none if all its sources are unknown."""
        ranges = parse_selector(selector)
        sids = chosen(joined(ranges), self._sources.keys()) if ranges else []
        # The caller leaves the citation as it was written, so the reader sees that it leads
        # nowhere.
        if not sids:
            self._unknown.append(selector.strip())
        return [self._numbers.setdefault(sid, len(self._numbers) + 1) for sid in sids]

    def tell(self, outside: Outside) -> None:
        """Add a notice about citations of unknown sources."""
        if self._unknown:
            known = ", ".join(dict.fromkeys(self._unknown))
            words = f"no source has the number {known}; these citations stay as they are written"
            outside.tell("unknown_source", words)


def citation_plugin(markdown: MarkdownIt, references: References) -> None:
    """Parse citations as tokens `citation`, with their `numbers`."""

    def citation(state: StateInline, silent: bool) -> bool:
        match = CITATION.match(state.src, state.pos)
        # In silent mode the parser only skips; assigning a number there would break the citation
        # order.
        numbers = references.numbers(match[1]) if match and not silent else []
        if match is None or (not silent and not numbers):
            return False
        if not silent:
            token = state.push("citation", "", 0)
            token.meta = {"numbers": numbers}
        state.pos = match.end()
        return True

    markdown.inline.ruler.before("link", "citation", citation)
