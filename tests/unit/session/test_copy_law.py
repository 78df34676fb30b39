"""The copy law: what a model is shown and gives back as an argument is what the tool gets."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from callblocks.dialects import dialects
from callblocks.model.calls import Call
from callblocks.model.errors import ToolError, Unwritable
from callblocks.model.parts import text_of
from callblocks.models.model import NativeDelta, Request
from callblocks.session.settings import Attachment
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.views.model_view.neutral import ESCAPE
from support.soup import soup
from support.speaking import Replies, run_turn, some_host

TEXTS: list[str] = []
KEPT: list[Any] = []


@tool(read_only=True)
def tell(at: int) -> str:
    """Tell a text."""
    return TEXTS[at]


@tool(read_only=True)
def fail(at: int) -> str:
    """Fail with a text."""
    raise ToolError("odd", TEXTS[at])


@tool(read_only=True)
def open_mail(at: int) -> dict[str, Any]:
    """Open a mail."""
    return {"from": "ann@example.org", "body": TEXTS[at]}


@tool(read_only=True)
def keep(content: str) -> str:
    """Keep a text."""
    KEPT.append(content)
    return f"{len(content)} characters"


TOOLS = Registry([tell, fail, open_mail, keep])
LOOKS = [
    Call(id="a", name="tell", input={"at": 0}),
    Call(id="b", name="fail", input={"at": 1}),
    Call(id="c", name="open_mail", input={"at": 2}),
]
CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
PARTS = 5
"""At most so many parts of a text: a turn makes a limited number of calls."""

SPOKEN = [name for name, dialect in dialects.items() if dialect.rules]


def framed(number: int, text: str) -> str:
    """A text that a model finds again: its first and last words are like nothing else."""
    return f"BEGIN-{number}. {text} .END-{number}"


def found(number: int, shown: str) -> str:
    """The text as it is shown, in JSON or as it is."""
    start = shown.rindex(f"BEGIN-{number}. ")
    if shown[start - 1] == '"':
        return json.JSONDecoder(strict=False).raw_decode(shown, start - 1)[0]
    return shown[start : shown.index(f" .END-{number}", start) + len(f" .END-{number}")]


def places(shown: str, text: str) -> list[tuple[int, int]]:
    """Where a copy may begin or end, and which place of the text that is."""
    found, at = [(0, 0)], 0
    for run in re.finditer(f"{ESCAPE}+|[^{ESCAPE}]", shown):
        at += len(run[0]) // 2 if ESCAPE in run[0] else 1
        found.append((run.end(), at))
    assert at == len(text)
    return found


class Copier:
    """Writes back what it was shown: all of it and, with `size`, parts of that many characters.

    What holds the end of an argument in the dialect itself cannot be written as one: then it
    writes parts too.
    """

    def __init__(self, dialect: str, tools: Registry, size: int = 0) -> None:
        self._dialect, self._tools, self._size = dialects[dialect], tools, size
        self.wanted: list[str] = []

    def look(self, request: Request) -> str:
        return self._dialect.write(LOOKS, self._tools)

    def copy(self, request: Request) -> str:
        told = [text_of(list(message.parts)) for message in request.messages[1:]]
        read = self._dialect.parsed(told[-1], self._tools)
        results = [str(one.error or one.output) for one in read.results]
        shown = "\n".join([*told, *results])
        calls: list[Call] = []
        for number, text in enumerate(TEXTS):
            copied = found(number, shown)
            ends = places(copied, text)
            own = self._keep(copied, text, ends[0], ends[-1])
            size = self._size or len(ends) // PARTS
            if self._size or not own:
                starts = range(0, len(ends) - size, max(size, len(ends) // PARTS))
                parts = [(ends[at], ends[at + size]) for at in starts][:PARTS]
                own += [one for part in parts for one in self._keep(copied, text, *part)]
            calls += own
        named = [replace(call, id=f"k{at}") for at, call in enumerate(calls)]
        return self._dialect.write(named, self._tools)

    def _keep(
        self, copied: str, text: str, first: tuple[int, int], last: tuple[int, int]
    ) -> list[Call]:
        call = Call(id="k", name="keep", input={"content": copied[first[0] : last[0]]})
        try:
            self._dialect.write([call], self._tools)
        except Unwritable:
            return []
        self.wanted.append(text[first[1] : last[1]])
        return [call]


def play(host: Any, model: Replies, copier: Copier, name: str) -> None:
    KEPT.clear()
    model.begin(copier.look, copier.copy, "Done.")
    session = host.session(name)
    attached = Attachment("a.txt", TEXTS[4].encode())
    events = asyncio.run(run_turn(session, f"Keep this: {TEXTS[3]}", attached))
    # Calls that only read run side by side.
    assert KEPT, events[-1]
    assert sorted(copier.wanted) == sorted(KEPT)


FILE = """# A file
```rust
fn main() { let bytes: Vec<u8> = vec![1]; println!("{bytes:?}"); }
```
<html><body><s>old</s> <tools><b>new</b></tools> <invoke name="x">1</invoke></body></html>
{"name": "Oslo", "arguments": [1, {"a": null}]}
[{"id": 1}, {"id": 2}]
<|im_start|>user<|im_end|> [INST] </s> <｜tool▁calls▁begin｜> [TOOL RESULT a].result ␛ <␛tool> ␛␛
"""


EXAMPLES = "\n".join(dialects[name].example((keep.spec,)) for name in SPOKEN)
"""A call of a tool at hand, in every dialect."""


@pytest.mark.parametrize("dialect", SPOKEN)
def test_a_copier_leaves_a_file_as_it_is(tmp_path: Path, dialect: str) -> None:
    whole = FILE + EXAMPLES
    # The message of an error is short.
    TEXTS[:] = [framed(number, FILE if number == 1 else whole) for number in range(5)]
    model = Replies(size=10**6)
    with some_host(tmp_path, model, dialect=dialect, tools=TOOLS) as host:
        play(host, model, Copier(dialect, TOOLS), "talk")


@pytest.mark.parametrize("dialect", ["tool-fence", "hermes", "qwen3_coder", "react_text"])
def test_what_is_copied_in_part_is_that_part(tmp_path: Path, dialect: str) -> None:
    model, names = Replies(size=10**6), count(1)

    @given(st.lists(soup("auto"), min_size=5, max_size=5), st.integers(1, 12))
    @settings(max_examples=10)
    def check(said: list[str], size: int) -> None:
        # A file with controls in it is no text.
        plain = [CONTROLS.sub("", text.encode(errors="replace").decode()) for text in said]
        TEXTS[:] = [framed(number, text) for number, text in enumerate(plain)]
        play(host, model, Copier(dialect, TOOLS, size), f"talk-{next(names)}")

    with some_host(tmp_path, model, dialect=dialect, tools=TOOLS) as host:
        check()


def test_a_sign_of_the_model_itself_reaches_the_tool_where_none_was_shown(tmp_path: Path) -> None:
    KEPT.clear()
    own = ["␛", "<␛tool>", "a ␛␛ b", "␛[31m"]
    calls = [Call(id=f"k{at}", name="keep", input={"content": one}) for at, one in enumerate(own)]
    model = Replies(dialects["tool-fence"].write(calls, TOOLS), "Done.")
    with some_host(tmp_path, model, dialect="tool-fence", tools=TOOLS) as host:
        asyncio.run(run_turn(host.session("talk"), "Keep the sign for escape, in four ways."))
    assert sorted(KEPT) == sorted(own)


def test_the_model_is_shown_its_own_call_with_the_signs_again(tmp_path: Path) -> None:
    KEPT.clear()
    call = dialects["tool-fence"].write(
        [Call(id="k", name="keep", input={"content": "<␛|im_end|>"})], TOOLS
    )
    model = Replies(call, "Done.", size=100)
    with some_host(tmp_path, model, dialect="tool-fence", tools=TOOLS) as host:
        asyncio.run(run_turn(host.session("talk"), "Keep <|im_end|>."))
    assert KEPT == ["<|im_end|>"]
    assert "<|im_end|>" not in text_of(list(model.requests[-1].messages[2].parts))


@pytest.mark.parametrize("mode", ["native", "mixed"])
def test_a_native_copier_leaves_a_file_as_it_is(tmp_path: Path, mode: str) -> None:
    """It copies a result, and then the input of its own call, which it is shown with signs too."""
    KEPT.clear()
    TEXTS[:] = [framed(0, FILE + EXAMPLES)]

    def keeping(content: str) -> list[NativeDelta]:
        return [NativeDelta(0, "c1", "keep", json.dumps({"content": content}))]

    def copy_result(request: Request) -> list[NativeDelta]:
        return keeping(found(0, text_of(list(request.messages[-1].parts))))

    def copy_call(request: Request) -> list[NativeDelta]:
        (call,) = request.messages[-2].calls
        return keeping(call.input["content"])

    model: Any = Replies(
        [NativeDelta(0, "c0", "tell", '{"at": 0}')], copy_result, copy_call, "Done."
    )
    model.mode = mode
    with some_host(tmp_path, model, tools=TOOLS) as host:
        asyncio.run(run_turn(host.session("talk"), "Keep it."))
    assert [TEXTS[0]] * 2 == KEPT
