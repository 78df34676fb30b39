"""`callblocks chats`: the chats of a store, as the page lists them.

    callblocks chats list
    callblocks chats search low water
    callblocks chats show trip
    callblocks chats continue trip

Titles that were given on the page count here, and chats deleted there are not listed; their logs
are, by `callblocks timeline`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from callblocks.cli.commands import chat
from callblocks.cli.exits import EXIT_CODES, PROBLEMS
from callblocks.cli.main import LazyGroup
from callblocks.cli.options.state_folder import open_timelines, state_folder, store_option
from callblocks.cli.terminal.paint import Paper
from callblocks.timeline.log.log import Store, Summary
from callblocks.timeline.recall.search import BEGIN, END, open_search
from callblocks.timeline.timeline import SEARCH, TIMELINES
from callblocks.views.rows import Row, visible_line, wrap

__all__ = ("command", "continue_chat", "list_chats", "search_chats")

COMMANDS = {
    "list": ("callblocks.cli.commands.chats:list_chats", "List the chats, the latest first."),
    "search": (
        "callblocks.cli.commands.chats:search_chats",
        "Find chats in which something was said.",
    ),
    "show": ("callblocks.cli.commands.timeline:show_timeline", "Show a timeline to a person."),
    "continue": ("callblocks.cli.commands.chats:continue_chat", "Go on with a chat."),
}


@click.group(
    "chats",
    cls=LazyGroup,
    table=COMMANDS,
    short_help="List, search, show and continue chats.",
    epilog=EXIT_CODES,
)
def command() -> None:
    """List, search, show and continue chats.

    They are those of `callblocks chat` and of the page of `callblocks serve`.
    """


class ListedChat(msgspec.Struct, frozen=True):
    """A chat in the list: its title, and when it was written last."""

    name: str
    title: str
    count: int
    updated: str


class FoundChat(msgspec.Struct, frozen=True):
    """A chat in which something was said, and where."""

    name: str
    title: str
    turn: str
    excerpt: str


@click.command("list", short_help="List the chats, the latest first.")
@store_option
@click.option("--limit", type=click.IntRange(min=1), default=40, show_default=True, metavar="N")
@click.option("--json", "as_json", is_flag=True, help="One chat per line.")
def list_chats(store: str | None, limit: int, as_json: bool) -> None:
    """List the chats, the latest first, by their titles."""
    with open_timelines(store) as opened:
        chats = _Chats(opened)
        known = chats.listed()
        some = [chats.about(one) for one in known[:limit]]
    if as_json:
        sys.stdout.buffer.writelines(msgspec.json.encode(one) + b"\n" for one in some)
        return
    paper = Paper()
    paper.print(_listed_rows(some, len(known), paper.width))


@click.command("search", short_help="Find chats in which something was said.")
@click.argument("words", nargs=-1, required=True)
@store_option
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N")
@click.option("--json", "as_json", is_flag=True, help="One chat per line.")
def search_chats(words: tuple[str, ...], store: str | None, limit: int, as_json: bool) -> None:
    """Find chats in which somebody said all WORDS; the last may be the beginning of one."""
    with open_timelines(store) as opened:
        chats = _Chats(opened)
        known = {one.name: one for one in chats.listed()}
        folder = state_folder()
        with open_search(store or str(folder / TIMELINES), _index(folder, store)) as index:
            index.update(opened, known.values())
            hits = [one for one in index.find(" ".join(words), limit) if one.name in known]
        found = [
            FoundChat(one.name, chats.about(known[one.name]).title, one.turn, one.excerpt)
            for one in hits
        ]
    if as_json:
        sys.stdout.buffer.writelines(msgspec.json.encode(one) + b"\n" for one in found)
    else:
        paper = Paper()
        paper.print(_found_rows(found, paper.width))
    if not found:
        sys.exit(PROBLEMS)


def _index(folder: Path, store: str | None) -> Path:
    """Return the file of the index; another store than the usual one has one beside it."""
    return folder / SEARCH if store is None else Path(f"{store}.{SEARCH}")


def _continue(name: str | None, **options: Any) -> None:
    assert chat.command.callback is not None
    chat.command.callback(name=name, last=name is None, **options)


continue_chat = click.Command(
    "continue",
    callback=_continue,
    params=[one for one in chat.command.params if one.name != "last"],
    help="Go on with the chat NAME; without it, with the one that was written to last.\n\n"
    "The options are those of `callblocks chat`.",
    short_help="Go on with a chat.",
    epilog=EXIT_CODES,
)


class _Chats:
    """The chats of a store, as the server lists them."""

    def __init__(self, store: Store) -> None:
        # Imported here: the list of commands is shown without them.
        from callblocks.server.chats.known_chats import ChatLabels, KnownChats

        self._store = store
        self._labels = ChatLabels(store)
        self._known = KnownChats(store)
        self._labels.refresh()

    def listed(self) -> list[Summary]:
        """Return the chats that were not deleted, the latest first."""
        from callblocks.server.chats.known_chats import LABELS

        names = self._store.names()
        chats = [
            one
            for one in names
            if one.name != LABELS and not self._is_member(one) and not self._labels.is_deleted(one)
        ]
        return sorted(chats, key=lambda one: (one.updated, one.name), reverse=True)

    def _is_member(self, chat: Summary) -> bool:
        """Return whether a timeline is what a member of a team did; its turns are named so."""
        first = next(iter(self._store.entries(chat.name, 0, 1)), None) if "." in chat.name else None
        return first is not None and first.block.turn_id.startswith("team_turn_")

    def about(self, chat: Summary) -> ListedChat:
        """Return what the list says of a chat."""
        title = self._labels.title(chat.name) or self._known.title(chat)
        return ListedChat(chat.name, title, chat.count, chat.updated)


def _listed_rows(chats: Sequence[ListedChat], total: int, width: int) -> list[Row]:
    if not chats:
        words = "No chat is kept here. Begin one: callblocks chat"
        return [(("quiet", words),)]
    longest = max(len(visible_line(one.name)) for one in chats)
    rows: list[Row] = []
    for one in chats:
        head: Row = (
            ("name", f"{visible_line(one.name):<{longest}}"),
            ("quiet", f"  {one.updated[:16].replace('T', ' ')}  "),
            ("plain", visible_line(one.title)),
        )
        rows += wrap(head, width, (("plain", "  "),))
    if total > len(chats):
        rows.append((("quiet", f"… {total - len(chats)} more: --limit {total}"),))
    return rows


def _found_rows(found: Sequence[FoundChat], width: int) -> list[Row]:
    if not found:
        return [(("quiet", "No chat has all of these words."),)]
    rows: list[Row] = []
    for one in found:
        rows += wrap(
            (("name", visible_line(one.name)), ("plain", f"  {visible_line(one.title)}")), width
        )
        rows += wrap((("plain", "  "), *_marked(one.excerpt)), width, (("plain", "  "),))
    return rows


def _marked(excerpt: str) -> Row:
    pieces = re.split(f"{BEGIN}([^{END}]*){END}", excerpt)
    return tuple(
        ("mark" if at % 2 else "quiet", visible_line(piece))
        for at, piece in enumerate(pieces)
        if piece
    )
