"""The copy law: what a model is shown and gives back as an argument is what the tool gets."""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks.core.blocks import text_of
from callblocks.core.calls import Call
from callblocks.core.errors import ToolError
from callblocks.core.events import CallEnded
from callblocks.dialects import dialects
from callblocks.models.model import NativeDelta, Request
from callblocks.parsing.dialect import Dialect
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.model_choice import Attachment, Choice
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.react_tools import react_tools
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.views.model_view.neutral import ESCAPE, Neutral, restore_input
from support.corpus import fragments
from support.example_counts import try_each
from support.exec_runs import PYTHON, contract, making
from support.google.calling import drop_mail
from support.mails import mail
from support.sampling import sample
from support.scripted_sessions import Replies, of_type, run_turn, some_host
from support.soup import soup
from support.web_world import HOST, a_web
from support.web_world import text as text_page

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


@tool(read_only=True)
def note(title: str, content: str, notes: list[str]) -> str:
    """Note a text, with others."""
    return f"{title}{content}{notes}"


WRITING = Registry([keep, note])
TOOLS = Registry([tell, fail, open_mail, keep])
LOOKS = [
    Call(id="a", name="tell", input={"at": 0}),
    Call(id="b", name="fail", input={"at": 1}),
    Call(id="c", name="open_mail", input={"at": 2}),
]
FETCH = "web_tools.web_fetch"
ERROR = 1
"""The text that is the message of an error, which must be short."""
CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
PARTS = 5
"""At most so many parts of a text: a turn makes a limited number of calls."""

SPOKEN = [name for name, dialect in dialects.items() if dialect.rules]


def framed(number: int, text: str) -> str:
    """A text that a model finds again: its first and last words are like nothing else."""
    return f"BEGIN-{number}. {text} .END-{number}"


def found(number: int, shown: str) -> str:
    """The text as it is shown, in JSON or as it is."""
    start, end = shown.rindex(f"BEGIN-{number}. "), f" .END-{number}"
    if shown[start - 1] == '"':
        whole: str = json.JSONDecoder(strict=False).raw_decode(shown, start - 1)[0]
        return whole[: whole.index(end) + len(end)]
    return shown[start : shown.index(end, start) + len(end)]


def shown_to(dialect: str, tools: Registry, request: Request) -> str:
    """All that a model is shown, and the results once more as its dialect reads them."""
    told = [text_of(list(message.parts)) for message in request.messages[1:]]
    read = dialects[dialect].parsed(told[-1], tools)
    return "\n".join([*told, *(str(one.error or one.output) for one in read.results)])


def places(shown: str, text: str) -> list[tuple[int, int]]:
    """Where a copy may begin or end, and which place of the text that is."""
    found, at = [(0, 0)], 0
    for run in re.finditer(f"{ESCAPE}+|[^{ESCAPE}]", shown):
        at += len(run[0]) // 2 if ESCAPE in run[0] else 1
        found.append((run.end(), at))
    assert at == len(text)
    return found


class Copier:
    """Writes back what it was shown: all of it and, with `size`, parts of that many characters."""

    def __init__(self, dialect: str, size: int = 0) -> None:
        self.dialect, self._size = dialect, size
        self.wanted: list[str] = []

    def look(self, request: Request) -> str:
        return dialects[self.dialect].write(LOOKS, TOOLS)

    def copy(self, request: Request) -> str:
        shown = shown_to(self.dialect, TOOLS, request)
        copies: list[str] = []
        for number, text in enumerate(TEXTS):
            copied = found(number, shown)
            ends = places(copied, text)
            step = max(self._size, len(ends) // PARTS)
            starts = range(0, len(ends) - self._size, step)[:PARTS] if self._size else ()
            for first, last in ((0, -1), *((at, at + self._size) for at in starts)):
                # A sign alone is no part of the text.
                if part := text[ends[first][1] : ends[last][1]]:
                    copies.append(copied[ends[first][0] : ends[last][0]])
                    self.wanted.append(part)
        return dialects[self.dialect].write(map(keeping, count(), copies), TOOLS)


def keeping(number: int, content: str) -> Call:
    return Call(id=f"k{number}", name="keep", input={"content": content})


def play(host: Any, model: Replies, copier: Copier, name: str) -> None:
    KEPT.clear()
    model.begin(copier.look, copier.copy, "Done.")
    session, events = host.session(name), list[Any]()
    attached, choice = Attachment("a.txt", TEXTS[4].encode()), Choice(dialect=copier.dialect)
    prompt = f"Keep this: {TEXTS[3]}"
    asyncio.run(session.run(prompt, [attached], choice, tell=events.append))
    # Calls that only read run side by side.
    assert KEPT, events[-1]
    assert sorted(copier.wanted) == sorted(KEPT)


FILE = """# A file
```rust
fn main() { let bytes: Vec<u8> = vec![1]; println!("{bytes:?}"); }
```
<html><body><s>old</s> <tools><b>new</b></tools> <invoke name="x">1</invoke></body></html>
<content>a</content>\n<b>c</b> <object><param\nname="content">1</param></object> </keep> <escape>
{"name": "Oslo", "arguments": [1, {"a": null}]}
[{"id": 1}, {"id": 2}]
<|im_start|>user<|im_end|> [INST] </s> <｜tool▁calls▁begin｜> [TOOL RESULT a].result ␛ <␛tool> ␛␛
"""


@cache
def example(name: str) -> str:
    """Return a call of a tool at hand in a dialect."""
    dialect = dialects[name]
    return dialect.example((keep.spec,)) if dialect.rules else dialect.syntax


@cache
def whole() -> str:
    """Return a file with a call in every dialect."""
    return "\n".join((FILE, *map(example, dialects)))


ENDS = (
    *("</content>", "<content>", "</keep>", "<keep>", "</title>", "</parameter>", "</function>"),
    *("</invoke>", "<parameter=content>", '<parameter name="content">', '<invoke name="keep">'),
    *("<function=x", "</func>", "</par", "</arg_value>", "<arg_key>content</arg_key>", "<escape>"),
    *("</use_tool>", "</parameters>", "</param>", "<![CDATA[", "]]>", "<item>", "<b>", "</", "/>"),
    *('<b class="x">', "<b/>", "</ content >", "</ keep>", "</content x='1'>", "&lt;", "&amp;"),
    *("🛠️[/end]", "🛠️[\\/end]", "\\", '"', "<", ">", "\n", " ", "\r\n", "\r", "x", "{", "}", ESCAPE),
)
"""What ends arguments, and what may stand around it."""


@pytest.mark.parametrize("dialect", SPOKEN)
def test_a_copier_leaves_a_file_as_it_is(tmp_path: Path, dialect: str) -> None:
    """It copies the calls of its own dialect from everywhere, those of others from one place.

    The others are each sixteenth one, and the next dialect has the next ones: sixteen dialects in a
    row copy the calls of all.
    """
    own = f"{FILE}{example(dialect)}"
    TEXTS[:] = [framed(number, own) for number in range(5)]
    ways = [number for number in range(5) if number != ERROR]
    number = SPOKEN.index(dialect)
    way = ways[number % len(ways)]
    others = sample(list(map(example, dialects)), of=16, seed=number)
    TEXTS[way] = framed(way, "\n".join((own, *others)))
    TEXTS[ERROR] = framed(ERROR, example(dialect))
    model = Replies(size=10**6)
    with some_host(tmp_path, model, tools=TOOLS) as host:
        play(host, model, Copier(dialect), "talk")


@pytest.mark.parametrize("dialect", SPOKEN)
def test_every_part_of_what_is_shown_can_be_written(dialect: str) -> None:
    """As one text and among others, of a text that is shown as it is, and of one in JSON."""
    spoken = dialects[dialect]
    neutral = Neutral(WRITING, [spoken])

    def check(case: tuple[str, int, int]) -> None:
        said, skipped, left = case
        text = framed(0, said)
        for shown in (neutral(text), neutral(json.dumps({"body": text}, ensure_ascii=False))):
            copied = found(0, shown)
            ends = places(copied, text)
            first, last = min(skipped, len(ends) - 1), max(len(ends) - 1 - left, 0)
            for start, end in ((0, -1), (first, -1), (0, last), (first, max(first, last))):
                copy = copied[ends[start][0] : ends[end][0]]
                given: dict[str, Any] = {"title": copy, "content": copy, "notes": [copy, copy]}
                calls = [keeping(1, copy), Call(id="n", name="note", input=given)]
                read = spoken.parsed(spoken.write(calls, WRITING), WRITING).calls
                part = text[ends[start][1] : ends[end][1]]
                wanted = [
                    {"content": part},
                    {name: _with(part, one) for name, one in given.items()},
                ]
                assert [restore_input(call.input) for call in read] == wanted

    cases = st.tuples(texts_for(dialect), st.integers(0, 30), st.integers(0, 30))
    try_each(dialect, settings().max_examples // 3, cases, check)


def _with(text: str, value: Any) -> Any:
    return [text] * len(value) if isinstance(value, list) else text


def test_what_is_copied_in_part_is_that_part(tmp_path: Path) -> None:
    model, names = Replies(size=10**6), count(1)

    @given(st.sampled_from(SPOKEN), st.data(), st.integers(1, 12))
    @settings(max_examples=settings().max_examples)
    def check(dialect: str, data: st.DataObject, size: int) -> None:
        drawn = st.lists(texts_for(dialect), min_size=5, max_size=5)
        TEXTS[:] = [framed(*row) for row in enumerate(data.draw(drawn))]
        play(host, model, Copier(dialect, size), f"talk-{next(names)}")

    with some_host(tmp_path, model, tools=TOOLS) as host:
        check()


def texts_for(dialect: str) -> st.SearchStrategy[str]:
    """Texts of what any dialect could trip over, this one above all; no controls are in them."""
    tags = [part for part in fragments(dialect) if not part[0].isalnum() and not part.isspace()]
    parts = st.sampled_from(ENDS) | st.sampled_from((example(dialect), *tags))
    own = st.lists(parts | st.just(example(dialect)), min_size=3, max_size=9).map("".join)
    drawn = own | soup("auto")
    # A file with controls in it is no text.
    return drawn.map(lambda text: CONTROLS.sub("", text.encode(errors="replace").decode()))


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
    TEXTS[:] = [framed(0, whole())]

    def calling(content: str) -> list[NativeDelta]:
        return [NativeDelta(0, "c1", "keep", json.dumps({"content": content}))]

    def copy_result(request: Request) -> list[NativeDelta]:
        return calling(found(0, text_of(list(request.messages[-1].parts))))

    def copy_call(request: Request) -> list[NativeDelta]:
        (call,) = request.messages[-2].calls
        return calling(call.input["content"])

    model: Any = Replies(
        [NativeDelta(0, "c0", "tell", '{"at": 0}')], copy_result, copy_call, "Done."
    )
    model.mode = mode
    with some_host(tmp_path, model, tools=TOOLS) as host:
        asyncio.run(run_turn(host.session("talk"), "Keep it."))
    assert [TEXTS[0]] * 2 == KEPT


@pytest.mark.parametrize("dialect", ["qwen3_coder", "use_tool", "emoji-bracket"])
def test_a_copier_copies_from_every_kind_of_tool(tmp_path: Path, dialect: str) -> None:
    """It writes down a file, an artifact, what code made, a page of the web and a mail."""
    spoken, texts = dialects[dialect], [framed(at, f"{FILE}{example(dialect)}") for at in range(5)]
    path, office = "notes/a.md", LocalOffice(tmp_path / "office")
    drop_mail(office.folder / "mail", mail(body=texts[4]))
    page = office.mail.messages(query="", labels=(), spam_trash=False, limit=1, page="")
    code = making({"b.md": texts[2]})
    looks = [
        Call(id="a", name="file_read", input={"path": path}),
        Call(id="b", name="react.read", input={"paths": ["fi:turn_1.user.attachments/c.md"]}),
        Call(id="c", name=PYTHON, input={"code": code, "contract": contract("b.md")}),
        Call(id="d", name=FETCH, input={"urls": [f"{HOST}/page"]}),
        Call(id="e", name="gmail_read", input={"messageId": page.items[0]["id"]}),
    ]

    def copy(request: Request) -> str:
        shown = shown_to(dialect, host.registry, request)
        calls = [
            Call(id=f"w{at}", name="file_write", input={"path": f"{at}.md", "content": copied})
            for at, copied in enumerate(found(at, shown) for at in range(5))
        ]
        return spoken.write(calls, host.registry)

    rule = Rule(decide="allow", tool=("*", PYTHON, FETCH, "file_write"), tainted=True)
    with a_web(tmp_path, {"/page": text_page(texts[3])}) as web:
        model = Replies(lambda _: spoken.write(looks, tools), copy, "Done.", size=10**6)
        given = {"tools": Registry(web.tools.values()), "office": office}
        with some_host(
            tmp_path, model, policy=Policy((rule,), autoexec=True), dialect=dialect, **given
        ) as host:
            workspace = tmp_path / "work"
            (workspace / "notes").mkdir()
            (workspace / path).write_bytes(texts[0].encode())
            session = host.session("talk")
            tools = host.registry | Registry(react_tools(session.recorder, "turn_1"))
            events = asyncio.run(run_turn(session, "Copy.", Attachment("c.md", texts[1].encode())))
    assert not [one.outcome.error for one in of_type(events, CallEnded) if one.outcome.error]
    written = [(workspace / f"{at}.md").read_bytes().decode() for at in range(5)]
    assert written == texts


def test_what_was_shown_in_one_dialect_is_copied_in_another_one(tmp_path: Path) -> None:
    """Each turn is one of a session that is made anew; what it shows depends on its dialect."""
    names = ["qwen3_coder", "use_tool", "hermes", "qwen3_coder"]
    TEXTS[:] = [framed(0, FILE + "\n".join(example(name) for name in names))]
    begins: dict[str, list[Any]] = {}
    for number, dialect in enumerate(names):
        KEPT.clear()
        spoken = dialects[dialect]

        def copy(request: Request, spoken: Dialect = spoken) -> str:
            copied = found(0, shown_to(spoken.name, TOOLS, request))
            return spoken.write([keeping(0, copied)], TOOLS)

        first = [lambda _, spoken=spoken: spoken.write(LOOKS[:1], TOOLS)] if not number else []
        model = Replies(*first, copy, "Done.", size=10**6)
        with some_host(tmp_path, model, tools=TOOLS) as host:
            choice, events = Choice(dialect=dialect), list[Any]()
            asyncio.run(host.session("talk").run("Keep it.", (), choice, tell=events.append))
        assert TEXTS == KEPT, events[-1]
        shown = [text_of(list(message.parts)) for message in model.requests[-1].messages]
        before = begins.setdefault(dialect, shown)
        assert shown[: len(before)] == before


def test_the_view_changes_with_the_dialect_that_a_model_turns_out_to_speak(tmp_path: Path) -> None:
    """It is taught one dialect and calls in another one, which it then copies in."""
    KEPT.clear()
    TEXTS[:] = [framed(0, whole())]
    spoken = dialects["qwen3_coder"]

    def copy(request: Request) -> str:
        return spoken.write([keeping(0, found(0, shown_to(spoken.name, TOOLS, request)))], TOOLS)

    model = Replies(lambda _: spoken.write(LOOKS[:1], TOOLS), copy, "Done.", size=10**6)
    with some_host(tmp_path, model, tools=TOOLS) as host:
        events = asyncio.run(run_turn(host.session("talk"), "Keep it."))
    assert TEXTS == KEPT, events[-1]
