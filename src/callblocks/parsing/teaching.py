"""The prompt section that tells a model how to call tools, made from their specifications.

There are two forms: `prompt` describes each parameter on a line of its own, `compact_prompt` each
tool on one (`tool_signatures` has the notation). The compact one is for small models and short
contexts. Signatures and needed notes are always written; descriptions that only help fill the room
that is left up to `COMPACT_SIZE`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from msgspec.structs import replace

from callblocks.core.calls import Call, Item
from callblocks.core.errors import BadSpec
from callblocks.core.specs import ToolSpec
from callblocks.parsing.values.schema_shape import Plain, Schemas, elements, kind, members

__all__ = (
    "COMPACT_SIZE",
    "EXAMPLE_LEAD",
    "Note",
    "compact_prompt",
    "compact_spec",
    "example_items",
    "one_line",
    "parameter_list",
    "parameter_notes",
    "prompt",
    "quoted",
    "sample",
    "summary",
)

# --- A tool's parameters in one line of a prompt, with their types and defaults ---
#
#     file_upload(filename, content*, path?=., encoding?=utf-8|base64)
#
# Notation
#     name            A parameter. `*` marks the body of a call, `?` one that may be left out.
#     name: type      Its type. Without one it has that of its default, or is a string.
#     name=value      Its default. Defaults that stand for nothing (null, "", 0, false, [], {}) are
#                     not written: they mean what leaving the parameter out means anyway.
#     a|b             Choices, or types. After `=` the first choice is the default.
#     [t]             A list of t; `(t, u)` is a list with fixed places.
#     {k, k?: t}      An object with these keys, written as parameters are. `{any key: t}` is one
#                     with keys of any name.
#     scalar          A string, a number, a boolean or null.
#     …               Something is left out: a type inside itself, deep nesting, many choices.
#
# A name or a choice that could be taken for something else (it has a blank, a sign of the notation
# or a control character, looks like a number, is the word for a type) is written as a JSON string.
# So a line reads back in one way only, and nothing in a schema can end it.
#
# Types are bounded: foreign schemas can be huge, and those of a few mutually recursive definitions
# unfold exponentially. A parameter's type is written as deep as fits, from many levels down to one.

_LEFT_OUT = "…"
_ANY_KEY = "any key"
_TYPES = {
    "string": "string",
    "integer": "int",
    "number": "number",
    "boolean": "bool",
    "null": "null",
}
_WORDS = frozenset((*_TYPES.values(), "any", "object", "scalar"))
_SCALARS = {"string", "number", "bool", "null"}
# A name or a word that needs no quotes: no blank and no sign of the notation.
_PLAIN = re.compile(r"[^\s(),;:?=*|{}\[\]\"'`…]+")
# A word that could be read as a number or a boolean.
_NUMBER = re.compile(r"[-+.]*[0-9].*|true|false")
# The depths to which a type is written, in the order in which they are tried: the first that fits
# `_LONGEST_TYPE` is used.
_LEVELS = (8, 4, 2)
# Bounds for one parameter: parts of its type, characters of its type, choices, characters of a
# default.
_MOST_PARTS = 200
_LONGEST_TYPE = 1000
_MOST_CHOICES = 40
_LONGEST_DEFAULT = 60


def parameter_list(tool: ToolSpec) -> str:
    """Write all parameters of a tool, as its signature has them between the parentheses."""
    types, body = _Types(Schemas(tool.parameters)), tool.body
    return ", ".join(
        f"{quoted(name)}{'*' * (name == body)}{types.tail(schema, name not in tool.required)}"
        for name, schema in tool.properties.items()
    )


def quoted(name: str) -> str:
    """Return a name as it is, or as a JSON string where it could be taken for something else."""
    return name if _PLAIN.fullmatch(name) and name.isprintable() else _json(name)


class _Types:
    """A writer of the types in one tool's schemas, with a budget of levels and of parts."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._levels = self._parts = 0

    def tail(self, schema: Mapping[str, Any], is_optional: bool) -> str:
        """Write the text behind a parameter's name, with as many levels as fit."""
        # The budget of parts bounds the work, not only the text: a few mutually recursive
        # definitions have exponentially many paths within eight levels.
        written = ""
        for self._levels in _LEVELS:
            self._parts = _MOST_PARTS
            written = self._tail(schema, is_optional, ())
            if self._parts > 0 and len(written) <= _LONGEST_TYPE:
                break
        return written

    def _tail(self, schema: object, is_optional: bool, inside: tuple[int, ...]) -> str:
        """Write `?` if optional, then the type and the default, each only if it carries meaning.

        `inside` has the identities of the schemas around this one: a type inside of itself is `…`.
        """
        mark, default = "?" * is_optional, _default(schema)
        # `null` of an optional parameter is not written: leaving the parameter out means the same.
        plain = self._plain(schema, without_null=is_optional and default is None)
        choices = [one for each in plain for one in _choices(each)]
        has_default = default is not None and any(_same(one, default) for one in choices)
        if has_default and all(map(_choices, plain)):
            others = [one for one in choices if not _same(one, default)]
            return f"{mark}={_alternatives([default, *others])}"
        given = "" if not default or len(_value(default)) > _LONGEST_DEFAULT else _value(default)
        type = self._union(plain, (*inside, id(schema)))
        tail = f"{mark}={given}" if given else mark
        if type == (_type_of(default) if given else "string"):
            return tail
        return f"{mark}: {type}" + (f"={given}" if given else "")

    def _plain(self, schema: object, *, without_null: bool = False) -> Sequence[Plain]:
        plain = self._schemas.plain(schema)
        if not without_null:
            return plain
        return [_without_null(one) for one in plain if kind(one) != "null"] or plain

    def _type(self, schema: object, inside: tuple[int, ...]) -> str:
        """Write the type of a schema that is nested in the schemas with these identities."""
        self._parts -= 1
        if id(schema) in inside or len(inside) >= self._levels or self._parts <= 0:
            return _LEFT_OUT
        return self._union(self._plain(schema), (*inside, id(schema)))

    def _union(self, plain: Sequence[Plain], inside: tuple[int, ...]) -> str:
        words = dict.fromkeys(self._word(one, inside) for one in plain)
        if "number" in words:
            words.pop("int", None)
        if words.keys() >= _SCALARS:
            words = {"scalar": None, **{word: None for word in words if word not in _SCALARS}}
        return "any" if "any" in words or not words else "|".join(words)

    def _word(self, plain: Plain, inside: tuple[int, ...]) -> str:
        """Write one alternative of a union."""
        if choices := _choices(plain):
            return _alternatives(choices)
        match kind(plain):
            case "array":
                return self._list(plain, inside)
            case "object":
                return self._object(plain, inside)
            case name:
                return _TYPES.get(str(name), "any")

    def _list(self, plain: Plain, inside: tuple[int, ...]) -> str:
        found = elements(plain)
        if found.first:
            return f"({', '.join(self._type(one, inside) for one in found.first)})"
        return f"[{self._type(found.rest, inside)}]"

    def _object(self, plain: Plain, inside: tuple[int, ...]) -> str:
        found = members(plain)
        keys = [
            self._key(name, schema, found.required, inside) for name, schema in found.known.items()
        ]
        if found.extra not in (True, False, {}):
            keys.append(f"{_ANY_KEY}: {self._type(found.extra, inside)}")
        return f"{{{', '.join(keys)}}}" if keys else "object"

    def _key(
        self, name: str, schema: object, required: Collection[str], inside: tuple[int, ...]
    ) -> str:
        self._parts -= 1
        is_optional = name not in required
        if id(schema) in inside or len(inside) >= self._levels or self._parts <= 0:
            return f"{quoted(name)}{'?' * is_optional}: {_LEFT_OUT}"
        return f"{quoted(name)}{self._tail(schema, is_optional, inside)}"


def _default(schema: object) -> Any:
    return cast("Plain", schema).get("default") if isinstance(schema, Mapping) else None


def _choices(plain: Plain) -> Sequence[Any]:
    """Return the values that a plain schema lists, or none where it lists no values."""
    return [plain["const"]] if "const" in plain else plain.get("enum", [])


def _without_null(plain: Plain) -> Plain:
    if "enum" not in plain:
        return plain
    return {**plain, "enum": [one for one in plain["enum"] if one is not None] or plain["enum"]}


def _alternatives(choices: Sequence[Any]) -> str:
    words = list(dict.fromkeys(map(_value, choices)))
    if len(words) > _MOST_CHOICES:
        words[_MOST_CHOICES:] = [_LEFT_OUT]
    return "|".join(words)


def _value(value: Any) -> str:
    """Write a choice or a default: words bare, all else as JSON."""
    if not isinstance(value, str):
        return _json(value)
    is_word = value not in _WORDS and not _NUMBER.fullmatch(value)
    return quoted(value) if is_word else _json(value)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)
    return text if text.isprintable() else json.dumps(value, default=repr, skipkeys=True)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _type_of(value: Any) -> str:
    """Return the type that a reader gives to a written default."""
    match value:
        case str():
            return "string"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "number"
        case _:
            return ""


# --- Extracts of the descriptions of tools and parameters, for compact prompts ---
#
# A signature has names, types, choices and defaults. A description is needed if it adds units,
# bounds, formats, the meaning of a choice, or which parameters go together. It is cut into parts at
# semicolons, colons and commas, and each part is judged by the words in it:
#
#     how wide the page is, in pixels          "pixels": a unit
#     the text; or give source                 "or give source": it goes with another parameter
#     the day, such as 2030-01-31              all of it: the example shows a format
#     all, files, a #tag, or a folder          all of it: a list with "or" is not taken apart
#     the file, from the workspace down        nothing: the name `path` says it
#
# Needed parts are always kept, the others while there is room.
# The words that mark a part as needed are English; in other languages digits, quotes and signs do.


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


# --- The prompt section that tells a model how to call tools, made from their specifications ---

# The size in bytes up to which a compact prompt is filled with optional descriptions.
COMPACT_SIZE = 4000

_SIGNS = (("?", "`?` optional"), ("=", "`=` default"), ("*", "`*` body"))


def prompt(rules: Sequence[str], tools: Sequence[ToolSpec], example: str) -> str:
    """Return a prompt: an example of a call, a few rules, and a description of each tool."""
    parts = [
        "# Tools",
        "You can call tools. A program reads what you write, so write a call exactly like this:",
        example.strip("\n"),
        "\n".join(f"- {rule}" for rule in rules),
        "These are the tools:",
        *map(_describe, tools),
    ]
    return "\n\n".join(parts) + "\n"


def compact_prompt(rules: Sequence[str], tools: Sequence[ToolSpec], example: str) -> str:
    """Return a shorter prompt with one line per tool."""
    lines = _lines(tools)
    parts = [
        "# Tools",
        "Call a tool exactly like this:",
        example.strip("\n"),
        "\n".join(f"- {rule}" for rule in rules),
        f"Tools ({_legend(tools, lines)}):",
        "",
    ]
    room = COMPACT_SIZE - len("\n\n".join(parts).encode())
    return "\n\n".join(parts) + "\n".join(_filled(lines, room)) + "\n"


# The optional descriptions that are kept: line, parameter, and which part of its note.
_Kept: TypeAlias = set[tuple[int, str, str]]


class _Line(NamedTuple):
    """The line of a tool: signature, first clause and sentence of its description, notes."""

    signature: str
    clause: str
    sentence: str
    notes: Sequence[Note]


def _lines(tools: Sequence[ToolSpec]) -> list[_Line]:
    """Describe each tool; one with the same parameters as an earlier one refers to that.

    A note that repeats the note of an earlier parameter of that name is optional.
    """
    lines: list[_Line] = []
    told: dict[str, str] = {}
    said: set[tuple[str, str]] = set()
    for tool in tools:
        name, parameters, notes = quoted(tool.name), parameter_list(tool), parameter_notes(tool)
        key = f"{parameters} {notes}"
        same = f"same as {told.setdefault(key, name)}"
        if told[key] != name and len(same) < len(parameters):
            parameters, notes = same, []
        notes = [_repeated(note) if note[:2] in said else note for note in notes]
        said.update((note.at, note.needed) for note in notes)
        lines.append(_Line(f"{name}({parameters})", *summary(tool.description), notes))
    return lines


def _repeated(note: Note) -> Note:
    helpful = "; ".join(filter(None, [note.needed, note.helpful]))
    return note._replace(needed="", helpful=helpful)


def _legend(tools: Sequence[ToolSpec], lines: Sequence[_Line]) -> str:
    """Explain the signs that occur; lists, objects and choices explain themselves."""
    used = "".join(line.signature for line in lines)
    signs = [text for sign, text in _SIGNS if sign in used]
    bodies = ["lists line by line"] * any(tool.body_is_lines for tool in tools)
    bodies += ["objects as JSON"] * any(tool.body_is_json for tool in tools)
    if bodies:
        signs[-1] += f" ({', '.join(bodies)})"
    cut = ["`…` more, left out here"] * ("…" in used)
    return ", ".join([*signs, *cut, "untyped: string or as the default"])


def _filled(lines: Sequence[_Line], room: int) -> list[str]:
    """Write the lines with all that is needed, and then with more of it while there is room.

    What helps comes first, then what required parameters are, whole first sentences, and what the
    others are. What does not fit is passed over: a long note does not keep a short one out.
    """
    notes = [(at, note) for at, line in enumerate(lines) for note in line.notes]
    order = [
        *((at, note.at, "helpful") for at, note in notes if note.helpful),
        *((at, note.at, "rest") for at, note in notes if note.rest and note.is_required),
        *((at, "", "sentence") for at, line in enumerate(lines) if line.sentence != line.clause),
        *((at, note.at, "rest") for at, note in notes if note.rest and not note.is_required),
    ]
    kept: _Kept = set()
    sizes = [_size(_written(line, at, kept)) for at, line in enumerate(lines)]
    for key in order:
        at, others = key[0], sum(sizes) - sizes[key[0]]
        size = _size(_written(lines[at], at, kept | {key}))
        if others + size <= room:
            sizes[at] = size
            kept.add(key)
    return [_written(line, at, kept) for at, line in enumerate(lines)]


def _written(line: _Line, at: int, kept: _Kept) -> str:
    about = [line.sentence if (at, "", "sentence") in kept else line.clause]
    for note in line.notes:
        rest = note.rest if (at, note.at, "rest") in kept else ""
        helpful = note.helpful if (at, note.at, "helpful") in kept else ""
        # The descriptive clause may already contain needed parts: these are not written twice.
        more = [part for part in f"{note.needed}; {helpful}".split("; ") if part not in rest]
        if text := "; ".join(filter(None, [rest, *more])):
            about.append(f"{note.at}: {text}")
    return ": ".join(filter(None, [line.signature, ". ".join(filter(None, about))]))


def _size(line: str) -> int:
    return len(line.encode()) + 1


# The prose before the call of an example.
EXAMPLE_LEAD = "I will use a tool.\n"


def example_items(tools: Sequence[ToolSpec]) -> list[Item]:
    """Return a sentence, and a call of the first tool with a sample of its required input."""
    if not tools:
        raise BadSpec("an example needs at least one tool")
    tool = tools[0]
    value = {name: sample(tool.properties.get(name, {}), name) for name in _shown(tool)}
    if isinstance(value.get(tool.body or ""), str):
        value[str(tool.body)] += "\n"
    return [EXAMPLE_LEAD, Call(id="call-1", name=tool.name, input=value)]


def sample(schema: dict[str, Any], name: str = "text") -> Any:
    """Return a value that fits a schema: its example, default or first choice if it has one."""
    if not isinstance(schema, dict):  # pyright: ignore[reportUnnecessaryIsInstance] `true` is a schema
        return name
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    kind: Any = schema.get("type")
    return _sample_of(
        kind if isinstance(kind, str | None) else next(iter(kind), None), schema, name
    )


def _sample_of(kind: object, schema: dict[str, Any], name: str) -> Any:
    if kind == "array":
        return [sample(schema.get("items", {}), name)]
    if kind == "object":
        inner = schema.get("properties", {})
        return {key: sample(inner.get(key, {}), key) for key in schema.get("required", inner)}
    return {"integer": 1, "number": 1, "boolean": True, "null": None}.get(str(kind), name)


def _shown(tool: ToolSpec) -> list[str]:
    required = [name for name in tool.properties if name in tool.required]
    return required or list(tool.properties)[:1]


def _describe(tool: ToolSpec) -> str:
    head = f"## {tool.name}"
    about = [tool.description] if tool.description else []
    return "\n".join([head, *about, *(_parameter(tool, name) for name in tool.properties)])


def _parameter(tool: ToolSpec, name: str) -> str:
    schema = tool.properties[name]
    kind = schema.get("type", "any")
    notes = [kind if isinstance(kind, str) else " or ".join(kind)]
    form = ", one on each line" if tool.body_is_lines else ", as JSON" * tool.body_is_json
    notes += [] if name in tool.required else ["optional"]
    notes += [f"one of {', '.join(map(str, schema['enum']))}"] if "enum" in schema else []
    notes += [f"the body{form}"] if name == tool.body else []
    about = schema.get("description", "")
    return f"- {name} ({', '.join(notes)})" + (f": {about}" if about else "")


# --- Short forms of tools: the needed schema, and the first clause of each description ---
#
# A server that takes tools natively writes their whole schemas into the prompt, which a small model
# reads for minutes. Names, types, choices, required parameters and the structure stay. Descriptions
# are cut to their first clause. Examples, defaults, formats and bounds are dropped: a call that
# violates one gets an error as its result.

_KEPT = frozenset(
    (
        *("type", "properties", "required", "items", "enum", "const", "$ref", "$defs"),
        *("definitions", "anyOf", "oneOf", "allOf", "prefixItems", "description"),
    )
)
# Keywords whose members are names of the schema's author, and not keywords: a parameter may be
# called `default`.
_BY_NAME = frozenset(("properties", "$defs", "definitions"))


def compact_spec(spec: ToolSpec) -> ToolSpec:
    """Return the tool with a short description and schema."""
    clause, _ = summary(spec.description)
    return replace(spec, description=clause, parameters=_compact(spec.parameters))


def _compact(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_compact(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for keyword, value in cast("dict[str, Any]", schema).items():
        if keyword not in _KEPT:
            continue
        if keyword == "description":
            kept[keyword] = summary(str(value))[0]
        elif keyword in _BY_NAME and isinstance(value, dict):
            named = cast("dict[str, Any]", value)
            kept[keyword] = {name: _compact(inner) for name, inner in named.items()}
        else:
            kept[keyword] = value if keyword in ("enum", "const") else _compact(value)
    return kept
