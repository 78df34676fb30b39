"""Paragraphs about tool calling that call no tool.

They quote the markup of every dialect as people do: in documentation, in chat templates, in diffs
of parsers and of their tests, and as escaped or quoted text. The markup is made from the dialects
themselves, so a new dialect is mentioned as soon as it exists. The tools that are mentioned are
declared in the tests that read these paragraphs.
"""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, count, islice
from random import Random

from callblocks import Call, ToolSpec, dialects
from callblocks.parsing.dialect import Dialect
from support.pages import ROOT

__all__ = ("mentions",)

NAMES = ("get_weather", "search", "read_file", "write_file", "run_command", "send_mail", "now")
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}
DECLARED, PLACEHOLDER = "search", "placeholder"
TOOLS = [ToolSpec(name, "", SCHEMA) for name in (*NAMES, PLACEHOLDER)]
TAUGHT = [dialect for dialect in dialects.values() if dialect.rules]
SPAN = re.compile(r"`[^`\n]+`")

SENTENCES = (
    "The model writes {span} and stops; the server then fills in `tool_calls`.",
    "Note that {span} is a special token, so it is dropped when `skip_special_tokens` is on.",
    "We saw {span} in the content of about one reply in five.",
    "1. Find {span} in the text.\n2. Read the name.\n3. Call {name} with its arguments.",
    "| marker | meaning |\n| --- | --- |\n| {span} | begins a call of {name} |",
    "**Bug:** a reply that holds {span} twice loses the second call of `{name}`.",
    "> {span}\n\nThis is what I get for {name}, and nothing runs.",
    "- [ ] read {span}\n- [x] declare `{name}`",
    "If {name} is called in the middle of a thought, {span} ends the thought.",
)
BARE_SENTENCES = (
    "The parser looks for {marker} and gives up at the end of the line.",
    "After {marker} there is a line break in the template, but not in the reply.",
    "Does anybody know what {marker} means? The tokenizer says it is one token.",
    "Everything between {marker} and the end of the turn is dropped.",
)
FENCED = (
    "The template has it like this:\n\n```{language}\n{code}\n```\n\nSo {name} is called.",
    "```{language}\n{code}\n```\nWhat stands above is an example of a call of {name}, not a call.",
    "Expected:\n\n~~~{language}\n{code}\n~~~\n\nGot: nothing.",
)


@cache
def mentions(size: int) -> tuple[str, ...]:
    """Return `size` different paragraphs; each kind has an equal share."""
    kinds = (_documentation(), _bare_markers(), _templates(), _fences(), _diffs(), _escaped())
    share = -(-size // len(kinds))
    made = chain.from_iterable(islice(_different(kind), share) for kind in kinds)
    return tuple(islice(made, size))


def _different(texts: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def _shares(seed: str) -> Iterator[tuple[Random, Dialect]]:
    """Yield the dialects round after round, each time with the same random choices to make."""
    random = Random(seed)
    for _ in count():
        for dialect in TAUGHT:
            yield random, dialect


def _documentation() -> Iterator[str]:
    """Yield the rules of the dialects, and sentences that quote their markup."""
    for dialect in TAUGHT:
        yield " ".join(dialect.rules)
    for random, dialect in _shares("documentation"):
        spans = SPAN.findall(" ".join(dialect.rules)) or [f"`{_markers(dialect)[0]}`"]
        sentence = random.choice(SENTENCES)
        yield sentence.format(span=random.choice(spans), name=random.choice(NAMES))


def _bare_markers() -> Iterator[str]:
    """Yield sentences in which a marker stands without quotes; no name follows it."""
    for random, dialect in _shares("markers"):
        first, then = random.choice(BARE_SENTENCES), random.choice(SENTENCES)
        marker = random.choice(_markers(dialect))
        text = f"{first}\n{then}".format(marker=marker, span=f"`{marker}`", name="the tool")
        yield text


def _templates() -> Iterator[str]:
    """Yield chat templates: the markup of a call with expressions where its values would be."""
    for random, dialect in _shares("templates"):
        body = dialect.write([Call(id="c1", name=PLACEHOLDER, input={"query": "VALUE"})], TOOLS)
        quoted = body.replace("'", "\\'").replace("\n", "\\n")
        quoted = quoted.replace(PLACEHOLDER, "' + call.name + '").replace("VALUE", "' + value + '")
        variable = random.choice(("message.tool_calls", "m['tool_calls']", "calls"))
        indent = " " * random.randint(0, 6)
        yield (
            f"{{%- for call in {variable} %}}\n{indent}{{{{- '{quoted}' }}}}\n{{%- endfor %}}\n"
            f"{{#- {random.choice(NAMES)} is called here #}}"
        )


def _fences() -> Iterator[str]:
    """Yield whole calls of a declared tool as examples in code fences with more code around."""
    for random, dialect in _shares("fences"):
        if dialect.follows_fences:
            continue
        name = random.choice(NAMES)
        call = dialect.write([Call(id="c1", name=name, input={"query": "tides"})], TOOLS)
        if "```" in call or "~~~" in call:
            continue
        code = f"text = model.generate(prompt)\nassert text == {call!r}"
        language = random.choice(("python", "py", "jinja", ""))
        yield random.choice(FENCED).format(language=language, code=code, name=name)


def _diffs() -> Iterator[str]:
    """Yield hunks of diffs between the sources of two dialects, bare and in a fence."""
    sources = sorted((ROOT / "src/callblocks/dialects").glob("*.py"))
    lines = [path.read_text("utf-8").splitlines() for path in sources]
    for at, old in enumerate(lines):
        new, name = lines[(at + 1) % len(lines)], f"parsers/p{at}.py"
        hunk = "\n".join(islice(difflib.unified_diff(old, new, name, name, lineterm=""), 40))
        yield hunk
        yield f"This is the change:\n\n```diff\n{hunk}\n```\n\nIt mends `{DECLARED}`."
    for random, dialect in _shares("diffs"):
        # A fence without a language would hold nothing but the call: that is a call.
        call = dialect.write([Call(id="c1", name=DECLARED, input={"query": "tides"})], TOOLS)
        changed = "\n".join(random.choice("+- ") + line for line in call.splitlines())
        if "```" not in call:
            yield f"```diff\n@@ -{random.randint(1, 900)},3 +1,3 @@\n def test():\n{changed}\n```"


def _escaped() -> Iterator[str]:
    """Yield whole calls that are quoted so that they are none: escaped, in spans, as strings."""
    for random, dialect in _shares("escaped"):
        name = random.choice(NAMES)
        call = dialect.write([Call(id="c1", name=name, input={"query": "tides"})], TOOLS)
        line = " ".join(call.split())
        if "`" in line:
            continue
        kind = random.randint(0, 2)
        if kind == 0:
            yield f"It wrote `{line}` for {name}; that was {random.randint(2, 99)} times."
        elif kind == 1:
            yield f"<p>{html.escape(call)}</p>" if "<" in call else f"It is `{line}` for {name}."
        else:
            yield f"Search the log for ``{line}``: {random.randint(2, 99)} lines name `{name}`."


def _markers(dialect: Dialect) -> list[str]:
    """Return the markup of a written call up to its name, and from its last argument on."""
    text = dialect.write([Call(id="c1", name=PLACEHOLDER, input={"query": "VALUE"})], TOOLS)
    before, after = text.partition(PLACEHOLDER)[0], text.rpartition("VALUE")[2]
    markers = [part.strip() for part in (before, after)]
    return [marker for marker in markers if marker and "\n" not in marker] or [dialect.name]
