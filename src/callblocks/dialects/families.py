"""The dialect and the size of a model, by the name of the model.

    dialect_of("Qwen/Qwen3-Coder-30B-A3B-Instruct")  →  "qwen3_coder"

A name is split into words and numbers: `Qwen/Qwen3-8B`, `qwen3:8b` and `qwen-3` begin alike. Of the
families that a name begins with, the longest counts. The publisher does not matter
(`Qwen_Qwen3-8B`, `openai.gpt-oss-20b`), nor does the packaging. A version that is not listed has
the dialect of the last one before it within the same major version: `kimi-k3.1` that of `kimi-k3`.

    is_small("qwen2.5-coder:1.5b")  →  True

The size is read from the name, too: from its number of parameters, or from a word such as `mini`.
Small models need a short prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TypeAlias

__all__ = ("FAMILIES", "TAUGHT", "dialect_of", "is_small")

Words: TypeAlias = tuple[str, ...]

# Dialects of no family: any model can be taught them.
TAUGHT = ("tool-fence", "scissors-cat", "emoji-bracket", "emoji-bracket+")

# Each dialect with the beginnings of the names of models that write it.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "hermes": (
        *("hermes", "nous-hermes", "qwen", "qwen3", "qwq", "smollm3", "granite-4", "mimo-vl"),
        *("reka-edge", "reka-flash", "bielik", "k-exaone", "exaone-4", "trinity", "arcee"),
        *("falcon", "cogito", "tongyi-deepresearch", "nanbeige", "a.x", "midm", "rnj", "rnj-1"),
    ),
    "longcat": ("longcat",),
    "ernie45": ("ernie",),
    "jamba": ("jamba", "ai21-jamba"),
    "hunyuan_a13b": ("hunyuan", "apriel"),
    "minimax_m1": ("minimax-m1", "minimax-text"),
    "nemotron_v2": ("nemotron-nano", "nvidia-nemotron-nano"),
    "granite3": ("granite-3",),
    "granite20b_fc": ("granite-20b",),
    "internlm2": ("internlm", "intern-s1"),
    "phi4_mini": ("phi-4", "firefunction", "llama-3-firefunction"),
    "llama3_json": ("llama-3", "meta-llama-3", "tulu-3"),
    "xlam": ("xlam", "llama-xlam", "hyperclova", "hyperclovax"),
    "mistral_old": (
        *("mistral", "mistral-small", "mistral-large", "mixtral", "ministral", "codestral"),
        "pixtral",
    ),
    "mistral_v11": (
        *("mistral-small-3.2", "mistral-medium", "mistral-large-3", "ministral-3", "devstral"),
        *("magistral", "voxtral", "mistral-small-4"),
    ),
    "cohere_command3": (
        *("command-r7b", "command-a", "c4ai-command-r7b", "c4ai-command-a", "cohere2"),
    ),
    "cohere_command4": (
        *("cohere2-moe", "command-4", "command-a-4", "command-a-plus", "c4ai-command-a-plus"),
        "north-mini",
    ),
    "cohere_r_plus": ("command-r", "c4ai-command-r", "aya"),
    "apertus": ("apertus",),
    "gigachat3": ("gigachat",),
    "gigachat31": ("gigachat3.1",),
    "inkling": ("inkling",),
    "sarashina": ("sarashina",),
    "functionary_v31": ("functionary-small-v3.1", "functionary-medium-v3.1", "kanana"),
    "functionary_v32": ("functionary", "functionary-small-v3.2", "functionary-medium-v3.2"),
    "generic_json": ("smollm2", "gemma-2", "tinyllama", "openhermes", "solar"),
    "deepseek_v3": (
        *("deepseek", "cogito-671b", "cogito-2.1", "cogito-v2.1", "cogito-v2-preview-deepseek"),
    ),
    "deepseek_v31": ("deepseek-v3.1", "deepseek-v3.2-exp"),
    "deepseek_v32": ("deepseek-v3.2",),
    "deepseek_v4": ("deepseek-v4",),
    "deepseek_v41": ("deepseek-v4.1",),
    "step3": ("step3",),
    "qwen3_coder": (
        *("qwen3-coder", "qwen3.5", "nemotron-3", "nvidia-nemotron-3", "step-3.5", "mimo-v2"),
        *("k-exaone-2", "ornith", "step3p5"),
    ),
    "seed_oss": ("seed-oss", "seed", "bytedance-seed-oss"),
    "minimax_m2": ("minimax",),
    "minimax_m3": ("minimax-m3",),
    "glm45": ("glm", "hyperclovax-seed-think-32b"),
    "glm47": ("glm-4.7", "glm-5", "ling", "ring"),
    "poolside_v1": ("laguna", "poolside"),
    "hy_v3": ("hunyuan-3", "hy-v3", "hy3"),
    "hy_v4": ("hunyuan-4", "hy-v4", "hy4"),
    "dots": ("dots",),
    "minicpm5_xml": ("minicpm",),
    "kimi_k2": ("kimi", "moonlight"),
    "kimi_k3": ("kimi-k3",),
    "solar_open": ("solar-open",),
    "muse_glimmer": ("muse-glimmer", "muse"),
    "anthropic_xml": ("claude",),
    "claude_legacy": ("claude-1", "claude-2", "claude-instant"),
    "pythonic": ("toolace", "llama-4", "meta-llama-4", "gemma-3"),
    "lfm2": ("lfm",),
    "olmo3": ("olmo",),
    "functiongemma": ("functiongemma",),
    "gemma4": ("gemma",),
    "gpt_oss": ("gpt-oss",),
}


@lru_cache(maxsize=256)
def dialect_of(model: str) -> str | None:
    """Return the dialect that a model of this name writes, or None if its family is unknown."""
    name = model.rpartition("/")[2]
    # Text before `_` or `.` may be the publisher, as in the names of packed files, so the family
    # may begin behind each of them. The first start with a family counts.
    starts = (0, *(found.end() for found in re.finditer("[._]", name)))
    found = (_longest(_words(name[start:])) for start in starts)
    return max(found, key=lambda match: match[0])[1]


# The number of parameters, in billions, below which a model is small.
_SMALL = 10.0
# `8x7b`, `1.5b`, `270m` and the effective size `e4b`; neither `a3b`, the active part of a model,
# nor `4bit`, nor the `1m` of a context.
_SIZE = re.compile(
    r"(?<![a-z0-9.])(?:([0-9]{1,3})x|e)?([0-9]{1,5}(?:\.[0-9]{1,3})?b|[0-9]{2,5}m)(?![a-z0-9])"
)
_SMALL_WORDS = frozenset(("mini", "nano", "tiny", "micro", "smol", "smollm", "tinyllama"))
# Models that Ollama serves in a small size under a name without one.
_SMALL_DEFAULTS = frozenset(
    (
        *("llama3", "llama3.1", "llama3.2", "mistral", "qwen", "qwen2", "qwen2.5", "qwen2.5-coder"),
        *("qwen3", "qwen3-vl", "gemma", "gemma2", "gemma3", "gemma3n", "phi", "phi3", "phi3.5"),
        *(
            "granite3.1-dense",
            "granite3.2",
            "granite3.3",
            "hermes3",
            "falcon3",
            "lfm2",
            "exaone3.5",
        ),
        *("command-r7b", "functiongemma", "starling-lm", "openhermes", "codellama", "deepseek-r1"),
    )
)


def is_small(model: str) -> bool:
    """Return whether a model of this name has fewer than about ten billion parameters in total.

    Of several sizes in a name the largest is the total: `30b-a3b` has three billion active
    parameters. A name without a size is not small, unless it has a word such as `mini`.
    """
    name = model.rpartition("/")[2].lower()
    if sizes := [_billions(*found) for found in _SIZE.findall(name)]:
        return max(sizes) < _SMALL
    # The defaults of Ollama have no publisher; `org/name` without a size may be of any size.
    is_default = model.lower().removesuffix(":latest") in _SMALL_DEFAULTS
    return is_default or not _SMALL_WORDS.isdisjoint(_words(name))


def _billions(experts: str, size: str) -> float:
    return int(experts or 1) * float(size[:-1]) / (1000 if size.endswith("m") else 1)


def _longest(words: Words) -> tuple[int, str | None]:
    """Return the number of words that name a family, and its dialect."""
    known = _by_words()
    for end in range(len(words), 0, -1):
        beside = known.get(words[: end - 1], {})
        found = beside.get(words[end - 1]) or _by_version(words[end - 1], beside)
        if found:
            return end, found
    return 0, None


def _by_version(word: str, beside: Mapping[str, str]) -> str | None:
    """Return the dialect of the last listed version before this one, within its major version."""
    if not word[0].isdigit():
        return None
    asked = _version(word)
    versions = {_version(one): name for one, name in beside.items() if one[0].isdigit()}
    older = [one for one in versions if one[0] == asked[0] and one < asked]
    return versions[max(older)] if older else None


def _version(word: str) -> tuple[int, ...]:
    return tuple(map(int, word.split(".")))


@cache
def _by_words() -> dict[Words, dict[str, str]]:
    """Return an index of the families: the last word of each name, by the words before it."""
    known: dict[Words, dict[str, str]] = {}
    for name, starts in FAMILIES.items():
        for *before, last in map(_words, starts):
            known.setdefault(tuple(before), {})[last] = name
    return known


def _words(name: str) -> Words:
    return tuple(re.findall(r"[a-z]+|[0-9]{1,9}(?:\.[0-9]{1,9})*", name.lower()))
