"""`callblocks timeline`: what happened, as it was kept.

Each command below it is imported when it is called.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Refusal, say
from callblocks.cli.main import LazyGroup
from callblocks.cli.options.state_folder import (
    ARTIFACTS,
    Readable,
    artifacts_option,
    existing,
    name_argument,
    open_timelines,
    shown_store,
    state_folder,
    store_option,
)
from callblocks.cli.terminal.io import FILE, STDIN, open_output
from callblocks.cli.terminal.paint import Paper, counted, page
from callblocks.core.blocks import Entry
from callblocks.timeline.artifacts.artifacts import ArtifactStore
from callblocks.timeline.artifacts.bucket_artifacts import open_artifacts
from callblocks.timeline.log.log import Head, Store
from callblocks.timeline.log.transfer import (
    KNOWN_DIGITS,
    Finding,
    Imported,
    check_import,
    gap_of,
    import_checked,
    verify,
    verify_artifacts,
    with_gaps,
)
from callblocks.views.rows import Row, visible_line
from callblocks.views.terminal.terminal import (
    chat_rows,
    entry_json,
    entry_rows,
    finding_rows,
    summary_rows,
)

__all__ = (
    "command",
    "export_timeline",
    "follow_timeline",
    "import_timeline",
    "list_timelines",
    "show_timeline",
    "verify_timelines",
)

COMMANDS = {
    "list": (
        "callblocks.cli.commands.timeline:list_timelines",
        "List the timelines of a store.",
    ),
    "show": ("callblocks.cli.commands.timeline:show_timeline", "Show a timeline to a person."),
    "follow": (
        "callblocks.cli.commands.timeline:follow_timeline",
        "Show each block as it is written.",
    ),
    "verify": (
        "callblocks.cli.commands.timeline:verify_timelines",
        "Check that nothing was changed or lost.",
    ),
    "export": (
        "callblocks.cli.commands.timeline:export_timeline",
        "Write a timeline as JSONL, Markdown or HTML.",
    ),
    "import": (
        "callblocks.cli.commands.timeline:import_timeline",
        "Read a timeline that was exported.",
    ),
    "gc": (
        "callblocks.cli.commands.upkeep:collect_artifacts",
        "Remove kept files that no timeline names.",
    ),
    "backup": (
        "callblocks.cli.commands.upkeep:backup_timelines",
        "Copy all timelines and the files that they name.",
    ),
    "restore": (
        "callblocks.cli.commands.upkeep:restore_timelines",
        "Write a backup into a store that is empty.",
    ),
}


@click.group(
    "timeline",
    cls=LazyGroup,
    table=COMMANDS,
    short_help="Show, check and move what was kept of runs.",
    epilog=EXIT_CODES,
)
def command() -> None:
    """Show, check and move what was kept of runs.

    `callblocks run --timeline NAME` writes down what a model said, each call before it runs, and
    what came of it. A timeline only grows: each block has a number and the hash of all before it.
    """


# --- `callblocks timeline list`: the timelines of a store ---


@click.command("list", short_help="List the timelines of a store.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="One timeline per line.")
def list_timelines(store: str | None, as_json: bool) -> None:
    """List the timelines of a store: their blocks, and when they were last written."""
    with open_timelines(store) as opened:
        known = opened.names()
    if as_json:
        sys.stdout.buffer.writelines(msgspec.json.encode(one) + b"\n" for one in known)
        return
    paper = Paper()
    paper.print(summary_rows(known, paper.width))


# --- `callblocks timeline show`: a timeline as a chat, block by block, or as the model gets it ---


@click.command("show", short_help="Show a timeline to a person.")
@name_argument
@store_option
@click.option(
    "--view",
    type=click.Choice(("chat", "raw", "model")),
    default="chat",
    show_default=True,
    help="What was said and done; every block; or what the model gets.",
)
@click.option("--after", metavar="N", type=click.IntRange(min=0), default=0, help="Blocks after N.")
@click.option("--turn", metavar="ID", help="Blocks of this turn.")
@click.option(
    "--budget",
    metavar="TOKENS",
    type=click.IntRange(min=1),
    help="The model's view folded to so many tokens.  [default: whole]",
)
@click.option("--expand", is_flag=True, help="Show each call and its result in the chat.")
@click.option("--json", "as_json", is_flag=True, help="One entry or part per line; no chat.")
def show_timeline(
    name: str,
    store: str | None,
    view: str,
    after: int,
    turn: str | None,
    budget: int | None,
    expand: bool,
    as_json: bool,
) -> None:
    """Show a timeline: on a terminal in colours, with a pager where it is long.

    Where nothing is to be shown, one line on standard error says so; a turn that the timeline does
    not have is exit code 1.
    """
    if as_json and view == "chat":
        raise click.UsageError("--json is for --view raw and --view model")
    if view == "model" and (after or turn):
        raise click.UsageError("the model's view is of the whole: no --after, no --turn")
    if budget and view != "model":
        raise click.UsageError("--budget is for --view model")
    with open_timelines(store) as opened:
        count = existing(opened, name).count
        readable = Readable(opened.entries(name, after))
        entries = _Seen(with_gaps(readable, after, count), turn)
        if as_json:
            sys.stdout.buffer.writelines(_json_lines(iter(entries), view, budget))
        else:
            paper = Paper()
            page(paper, entries.drawn(_rows(iter(entries), view, paper, expand, budget)))
        readable.check()
    if turn is not None and not entries.any:
        raise Refusal(f"{name} has no block of {turn}{f' after {after}' if after else ''}")
    if not entries.any:
        say(f"{name} ends with block {count}: there is none after {after}")
    elif not (as_json or entries.shown):
        say("nothing of it is to be read here; --view raw shows every block")


class _Seen:
    """The entries of a turn, or of all, with whether there was `any`, and something was `shown`."""

    def __init__(self, entries: Iterable[Entry], turn: str | None) -> None:
        self.any = False
        self.shown = False
        self._entries = entries
        self._turn = turn

    def __iter__(self) -> Iterator[Entry]:
        for entry in self._entries:
            mine = self._turn in (None, entry.block.turn_id)
            self.any |= mine
            # Nobody knows of which turn a block was that cannot be read.
            if mine or entry.block.type == "timeline.damaged":
                yield entry

    def drawn(self, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows as they pass."""
        for row in rows:
            self.shown = True
            yield row


def _json_lines(entries: Iterator[Entry], view: str, budget: int | None) -> Iterator[bytes]:
    if view == "raw":
        return map(entry_json, entries)
    from callblocks.views.model_view.view import render

    return (msgspec.json.encode(part) + b"\n" for part in render(entries, budget=budget))


def _rows(
    entries: Iterator[Entry], view: str, paper: Paper, expand: bool, budget: int | None
) -> Iterator[Row]:
    if view == "raw":
        return (row for entry in entries for row in entry_rows(entry, paper.width))
    if view == "model":
        from callblocks.views.model_view.view import render
        from callblocks.views.terminal.terminal import part_rows

        return part_rows(render(entries, budget=budget), paper.width if paper.terminal else None)
    from callblocks.views.chat.timeline_chat import shown

    return chat_rows(shown(entries), paper.width, expanded=expand)


# --- `callblocks timeline follow`: each block as it is written, by whatever process ---

_LATEST = 10


@click.command("follow", short_help="Show each block as it is written.")
@name_argument
@store_option
@click.option(
    "--after",
    metavar="N",
    type=click.IntRange(min=0),
    help="Begin after this block; 0: with the first.  [default: the last ten]",
)
@click.option("--json", "as_json", is_flag=True, help="One entry per line.")
def follow_timeline(name: str, store: str | None, after: int | None, as_json: bool) -> None:
    """Show each block as it is written, until Ctrl-C."""
    import asyncio

    with open_timelines(store) as opened:
        count = existing(opened, name).count
        begin = max(0, count - _LATEST) if after is None else after
        asyncio.run(_follow(opened, name, begin, _write if as_json else _printer()))


async def _follow(store: Store, name: str, after: int, show: Callable[[Entry], None]) -> None:
    async for entry in store.follow(name, after):
        show(entry)


def _write(entry: Entry) -> None:
    sys.stdout.buffer.write(entry_json(entry))
    sys.stdout.buffer.flush()


def _printer() -> Callable[[Entry], None]:
    paper = Paper()

    def show(entry: Entry) -> None:
        paper.print(entry_rows(entry, paper.width))

    return show


# --- `callblocks timeline verify`: is everything as it was written? ---

_LAST = re.compile(rf"([0-9]{{1,15}}):([0-9a-f]{{{KNOWN_DIGITS},64}})", re.I | re.A)


class _Last(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """A number and the hash of the block that has it, or how that begins."""

    name = "last"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Head:
        found = _LAST.fullmatch(value)
        if found is None or not int(found[1]):
            words = f"a number, a colon and {KNOWN_DIGITS} to 64 digits of the hash of that block"
            self.fail(f"{value!r} is not {words}", param, ctx)
        return Head(int(found[1]), found[2])


@click.command("verify", short_help="Check that nothing was changed or lost.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@store_option
@artifacts_option
@click.option(
    "--last",
    type=_Last(),
    metavar="SEQ:HASH",
    help="An end that the timeline had once, as `timeline list` shows it: it must still be there.",
)
def verify_timelines(
    names: tuple[str, ...], store: str | None, artifacts: str | None, last: Head | None
) -> None:
    """Check that nothing was changed or lost: each hash and number, and each file that is named.

    Without a name, all timelines of the store are checked. There is exit code 1 if something is
    wrong with one. That the end was cut off, and the store made to fit, only --last can tell.
    """
    if last is not None and len(names) != 1:
        raise click.UsageError("--last goes with the name of one timeline")
    paper, bad = Paper(), False
    kept = open_artifacts(artifacts or state_folder() / ARTIFACTS)
    with open_timelines(store) as opened:
        for name in names:
            existing(opened, name)
        known = names or [one.name for one in opened.names()]
        if not known:
            paper.print(summary_rows([], paper.width))
        for name in known:
            count = opened.head(name).count
            findings = _check(opened, name, kept, last)
            paper.print(finding_rows(name, count, findings, paper.width))
            bad = bad or bool(findings)
    if bad:
        raise click.exceptions.Exit(PROBLEMS)


def _check(store: Store, name: str, kept: ArtifactStore, last: Head | None) -> list[Finding]:
    findings = verify(store, name, last)
    entries = Readable(store.entries(name))
    findings += verify_artifacts(counted(entries, store.head(name).count), kept)
    return sorted(findings, key=lambda finding: finding.seq)


# --- `callblocks timeline export`: a timeline in a file, to be kept, moved or read elsewhere ---


_NAMED = 10


@click.command("export", short_help="Write a timeline as JSONL, Markdown or HTML.")
@name_argument
@store_option
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(("jsonl", "markdown", "html")),
    default="jsonl",
    show_default=True,
    help="All of it, for `import`; or the chat, to be read.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Where to.  [default: standard output]",
)
def export_timeline(name: str, store: str | None, form: str, output: str | None) -> None:
    """Write a timeline as JSONL, Markdown or HTML.

    The artifacts that blocks name are not part of it: they are files in the state folder. Blocks
    that cannot be read or are missing are left out and named; there is exit code 1 then.
    """
    lost = _Lost([], [])
    with open_timelines(store) as opened:
        existing(opened, name)
        lines = Readable(_lines(opened, name, form, lost))
        with open_output(output) as out:
            out.writelines(lines)
        for words in lost.told():
            say(words)
        lines.check()
    if lost.damaged or lost.missing:
        raise click.exceptions.Exit(PROBLEMS)


class _Lost(NamedTuple):
    """Losses of an export: unreadable blocks, and gaps."""

    damaged: list[int]
    missing: list[tuple[int, int]]

    def told(self) -> Iterator[str]:
        if self.damaged:
            words = "damaged_block: left out what cannot be read"
            yield f"{words}: {_some(map(str, self.damaged))}"
        if self.missing:
            numbers = (str(a) if a == b else f"{a} to {b}" for a, b in self.missing)
            yield f"chain_broken: these numbers are missing: {_some(numbers)}"

    def note(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Entries as they pass, and what there is to say of them."""
        for entry in entries:
            if gap := gap_of(entry):
                self.missing.append(gap)
            elif entry.block.type == "timeline.damaged":
                self.damaged.append(entry.seq)
            yield entry


def _some(numbers: Iterable[str]) -> str:
    first = list(islice(numbers, _NAMED + 1))
    return ", ".join(first[:_NAMED]) + (" …" if len(first) > _NAMED else "")


def _lines(store: Store, name: str, form: str, lost: _Lost) -> Iterator[bytes]:
    if form == "jsonl":
        from callblocks.timeline.log.transfer import export_lines

        yield from export_lines(
            store,
            name,
            lost=lost.damaged.append,
            missing=lambda first, last: lost.missing.append((first, last)),
        )
        return
    from callblocks.views.chat.timeline_chat import shown

    count = store.head(name).count
    entries = Readable(store.entries(name))
    noted = lost.note(with_gaps(entries, count=count))
    items = shown(noted, thoughts=form == "html")
    if form == "html":
        from callblocks.timeline.artifacts.artifacts import Artifacts
        from callblocks.views.html.timeline_page import carried_files, timeline_html

        kept = Artifacts(state_folder() / ARTIFACTS)
        files = carried_files(Readable(store.entries(name)), kept.read)
        page = timeline_html(name, items, count, files)
    else:
        from callblocks.views.markdown import timeline_markdown

        page = timeline_markdown(name, items)
    for piece in page:
        yield piece.encode("utf-8", "replace")
    entries.check()


# --- `callblocks timeline import`: a timeline that was exported, checked before it is there ---


@click.command("import", short_help="Read a timeline that was exported.")
@click.argument("file", type=FILE)
@store_option
@click.option("--as", "name", metavar="NAME", help="Another name than the one it had.")
def import_timeline(file: str, store: str | None, name: str | None) -> None:
    """Read a timeline that was exported as JSONL, from FILE or - for standard input.

    All of it is checked before anything is written, and a timeline that is there is never
    touched. The hashes hang on the name: with --as the blocks get new ones.
    """
    with _open(file) as stream:
        # A file that is refused leaves no empty store behind.
        checked = check_import(stream, name)
        with open_timelines(store, make=True) as opened:
            imported = import_checked(opened, stream, checked)
    Paper().print(_import_rows(imported, shown_store(store)))


def _import_rows(imported: Imported, store: str) -> list[Row]:
    count = imported.head.count
    said = f"imported {imported.name}: {count} block{'' if count == 1 else 's'}, into {store}"
    rows: list[Row] = [(("plain", visible_line(said)),)]
    if imported.name != imported.source:
        words = f"its hashes, right under the name {imported.source}, are new under this one"
        rows.append((("mark", "ⓘ "), ("quiet", visible_line(words))))
    return rows


@contextmanager
def _open(path: str) -> Generator[BinaryIO]:
    """A file that can be read twice: a copy of what comes through a pipe."""
    with sys.stdin.buffer if path == STDIN else open(path, "rb") as stream:
        if path != STDIN and stream.seekable():
            yield stream
            return
        with tempfile.TemporaryFile() as copied:
            shutil.copyfileobj(stream, copied)
            copied.seek(0)
            yield copied
