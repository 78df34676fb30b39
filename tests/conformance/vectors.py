"""The cases of `../shared/vectors`, where that folder is: texts, tools, and what a peer reads."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from callblocks import dialects
from callblocks.core.specs import ToolSpec
from callblocks.parsing.loop import Setting
from support.pages import ROOT

__all__ = ("FOLDER", "Case", "cases", "unflagged")

FOLDER = ROOT.parent / "shared" / "vectors"
NAMES: dict[str, str | list[str]] = {
    "apriel15": "hunyuan_a13b",
    "apriel16": "hunyuan_a13b",
    "cline_xml": "cline",
    "cohere_command_r_plus": "cohere_r_plus",
    "deepseek_r1": "deepseek_v3",
    "firefunction_v2": "phi4_mini",
    "glm45_47": ["glm47", "glm45"],
    "granite4": "hermes",
    "hunyuan": "hy_v3",
    "json_answer": "auto",
    "json_array": "xlam",
    "ling3": "glm47",
    "llama4_pythonic": "llama4",
    "mimo_vl": "hermes",
    "mistral": ["mistral_v11", "mistral_old"],
    "muse_glimmer_atem": "muse_glimmer",
    "nemotron_v3": "qwen3_coder",
    "qwen25_hermes": "hermes",
    "reka_edge": "hermes",
    "step3p5": "qwen3_coder",
    "think_prose": "hermes",
}
"""What the folder calls otherwise than the dialect is called here."""
FLAGS = ("PARTIAL", "streaming test only", "PEER-DISAGREES", "not-json")
"""Notes of cases whose expectation is no whole reading."""
FRAMED = ("inkling", "kimi_k3", "muse_glimmer_atem", "gpt_oss")
"""Dialects whose every message says itself what it is."""
DROPPED = ("<bos>", "<eos>")
"""What the tests named for it tell a peer to drop, as a server drops such tokens from a text."""


class Case(NamedTuple):
    """One text, and what a peer reads in it.

    `opened` says that the prompt had begun a thought. What else of the reply stood in the prompt
    is the start of the text here.
    """

    id: str
    peer: str
    dialect: str | list[str]
    tools: list[ToolSpec]
    text: str
    content: str
    calls: list[tuple[str, Any]]
    reasoning: str | None
    notes: str
    chunks: list[str]
    opened: bool

    @property
    def flagged(self) -> bool:
        """Whether it says what a part of a text gives, or nothing sure."""
        return any(flag in self.notes for flag in FLAGS)

    @property
    def without_calls(self) -> bool:
        """Whether the peer was asked to call nothing: then it gives back no more than the text."""
        return "tool_choice_none" in self.id


@cache
def cases() -> tuple[Case, ...]:
    """All of them, in the order of the files."""
    return tuple(_cases())


def unflagged() -> list[Case]:
    """Those whose expectation is what a whole text means to the peer."""
    return [case for case in cases() if not case.flagged]


def _cases() -> Iterator[Case]:
    for path in sorted(FOLDER.glob("*.jsonl")):
        seen = Counter[str]()
        for line in path.read_text("utf-8").splitlines():
            given = json.loads(line)
            if "drop_tokens" in given["name"]:
                given["text"] = re.sub("|".join(DROPPED), "", given["text"])
            name = f"{path.stem}: {given['name']}"
            seen[name] += 1
            again = f" ({seen[name]})" if seen[name] > 1 else ""
            yield _case(f"{name}{again}", given)


def _case(id_: str, given: dict[str, Any]) -> Case:
    expected, name = given["expected"], str(given["dialect"])
    dialect = NAMES.get(name, name)
    pairs = _pairs(dialect)
    begun = _begun(given, pairs, _openers(dialect))
    return Case(
        id=id_,
        peer=given["peer"],
        dialect=dialect,
        tools=[ToolSpec(tool["name"], "", tool.get("parameters") or {}) for tool in given["tools"]],
        text=begun + given["text"],
        content=expected["content"] or "",
        calls=[(call["name"], call["arguments"]) for call in expected["calls"]],
        reasoning=expected.get("reasoning"),
        notes=given["notes"],
        chunks=[begun, *(given.get("chunks") or [])],
        opened=_opened(given, pairs),
    )


def _pairs(dialect: str | list[str]) -> list[tuple[str, str]]:
    names = [dialect] if isinstance(dialect, str) else dialect
    return [pair for name in names if name in dialects for pair in dialects[name].reasoning]


def _openers(dialect: str | list[str]) -> list[str]:
    if not isinstance(dialect, str) or dialect not in dialects:
        return []
    return [opener for opener in dialects[dialect].openers(Setting()) if isinstance(opener, str)]


def _begun(given: dict[str, Any], pairs: list[tuple[str, str]], openers: list[str]) -> str:
    """How much of the prompt a peer takes for the reply: an opening, a thought, or words of it."""
    prompt, expected = given.get("generation_prompt") or "", given["expected"]
    if opening := next((opener for opener in openers if prompt.endswith(opener)), ""):
        return opening
    places = [at for open_, _ in pairs if (at := prompt.find(open_)) >= 0]
    if places and not any(prompt.rstrip().endswith(open_) for open_, _ in pairs):
        return prompt[min(places) :]
    replies = (expected["content"] or "", expected.get("reasoning") or "")
    ends = (prompt[at:] for at in range(len(prompt)))
    return next((end for end in ends if end.strip() and _starts(replies, end)), "")


def _starts(replies: Sequence[str], end: str) -> bool:
    return any(reply.startswith(end) for reply in replies)


def _opened(given: dict[str, Any], pairs: list[tuple[str, str]]) -> bool:
    """Whether the text goes on with a thought: the prompt, or how it is tested, opened one."""
    prompt, text = given.get("generation_prompt") or "", given["text"]
    if "reasoning_format=none" in given["notes"]:
        return False
    if any(prompt.rstrip().endswith(open_) for open_, _ in pairs):
        return True
    if "unified" not in given["notes"] or given["dialect"] in FRAMED:
        return False
    for open_, close in pairs:
        if close in text and open_ not in text.partition(close)[0]:
            return True
    thought = given["expected"].get("reasoning")
    return bool(pairs and thought and not any(open_ in text for open_, _ in pairs))
