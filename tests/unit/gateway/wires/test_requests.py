"""Requests of every wire: what clients send is read, and nothing else than a fault is raised."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import DocumentPart, ImagePart, TextPart, text_of
from callblocks.gateway.exchange import (
    STATUS,
    FaultKind,
    GatewayFault,
    GatewayRequest,
    JsonFormat,
    ToolChoice,
)
from callblocks.gateway.wires.chat import ChatWire
from callblocks.gateway.wires.messages import MessagesWire
from callblocks.gateway.wires.ollama import GenerateWire, OllamaWire, loaded, show, tags
from callblocks.gateway.wires.parts import estimate_tokens
from callblocks.gateway.wires.reply_items import ListedModel, list_models
from callblocks.gateway.wires.responses import ResponsesWire
from callblocks.gateway.wires.responses_writer import ItemStore
from callblocks.models.model import LinkedImage, Message
from support.gateway_replies import HEAD, Called, Finished, Said, events

CHAT, RESPONSES, ANTHROPIC, OLLAMA = ChatWire(), ResponsesWire(), MessagesWire(), OllamaWire()
GENERATE = GenerateWire()
WIRES: list[Any] = [CHAT, RESPONSES, ANTHROPIC, OLLAMA, GENERATE]
USER: dict[str, Any] = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
PIXEL = base64.b64encode(b"\x89PNG").decode()
SEARCH = {"type": "function", "function": {"name": "search", "parameters": SCHEMA}}
FLAT = {"type": "function", "name": "search", "parameters": SCHEMA}


def chat(*messages: Any, **more: Any) -> GatewayRequest:
    return CHAT.read({"model": "m", "messages": list(messages) or [USER], **more}, {})


def responses(*items: Any, **more: Any) -> GatewayRequest:
    return RESPONSES.read({"model": "m", "input": list(items) or "hi", **more}, {})


def anthropic(*messages: Any, **more: Any) -> GatewayRequest:
    body = {"model": "m", "max_tokens": 9, "messages": list(messages) or [USER], **more}
    return ANTHROPIC.read(body, {})


def ollama(*messages: Any, **more: Any) -> GatewayRequest:
    return OLLAMA.read({"model": "m", "messages": list(messages) or [USER], **more}, {})


def texts(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


# --- Any JSON ---

WORDS = st.sampled_from(
    [
        *("model", "messages", "input", "role", "content", "type", "text", "user", "assistant"),
        *("tool", "tool_calls", "function", "name", "arguments", "tools", "parameters", "system"),
        *("tool_use", "tool_result", "image", "source", "base64", "data", "id", "call_id"),
        *("function_call", "custom_tool_call", "reasoning", "summary", "image_url", "url"),
        *("input_schema", "tool_choice", "response_format", "format", "json_schema", "schema"),
        *("namespace", "custom", "options", "stop", "images", "message", "output", "required"),
        *("allowed_tools", "n", "stream", "max_tokens", "metadata", "thinking", "document"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(), inner),
    max_leaves=25,
)
BODIES = st.dictionaries(WORDS, JSON, max_size=8)


def _reads_or_faults(wire: Any, body: Any) -> None:
    fault = None
    try:
        request = wire.read(body, {})
        assert request.model
        json.dumps(request.fields, allow_nan=False).encode()
    except GatewayFault as raised:
        fault = raised
    if fault is not None:
        assert fault.status == 400
        json.dumps(wire.fault(fault), allow_nan=False).encode()


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_any_json_is_read_or_a_fault(wire: Any) -> None:
    @given(JSON | BODIES)
    def holds(body: Any) -> None:
        _reads_or_faults(wire, body)

    holds()


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_any_field_of_a_good_request_may_be_anything(wire: Any) -> None:
    good = {"model": "m", "messages": [USER], "input": [USER], "tools": [SEARCH]}

    @given(st.sampled_from([*good, "tool_choice", "stop", "options", "system"]), JSON)
    def holds(name: str, value: Any) -> None:
        _reads_or_faults(wire, {**good, name: value})

    @given(JSON)
    def messages_hold(value: Any) -> None:
        for role in ("user", "assistant", "tool", "system"):
            message = {"role": role, "content": value, "tool_calls": value}
            _reads_or_faults(wire, {**good, "messages": [message], "input": [message]})

    @given(st.sampled_from(["function_call", "reasoning", "tool_search_output", "x"]), BODIES)
    def items_hold(kind: str, item: dict[str, Any]) -> None:
        _reads_or_faults(wire, {**good, "input": [{**item, "type": kind}]})

    holds()
    messages_hold()
    items_hold()


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@pytest.mark.parametrize(
    "value", [nested(5000), math.nan, math.inf, 10**5000], ids=["deep", "nan", "infinite", "huge"]
)
def test_what_json_cannot_say_is_a_fault_that_names_the_field(wire: Any, value: Any) -> None:
    with pytest.raises(GatewayFault) as raised:
        wire.read({"model": "m", "messages": [USER], "input": "hi", "extra": value}, {})
    assert raised.value.field.startswith("extra")
    assert len(raised.value.field) < 2000


def test_half_of_an_emoji_is_replaced() -> None:
    assert texts(chat({"role": "user", "content": "a\ud83d"}).messages[0]) == "a\ufffd"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"messages": [USER]}, "model"),
        ({"model": "m"}, "messages"),
        ({"model": "m", "messages": []}, "messages"),
        ({"model": "m", "messages": "hi"}, "messages"),
        ({"model": "m", "messages": [3]}, "messages[0]"),
        ({"model": "m", "messages": [{"role": "wizard"}]}, "messages[0].role"),
        ({"model": "m", "messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
        ({"model": "m", "messages": [USER], "n": 2}, "n"),
        ({"model": "m", "messages": [USER], "n": "two"}, "n"),
        ({"model": "m", "messages": [USER], "max_tokens": 0}, "max_tokens"),
        ({"model": "m", "messages": [USER], "max_tokens": True}, "max_tokens"),
        ({"model": "m", "messages": [USER], "temperature": "hot"}, "temperature"),
        ({"model": "m", "messages": [USER], "stop": [1]}, "stop[0]"),
        ({"model": "m", "messages": [USER], "stream": "yes"}, "stream"),
        ({"model": "m", "messages": [USER], "tools": [{"type": "function"}]}, "tools[0].name"),
        ({"model": "m", "messages": [USER], "tool_choice": "required"}, "tool_choice"),
        ({"model": "m", "messages": [USER], "tool_choice": "maybe"}, "tool_choice"),
    ],
)
def test_a_fault_of_a_chat_names_its_field(body: dict[str, Any], field: str) -> None:
    with pytest.raises(GatewayFault) as raised:
        CHAT.read(body, {})
    assert (raised.value.kind, raised.value.field) == ("invalid_request", field)


# --- Chat completions ---


def test_a_chat_with_every_role_is_read_in_its_order() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": 1}'}}
    read = chat(
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "Hm."},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "system", "content": "Late."},
    )
    assert [message.role for message in read.messages] == [
        *("system", "user", "assistant", "tool", "system"),
    ]
    assert texts(read.messages[1]) == "ab"
    assert read.messages[2].calls[0].input == {"q": 1}
    assert read.messages[2].reasoning == "Hm."
    assert read.messages[3].call_id == "c1"


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"q": 1}', {"q": 1}),
        ("{'q': True,}", {"q": True}),
        ("", {}),
        (None, {}),
        ({"q": 1}, {"q": 1}),
        ('{"q": "cut', {"arguments": '{"q": "cut'}),
        ("[1]", {"arguments": "[1]"}),
    ],
)
def test_broken_arguments_of_a_history_are_read_as_far_as_they_are_certain(
    arguments: Any, value: dict[str, Any]
) -> None:
    call = {"id": "c1", "function": {"name": "search", "arguments": arguments}}
    read = chat({"role": "assistant", "tool_calls": [call]})
    assert read.messages[0].calls[0].input == value


def test_a_result_of_no_call_stays_a_text_of_others_on_every_wire() -> None:
    result = {"type": "tool_result", "tool_use_id": "c9", "content": "lost"}
    read = [
        chat({"role": "tool", "tool_call_id": "c9", "content": "lost"}),
        responses({"type": "function_call_output", "call_id": "c9", "output": "lost"}),
        anthropic({"role": "user", "content": [result]}),
        ollama({"role": "tool", "content": "lost"}),
    ]
    for one in read:
        assert one.messages[0].role == "tool"
        assert texts(one.messages[0]).endswith(":\nlost")


@pytest.mark.parametrize("read", [chat, responses, anthropic, ollama])
def test_a_line_that_changes_with_each_request_is_for_no_model(read: Any) -> None:
    line = "x-anthropic-billing-header: cc_version=2.1; cch=fa690;"
    system = [line, f"{line}\nBe kind.", "Of x-anthropic-billing-header: nothing."]
    asked = read(*({"role": "system", "content": text} for text in system), USER)
    assert [texts(one) for one in asked.messages[:-1]] == ["", "Be kind.", system[2]]


def test_images_come_as_data_urls_and_addresses() -> None:
    content = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "image_url", "image_url": "https://example.com/a.png"},
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PIXEL}"}},
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
        {"type": "image_url", "image_url": "http://169.254.169.254/latest"},
    ]
    parts = chat({"role": "user", "content": content}).messages[0].parts
    assert parts[0] == ImagePart("image/png", PIXEL)
    link = "https://example.com/a.png"
    assert parts[1] == LinkedImage(f"<image url={link}>", url=link)
    # No server may be sent to a place inside a network.
    assert parts[4] == TextPart("<image url=http://169.254.169.254/latest>")
    assert parts[2] == DocumentPart("application/pdf", PIXEL)
    assert parts[3] == TextPart("<input_audio: this model cannot take it>")


def test_tools_of_unknown_kinds_are_left_out_and_named() -> None:
    inner = {"type": "function", "name": "grep", "parameters": {}}
    tools = [
        SEARCH,
        {"type": "namespace", "name": "fs", "tools": [inner]},
        {"type": "web_search"},
        {"type": "mcp", "server_label": "docs"},
        {"type": "custom", "custom": {"name": "patch", "format": {"type": "text"}}},
    ]
    read = chat(tools=tools)
    assert [spec.name for spec in read.tools] == ["search", "fs.grep", "patch"]
    assert read.left_out == ("web_search", "mcp docs")
    assert read.free_text == {"patch"}
    assert read.tools[2].body == "input"
    assert responses(tools=[FLAT, *tools[1:4]]).left_out == ("web_search", "mcp docs")


def test_the_grammar_of_a_free_text_tool_is_told() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}
    read = responses(tools=[{"type": "custom", "name": "patch", "format": grammar}])
    assert "start: /x/" in read.tools[0].properties["input"]["description"]
    wrapped = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "x+"}}
    custom = {"type": "custom", "custom": {"name": "patch", "format": wrapped}}
    assert "x+" in chat(tools=[custom]).tools[0].properties["input"]["description"]


def test_functions_of_the_old_form_are_tools() -> None:
    read = chat(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        functions=[{"name": "f", "parameters": SCHEMA}],
        function_call={"name": "f"},
    )
    assert read.choice == ToolChoice("required", ("f",))
    assert read.messages[1].call_id == read.messages[0].calls[0].id


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", ToolChoice()),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ("any", ToolChoice("required")),
        ({"type": "any"}, ToolChoice("required")),
        ({"type": "auto"}, ToolChoice()),
        ({"type": "function", "function": {"name": "search"}}, ToolChoice("required", ("search",))),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [SEARCH]}},
            ToolChoice("auto", ("search",)),
        ),
    ],
)
def test_the_choice_of_a_chat_is_read(choice: Any, expected: ToolChoice) -> None:
    assert chat(tools=[SEARCH], tool_choice=choice).choice == expected
    # Proxies pass the forms of one of OpenAI's APIs to the other.
    assert responses(tools=[SEARCH], tool_choice=choice).choice == expected


def test_a_demand_for_a_tool_that_is_left_out_is_none() -> None:
    read = responses(tools=[{"type": "web_search"}], tool_choice="required")
    assert read.choice == ToolChoice()
    read = responses(tools=[FLAT], tool_choice={"type": "web_search"})
    assert read.choice == ToolChoice()


def test_fields_for_the_service_alone_are_not_passed_on() -> None:
    read = chat(
        store=False,
        metadata={"a": "b"},
        prompt_cache_key="talk-1",
        verbosity="low",
        safety_identifier="u",
        top_p=0.5,
        seed=7,
        logit_bias=None,
        chat_template_kwargs={"x": 1},
    )
    assert read.fields == {"top_p": 0.5, "seed": 7, "chat_template_kwargs": {"x": 1}}
    assert read.conversation == "talk-1"


def test_the_form_of_an_answer_is_read_on_every_wire() -> None:
    form = {"type": "json_schema", "name": "a", "schema": SCHEMA, "strict": True}
    expected = JsonFormat(SCHEMA, "a", True)
    wrapped = {"type": "json_schema", "json_schema": form}
    assert chat(response_format=wrapped).json_format == expected
    assert responses(text={"format": form}).json_format == expected
    assert anthropic(output_config={"format": form}).json_format == expected
    assert ollama(format=SCHEMA).json_format == JsonFormat(SCHEMA)
    assert ollama(format="json").json_format == JsonFormat()
    assert chat(response_format={"type": "json_object"}).json_format == JsonFormat()
    assert chat(response_format={"type": "text"}).json_format is None
    assert chat(response_format={"type": "grammar"}).fields == {
        "response_format": {"type": "grammar"}
    }


def test_limits_of_a_chat_are_read() -> None:
    read = chat(max_tokens=5, max_completion_tokens=7, stop="END", temperature=1, n=1)
    assert (read.max_tokens, read.stop, read.temperature) == (7, ("END",), 1.0)
    assert not chat(parallel_tool_calls=False).parallel
    assert chat(max_tokens=-1).max_tokens is None


# --- Responses ---


def test_items_of_the_assistant_are_one_message() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"}
    read = responses(
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "A"}]},
        {"role": "user", "content": "hi"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "B"}]},
        call,
        {**call, "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "two"}],
        },
        instructions="First.",
    )
    assert [message.role for message in read.messages] == [
        *("system", "system", "user", "assistant", "tool", "tool"),
    ]
    said = read.messages[3]
    assert (texts(said), said.reasoning) == ("B", "Hm.")
    assert [call.id for call in said.calls] == ["c1", "c2"]
    assert texts(read.messages[5]) == "two"


@pytest.mark.parametrize("name", ["previous_response_id", "conversation", "background"])
def test_state_that_is_not_kept_is_a_fault(name: str) -> None:
    with pytest.raises(GatewayFault) as raised:
        responses(**{name: True if name == "background" else "resp_1"})
    assert raised.value.field == name


def test_a_reference_finds_an_item_that_was_stored() -> None:
    wire = ResponsesWire()
    asked = wire.read({"model": "m", "input": "hi"}, {})
    said = events([Said("text", "a"), Called("c1", "search", {"q": 1})], Finished("calls"), [9])
    output = wire.whole(asked, HEAD, said)["output"]
    references = [{"type": "item_reference", "id": item["id"]} for item in output]
    result = {"type": "function_call_output", "call_id": "c1", "output": "found"}
    read = wire.read({"model": "m", "input": [*references, result]}, {})
    assert [message.role for message in read.messages] == ["assistant", "tool"]
    assert read.messages[0].calls[0].input == {"q": 1}
    elsewhere = ResponsesWire().read({"model": "m", "input": [USER, *references]}, {})
    assert elsewhere.left_out == ("item_reference: the item is not kept here",)


def test_items_are_not_kept_where_the_client_stores_nothing() -> None:
    wire = ResponsesWire()
    asked = wire.read({"model": "m", "input": "hi", "store": False}, {})
    output = wire.whole(asked, HEAD, events([Said("text", "a")], Finished("stop"), [9]))["output"]
    read = wire.read(
        {"model": "m", "input": [USER, {"type": "item_reference", "id": output[0]["id"]}]}, {}
    )
    assert len(read.messages) == 1


def test_the_store_keeps_the_newest_items() -> None:
    store = ItemStore(most=2)
    store.keep({"id": name} for name in "abc")
    assert [store.find(name) is not None for name in "abc"] == [False, True, True]


def test_calls_that_a_server_ran_are_kept_as_calls_or_text() -> None:
    shell = {
        "type": "local_shell_call",
        "call_id": "c1",
        "status": "completed",
        "action": {"type": "exec", "command": ["ls"]},
    }
    read = responses(
        shell,
        {"type": "local_shell_call_output", "call_id": "c1", "output": {"stdout": "a"}},
        {"type": "web_search_call", "id": "ws_1", "action": {"query": "tides"}},
    )
    assert read.messages[0].calls[0].name == "local_shell"
    assert read.messages[1].role == "tool"
    assert "tides" in texts(read.messages[2])


def test_tools_inside_the_input_are_tools() -> None:
    read = responses(USER, {"type": "additional_tools", "role": "developer", "tools": [FLAT]})
    assert [spec.name for spec in read.tools] == ["search"]


# --- Messages ---


def test_messages_with_every_block_are_read() -> None:
    image = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    read = anthropic(
        {"role": "system", "content": "Late."},
        {"role": "user", "content": [{"type": "image", "source": image}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no"},
                {"type": "text", "text": "Go on."},
            ],
        },
        system=[{"type": "text", "text": "First.", "cache_control": {"type": "ephemeral"}}],
        thinking={"type": "adaptive"},
        context_management={},
        output_config={"effort": "high"},
        metadata={"user_id": "u1"},
    )
    roles = [message.role for message in read.messages]
    assert roles == ["system", "system", "user", "assistant", "tool", "user"]
    assert read.messages[2].parts == (ImagePart("image/png", PIXEL),)
    assert read.messages[3].reasoning == "Hm."
    assert read.messages[3].calls[0].input == {"q": 1}
    assert texts(read.messages[4]) == "Error: no"
    assert (read.thinks, read.conversation) == (True, "u1")
    assert read.fields == {"reasoning_effort": "high"}
    assert not anthropic().thinks


def test_a_tool_that_a_server_runs_is_left_out_unless_it_has_a_schema() -> None:
    read = anthropic(
        tools=[
            {"name": "search", "input_schema": SCHEMA, "defer_loading": True},
            {"type": "bash_20250124", "name": "bash"},
            {"type": "web_search_20250305", "name": "web", "input_schema": SCHEMA},
        ],
        tool_choice={"type": "tool", "name": "search", "disable_parallel_tool_use": True},
    )
    assert [spec.name for spec in read.tools] == ["search", "web"]
    assert read.left_out == ("bash_20250124 bash",)
    assert read.choice == ToolChoice("required", ("search",))
    assert not read.parallel


def test_tokens_are_estimated() -> None:
    small = estimate_tokens(anthropic())
    large = estimate_tokens(anthropic({"role": "user", "content": "x" * 4000}))
    assert 0 < small < 20
    assert large - small == pytest.approx(1000, abs=2)


# --- Ollama ---


def test_a_chat_of_ollama_is_read() -> None:
    call = {"function": {"name": "search", "arguments": {"q": 1}}}
    read = ollama(
        {"role": "user", "content": "look", "images": [PIXEL]},
        {"role": "assistant", "content": "", "tool_calls": [call, call], "thinking": "Hm."},
        {"role": "tool", "tool_name": "search", "content": "one"},
        {"role": "tool", "content": "two"},
        tools=[SEARCH],
        options={"num_predict": 50, "temperature": 0.1, "stop": ["END"], "seed": 3, "num_ctx": 9},
        think=False,
    )
    assert read.messages[0].parts[1] == ImagePart("image/png", PIXEL)
    ids = [call.id for call in read.messages[1].calls]
    assert [message.call_id for message in read.messages[2:]] == ids
    assert (read.max_tokens, read.temperature, read.stop) == (50, 0.1, ("END",))
    assert read.fields == {"seed": 3}
    assert read.streams
    assert not read.thinks
    assert ollama(options={"num_predict": -1}).max_tokens is None


def test_a_plain_prompt_of_ollama_is_a_chat() -> None:
    body = {"model": "m", "system": "Be kind.", "prompt": "look", "images": [PIXEL]}
    read = GENERATE.read({**body, "options": {"seed": 3}, "context": [1, 2], "template": ""}, {})
    assert [(one.role, text_of(list(one.parts[:1]))) for one in read.messages] == [
        ("system", "Be kind."),
        ("user", "look"),
    ]
    assert read.messages[1].parts[1] == ImagePart("image/png", PIXEL)
    assert (read.fields, read.streams) == ({"seed": 3}, True)
    with pytest.raises(GatewayFault, match="raw: a prompt is not taken as it is"):
        GENERATE.read({**body, "raw": True}, {})


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("generate", {"model": "m"}, "load"),
        ("generate", {"model": "m", "prompt": "", "keep_alive": 0}, "unload"),
        ("ollama", {"model": "m", "messages": []}, "load"),
        ("generate", {"model": "m", "prompt": "Hi"}, None),
        ("ollama", {"model": "m", "messages": [USER]}, None),
    ],
)
def test_a_request_without_anything_to_answer_loads_the_model(
    name: str, body: dict[str, Any], reason: str | None
) -> None:
    answer = loaded(name, body)
    assert (answer and answer["done_reason"]) == reason


# --- Models, completions, faults ---

MODELS = [ListedModel(name="qwen", created=1, context=4096), ListedModel(name="b", images=True)]


def test_models_are_listed_for_each_client() -> None:
    from anthropic.types import ModelInfo
    from openai.types import Model

    listed = list_models(MODELS, {})
    assert [Model.model_validate(one).id for one in listed["data"]] == ["qwen", "b"]
    assert [one["slug"] for one in listed["models"]] == ["qwen", "b"]
    theirs = list_models(MODELS, {"anthropic-version": "2023-06-01"})
    assert [ModelInfo.model_validate(one).id for one in theirs["data"]] == ["qwen", "b"]
    assert theirs["has_more"] is False
    assert list_models([], {"anthropic-version": "1"})["first_id"] is None
    assert [one["name"] for one in tags(MODELS)["models"]] == ["qwen", "b"]
    assert show(MODELS[0])["model_info"]["callblocks.context_length"] == 4096
    assert "vision" in show(MODELS[1])["capabilities"]


@pytest.mark.parametrize("kind", STATUS)
def test_every_fault_has_the_shape_of_its_wire(kind: FaultKind) -> None:
    fault = GatewayFault(kind, "because", field="messages[0]")
    for wire in (CHAT, RESPONSES):
        error = wire.fault(fault)["error"]
        assert {*error} == {"message", "type", "param", "code"}
        assert (error["message"], error["param"]) == ("because", "messages[0]")
    error = ANTHROPIC.fault(fault)
    assert (error["type"], error["error"]["message"]) == ("error", "because")
    assert error["error"]["type"].endswith(("_error", "_too_large"))
    assert OLLAMA.fault(fault) == {"error": "because"}
