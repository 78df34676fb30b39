"""Extracts of the descriptions of tools and parameters, for compact prompts.

A signature has names, types, choices and defaults. A description is needed if it adds units,
bounds, formats, the meaning of a choice, or which parameters go together. It is cut into parts at
semicolons, colons and commas, and each part is judged by the words in it:

    how wide the page is, in pixels          "pixels": a unit
    the text; or give source                 "or give source": it goes with another parameter
    the day, such as 2030-01-31              all of it: the example shows a format
    all, files, a #tag, or a folder          all of it: a list with "or" is not taken apart
    the file, from the workspace down        nothing: the name `path` says it

Needed parts are always kept, the others while there is room.
The words that mark a part as needed are English; in other languages digits, quotes and signs do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from callblocks.model.specs import ToolSpec
from callblocks.parsing.schema_shape import Plain, Schemas, elements, kind, members
from callblocks.parsing.tool_signatures import quoted

__all__ = ("Note", "one_line", "parameter_notes", "summary")


class Note(NamedTuple):
    """The note on a parameter, `at` its path: needed parts, helpful parts, and the rest.

    Helpful are bounds, the meanings of choices, and keys inside of objects: the result of a call
    reports a mistake there, and the signature shows the common case. The rest is the purpose.
    """

    at: str
    needed: str
    helpful: str
    rest: str
    is_required: bool


# Words that make a part of a description needed, by kind: units, formats, bounds and conditions.
_UNIT = (
    r"(?:milli|micro|nano)?seconds?|minutes?|hours?|days?|weeks?|months?|years?"
    r"|(?:kilo|mega|giga)?bytes?|[km]b|ms|px|characters?|chars|tokens?|pixels?|percent(?:age)?"
    r"|degrees?|celsius|fahrenheit|kelvin|(?:kilo)?met(?:er|re)s?|km|miles?|feet|inch(?:es)?|kg"
    r"|grams?|cents?|dollars?|euros?|currency|utc|time ?zone|epoch|unix|latitude|longitude"
)
_FORM = (
    r"iso|rfc|yyyy|json|yaml|toml|xml|csv|html|sql|cron|base64|hex|uuid|iana|bcp|slug|mime"
    r"|regexp?|regular expression|glob|wildcards?|pattern|formats?|formatted|syntax|separated"
    r"|encoded|prefix|capitals?|uppercase|lowercase|absolute|relative|inclusive|exclusive"
    r"|(?:zero|one)-based"
)
_BOUND = (
    r"at (?:most|least)|up to|between|no more|more than|less than|fewer|greater|maximum|minimum"
    r"|max|min|exactly|must|never|only|always|required|unless|except|either|instead|otherwise"
    r"|one of|allowed|supported|possible values|default(?:s|ed)?|or (?:give|use|pass|set|omit)"
    r"|leaves? (?:out|empty)"
)
# A needed part has one of the words, or a digit, a quote or a sign: those work in any language.
_NEEDED = re.compile(
    rf"(?<![\w.-])(?:{_UNIT}|{_FORM}|{_BOUND})(?![\w.-])|[0-9\"`#*\[\]{{}}<>=\\@%]|\w[:/]|[/:]\w",
    re.IGNORECASE,
)
_IS_UNIT = re.compile(_UNIT, re.IGNORECASE)
# Examples are dropped unless they show the format of a text: a date, a version, a zone, a handle.
_SHOWS_FORM = re.compile(r"[0-9][-:/.+][0-9]|[#@{}\[\]<>\"`]|[A-Z][a-z]+/[A-Z]|\+[0-9]")
_EXAMPLE = re.compile(r",? *\b(?:e\.g\.|(?:such as|for example|for instance|like)\b),?(?= )")
# The cuts of a description: clauses at semicolons and sentence ends, parts at commas and colons.
# `e.g.`, `i.e.` and `etc.` end no sentence.
_CLAUSE = re.compile(r"; |(?<=[.!?]) |(?<=[。！？；])")
_ASIDE = re.compile(r" \([^()]*\)")
_PART = re.compile(r"[,:] ")
_SENTENCE = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)[.!?](?= |$)|[。！？]")
# Words that can be dropped from the start of a part: "which must be …".
_LEAD = re.compile(r"^(?:that|which|it) (?=must|may|can|is|has)")
_WORD = re.compile(r"[\w-]+")
_PART_OF_SENTENCE = re.compile(r"[;:,] ")
_SECOND_VERB = re.compile(r" and [a-z]+ (?:its|the|a|an) ")
# Lengths in characters, except `_MOST_NOTES` and `_MOST_LEVELS`. Foreign schemas can be huge, so
# every text and every count is bounded.
_SHORTEST_SUMMARY = 10
_LONG_SUMMARY = 55
_ENOUGH = 60
_LONGEST_NOTE = 240
_LONGEST_SUMMARY = 160
_MOST_NOTES = 40
_MOST_LEVELS = 3


def one_line(text: str) -> str:
    """Put a text on one line, without characters that a terminal or a tokenizer would act on."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable())


def summary(description: str) -> tuple[str, str]:
    """Return the first clause of a description, and its whole first sentence."""
    text = one_line(description)
    end = _SENTENCE.search(text)
    sentence = text[: end.start()] if end else text
    # A clause of a word or two is no summary: "Slides, from Markdown".
    cut = _PART_OF_SENTENCE.search(sentence, _SHORTEST_SUMMARY)
    clause = sentence[: cut.start()] if cut else sentence
    if len(clause) > _LONG_SUMMARY and (cut := _SECOND_VERB.search(clause, _SHORTEST_SUMMARY)):
        clause = clause[: cut.start()]
    return _cut(clause, _LONGEST_SUMMARY), _cut(sentence, _LONGEST_SUMMARY)


def parameter_notes(tool: ToolSpec) -> list[Note]:
    """Return the notes on parameters, and on the keys of objects, beside their types."""
    schemas = Schemas(tool.parameters)
    found = _notes(schemas, tool.properties, tool.required, "", 0)
    return [note for _, note in zip(range(_MOST_NOTES), found, strict=False)]


def _notes(
    schemas: Schemas,
    known: Mapping[str, object],
    required: Sequence[str] | frozenset[str],
    before: str,
    level: int,
) -> Iterator[Note]:
    for name, schema in known.items():
        if isinstance(schema, Mapping):
            said, at = cast("Plain", schema), f"{before}{quoted(name)}"
            needed, helpful, rest = _clauses(said, schemas.plain(said))
            if level:
                needed, helpful = "", _joined(needed, helpful)
            if needed or helpful or rest:
                yield Note(at, needed, helpful, rest, not level and name in required)
            if level < _MOST_LEVELS:
                yield from _inner_notes(schemas, said, at, level + 1)


def _inner_notes(schemas: Schemas, schema: object, at: str, level: int) -> Iterator[Note]:
    """Yield notes on the keys of objects, and of objects in lists."""
    for plain in schemas.plain(schema):
        match kind(plain):
            case "object":
                found = members(plain)
                yield from _notes(schemas, found.known, found.required, f"{at}.", level)
            case "array" if level < _MOST_LEVELS:
                yield from _inner_notes(schemas, elements(plain).rest, at, level + 1)
            case _:
                pass


def _clauses(schema: Plain, plain: Sequence[Plain]) -> tuple[str, str, str]:
    """Return the needed parts of a description, the helpful ones, and its first clause."""
    text = schema.get("description")
    text = _without_asides(one_line(text)) if isinstance(text, str) else ""
    is_text = {kind(one) for one in plain} <= {"string", "null"}
    clauses = [
        clause for part in _CLAUSE.split(text) if (clause := _without_example(part, is_text))
    ]
    choices = {str(one) for each in plain for one in each.get("enum", ())}
    facts = [fact for fact in _facts(schema) if not _numbers(fact) <= _numbers(text)]
    parts = [] if choices else [part for clause in clauses for part in _needed(clause)]
    # Of many needed parts only the first `_ENOUGH` characters are needed, and the others help.
    end = next((at for at in range(1, len(parts)) if len(_joined(*parts[:at])) > _ENOUGH), None)
    needed, more = parts[:end], parts[end:] if end else []
    meanings = [
        part for part in _PART.split("; ".join(clauses)) if choices & set(_WORD.findall(part))
    ]
    rest = "" if not clauses or clauses[0] in (*needed, *meanings) else clauses[0]
    return _joined(*needed), _joined(*more, *meanings, *facts), _joined(rest)


def _needed(clause: str) -> list[str]:
    """Return the needed parts of a clause; a list of alternatives stays in one piece."""
    if not _NEEDED.search(clause):
        return []
    if ", or " in clause or _EXAMPLE.search(clause):
        # The words that introduce a list are dropped: "one of: a, b, or c".
        _, colon, listed = clause.partition(": ")
        return [listed if colon and _NEEDED.search(listed) else clause]
    return [_core(part) for part in _PART.split(clause) if _NEEDED.search(part)]


def _core(part: str) -> str:
    """Return the unit if that is the only needed word of a part: "seconds after which …"."""
    found = _NEEDED.findall(part)
    if len(found) == 1 and _IS_UNIT.fullmatch(found[0]):
        return found[0]
    return _LEAD.sub("", part)


def _joined(*parts: str) -> str:
    return _cut("; ".join(filter(None, parts)), _LONGEST_NOTE)


def _without_asides(text: str) -> str:
    """Remove text in parentheses, unless it is needed."""
    return _ASIDE.sub(lambda found: found[0] if _NEEDED.search(found[0]) else "", text)


def _without_example(clause: str, is_text: bool) -> str:
    clause = clause.strip().rstrip(".")
    found = _EXAMPLE.search(clause)
    if found is None or (is_text and _SHOWS_FORM.search(clause, found.end())):
        return clause
    return clause[: found.start()]


def _facts(schema: Plain) -> Iterator[str]:
    """Yield the format, the pattern and the bounds of a schema, unless they are obvious."""
    form: Any = schema.get("format")
    # `path` is a format of this project's tools, and `uri` is obvious: neither helps a model.
    if isinstance(form, str) and form not in ("path", "uri"):
        yield f"format {one_line(form)}"
    if isinstance(pattern := schema.get("pattern"), str):
        yield f"pattern {one_line(pattern)}"
    least, most = _bound(schema, "minimum"), _bound(schema, "maximum")
    if least in ("", "0", "1"):
        yield from [f"≤{most}"] if most else []
    else:
        yield f"{least}..{most}" if most else f"≥{least}"


def _bound(schema: Plain, name: str) -> str:
    found: Any = schema.get(name)
    return str(found) if isinstance(found, int | float) else ""


def _numbers(text: str) -> set[str]:
    """Return the numbers in a text, or the whole text if there are none."""
    return set(re.findall(r"[0-9.]*[0-9]", text)) or {text}


def _cut(text: str, longest: int) -> str:
    """Cut a text that is too long at a word."""
    if len(text) <= longest:
        return text
    return text[:longest].rpartition(" ")[0].rstrip(",;:") + " …"
