"""Dialects are loaded when they are asked for, by any name that a family has for them."""

from __future__ import annotations

import pytest

from callblocks import Parser, dialects, parse
from callblocks.core.errors import CallerError
from callblocks.dialects import FAMILIES, aliases_of, dialect_of, groups_of, table

GRAMMARS = (
    *("hermes", "qwen25", "longcat", "ernie45", "jamba", "hunyuan_a13b", "minimax_m1"),
    *("nemotron_v2", "granite3", "granite20b_fc", "internlm2", "phi4_mini", "firefunction"),
    *("llama3_json", "xlam", "mistral_old", "mistral_v11", "cohere_command3", "cohere_command4"),
    *("cohere_r_plus", "apertus", "gigachat3", "gigachat31", "inkling", "sarashina"),
    *("functionary_v31", "functionary_v32", "generic_json", "openai_json_text"),
    *("deepseek_v3", "deepseek_r1", "deepseek_v31", "deepseek_v32", "deepseek_v4", "deepseek_v41"),
    "step3",
    *("qwen3_coder", "qwen3_xml", "seed_oss", "minimax_m2", "minimax_m3", "glm45", "glm46"),
    *("glm47", "glm5", "ling3", "poolside_v1", "hy_v3", "dots", "minicpm5_xml", "kimi_k2"),
    *("kimi_k3", "muse_glimmer", "anthropic_xml", "claude_legacy", "cline", "roo", "morph_xml"),
    *("sijawara", "yaml_xml", "use_tool", "gptme", "pythonic", "llama4", "lfm2", "olmo3"),
    *("functiongemma", "gemma4", "react_text", "react", "smolagents_code", "smolagents"),
    *("gpt_oss", "harmony", "apriel", "scissors-cat", "emoji-bracket", "tool-fence"),
)
"""Every grammar that models are known to write, by each of its names."""
MODELS = {
    "qwen3-coder-30b": "qwen3_coder",
    "Qwen/Qwen3-8B": "hermes",
    "qwen3:8b": "hermes",
    "qwen2.5-coder:7b": "hermes",
    "deepseek-ai/DeepSeek-V3.1": "deepseek_v31",
    "DeepSeek-R1-Distill-Qwen-7B": "deepseek_v3",
    "gpt-oss-20b": "gpt_oss",
    "llama-3.3-70b-instruct": "llama3_json",
    "llama3.3:70b": "llama3_json",
    "mistral-small3.2:24b": "mistral_v11",
    "mistralai/Mistral-7B-Instruct-v0.3": "mistral_old",
    "zai-org/GLM-4.5-Air": "glm45",
    "moonshotai/Kimi-K2-Thinking": "kimi_k2",
    "unsloth/gemma-4-31B-it-GGUF": "gemma4",
    "LiquidAI/LFM2-8B-A1B": "lfm2",
    # A version that is not listed writes like the last one before it, of the same major version.
    "deepseek-v4.2": "deepseek_v41",
    "deepseek-v4": "deepseek_v4",
    "deepseek-ai/DeepSeek-V4.1-Flash": "deepseek_v41",
    "deepseek-ai/DeepSeek-V3-0324": "deepseek_v3",
    "DeepSeek-V3.2-Exp": "deepseek_v31",
    "kimi-k3.1": "kimi_k3",
    "minimax-m3.1": "minimax_m3",
    "MiniMaxAI/MiniMax-M2.5": "minimax_m2",
    "zai-org/GLM-5.2": "glm47",
    "glm-4-9b": "glm45",
    "mistral-small-3.1": "mistral_old",
    "mistral-medium-3.1": "mistral_v11",
    "Mistral-Large-Instruct-2411": "mistral_old",
    "LGAI-EXAONE/EXAONE-4.0-32B": "hermes",
    "ibm-granite/granite-4.1-8b": "hermes",
    "granite-3.3-8b-instruct": "granite3",
    "XiaomiMiMo/MiMo-V2.5-Pro": "qwen3_coder",
    "qwen3.8-max": "qwen3_coder",
    "claude-2.1": "claude_legacy",
    "claude-3.5-sonnet": "anthropic_xml",
    # What a family writes was looked up in its templates and its servers' parsers.
    "cogito:8b": "hermes",
    "deepcogito/cogito-v1-preview-llama-8B": "hermes",
    "deepcogito/cogito-v2-preview-llama-70B": "hermes",
    "deepcogito/cogito-v2-preview-deepseek-671B-MoE": "deepseek_v3",
    "deepcogito/cogito-671b-v2.1": "deepseek_v3",
    "cogito-2.1:671b": "deepseek_v3",
    "aya-expanse:8b": "cohere_r_plus",
    "CohereLabs/aya-expanse-32b": "cohere_r_plus",
    "openhermes:7b": "generic_json",
    "teknium/OpenHermes-2.5-Mistral-7B": "generic_json",
    "falcon3:10b": "hermes",
    "tiiuae/Falcon-H1R-7B": "hermes",
    "Alibaba-NLP/Tongyi-DeepResearch-30B-A3B": "hermes",
    "alibaba/tongyi-deepresearch-30b-a3b:free": "hermes",
    "upstage/solar-pro-preview-instruct": "generic_json",
    "upstage/Solar-Open-100B": "solar_open",
    "Nanbeige/Nanbeige4.1-3B": "hermes",
    "naver-hyperclovax/HyperCLOVAX-SEED-Think-32B": "glm45",
    "naver-hyperclovax/HyperCLOVAX-SEED-Think-14B": "xlam",
    "kakaocorp/kanana-1.5-8b-instruct-2505": "functionary_v31",
    "kakaocorp/kanana-2-30b-a3b-instruct": "functionary_v31",
    "skt/A.X-4.0-Light": "hermes",
    "mykor_A.X-3.1-Q4_K_M.gguf": "hermes",
    "K-intelligence/Midm-2.0-Base-Instruct": "hermes",
    "EssentialAI/rnj-1-instruct": "hermes",
    "rnj-1:8b": "hermes",
    "mistralai/Mistral-Small-4-119B-2603": "mistral_v11",
    "google/gemma-3-27b-it": "pythonic",
    "gemma3n:e4b": "pythonic",
    "google/gemma-2-9b-it": "generic_json",
    "stepfun-ai/step3p5-flash": "qwen3_coder",
    "stepfun-ai/Step-3.5-Flash": "qwen3_coder",
    "stepfun-ai/step3": "step3",
    "CohereLabs/command-a-plus-05-2026": "cohere_command4",
    "CohereLabs/command-a-reasoning-08-2025": "cohere_command3",
    "CohereLabs/North-Mini-Code-1.0": "cohere_command4",
    # Who publishes a model may stand before it.
    "Qwen_Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf": "qwen3_coder",
    "deepseek-ai_DeepSeek-V3.1-Q4.gguf": "deepseek_v31",
    "mistralai_Mistral-Small-3.2-24B-Instruct-2506-Q4.gguf": "mistral_v11",
    "openai_gpt-oss-20b-MXFP4.gguf": "gpt_oss",
    "zai-org_GLM-4.6-Q2_K.gguf": "glm45",
    "meta-llama_Llama-3.3-70B-Instruct.gguf": "llama3_json",
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1_5": "llama3_json",
    "us.anthropic.claude-sonnet-4-5-v1:0": "anthropic_xml",
    "rednote-hilab/dots.llm1.inst": "dots",
}


@pytest.mark.parametrize("name", dialects)
def test_a_dialect_is_made_by_its_own_module(name: str) -> None:
    path = table._CLASSES[name]
    made = table._load.__wrapped__(path)
    assert (made.name, type(made)) == (name, type(dialects[name]))


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_grammar_is_found_by_its_name(name: str) -> None:
    found = dialects[name]
    assert found is dialects[found.name]
    assert name == found.name or name in aliases_of(found.name)


def test_an_alias_is_no_dialect_of_its_own() -> None:
    aliases = [alias for name in dialects for alias in aliases_of(name)]
    groups = {group for name in dialects for group in groups_of(name)}
    assert {*table._ALIASES} <= {*dialects}
    assert groups == {*table._GROUPS}
    # Each name, alias and group has a spelling of its own, however it is written.
    assert len(table._spellings()) == len(dialects) + len(aliases) + len(groups)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_names_its_dialect(model: str) -> None:
    assert dialect_of(model) == MODELS[model]


def test_every_family_has_a_dialect_and_every_name_one_family() -> None:
    assert {*FAMILIES} <= {*dialects}
    assert [dialect_of(start) for starts in FAMILIES.values() for start in starts] == [
        name for name, starts in FAMILIES.items() for _ in starts
    ]


@pytest.mark.parametrize("model", ["", "my-own-model", "7b", "/", "模型", "._.", "9" * 5_000])
def test_a_model_that_nobody_knows_prefers_nothing(model: str) -> None:
    assert dialect_of(model) is None
    assert parse("x", model=model).text == "x"


def test_a_model_is_named_by_a_text() -> None:
    with pytest.raises(CallerError, match="a model is named by a text"):
        Parser(model=5)  # pyright: ignore[reportArgumentType]


def test_auto_asks_the_dialect_of_the_model_first() -> None:
    text = "<tool_call>\n<function=now>\n</function>\n</tool_call>"
    parser = Parser(model="qwen3-coder")
    parser.attempts = []
    parser.feed(text)
    parser.close()
    assert parser.attempts[0].owner == "qwen3_coder"


def test_who_refused_a_marker_is_told_with_what_it_expected_and_found() -> None:
    parser = Parser(model="qwen3-coder")
    parser.attempts = []
    parser.feed('<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>')
    parser.close()
    first, *_, last = parser.attempts
    assert first.owner == "qwen3_coder"
    assert first.refusal is not None
    assert "`<function=…>`" in first.refusal.expected
    assert (first.refusal.found, first.refusal.offset) == ('\n{"name": "now", "ar', 11)
    assert (last.owner, last.refusal) == ("hermes", None)


def test_case_and_signs_of_a_name_do_not_count() -> None:
    table._spellings.cache_clear()  # it was made while tests were found
    assert table.members_of("GLM-4.5") == ("glm45",)


def test_a_dialect_is_a_sibling_by_its_own_name() -> None:
    made = type(dialects["hermes"])()
    assert made.as_sibling.name == "hermes"
    assert made.as_sibling is made.as_sibling
