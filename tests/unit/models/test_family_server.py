"""The servers of model families stream what the published client reads, and take no nonsense."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import openai
import pytest

from callblocks import ToolSpec, dialects, parse
from callblocks.dialects.families import dialect_of
from support.family_server import ANSWER, MISBEHAVIOURS, MODES, TOOL, FamilyServer, Mode
from support.model_families import FAMILIES, Family

BY_TITLE = {family.title: family for family in FAMILIES}
DEVSTRAL = BY_TITLE["Devstral"]
SPEC = ToolSpec(
    TOOL,
    "Write a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
    body="content",
)
DECLARED = {
    "type": "function",
    "function": {"name": TOOL, "description": "Write.", "parameters": SPEC.parameters},
}
RESULT = "Written: notes/{mode}-x.md"


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[Mode, FamilyServer]]:
    with ExitStack() as stack:
        yield {mode: stack.enter_context(FamilyServer(mode)) for mode in MODES}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_the_name_of_the_model_says_its_dialect(family: Family) -> None:
    assert dialect_of(family.model) == family.dialect


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_a_family_calls_and_answers(
    family: Family, mode: Mode, servers: dict[Mode, FamilyServer]
) -> None:
    server = servers[mode]
    said = _ask(server, family, _prompted(family))
    wanted = server.wanted(family)
    assert said["usage"] == 120
    if mode == "native":
        (call,) = said["calls"]
        assert (call["name"], json.loads(call["arguments"])) == (TOOL, wanted)
        assert said["reason"] == "tool_calls"
        assert said["content"] == family.before
        told = _native_history(call, wanted["path"])
    else:
        assert said["calls"] == []
        assert family.call(TOOL, wanted) in said["content"]
        own = dialects[family.dialect].write([parse_one(family, said["content"])], [SPEC])
        told = [
            {"role": "assistant", "content": own},
            {"role": "user", "content": f"Written: {wanted['path']}"},
        ]
    assert bool(said["thoughts"]) == bool(family.thinks and mode != "text")
    answer = _ask(server, family, [*_prompted(family), *told])
    assert f"{ANSWER} Written: {wanted['path']}" in answer["content"]
    assert answer["reason"] == "stop"
    assert server.invalid == []


def parse_one(family: Family, content: str) -> Any:
    """The call in a reply; small models put it into a code fence."""
    if "```json" in content and family.dialect == "hermes":
        body = json.loads(content.partition("```json\n")[2].partition("\n```")[0])
        content = f"<tool_call>{json.dumps(body)}</tool_call>"
    (call,) = parse(content, family.dialect, tools=[SPEC]).calls
    return call


@pytest.mark.parametrize(
    ("title", "status", "words"),
    [
        ("Qwen3", 400, "does not support tools"),
        ("Devstral", 500, "tools param requires --jinja flag"),
        ("Kimi K2", 400, '"auto" tool choice requires --enable-auto-tool-choice'),
    ],
)
def test_a_server_without_tools_says_so_in_its_own_words(
    title: str, status: int, words: str, servers: dict[Mode, FamilyServer]
) -> None:
    family = BY_TITLE[title]
    with pytest.raises(openai.APIStatusError) as caught:
        _ask(servers["text"], family, _prompted(family), tools=[DECLARED])
    assert caught.value.status_code == status
    assert words in str(caught.value)
    assert family.model in servers["text"].refused


def _called(**changes: Any) -> dict[str, Any]:
    function = {"name": TOOL, "arguments": "{}"}
    return {"id": "c1", "type": "function", "function": function, **changes}


SYSTEM = {"role": "system", "content": "Be kind."}
USER = {"role": "user", "content": "Write."}
CALLED = {"role": "assistant", "content": None, "tool_calls": [_called()]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "Written."}


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([SYSTEM, USER, USER], "do not alternate"),
        ([SYSTEM, USER, {"role": "assistant", "content": "Yes."}], "do not alternate"),
        ([SYSTEM, {"role": "user", "content": ""}], "empty message"),
        ([USER, SYSTEM], "not the first"),
        ([SYSTEM, USER, CALLED], "calls without results"),
        ([SYSTEM, USER, CALLED, USER], "calls without results"),
        ([SYSTEM, USER, CALLED, {**TOLD, "tool_call_id": "c2"}], "a result of no call"),
        ([SYSTEM, USER, CALLED, TOLD, CALLED, TOLD], "used twice"),
        (
            [SYSTEM, USER, {**CALLED, "tool_calls": [_called(), _called()]}, TOLD],
            "used twice",
        ),
        (
            [
                SYSTEM,
                USER,
                {**CALLED, "tool_calls": [_called(id="")]},
                {**TOLD, "tool_call_id": ""},
            ],
            "without id",
        ),
        (
            [
                SYSTEM,
                USER,
                {**CALLED, "tool_calls": [_called(function={"name": "x", "arguments": "{"})]},
                TOLD,
            ],
            "no JSON object",
        ),
        (
            [
                SYSTEM,
                USER,
                {"role": "assistant", "content": "I called."},
                {**USER, "content": "notes/x"},
            ],
            "not in mistral_v11",
        ),
        ([SYSTEM, USER, {**CALLED, "tool_calls": [{"id": "c1"}]}, TOLD], "Field required"),
    ],
)
def test_what_a_strict_template_would_not_take_is_refused(
    messages: list[dict[str, Any]], problem: str
) -> None:
    with _refusing("native") as server, pytest.raises(openai.BadRequestError, match=problem):
        _ask(server, DEVSTRAL, messages)


def test_the_tool_must_be_declared_once_or_taught() -> None:
    with _refusing("native") as server:
        with pytest.raises(openai.BadRequestError, match="is not declared"):
            _ask(server, DEVSTRAL, [SYSTEM, USER], tools=None)
        with pytest.raises(openai.BadRequestError, match="declared twice"):
            _ask(server, DEVSTRAL, [SYSTEM, USER], tools=[DECLARED, DECLARED])
    with _refusing("text") as server:
        with pytest.raises(openai.BadRequestError, match="does not teach mistral_v11"):
            _ask(server, DEVSTRAL, [SYSTEM, USER])
        taught = {**SYSTEM, "content": "\n".join(dialects["mistral_v11"].rules)}
        with pytest.raises(openai.BadRequestError, match="does not tell of"):
            _ask(server, DEVSTRAL, [taught, USER])
        with pytest.raises(openai.NotFoundError):
            _ask(server, DEVSTRAL._replace(model="nobody"), [SYSTEM, USER])


def test_an_earlier_call_with_another_input_is_refused() -> None:
    other = dialects["mistral_v11"].write(
        [parse('[TOOL_CALLS]file_write[ARGS]{"path": "a", "content": "b"}', "mistral_v11").calls[0]]
    )
    told = [{"role": "assistant", "content": other}, {"role": "user", "content": "notes/x"}]
    with _refusing("mixed") as server, pytest.raises(openai.BadRequestError, match="another input"):
        _ask(server, DEVSTRAL, [SYSTEM, USER, *told])


@pytest.mark.parametrize("how", MISBEHAVIOURS)
def test_a_server_can_misbehave_once_and_goes_on(how: str) -> None:
    with FamilyServer("native") as server:
        server.misbehave(how)
        if how.startswith("cut in"):
            with pytest.raises(openai.APIConnectionError):
                _ask(server, DEVSTRAL, _prompted(DEVSTRAL))
        else:
            said = _ask(server, DEVSTRAL, _prompted(DEVSTRAL))
            assert said["calls"]
        told = [{"role": "assistant", "content": "Oh."}, {"role": "user", "content": "Go on."}]
        assert _ask(server, DEVSTRAL, [*_prompted(DEVSTRAL), *told])["content"] == "Done."


@contextmanager
def _refusing(mode: Mode) -> Iterator[FamilyServer]:
    """A server that is asked nonsense on purpose."""
    with FamilyServer(mode) as server:
        yield server
        assert server.invalid or server.refused
        server.invalid.clear()


def _prompted(family: Family) -> list[dict[str, Any]]:
    taught = dialects[family.dialect].teach([SPEC], compact=True)
    return [{"role": "system", "content": taught}, USER]


def _native_history(call: dict[str, str], path: str) -> list[dict[str, Any]]:
    function = {"name": call["name"], "arguments": call["arguments"]}
    made = {"id": call["id"], "type": "function", "function": function}
    told = {"role": "tool", "tool_call_id": call["id"], "content": f"Written: {path}"}
    return [{"role": "assistant", "content": None, "tool_calls": [made]}, told]


def _ask(
    server: FamilyServer,
    family: Family,
    messages: list[Any],
    tools: Any = "declared",
) -> dict[str, Any]:
    """A reply, put together from what the client gives."""
    if tools == "declared":
        tools = None if server.mode == "text" else [DECLARED]
    more: dict[str, Any] = {} if tools is None else {"tools": tools}
    said: dict[str, Any] = {"content": "", "thoughts": "", "calls": [], "reason": "", "usage": 0}
    client = _client().with_options(base_url=server.url)
    stream = client.chat.completions.create(
        model=family.model,
        messages=messages,
        stream=True,
        stream_options={"include_usage": True},
        **more,
    )
    for chunk in stream:
        said["usage"] = chunk.usage.total_tokens if chunk.usage else said["usage"]
        for choice in chunk.choices:
            _add(said, choice.delta)
            said["reason"] = choice.finish_reason or said["reason"]
    return said


@cache
def _client() -> openai.OpenAI:
    return openai.OpenAI(api_key="none", max_retries=0)


def _add(said: dict[str, Any], delta: Any) -> None:
    said["content"] += delta.content or ""
    for field in ("reasoning", "reasoning_content"):
        said["thoughts"] += getattr(delta, field, None) or ""
    for part in delta.tool_calls or ():
        if part.id:
            said["calls"].append({"id": part.id, "name": part.function.name, "arguments": ""})
        given = part.function.arguments or ""
        said["calls"][-1]["arguments"] += given if isinstance(given, str) else json.dumps(given)
