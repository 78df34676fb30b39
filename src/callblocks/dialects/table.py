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
    # Channels, and calls as in a programming language.
    "gpt_oss": "gpt_oss.GptOss",
    # Arguments in tags.
    "minicpm5_xml": "minicpm5_xml.Minicpm5Xml",
    "qwen3_coder": "qwen3_coder.Qwen3Coder",
    "seed_oss": "seed_oss.SeedOss",
    "glm45": "glm45.Glm45",
    "glm47": "glm47.Glm47",
    "anthropic_xml": "anthropic_xml.AnthropicXml",
    "claude_legacy": "claude_legacy.ClaudeLegacy",
    "minimax_m2": "minimax_m2.MinimaxM2",
    "minimax_m3": "minimax_m3.MinimaxM3",
    "deepseek_v32": "deepseek_v32.DeepseekV32",
    "deepseek_v4": "deepseek_v4.DeepseekV4",
    "step3": "step3.Step3",
    "hy_v3": "hy_v3.HyV3",
    "dots": "dots.Dots",
    "kimi_k3": "kimi_k3.KimiK3",
    "muse_glimmer": "muse_glimmer.MuseGlimmer",
    "use_tool": "use_tool.UseTool",
    "cline": "cline.Cline",
    "morph_xml": "morph_xml.MorphXml",
    "yaml_xml": "yaml_xml.YamlXml",
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
