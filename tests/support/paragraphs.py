"""Paragraphs of prose, code and JSON that call no tool.

They come from the pages of this repository, from the sources and docstrings of the standard
library, and from word lists. What quotes a call, as the pages on dialects do, is not among them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from sysconfig import get_path
from typing import Any

from support.pages import ROOT

__all__ = ("paragraphs",)

PAGES = ("core", "models", "runtime", "server", "session", "timeline", "toolkits", "views", "web")
SOURCES = ("argparse", "ast", "configparser", "difflib", "email/message", "html/parser", "inspect")
MORE = ("json/decoder", "logging/__init__", "pathlib", "random", "shutil", "statistics", "tarfile")
NOUNS = (
    *("function", "tool", "call", "name", "argument", "list", "weather"),
    *("action", "answer", "tag", "value", "result", "code"),
)
VERBS = (
    *("calls", "returns", "needs", "writes", "reads", "finds", "thinks"),
    *("invokes", "runs", "closes", "opens", "parses"),
)
WORDS = (
    *("the", "a", "this", "every", "no", "one", "new"),
    *("old", "simple", "small", "whole", "next", "other", "last", "first"),
)
KEYS = (
    *("name", "id", "type", "arguments", "parameters", "tool_calls", "function"),
    *("version", "items", "result", "action"),
)
HABITS = (
    "Use `[{}]` or `{{{}}}` here",
    "<b>{}</b> and <i>{}</i>",
    "Action: {} the {}",
    "{}({})",
    "1. {}\n2. {}",
    "> {}: {}",
    "[{}](https://{}.example)",
    "| {} | {} |",
    "<{}>{}</p>",
    "I think: {}, then {}",
    "{{ {} }} [ {} ]",
    "@{}: {}",
    "{}: <{}>",
    "The tag is <search>\n{}: it is {}.",
    "<search>\n{}: {}\n</search>",
    "<write_file> <b>{}</b> is {}",
)


@cache
def paragraphs(count: int) -> tuple[str, ...]:
    """So many of them; each kind has its share."""
    kinds = (_pages(), _code(), _docstrings(), _prose(), _answers())
    found = [text for kind in kinds[:3] for text in islice(kind, count // 4)]
    rest = count - len(found)
    made = [text for kind in kinds[3:] for text in islice(kind, (rest + 1) // 2)]
    return tuple((found + made)[:count])


def _pages() -> Iterator[str]:
    """What stands between blank lines outside of code, and code that is no call."""
    for name in PAGES:
        text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
        yield from _outside_fences(text)


def _outside_fences(text: str) -> Iterator[str]:
    for part in re.sub(r"^(`{3,}|~{3,}).*?^\1$", "", text, flags=re.M | re.S).split("\n\n"):
        if part.strip():
            yield part


def _code() -> Iterator[str]:
    for source in _sources():
        for part in re.split(r"\n\n+", source):
            if part.strip():
                yield part
                yield f"Here it is:\n\n```python\n{part}\n```"


def _docstrings() -> Iterator[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for source in _sources():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                yield text


def _sources() -> Iterator[str]:
    for name in (*SOURCES, *MORE):
        yield (Path(get_path("stdlib")) / f"{name}.py").read_text("utf-8")


def _prose() -> Iterator[str]:
    random = Random("prose")
    while True:
        said = [_sentence(random) for _ in range(random.randint(1, 4))]
        if random.random() < 0.5:
            habit = random.choice(HABITS)
            said.insert(random.randint(0, len(said)), habit.format(*random.sample(NOUNS, k=2)))
        yield random.choice([" ", "\n"]).join(said)


def _sentence(random: Random) -> str:
    words = [random.choice(WORDS), random.choice(NOUNS), random.choice(VERBS)]
    return f"{' '.join([*words, random.choice(WORDS), random.choice(NOUNS)]).capitalize()}."


def _answers() -> Iterator[str]:
    random = Random("answers")
    while True:
        text = json.dumps(_value(random, 3), indent=random.choice([None, 2]))
        yield random.choice(
            ["{}", "{}", "```json\n{}\n```", "Here:\n{}", "{}\n\nThat is all."]
        ).format(text)


def _value(random: Random, depth: int) -> Any:
    kind = random.randint(0, 5) if depth else 5
    if kind < 3 or depth == 3:
        keys = random.sample(KEYS, k=random.randint(1, 4))
        return {key: _value(random, depth - 1) for key in keys}
    if kind == 3:
        return [_value(random, depth - 1) for _ in range(random.randint(0, 3))]
    return random.choice([*NOUNS, 1, 2.5, True, None, "1.0.0", "a text of several words"])
