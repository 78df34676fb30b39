"""The table of all dialects. To add one: its file, a line here, and `tests/corpus/<name>/`.

Nothing else knows which dialects exist. A dialect's file is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callblocks.parsing.dialect import Dialect

__all__ = ("dialects",)

# In the order in which `auto` asks them.
_CLASSES = {
    "tool-fence": "tool_fence.ToolFence",
    "scissors-cat": "scissors_cat.ScissorsCat",
    "chat-blocks": "chat_blocks.ChatBlocks",
    "emoji-bracket": "emoji_bracket.EmojiBracket",
    "emoji-bracket+": "emoji_bracket.EmojiBracketPlus",
    "hermes": "hermes.Hermes",
    "mistral_v11": "mistral_v11.MistralV11",
    "mistral_old": "mistral_old.MistralOld",
    "deepseek_v3": "deepseek_v3.DeepseekV3",
    "deepseek_v31": "deepseek_v31.DeepseekV31",
    "kimi_k2": "kimi_k2.KimiK2",
    "llama3_json": "llama3_json.Llama3Json",
    "longcat": "longcat.Longcat",
    "jamba": "jamba.Jamba",
    "hunyuan_a13b": "hunyuan_a13b.HunyuanA13b",
    "minimax_m1": "minimax_m1.MinimaxM1",
    "nemotron_v2": "nemotron_v2.NemotronV2",
    "granite3": "granite3.Granite3",
    "granite20b_fc": "granite20b_fc.Granite20bFc",
    "internlm2": "internlm2.Internlm2",
    "phi4_mini": "phi4_mini.Phi4Mini",
    "apertus": "apertus.Apertus",
    "gigachat3": "gigachat3.Gigachat3",
    "gigachat31": "gigachat31.Gigachat31",
    "functionary_v31": "functionary_v31.FunctionaryV31",
    "xlam": "xlam.Xlam",
    "cohere_command3": "cohere_command3.CohereCommand3",
    "cohere_command4": "cohere_command4.CohereCommand4",
    "cohere_r_plus": "cohere_r_plus.CohereRPlus",
    "ernie45": "ernie45.Ernie45",
    "inkling": "inkling.Inkling",
    "sarashina": "sarashina.Sarashina",
    "functionary_v32": "functionary_v32.FunctionaryV32",
    "generic_json": "generic_json.GenericJson",
    "openai_json_text": "openai_json_text.OpenaiJsonText",
    "gptme": "gptme.Gptme",
    # Channels, and calls as in a programming language.
    "functiongemma": "functiongemma.FunctionGemma",
    "gemma4": "gemma4.Gemma4",
    "gpt_oss": "gpt_oss.GptOss",
    "lfm2": "lfm2.Lfm2",
    "olmo3": "olmo3.Olmo3",
    "pythonic": "pythonic.Pythonic",
    "react_text": "react_text.ReactText",
    "smolagents_code": "smolagents_code.SmolagentsCode",
}


class _Dialects(Mapping[str, "Dialect"]):
    def __getitem__(self, name: str) -> Dialect:
        return _load(_CLASSES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)

    def __repr__(self) -> str:
        return f"dialects({', '.join(self)})"


@cache
def _load(path: str) -> Dialect:
    module, _, name = path.partition(".")
    return getattr(import_module(f"callblocks.dialects.{module}"), name)()


dialects: Mapping[str, Dialect] = _Dialects()
"""Every dialect by its name; read only."""
