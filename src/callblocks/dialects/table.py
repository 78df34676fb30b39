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
