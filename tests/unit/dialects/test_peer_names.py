"""A parser's name that users know from a server or a runner finds the dialect of the same calls.

The lists are those that each peer registers in the autumn of 2026. Each name must find the
dialects beside it, and read a call as that peer's parser reads it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from callblocks import Parser, ToolSpec, convert, dialects, parse
from callblocks.core.errors import UnknownDialect
from callblocks.dialects import dialect_of, members_of, near_names
from callblocks.parser import AUTO, near_dialects
from support.corpus import cases_of, options

WEATHER = ToolSpec(
    name="weather",
    description="",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
)
JSON = '{"name": "weather", "arguments": {"city": "Oslo"}}'
GLM = "<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
BARS = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
COHERE = '[{"tool_call_id": "0", "tool_name": "weather", "parameters": {"city": "Oslo"}}]'
DSML = (
    '<｜DSML｜{0}{1}>\n<｜DSML｜{0}invoke name="weather">\n<｜DSML｜{0}parameter name="city" '
    'string="true">Oslo</｜DSML｜{0}parameter>\n</｜DSML｜{0}invoke>\n</｜DSML｜{0}{1}>'
)
INVOKE = '<{0}invoke name="weather">\n<{0}parameter name="city">Oslo</{0}parameter>\n</{0}invoke>'
QWEN = "<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>"
NS = "]<]minimax[>["
EXAMPLES = {
    "apertus": '<|tools_prefix|>[{"weather": {"city": "Oslo"}}]<|tools_suffix|>',
    "cohere_command3": f"<|START_ACTION|>{COHERE}<|END_ACTION|>",
    "cohere_command4": f"<|START_ACTION|>{COHERE}<|END_ACTION|>",
    "deepseek_v3": BARS.format(
        'function<｜tool▁sep｜>weather\n```json\n{"city": "Oslo"}\n```',
    ),
    "deepseek_v31": BARS.format('weather<｜tool▁sep｜>{"city": "Oslo"}'),
    "deepseek_v32": DSML.format("", "function_calls"),
    "deepseek_v4": DSML.format("", "tool_calls"),
    "deepseek_v41": DSML.format(" ", "calls"),
    "dots": f"<dots_function_call>{INVOKE.format('')}</dots_function_call>",
    "ernie45": f"</think>\n\n<tool_call>\n{JSON}\n</tool_call>\n",
    "functiongemma": "<start_function_call>call:weather{city:<escape>Oslo<escape>}"
    "<end_function_call>",
    "gemma4": '<|tool_call>call:weather{city:<|"|>Oslo<|"|>}<tool_call|>',
    "generic_json": f'{{"tool_call": {JSON}}}',
    "gigachat3": f"<|message_sep|>\n\nfunction call<|role_sep|>\n{JSON}",
    "gigachat31": f"<|function_call|>{JSON}",
    "glm45": f"<tool_call>weather\n{GLM}</tool_call>",
    "glm47": f"<tool_call>weather{GLM}</tool_call>".replace("\n", ""),
    "gpt_oss": "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>"
    '{"city": "Oslo"}<|call|>',
    "granite20b_fc": f"<function_call> {JSON}",
    "granite3": f"<|tool_call|>[{JSON}]",
    "hermes": f"<tool_call>\n{JSON}\n</tool_call>",
    "hunyuan_a13b": f"<tool_calls>[{JSON}]</tool_calls>",
    "hy_v3": f"<tool_calls>\n<tool_call>weather<tool_sep>\n{GLM}</tool_call>\n</tool_calls>",
    "hy_v4": f"<tool_calls><tool_call>weather{GLM}</tool_call></tool_calls>".replace("\n", ""),
    "inkling": '<|message_model|><|content_invoke_tool_json|>{"name": "weather", "args": '
    '{"city": "Oslo"}}<|end_message|>',
    "internlm2": '<|action_start|><|plugin|>\n{"name": "weather", "parameters": '
    '{"city": "Oslo"}}<|action_end|>',
    "jamba": f"<tool_calls>[\n{JSON}\n]</tool_calls>",
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
    '<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>',
    "kimi_k3": '<|open|>tools<|sep|><|open|>call tool="weather" index="1"<|sep|><|open|>argument '
    'key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|><|close|>call<|sep|>'
    "<|close|>tools<|sep|>",
    "lfm2": '<|tool_call_start|>[weather(city="Oslo")]<|tool_call_end|>',
    "llama3_json": '{"name": "weather", "parameters": {"city": "Oslo"}}',
    "longcat": f"<longcat_tool_call>\n{JSON}\n</longcat_tool_call>",
    "minicpm5_xml": '<function name="weather"><param name="city">Oslo</param></function>',
    "minimax_m2": f"<minimax:tool_call>\n{INVOKE.format('')}\n</minimax:tool_call>",
    "minimax_m3": f'{NS}<tool_call>{NS}<invoke name="weather">{NS}<city>Oslo{NS}</city>'
    f"{NS}</invoke>{NS}</tool_call>",
    "mistral_old": '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Oslo"}, '
    '"id": "123456789"}]',
    "mistral_v11": '[TOOL_CALLS]weather[ARGS]{"city": "Oslo"}',
    "muse_glimmer": "<|start|>assistant to=weather<|message|><atem:function_calls>\n"
    f"{INVOKE.format('atem:')}\n</atem:function_calls><|eot|>",
    "nemotron_v2": f"<TOOLCALL>[{JSON}]</TOOLCALL>",
    "olmo3": '<function_calls>\nweather(city="Oslo")\n</function_calls>',
    "phi4_mini": f" functools[{JSON}]",
    "poolside_v1": f"<tool_call>weather\n{GLM}</tool_call>",
    "pythonic": '[weather(city="Oslo")]',
    "qwen3_coder": f"<tool_call>\n{QWEN}\n</tool_call>",
    "sarashina": "<|tool_calls|>[{'name': 'weather', 'arguments': {'city': 'Oslo'}}]",
    "seed_oss": f"<seed:tool_call>\n{QWEN}\n</seed:tool_call>",
    "step3": "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
    '<steptml:invoke name="weather"><steptml:parameter name="city">Oslo</steptml:parameter>'
    "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
    "xlam": f"[{JSON}]",
}
"""The plainest call of each dialect, as a model writes it."""

VLLM = {
    **{
        name: name
        for name in (
            *("dots", "deepseek_v3", "deepseek_v31", "deepseek_v32", "deepseek_v4", "deepseek_v41"),
            *("cohere_command3", "cohere_command4", "ernie45", "glm45", "glm47", "hermes"),
            *(
                "poolside_v1",
                "hunyuan_a13b",
                "hy_v3",
                "hy_v4",
                "jamba",
                "lfm2",
                "kimi_k2",
                "kimi_k3",
            ),
            *("llama3_json", "longcat", "minimax_m2", "minimax_m3", "olmo3", "muse_glimmer"),
            *("pythonic", "qwen3_coder", "seed_oss", "step3", "inkling", "xlam", "gigachat3"),
            *("functiongemma", "gemma4", "apertus"),
        )
    },
    "ling3": "glm47",
    "granite-20b-fc": "granite20b_fc",
    "granite": "granite3",
    "granite4": "hermes",
    "internlm": "internlm2",
    "llama4_json": "llama3_json",
    "llama4_pythonic": "pythonic",
    "mimo": "qwen3_coder",
    "minicpm5": "minicpm5_xml",
    "mistral": "mistral_v11 mistral_old",
    "openai": "gpt_oss",
    "phi4_mini_json": "phi4_mini",
    "qwen3_xml": "qwen3_coder",
    "step3p5": "qwen3_coder",
}
SGLANG = {
    **{
        name: name
        for name in (
            *("cohere_command4", "dots", "glm45", "glm47", "kimi_k2", "kimi_k3", "lfm2"),
            *("poolside_v1", "pythonic", "qwen3_coder", "step3", "hermes", "gigachat3"),
            *("gemma4", "inkling"),
        )
    },
    "apertus2509": "apertus",
    "deepseekv3": "deepseek_v3",
    "deepseekv31": "deepseek_v31",
    "deepseekv32": "deepseek_v32",
    "deepseekv4": "deepseek_v4",
    "deepseekv41": "deepseek_v41",
    "glm": "glm45",
    "gpt-oss": "gpt_oss",
    "hunyuan": "hy_v3",
    "interns1": "internlm2",
    "llama3": "llama3_json",
    "llama4": "pythonic",
    "mimo": "qwen3_coder",
    "minicpm5": "minicpm5_xml",
    "minimax-m2": "minimax_m2",
    "minimax-m3": "minimax_m3",
    "mistral": "mistral_v11 mistral_old",
    "muse": "muse_glimmer",
    "qwen": "hermes qwen3_coder",
    "qwen25": "hermes",
    "step3p5": "qwen3_coder",
    "trinity": "hermes",
}
OLLAMA = {
    "qwen3": "hermes",
    "qwen3-thinking": "hermes",
    "qwen3-vl-instruct": "hermes",
    "qwen3-vl-thinking": "hermes",
    "qwen3.5": "qwen3_coder",
    "qwen3-coder": "qwen3_coder",
    "ornith": "qwen3_coder",
    "nemotron-3-nano": "qwen3_coder",
    "nemotron-3.5-nano": "qwen3_coder",
    "ministral": "mistral_v11",
    "harmony": "gpt_oss",
    "cogito": "hermes deepseek_v3",
    "deepseek3": "deepseek_v31 deepseek_v3",
    "olmo3": "olmo3",
    "olmo3-think": "olmo3",
    "functiongemma": "functiongemma",
    "glm-4.7": "glm47",
    "glm-ocr": "glm45",
    "gemma4": "gemma4",
    "gemma4-no-thinking": "gemma4",
    "lfm2": "lfm2",
    "lfm2-thinking": "lfm2",
    "laguna": "poolside_v1",
    "poolside-v1": "poolside_v1",
    "cohere": "cohere_command4 cohere_command3",
    "glimmer": "muse_glimmer",
}
DYNAMO = {
    **{
        name: name
        for name in (
            *("hermes", "llama3_json", "pythonic", "deepseek_v3", "deepseek_v4", "qwen3_coder"),
            *("jamba", "minimax_m2", "minimax_m3", "glm47", "kimi_k2", "kimi_k3", "gemma4"),
            "muse_glimmer",
        )
    },
    "default": "llama3_json xlam nemotron_v2",
    "deepseek_v3_1": "deepseek_v31",
    "deepseek_v3_2": "deepseek_v32",
    "deepseek-v4": "deepseek_v4",
    "deepseekv4": "deepseek_v4",
    "gemma-4": "gemma4",
    "harmony": "gpt_oss",
    "mistral": "mistral_v11 mistral_old",
    "muse": "muse_glimmer",
    "nemotron_deci": "nemotron_v2",
    "nemotron_nano": "qwen3_coder",
    "phi4": "phi4_mini",
}
SMG = {
    **{
        name: name
        for name in (
            *("pythonic", "deepseek_v4", "deepseek_v41", "step3", "sarashina", "kimi_k3"),
            *("inkling", "minimax_m2", "minimax_m3", "gemma4", "hy_v4"),
        )
    },
    "cohere": "cohere_command4 cohere_command3",
    "deepseek": "deepseek_v3 deepseek_v31 deepseek_v41 deepseek_v32 deepseek_v4",
    "deepseek31": "deepseek_v31",
    "deepseek32": "deepseek_v32",
    "glm45_moe": "glm45",
    "glm47_moe": "glm47",
    "json": "llama3_json xlam",
    "kimik2": "kimi_k2",
    "llama": "llama3_json",
    "mistral": "mistral_v11 mistral_old",
    "nemotron": "qwen3_coder",
    "qwen": "hermes qwen3_coder",
    "qwen_coder": "qwen3_coder",
    "qwen_xml": "qwen3_coder",
}
OTHERS = {
    # TensorRT-LLM.
    "deepseekv3.1": "deepseek_v31",
    "glm4": "glm45",
    # llama.cpp names formats in words.
    "Generic": "generic_json",
    "Mistral Nemo": "mistral_old",
    "Magistral": "mistral_v11",
    "FireFunction v2": "phi4_mini",
    "DeepSeek R1": "deepseek_v3",
    "Hermes 2 Pro": "hermes",
    "Command R7B": "cohere_command3",
    "GPT-OSS": "gpt_oss",
    "Seed-OSS": "seed_oss",
    "Nemotron V2": "nemotron_v2",
    "MiniMax-M2": "minimax_m2",
    "GLM 4.5": "glm45",
    "Kimi K2": "kimi_k2",
    "Qwen3 Coder": "qwen3_coder",
}
PEERS: Mapping[str, Mapping[str, str]] = {
    "vllm": VLLM,
    "sglang": SGLANG,
    "ollama": OLLAMA,
    "dynamo": DYNAMO,
    "smg": SMG,
    "others": OTHERS,
}
NAMES = [(peer, name) for peer, names in PEERS.items() for name in names]
VERSIONS = ("mistral", "cohere", "deepseek", "deepseek3", "qwen", "cogito")
"""Names of several versions of one family's calls."""


@pytest.mark.parametrize(("peer", "name"), NAMES)
def test_a_peer_s_name_finds_the_dialects_of_its_calls(peer: str, name: str) -> None:
    assert members_of(name) == tuple(PEERS[peer][name].split())
    assert dialects[name].name == members_of(name)[0]


@pytest.mark.parametrize(("peer", "name"), NAMES)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_peer_s_name_reads_the_plainest_call_of_its_parser(peer: str, name: str) -> None:
    for member in PEERS[peer][name].split():
        parsed = parse(EXAMPLES[member], name, tools=[WEATHER])
        assert [(call.name, call.input) for call in parsed.calls] == [("weather", {"city": "Oslo"})]
        assert (parsed.text.strip(), list(parsed.problems)) == ("", [])


def test_every_family_s_plainest_call_is_read_by_its_own_name() -> None:
    for name, text in EXAMPLES.items():
        assert [call.dialect for call in parse(text, name, tools=[WEATHER]).calls] == [name]


@pytest.mark.parametrize("group", VERSIONS)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_name_of_several_versions_reads_what_each_of_them_reads(group: str) -> None:
    for member in members_of(group):
        for case in cases_of(member):
            text, given = case.text, options(case)
            read = [(call.name, call.input) for call in parse(text, group, **given).calls]
            for call in parse(text, member, **given).calls:
                # Another version may read more than this one does, but nothing of it is lost.
                assert (call.name, call.input) in read, str(case)
                read.remove((call.name, call.input))


def test_a_name_of_several_dialects_writes_the_first_and_may_stand_in_a_list() -> None:
    old, new = EXAMPLES["mistral_old"], EXAMPLES["mistral_v11"]
    assert parse(old, "mistral").calls[0].dialect == "mistral_old"
    assert convert(EXAMPLES["hermes"], target="mistral", tools=[WEATHER]) == new
    named = ["mistral", "hermes", "mistral_old"]
    calls = parse(EXAMPLES["hermes"] + old, named).calls
    assert [call.dialect for call in calls] == ["hermes", "mistral_old"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("harmny", ("harmony",)),
        ("qwen3-codr", ("qwen3_coder",)),
        ("MISTRALL", ("mistral",)),
        ("deepseek_v5", ("deepseek_v4", "deepseek_v3")),
        ("gpt-4", ()),
        ("latin", ()),
        ("hermes" * 11, ()),
    ],
)
def test_near_names_are_suggested(name: str, near: tuple[str, ...]) -> None:
    assert near_names(name) == near
    with pytest.raises(UnknownDialect) as caught:
        Parser(name)
    assert caught.value.near == near
    assert (f"did you mean {' or '.join(near)}? " in str(caught.value)) is bool(near)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("qwen3-coder-30b", ("qwen3_coder",)),
        ("llama-3.1-8b-instruct", ("llama3_json",)),
        ("deepseek-r1-distill-qwen-7b", ("deepseek_v3",)),
        ("command-r-plus", ("cohere_r_plus",)),
        ("command-a", ("cohere_command3",)),
        ("qwen2.5-7b-instruct", ("hermes",)),
        ("glm-4.5-air", ("glm45",)),
        ("xlam-2", ("xlam",)),
    ],
)
def test_names_of_models_suggest_no_other_family(name: str, near: tuple[str, ...]) -> None:
    assert near_dialects(name, (AUTO, *dialects)) == near
    assert all(members_of(one)[0] == dialect_of(name) for one in near)


def test_a_model_s_name_suggests_the_dialect_of_its_family() -> None:
    with pytest.raises(UnknownDialect, match=r"did you mean qwen3_coder[?] choose from: auto, "):
        Parser("Qwen/Qwen3-Coder-30B-A3B-Instruct")


FAMILY_NAMES = (
    *("aya", "openhermes", "falcon", "tongyi-deepresearch", "solar", "nanbeige", "hyperclova"),
    *("hyperclovax", "kanana", "a.x", "midm", "rnj-1", "mistral-small-4", "gemma-3", "kimi"),
    *("command-a-plus", "Gemma 3"),
)


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_the_name_of_a_family_of_models_stands_for_its_dialect(name: str) -> None:
    assert members_of(name) == (dialect_of(name),)
    assert Parser(name).close() == []


def test_the_name_of_a_model_is_no_dialect() -> None:
    for name in ("falcon3-7b", "kimi-k9", "qwen3-coder-30b"):
        with pytest.raises(UnknownDialect):
            Parser(name)


def test_a_parser_that_reads_no_calls_is_no_dialect() -> None:
    with pytest.raises(UnknownDialect):
        Parser("passthrough")
