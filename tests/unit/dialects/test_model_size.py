"""A model's name says whether it is small."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.dialects.families import is_small

SMALL = (
    *("qwen2.5-coder-1.5b", "Qwen/Qwen2.5-Coder-7B-Instruct", "qwen3:8b", "Qwen3-0.6B-Q8_0.gguf"),
    *(
        "llama-3.2-3b",
        "meta-llama/Llama-3.1-8B-Instruct",
        "hf.co/unsloth/gemma-3-270m-it-GGUF:Q4_K_M",
    ),
    *("phi-4-mini", "microsoft/Phi-4-mini-instruct", "phi4-mini:latest", "phi3:mini"),
    *(
        "smollm2",
        "SmolLM2-135M-Instruct",
        "HuggingFaceTB/SmolLM3-3B",
        "tinyllama",
        "gemma-3n-E4B-it",
    ),
    *("granite-3.1-1b-a400m-instruct", "granite-4.0-h-tiny", "LFM2-8B-A1B", "ministral-8b-latest"),
    *("DeepSeek-R1-Distill-Qwen-1.5B", "Mistral-7B-Instruct-v0.3", "NVIDIA-Nemotron-Nano-9B-v2"),
    *("Qwen2.5-7B-Instruct-1M", "qwen3", "llama3.2:latest", "mistral", "qwen2.5:7b-instruct-q4_0"),
    *("qwen2.5-3b-4bit", "9.9b", "gpt-5-nano"),
)
LARGE = (
    *("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3-coder", "qwen3:30b-a3b", "qwen3:14b", "10b"),
    *("gpt-oss-20b", "gpt-oss:120b", "mixtral-8x7b-instruct", "Mixtral-8x22B", "llama-3.3-70b"),
    *(
        "deepseek-chat",
        "deepseek-ai/DeepSeek-R1",
        "deepseek-v3.1",
        "kimi-k2",
        "MiniMax-M2",
        "glm-4.5",
    ),
    *("mistral-small", "mistral-small-3.2-24b", "devstral-small", "phi-4", "claude-sonnet-4-1m"),
    *("gemini-2.5-flash", "gpt-4o", "command-a", "llama-4-scout", "Qwen2.5-14B-Instruct-1M"),
    *("granite-4.0-h-small", "Meta-Llama-3.1-405B-FP8", "some-model-4bit", "", "test", "minimind"),
)


@pytest.mark.parametrize("name", SMALL)
def test_a_model_of_few_parameters_is_small(name: str) -> None:
    assert is_small(name)


@pytest.mark.parametrize("name", LARGE)
def test_a_model_of_many_or_unknown_parameters_is_not(name: str) -> None:
    assert not is_small(name)


@given(
    st.text(max_size=40)
    | st.from_regex(r"[a-z]{1,4}[-:_][0-9x.]{1,9}[bm](-a[0-9]b)?", fullmatch=True)
)
def test_every_name_has_an_answer_whatever_its_case(name: str) -> None:
    if name.isascii():
        assert is_small(name) == is_small(name.upper())
    is_small(name)
