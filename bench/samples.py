"""Texts of a known shape and size in every dialect."""

from __future__ import annotations

from functools import cache

from callblocks import Call, ToolSpec, dialects
from callblocks.core.errors import Unwritable

__all__ = (
    "CODE",
    "TOOL",
    "code",
    "many_calls",
    "mixed",
    "one_call",
    "program",
    "prose",
    "thought",
    "tools_of",
)

SENTENCE = "The quick brown fox jumps over the lazy dog, and nobody asks it why it would.\n"
STRING = {"type": "string"}
TOOL = ToolSpec("drive_create", "", {"properties": {"name": STRING, "content": STRING}})
PROGRAM = (
    'def greet(name):\n    """Say "hello" to \'name\'."""\n    if name == "":\n'
    '        raise ValueError("no name\\n")\n'
    "    return f\"Hello, {name}!\\t{items[0]['x']}\"\n\n"
)
LINE = "a line of a file, as long as such lines are\n"
CODE = {
    "JavaScript": (
        "function render(items) {\n  return items.map((item, i) => {\n"
        "    const {name, id} = item;\n"
        "    if (!id) { throw new Error(`no id for ${name}`); }\n"
        "    return { key: i, label: \"x\" + name, style: { color: 'red' } };\n  });\n}\n"
    ),
    "LaTeX": (
        "The sum $\\sum_{i=1}^{n} x_{i}^{2}$ is at most $\\frac{a_{n}}{b_{n}}$ in \\cite{knuth}.\n"
        "\\begin{equation}\n\\int_{0}^{\\infty} e^{-x^{2}} dx = \\frac{\\sqrt{\\pi}}{2}\n"
        "\\end{equation}\n"
    ),
    "JSON lines": (
        '{"id": 17, "user": {"name": "ada", "tags": ["a", "b"]}, "text": "a line of a log"}\n'
    ),
    "Markdown": (
        "## Install\n\nRun `pip install x`, then [read on](https://example.org/a_b):\n\n"
        "```python\nfrom x import y\nprint(y({'a': [1, 2]}))\n```\n\n"
        "* **one** `a`, *two* `b[0]`\n| a | b |\n|---|---|\n<details>\n\n"
    ),
    "HTML": (
        '<div class="a"><p>Some <b>bold</b> &amp; <a href="x.html">link</a>.</p>\n<ul><li>one</li>'
        "<li id='q'>two</li></ul>\n<script>if (a < b && c > d) { f(\"x\"); }</script>\n</div>\n"
    ),
    "braces": "{",
}
"""Text of real kinds that is full of brackets and holds no call."""


def prose(size: int) -> str:
    """Plain paragraphs without any marker."""
    return (SENTENCE * (size // len(SENTENCE) + 1))[:size]


def code(kind: str, size: int) -> str:
    """Return code that stands in a text as prose; the kinds are those of `CODE`."""
    text = CODE[kind]
    return (text * (size // len(text) + 1))[:size]


def thought(dialect: str, size: int) -> str:
    """Return a closed thought in plain paragraphs and a word behind it; "" if it has no markers."""
    pairs = dialects[dialect].reasoning
    return f"{pairs[0][0]}{prose(size)}{pairs[0][1]}Done." if pairs else ""


def one_call(dialect: str, size: int) -> str:
    """A sentence, if there is room for it, and one call whose input has `size` characters."""
    call = _call(dialect, 0, (LINE * (size // len(LINE) + 1))[:size])
    try:
        return _write(dialect, ["Here it is.\n", call])
    except Unwritable:
        return _write(dialect, [call])


def program(dialect: str, size: int) -> str:
    """One call whose input is a program, full of quotes and backslashes."""
    return _write(dialect, [_call(dialect, 0, (PROGRAM * (size // len(PROGRAM) + 1))[:size])])


def mixed(dialect: str, count: int) -> str:
    """Calls of 400 characters with a paragraph before each, as agents write them."""
    return "".join(f"{prose(400)}\n{one_call(dialect, 400)}\n" for _ in range(count))


def many_calls(dialect: str, count: int) -> str:
    """Small calls, one after the other."""
    return _write(dialect, [_call(dialect, number, "hello") for number in range(count)])


@cache
def tools_of(dialect: str) -> tuple[ToolSpec, ...]:
    """The tool that the calls are of, where a dialect must know it."""
    call = Call(id="c0", name=TOOL.name, input={"name": "x", "content": "y"})
    try:
        dialects[dialect].write([call])
    except Unwritable:
        return () if dialect.startswith("emoji") else (TOOL,)
    return ()


def _call(dialect: str, number: int, content: str) -> Call:
    if dialect.startswith("emoji"):
        value = {"args": "notes.txt", "body": content}
    elif dialect == "chat-blocks":
        value = {"shown": content.replace("\n", " ")}
    else:
        value = {"name": "notes.txt", "content": content}
    return Call(id=f"c{number}", name=TOOL.name, input=value)


def _write(dialect: str, items: list[str | Call]) -> str:
    return dialects[dialect].write(items, tools_of(dialect))
