"""A turn, its chat text or its message, as a terminal draws it."""

from __future__ import annotations

from collections.abc import Iterable

from callblocks.core.events import TurnEvent
from callblocks.parser import parse
from callblocks.views.chat.chat import Chat, TurnChat
from callblocks.views.chat.tool_blocks import ChatText
from callblocks.views.rows import plain
from callblocks.views.terminal.terminal import Terminal

__all__ = ("chat_text_of", "drawn_text", "drawn_turn")


def drawn_turn(events: Iterable[TurnEvent], *, expanded: bool = True) -> str:
    """The turn as `callblocks chat` draws it."""
    turn, chat = TurnChat(), Chat()
    for event in events:
        chat.feed(turn.feed(event))
    return _drawn(chat, expanded)


def drawn_text(text: str, *, expanded: bool = True) -> str:
    """Chat text as a reader draws it."""
    chat = Chat()
    chat.feed(parse(text, "chat-blocks").events)
    return _drawn(chat, expanded)


def chat_text_of(events: Iterable[TurnEvent]) -> ChatText:
    """The chat text of events, which may go on."""
    chat = ChatText()
    for event in events:
        chat.feed(event)
    return chat


def _drawn(chat: Chat, expanded: bool) -> str:
    rows = Terminal(expanded=expanded, width=100).draw(chat.close())
    return "\n".join(map(plain, rows))
