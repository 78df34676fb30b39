"""Random texts that nearly are blocks: markers, parts of markers, and what surrounds them.

The markers come from the dialects themselves. The fragments around them are written by hand, so
that heads, bodies, fences and JSON are met whole as well as broken; a dialect without such a row
takes them from its corpus.
"""

from __future__ import annotations

from hypothesis import strategies as st

from callblocks import dialects
from callblocks.parsing.engine.markers import damaged
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.tags import begun
from support.corpus import fragments

__all__ = ("markers", "soup", "texts")

COMMON = (
    *("a", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "    ", "prose. ", "é", "🛠", "✂", "\0"),
    *("\ufe0f", "\ud83d", "\ude00", "\ud800", "\u2028", "\x85", "\ufeff", "\u200b", "@", "&", "<"),
    *("```", "\n```\n", "\n```json\n", "~~~", "\n~~~\n", "````", "\n   ```", "`", "\n    ```\n"),
)
PARTS = {
    "tool-fence": (
        *("```tool", "\n```tool a\n", "\n~~~tool a b\n", "\n```TOOL name=x id=y\n", "```toolbox\n"),
        *("\n````tool\n", "\n```tool 'a b' c\n", '\n```tool id="\n', "\n```tool a`b\n", "tool"),
        *("input:\n", "  q: 1\n", "input: 1\n", "output: x\n", "error: no\n", "state: input-\n"),
        *("state: output-error\n", "state: output-available\n", "id: a\n", "name: n\n", "id: 7\n"),
        *("a: .nan\n", "- 1\n", "&a b\n", "x: [[[\n", "? k\n", ": v\n", "---\n", "\n``\n", "|\n"),
        *("toolCallId: a\n", "\n```   \n", "\n ```\n", "\n```x\n", "k: |\n  ```\n", "error: [1]\n"),
    ),
    "scissors-cat": (
        *("✂️🐱", "✂🐱", "✂️", "🐱", *damaged("✂️🐱")[:3], "\n✂️🐱\n\n", "\n\n✂️🐱\n"),
        *(
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            '"',
            "\\",
            "\\u",
            "1",
            "-",
            "tru",
            "null",
            '""',
            "[]",
            "{}",
        ),
        *(
            "\n[",
            "\n{",
            "\n  [",
            "\n[\n[\n[",
            '[{"',
            "[[1]",
            '{"a":',
            "```json\n[",
            "]\n```\n",
            "[x",
        ),
        '{"type":"search","id":"a","operation":"o","parameters":{}}',
        '\n[{"type":"search","operation":"o","parameters":{"q":"✂️🐱"},"priority":1}]\n',
        '{"type":"search","id":"a","operation":"o","parameters":{"q":"\\ud800"},"priority":true}',
        '{"type":"nothing","operation":"","parameters":{}}',
        *('"parameters":{}', '"type":"search"', '"operation":""', '"id":7', "[" * 101, "]" * 101),
    ),
    "chat-blocks": (
        *("<tool>", "</tool>", '<tool id="', '">', '<tool id="a">', "<tool", "</", "<validation>"),
        *(
            "</validation>",
            "ls(",
            "ls()",
            "ls(a=1)",
            ")",
            "ls",
            "&lt;",
            "&lt;tool",
            "&amp;",
            "amp;",
        ),
        *(
            "&amp;lt;/tool>",
            "&amp;amp;",
            "&#128295;",
            "&#9989;",
            "🔧 **Tool Call:** `",
            "❌ ",
            "**",
        ),
        *(
            "✅ **`",
            "` result:**",
            "✅ **`ls` result:**\n",
            "🔧 **Tool Call:** `ls(a=1)`\n",
            "tool",
        ),
        *("<tool>ls(a=1)</tool>", '<tool id="a">ls(a=1)\nok</tool>', "tool call", "TOOL", "&#64;"),
        *("<tool>ls()\n❌ no</tool>", "&quot;", "\n \n", '<tool id=" ">x</tool>', "&#40;", "&gt;"),
    ),
    "emoji-bracket": (
        *("🛠️[", "🛠[", "🛠️", "]", "[", "/end]", "🛠️[/end]", "🛠[/end]", "🛠️[\\/end]", "\\", "🛠️[]"),
        *(f"{spelling}[" for spelling in damaged("🛠️")[:4]),
        *(f"{spelling}[/end]" for spelling in damaged("🛠️")[4:8]),
        *("🛠️[ls a b]", "🛠️[ls 'a b", "🛠️[ls]\n", "🛠️[ls]\r\n", "x🛠️[/end]", "🛠️[ls a /]", " /]"),
        *("🛠️[/result 1]", "🛠️[/result 1 json]\n", "🛠️[/result 2 error]", "🛠️[/result ", "{}", "1"),
        *("🛠️[ ls  a ]", "🛠️[/ls]", "🛠️[ls a]body🛠️[/end]", "🛠️[/result 1]\nout🛠️[/end]", "/"),
    ),
}
PARTS["emoji-bracket+"] = PARTS["emoji-bracket"]
FENCED = (
    *("\n```json\n", '{"name": "ls", "arguments": {"a": 1}}', '{"tool": "ls", "args": {"b": "x"}}'),
    *('\n```\n{"name": "ls", "arguments": {}}\n```\n', "\n~~~py\nls(a=1)\n~~~\n", "ls(b='x')\n"),
    *("\n```\n[nothing(), ls(a=2)]\n```", "\n```py\nls('x')\n```\n", "{'name': 'ls', 'input': {}}"),
    *(
        '```xml\n<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>\n```',
        "[ls(",
        "nothing()",
    ),
)
"""Code fences that are calls of the tools `ls` and `nothing`, and halves of them."""
PARTS["auto"] = (*(part for parts in PARTS.values() for part in parts), *FENCED * 4)


def markers(dialect: str) -> tuple[str, ...]:
    """The markers that open a dialect's blocks, as far as they are literal."""
    owners = dialects.values() if dialect == "auto" else [dialects[dialect]]
    openers = (opener for owner in owners for opener in owner.openers(Setting()))
    return tuple(dict.fromkeys(opener for opener in map(begun, openers) if len(opener) > 1))


def texts(parts: tuple[str, ...], max_size: int = 20) -> st.SearchStrategy[str]:
    """Rows of parts; at times a part is broken off."""
    whole = st.sampled_from(parts)
    broken = st.builds(lambda part, end: part[:end], whole, st.integers(1, 6))
    return st.lists(whole | whole | whole | broken, max_size=max_size).map("".join)


def soup(dialect: str) -> st.SearchStrategy[str]:
    """Texts of what a dialect and its readers could trip over."""
    own = PARTS.get(dialect) or fragments(dialect)
    return texts((*markers(dialect)[:60], *own * 4, *COMMON * 2)) | st.text(max_size=20)
