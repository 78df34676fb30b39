"""Which dialect a model writes, by the name of the model.

    dialect_of("Qwen/Qwen3-Coder-30B-A3B-Instruct")  →  "qwen3_coder"

A name is read as words and numbers: `Qwen/Qwen3-8B`, `qwen3:8b` and `qwen-3` begin alike. Of the
families that a name begins with, the longest tells; who publishes a model, or how it was packed,
does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

__all__ = ("FAMILIES", "TAUGHT", "dialect_of")

TAUGHT = ("tool-fence", "scissors-cat", "emoji-bracket", "emoji-bracket+")
"""Dialects of no family: any model can be taught them."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "hermes": (
        *("hermes", "nous-hermes", "qwen", "qwen2.5", "qwen3", "qwq", "smollm3", "granite-4"),
        *("granite-4.0", "mimo-vl", "reka-edge", "reka-flash", "bielik", "k-exaone", "exaone-4"),
        *("trinity", "arcee", "falcon-h1"),
    ),
    "longcat": ("longcat",),
    "ernie45": ("ernie-4.5", "ernie"),
    "jamba": ("jamba", "ai21-jamba"),
    "hunyuan_a13b": ("hunyuan-a13b", "hunyuan", "apriel-1.5", "apriel-1.6", "apriel"),
    "minimax_m1": ("minimax-m1", "minimax-text"),
    "nemotron_v2": ("nemotron-nano-9b-v2", "nemotron-nano-12b-v2", "nvidia-nemotron-nano"),
    "granite3": ("granite-3", "granite-3.0", "granite-3.1", "granite-3.2", "granite-3.3"),
    "granite20b_fc": ("granite-20b-functioncalling", "granite-20b"),
    "internlm2": ("internlm2", "internlm2.5", "internlm", "intern-s1"),
    "phi4_mini": ("phi-4-mini", "phi-4", "firefunction", "llama-3-firefunction"),
    "llama3_json": (
        *("llama-3", "llama-3.1", "llama-3.2", "llama-3.3", "meta-llama-3", "meta-llama-3.1"),
        *("llama3-groq", "llama-3.1-nemotron", "llama-3.3-nemotron", "tulu-3"),
    ),
    "xlam": ("xlam", "xlam-2", "llama-xlam", "llama-xlam-2"),
    "mistral_old": (
        *("mistral", "mistral-7b", "mistral-nemo", "mistral-large", "mistral-small-3.1"),
        *("mistral-small", "mixtral", "ministral-8b", "codestral", "pixtral"),
    ),
    "mistral_v11": (
        *("mistral-small-3.2", "devstral", "magistral", "ministral-3", "mistral-medium-3"),
        *("mistral-large-3", "voxtral"),
    ),
    "cohere_command3": (
        *("command-r7b", "command-a", "c4ai-command-r7b", "c4ai-command-a", "cohere2"),
        "aya-expanse",
    ),
    "cohere_command4": ("cohere2-moe", "command-4", "command-a-4"),
    "cohere_r_plus": ("command-r", "command-r-plus", "c4ai-command-r", "c4ai-command-r-plus"),
    "apertus": ("apertus",),
    "gigachat3": ("gigachat3", "gigachat"),
    "gigachat31": ("gigachat3.1",),
    "inkling": ("inkling",),
    "sarashina": ("sarashina", "sarashina2", "sarashina2.2"),
    "functionary_v31": ("functionary-small-v3.1", "functionary-medium-v3.1"),
    "functionary_v32": (
        *("functionary", "functionary-small-v3.2", "functionary-medium-v3.2"),
        *("functionary-v3.2", "functionary-small-v3", "functionary-medium-v3"),
    ),
    "generic_json": ("smollm2", "gemma-2", "tinyllama"),
    "deepseek_v3": ("deepseek", "deepseek-v3", "deepseek-r1", "deepseek-r1-distill"),
    "deepseek_v31": ("deepseek-v3.1",),
    "deepseek_v32": ("deepseek-v3.2",),
    "deepseek_v4": ("deepseek-v4",),
    "step3": ("step3",),
    "qwen3_coder": (
        *("qwen3-coder", "qwen3.5", "qwen3.6", "qwen3.7", "nemotron-3", "nvidia-nemotron-3"),
        *("step-3.5", "mimo-v2", "k-exaone-2", "ornith"),
    ),
    "seed_oss": ("seed-oss", "seed", "bytedance-seed-oss"),
    "minimax_m2": ("minimax-m2", "minimax", "minimax-m2.1", "minimax-m2.5"),
    "minimax_m3": ("minimax-m3",),
    "glm45": ("glm", "glm-4.5", "glm-4.6", "glm-4.5v"),
    "glm47": ("glm-4.7", "glm-5", "glm-5.1", "ling-3", "ling", "ring"),
    "poolside_v1": ("laguna", "poolside"),
    "hy_v3": ("hunyuan-3", "hy-v3", "hy3"),
    "dots": ("dots", "dots.llm1", "dots-llm"),
    "minicpm5_xml": ("minicpm5", "minicpm"),
    "kimi_k2": ("kimi", "kimi-k2", "kimi-k2.5", "moonlight"),
    "kimi_k3": ("kimi-k3",),
    "muse_glimmer": ("muse-glimmer", "muse"),
    "anthropic_xml": ("claude",),
    "claude_legacy": ("claude-2", "claude-2.0", "claude-2.1", "claude-instant", "claude-1"),
    "pythonic": ("toolace", "llama-4", "meta-llama-4"),
    "lfm2": ("lfm2", "lfm2.5", "lfm"),
    "olmo3": ("olmo-3", "olmo"),
    "functiongemma": ("functiongemma",),
    "gemma4": ("gemma-4", "gemma"),
    "gpt_oss": ("gpt-oss",),
}
"""Each dialect, and the beginnings of the names of models that write it."""


def dialect_of(model: str) -> str | None:
    """The dialect that a model of this name writes, or None where no family is known."""
    words, known = _words(model.rpartition("/")[2]), _by_words()
    for end in range(len(words), 0, -1):
        if found := known.get(words[:end]):
            return found
    return None


@cache
def _by_words() -> dict[tuple[str, ...], str]:
    return {_words(start): name for name, starts in FAMILIES.items() for start in starts}


def _words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z]+|[0-9]+(?:\.[0-9]+)*", name.lower()))
