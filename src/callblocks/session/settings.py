"""How far a turn may go, and what its model is told."""

from __future__ import annotations

import msgspec

from callblocks.models.model import Model, context_of

__all__ = ("Attachment", "SessionSettings")


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one turn.

    `rounds` is how often the model is asked, `calls` how many it may make, `text` how many
    characters a reply may have, `tokens` what all replies may cost, `seconds` how long it all may
    take. `max_tokens` goes to the model with each request. `budget` is how many tokens the model
    that speaks is shown of the timeline, and never more than half of its `context` where it has
    one; `None` is no limit. `system` stands before all else that the model is told. With `grammar`
    the model is held to its dialect, where it can be. `compact` says whether the prompt teaches
    tools by their signatures alone; `None` is yes for a small model or a short context. `broken` is
    how often in a row it may write calls that cannot be read. `reasoning` are the markers between
    which a model thinks.
    """

    rounds: int = 20
    calls: int = 100
    text: int = 1_000_000
    tokens: int | None = None
    seconds: float | None = None
    max_tokens: int | None = None
    budget: int | None = 100_000
    system: str = ""
    grammar: bool = False
    compact: bool | None = None
    broken: int = 3
    reasoning: tuple[tuple[str, str], ...] = (("<think>", "</think>"),)

    def budget_of(self, model: Model) -> int | None:
        """Return how many tokens of the timeline a model is shown.

        Half of its context is for tools, system prompt and reply.
        """
        context = context_of(model)
        if self.budget is None or context is None:
            return self.budget
        return max(1, min(self.budget, context // 2))


class Attachment(msgspec.Struct, frozen=True):
    """A file that the person gives with a prompt; or what a `member` of a team said to it."""

    name: str
    content: bytes
    member: str = ""
