"""Tables about the dialects of model families, what they share, and how peers read their texts."""

from __future__ import annotations

import json
from pathlib import Path

from page_text import code, fence, sentence, table

from callblocks.cli.options.tool_setup import SAMPLE_TOOLS
from callblocks.core.calls import Call
from callblocks.dialects import FAMILIES, aliases_of, dialects, groups_of, members_of
from callblocks.parsing.dialect import Dialect

__all__ = ("conformance_page", "family_sections", "family_table", "group_table", "thought_table")

OWN = ("tool-fence", "scissors-cat", "chat-blocks", "emoji-bracket", "emoji-bracket+")
GROUPS = {
    "JsonCalls": "JSON between markers",
    "NamedJson": "A name, then JSON",
    "XmlParameters": "Arguments in tags",
    "PythonMarked": "Calls as code",
    "BraceCalls": "Calls as code",
    "Dialect": "Messages and lines",
}
"""The shape that a dialect stands on, and what its group is called."""
REASONS = Path(__file__).parents[2] / "tests" / "conformance" / "reasons.json"


def family_table() -> str:
    """Each dialect of a model family, its other names, and the beginnings of its models' names."""
    rows = [
        [
            f"[{code(name)}](#{name})",
            ", ".join(map(code, aliases_of(name))) or "–",
            ", ".join(FAMILIES.get(name, ())) or "–",
        ]
        for name in dialects
        if name not in OWN
    ]
    return table(["dialect", "also", "models whose names begin with"], rows)


def group_table() -> str:
    """Each name that stands for several dialects; the first is the one that is written."""
    groups = dict.fromkeys(group for name in dialects for group in groups_of(name))
    rows = [
        [code(group), ", ".join(f"[{code(name)}](#{name})" for name in members_of(group))]
        for group in sorted(groups)
    ]
    return table(["name", "dialects"], rows)


def family_sections() -> str:
    """A section for each dialect, under the shape that it stands on."""
    groups: dict[str, list[Dialect]] = {title: [] for title in dict.fromkeys(GROUPS.values())}
    for name, dialect in dialects.items():
        if name not in OWN:
            groups[_group(dialect)].append(dialect)
    return "\n\n".join(
        "\n\n".join([f"## {title}", *map(_section, members)])
        for title, members in groups.items()
        if members
    )


def thought_table() -> str:
    """What a complete call of a declared tool is in a thought, and in which dialects."""
    thinking = [dialect for dialect in dialects.values() if dialect.reasoning]
    kinds = {
        "a call": [one for one in thinking if one.calls_end_reasoning],
        "a call, as a message of its own that ends the thought": _by_message(thinking, True),
        "a mention": _by_message(thinking, False),
    }
    rows = [
        [closed, "a call", ", ".join(code(one.name) for one in members)]
        for closed, members in kinds.items()
    ]
    return table(["in a closed thought", "never closed", "dialects"], rows)


def _by_message(thinking: list[Dialect], has_messages: bool) -> list[Dialect]:
    """Those whose calls begin, or do not begin, with what ends a thought."""
    return [
        one
        for one in thinking
        if not one.calls_end_reasoning
        and one.write([Call(id="1", name="now")]).startswith(one.reasoning_breaks or "\0")
        == has_messages
    ]


def conformance_page() -> str:
    """How many cases of peers agree, and each that does not, under its reason."""
    given = json.loads(REASONS.read_text("utf-8"))
    agree, of = given["agree"], given["of"]
    parts = [f"{agree:,} of {of:,} agree: {agree / of:.1%}."]
    for group in sorted(given["groups"], key=lambda each: -len(each["cases"])):
        cases = "\n".join(f"- {code(case)}" for case in sorted(group["cases"]))
        parts.append(f"**{group['reason']}**\n\n{cases}")
    return "\n\n".join(parts)


def _group(dialect: Dialect) -> str:
    kinds = [kind.__name__ for kind in type(dialect).__mro__]
    return next(GROUPS[kind] for kind in kinds if kind in GROUPS)


def _section(dialect: Dialect) -> str:
    facts = [sentence(dialect.summary)]
    if aliases := aliases_of(dialect.name):
        facts.append(f"Also found as {', '.join(map(code, aliases))}.")
    if not dialect.in_auto:
        facts.append("It is never guessed: name it.")
    if dialect.reasoning:
        pairs = (f"{code(open_)} … {code(close)}" for open_, close in dialect.reasoning)
        calls = " A complete call of a known tool may stand in them." * dialect.calls_end_reasoning
        facts.append(f"Thoughts stand between {', '.join(pairs)}.{calls}")
    example = dialect.example(SAMPLE_TOOLS)
    return "\n\n".join([f"### {dialect.name}", " ".join(facts), fence(example)])
