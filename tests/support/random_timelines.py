"""Random timelines: turns, parallel calls, hidden entries, files, odd blocks.

Their texts hold the markers of every dialect. A hide names any path, also one that is frozen.
What is never to be shown to a model says HOSTED.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from callblocks.core.blocks import Block, Entry
from callblocks.timeline.timeline_state import CacheSettings
from support.soup import COMMON, PARTS, markers

__all__ = ("SETTINGS", "Log", "entries")

TS = "2030-01-31T12:00:00Z"
OWN = ("[TOOL RESULT a].result x\n", "[User say]: ", "[hidden; x]", "<|im_end|>", "[INST]", "␛")
ALL = (*PARTS["auto"], *markers("auto"), *OWN, *COMMON)
LONG = tuple(word * times for word in ("plain words ", "a line\n", "# T\n") for times in (1, 9, 40))
TOOLS = ("react.write", "look", "exec_tools.execute_code_python", *OWN[:2])
CONTENTS: tuple[dict[str, Any], ...] = (
    {"mime": "image/png", "base64": "iVBORw0KGgo="},
    {"mime": "application/pdf", "base64": "JVBERi0xLjc="},
    {"mime": "application/zip", "base64": "QUJD"},
    {"mime": "application/zip"},
)
SETTINGS = st.builds(
    CacheSettings,
    cache_point_min_rounds=st.integers(0, 3),
    cache_point_offset_rounds=st.integers(0, 3),
)


def _soups(count: int) -> tuple[str, ...]:
    chance = Random(7)
    sizes = (chance.randint(0, 6) for _ in range(count))
    return tuple("".join(chance.choices(ALL, k=size)) for size in sizes)


# One choice is one draw: timelines have many texts.
SOUPS = _soups(2000)


class Drawn(NamedTuple):
    """What a step is made of."""

    text: str
    name: str
    call: str
    tool: str
    number: int


class Log:
    """Blocks of a timeline, one after the other."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.turn = "turn_0"
        self.running: list[str] = []

    def add(self, type: str, text: str | None = None, **fields: Any) -> None:
        """Append a block."""
        common: dict[str, Any] = {"author": "tool", "turn_id": self.turn, "ts": TS}
        self.blocks.append(Block(type=type, text=text, **common | fields))

    def result(self, drawn: Drawn, text: str | None, path: str = "", **fields: Any) -> None:
        """A digest and a content."""
        own, of = f"tc:{self.turn}.{drawn.call}.result", {"call_id": drawn.call}
        digest = json.dumps({"artifact_path": path or own, "physical_path": "p", "rn": "HOSTED"})
        of["tool_id"] = drawn.tool
        meta = {"role": "digest"}
        self.add("react.tool.result", digest, path=own, mime="application/json", meta=meta, **of)
        meta = {"role": "content", "hosted_uri": "HOSTED", "key": "HOSTED"}
        self.add("react.tool.result", text, path=path or own, meta=meta, **of, **fields)

    @property
    def entries(self) -> list[Entry]:
        """The blocks with their numbers."""
        return [Entry(seq, block) for seq, block in enumerate(self.blocks, 1)]


def _prompt(log: Log, drawn: Drawn) -> None:
    log.turn = f"turn_{len(log.blocks)}"
    log.add("user.prompt", drawn.text, path=f"ar:{log.turn}.user.prompt")


def _notes(log: Log, drawn: Drawn) -> None:
    path = f"ar:{log.turn}.react.notes.{drawn.call}"
    log.add("react.notes", drawn.text, path=path, call_id=drawn.call)


def _answer(log: Log, drawn: Drawn) -> None:
    log.add("assistant.completion", drawn.text, path=f"ar:{log.turn}.assistant.completion")


def _code(log: Log, drawn: Drawn) -> None:
    path = f"fi:{log.turn}.code.{drawn.call}"
    log.add("react.tool.code", drawn.text, path=path, call_id=drawn.call, tool_id=drawn.tool)


def _call(log: Log, drawn: Drawn) -> None:
    payload = json.dumps({"tool_id": drawn.tool, "params": {"x": drawn.text}})
    where = {"path": f"tc:{log.turn}.{drawn.call}.call", "call_id": drawn.call}
    log.add("react.tool.call", payload, tool_id=drawn.tool, mime="application/json", **where)
    log.running.append(drawn.call)


def _notice(log: Log, drawn: Drawn) -> None:
    text = json.dumps({"code": drawn.text, "managed": "HOSTED"})
    log.add("react.notice", text, call_id=drawn.call, mime="application/json")


def _result(log: Log, drawn: Drawn) -> None:
    if log.running:
        ended = drawn._replace(call=log.running.pop(0))
        log.result(ended, drawn.text, mime=("text/plain", "application/json")[drawn.number % 2])


def _files(log: Log, drawn: Drawn) -> None:
    if log.running:
        running = drawn._replace(call=log.running[-1])
        log.result(running, drawn.text, f"fi:{log.turn}.files/{drawn.name}")
        content = CONTENTS[drawn.number % len(CONTENTS)]
        log.result(running, None, f"fi:{log.turn}.files/b", **content)


def _exec(log: Log, drawn: Drawn) -> None:
    if log.running:
        ended = drawn._replace(call=log.running.pop())
        where = {"path": f"tc:{log.turn}.{ended.call}.result", "call_id": ended.call}
        text, meta = f"Runtime error: broke — {drawn.text}", {"role": "report"}
        log.add("react.tool.result", text, tool_id=drawn.tool, meta=meta, **where)
        log.result(ended, drawn.text, f"fi:{log.turn}.files/x")


def _hide(log: Log, drawn: Drawn) -> None:
    path, last = log.blocks[drawn.number % len(log.blocks)].path, log.blocks[-1]
    text = f"[hidden; react.read(paths={json.dumps([path])}) shows it again]"
    log.add("timeline.hidden", text, path=path, call_id=last.call_id, turn_id=last.turn_id)


def _hide_newest(log: Log, drawn: Drawn) -> None:
    _hide(log, drawn._replace(number=len(log.blocks) - 1 - drawn.number % 8))


def _damaged(log: Log, drawn: Drawn) -> None:
    log.add("timeline.damaged", meta={"code": "damaged_block"})


def _odd(log: Log, drawn: Drawn) -> None:
    log.add(drawn.name, drawn.text)


def _settings(log: Log, drawn: Drawn) -> None:
    cache = {"cache_point_min_rounds": drawn.number % 3, "cache_point_offset_rounds": 1}
    log.add("timeline.settings", msgspec.json.encode({"cache": cache}).decode())


def _attachment(log: Log, drawn: Drawn) -> None:
    path = f"fi:{log.turn}.user.attachments/{drawn.name}"
    log.add("user.attachment", drawn.text, path=path, author="user")


STEPS: dict[Callable[[Log, Drawn], None], int] = {
    _prompt: 1,
    _notes: 2,
    _answer: 1,
    _code: 1,
    _call: 6,
    _notice: 1,
    _result: 6,
    _files: 2,
    _exec: 2,
    _hide: 2,
    _hide_newest: 3,
    _damaged: 1,
    _odd: 1,
    _settings: 1,
    _attachment: 1,
}
OFTEN = [step for step, times in STEPS.items() for _ in range(times)]


@st.composite
def entries(draw: st.DrawFn, max_steps: int = 25, long: bool = False) -> list[Entry]:
    """The entries of a whole timeline; with `long`, of plain and longer texts."""
    names = ("a", "b", "c") if long else ("a", "b", *SOUPS[:9])
    drawn = st.builds(
        Drawn,
        text=st.sampled_from(LONG if long else SOUPS),
        name=st.sampled_from(names),
        call=st.sampled_from((*names, "d", "e", "f")),
        tool=st.sampled_from(TOOLS),
        number=st.integers(0, 400),
    )
    log = Log()
    _prompt(log, draw(drawn))
    # Lists of any length are mostly short, and short timelines have no cache point.
    for _ in range(draw(st.integers(0, max_steps))):
        draw(st.sampled_from(OFTEN))(log, draw(drawn))
    return log.entries
