"""Write tests/web/corpus: what the server's own code says, for the page's code to say the same.

python scripts/web-corpus            write the files
python scripts/web-corpus --check    say which are not what would be written, and fail

streams/NAME.json    chunks of a turn for each version, the message after them, the batches
texts.json           chat texts, and what is read from each
shown.json           calls, results, sizes and secrets as they are shown
timelines.json       items of a timeline, and the batches as they are drawn
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from samples import CALLS, RESULTS, SECRETS, SIZES
from timelines import TIMELINES

from callblocks.core.blocks import Entry
from callblocks.core.call_text import format_size, show_call, show_result
from callblocks.core.events import TurnEvent
from callblocks.core.redaction import redact
from callblocks.parser import parse
from callblocks.views.chat.chat import (
    BrokenBlock,
    CallGroup,
    Chat,
    Item,
    TurnChat,
    Validation,
    draw,
)
from callblocks.views.chat.chat import GroupedCall as GroupEntry
from callblocks.views.chat.timeline_chat import Batch, grouped, shown
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.tool_parts import VERSIONS, Chunk, Version
from callblocks.views.ui.ai_sdk.ui_messages import reduced

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "web" / "corpus"
WIDTHS = (80, 40)


def main() -> int:
    """Write the files, or say which are not up to date; return the exit code."""
    files = dict(corpus())
    if sys.argv[1:] == ["--check"]:
        return _check(files)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    print(f"{CORPUS.relative_to(ROOT)}: {len(files)} files")
    return 0


def corpus() -> Iterator[tuple[Path, str]]:
    """Each file, and its text."""
    sys.path.append(str(ROOT / "tests"))
    from turns import turns

    for name, events, is_drawn in turns():
        yield CORPUS / "streams" / f"{name}.json", _lines(stream(events, is_drawn))
    yield CORPUS / "texts.json", _lines({"texts": [*texts()]})
    yield CORPUS / "shown.json", _lines(show())
    yield CORPUS / "timelines.json", _lines({"timelines": [*timelines()]})


def stream(events: list[TurnEvent], is_drawn: bool) -> dict[str, Any]:
    """A turn as each version gets it; where it can be compared, as a terminal draws it."""
    found: dict[str, Any] = {}
    for version in VERSIONS:
        for is_over in (False, True):
            name = f"{version}{' over' if is_over else ''}"
            chunks = _chunks(events, version, is_over)
            found[f"{name} chunks"] = chunks
            found[f"{name} message"] = [reduced(chunks)]
    if is_drawn:
        turn, chat = TurnChat(), Chat()
        for event in events:
            chat.feed(turn.feed(event))
        found["batches"] = [draw(item) for item in chat.close() if isinstance(item, CallGroup)]
    return found


def texts() -> Iterator[dict[str, Any]]:
    """Chat texts of the dialect's corpus, as a chat shows them."""
    from support.corpus import cases_of

    for case in cases_of("chat-blocks"):
        if not case.options:
            chat = Chat()
            chat.feed(parse(case.text, "chat-blocks").events)
            yield {"name": case.title, "text": case.text, "items": [*_items(chat.close())]}


def show() -> dict[str, Any]:
    """Texts of calls, results, sizes and secrets."""
    calls = [
        {"name": name, "input": given, "line": show_call(name, given)[0]} for name, given in CALLS
    ]
    return {
        "calls": calls,
        "results": [*_results()],
        "sizes": [{"size": size, "text": format_size(size)} for size in SIZES],
        "secrets": [{"text": text, "redacted": redact(text)} for text in SECRETS],
    }


def _kind(item: object) -> str:
    """Return the word for an item of a timeline that the modules of the page use."""
    name = type(item).__name__
    return {"TurnEnded": "ended", "ThoughtEntry": "thought"}.get(name, name.lower())


def timelines() -> Iterator[dict[str, Any]]:
    """Timelines as a chat, with the batches as a terminal draws them."""
    for name, blocks in TIMELINES.items():
        entries = [Entry(seq, block) for seq, block in enumerate(blocks, 1)]
        items = shown(entries)
        yield {
            "name": name,
            "items": [{"kind": _kind(item), **_plain(item)} for item in items],
            "batches": [draw(grouped(item)) for item in items if isinstance(item, Batch)],
        }


def _chunks(events: Iterable[TurnEvent], version: Version, is_over: bool) -> list[Chunk]:
    told = UiStream(version, message_id="turn_1", is_over=is_over)
    return [*(chunk for event in events for chunk in told.feed(event)), *told.close()]


def _items(items: Iterable[Item]) -> Iterator[dict[str, Any]]:
    for item in items:
        match item:
            case str():
                yield {"prose": item}
            case CallGroup(entries=entries):
                yield {"entries": [*map(_plain, entries)], "drawn": draw(item)}
            case Validation(text=text):
                yield {"validation": text, "drawn": draw(item)}
            case BrokenBlock(text=text, code=code, detail=detail):
                yield {"broken": text, "code": code, "detail": detail}
            case _:
                raise AssertionError(item)


def _results() -> Iterator[dict[str, Any]]:
    for name, given in RESULTS:
        for failed in (False, True) if given is None or isinstance(given, str) else (False,):
            text = show_result(given)[0]
            entry = GroupEntry(f"{name}()", text, failed)
            for width in WIDTHS:
                drawn = draw(CallGroup([entry]), width=width)[1:]
                yield {
                    "name": name,
                    "given": given,
                    "failed": failed,
                    "width": width,
                    "drawn": drawn,
                }


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    return msgspec.to_builtins(value)


def _check(files: dict[Path, str]) -> int:
    bad = [path for path, text in files.items() if not _is(path, text)]
    bad += set(CORPUS.rglob("*.json")) - set(files)
    for path in bad:
        print(f"{path.relative_to(ROOT)} is not as written: run python scripts/web-corpus")
    return bool(bad)


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text("utf-8") == text


def _lines(given: dict[str, Any]) -> str:
    """JSON with a line for each element of a list, so that a change is easy to read."""
    parts: list[str] = []
    for name, values in given.items():
        rows = ",\n".join(json.dumps(one, ensure_ascii=False) for one in values)
        parts.append(f"{json.dumps(name)}: [\n{rows}\n]" if rows else f"{json.dumps(name)}: []")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
