"""Read text by the names of dialects; write it in another.

    parsed = parse(text, dialect="emoji-bracket")
    parser = Parser(dialect=["tool-fence", "emoji-bracket"])
    parsed = parse(text, model="qwen3-coder-30b")
    convert(text, source="auto", target="tool-fence")

`auto` reads every dialect that its markers identify: the dialect whose opener comes first owns the
text until its block ends. If several dialects have the same opener, the dialect of the model is
asked first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import TypedDict, Unpack

from callblocks.core.errors import CallerError, UnknownDialect, Unwritable
from callblocks.core.specs import ToolSpecs, specs_by_name
from callblocks.dialects import dialect_of, dialects, members_of, near_names, registered_dialects
from callblocks.parsing.conversion import Conversion
from callblocks.parsing.conversion import conversion as write_parsed
from callblocks.parsing.dialect import Dialect, Parsed, with_fallbacks
from callblocks.parsing.engine.openers import InFences
from callblocks.parsing.limits import Limits
from callblocks.parsing.loop import Engine

__all__ = (
    "AUTO",
    "Options",
    "Parser",
    "conversion",
    "convert",
    "near_dialects",
    "parse",
    "reply_dialects",
    "reply_parser",
    "unknown_dialect",
)

AUTO = "auto"


class Parser(Engine):
    """A parser for one text: `feed` takes pieces and returns events, `close` ends the text.

    `dialect` is a name, a list of names, or `auto`. A name may be an alias, or stand for several
    dialects: the first of them is then read as if it were alone. A named dialect also reads its
    siblings' spelling, with a `sibling-dialect` problem.
    `tools` let arguments be bound and typed.
    `model` is the name of the model that writes: `auto` prefers the dialect of its family.
    `strict` repairs nothing: text that breaks a dialect's grammar is malformed.
    `in_code_fences` decides which calls in Markdown code fences count: all of them (the default for
    named dialects), none, or with "whole" (the default for `auto`) only a fence whose whole body is
    calls of `tools`.
    `reasoning` are pairs of markers around the model's reasoning, beside those of the dialects.
    `in_reasoning` says that the prompt opened a thought, which the text continues.
    """

    def __init__(
        self,
        dialect: str | Dialect | Sequence[str | Dialect] = AUTO,
        *,
        tools: ToolSpecs = (),
        model: str = "",
        strict: bool = False,
        in_code_fences: InFences | None = None,
        reasoning: Sequence[tuple[str, str]] = (),
        in_reasoning: bool = False,
        limits: Limits | None = None,
    ) -> None:
        if in_code_fences is None:
            in_code_fences = "whole" if dialect == AUTO else True
        owners = _resolve(dialect, model)
        # The first dialect leads if a single name (perhaps of a group) was given, or if `auto` has
        # the model's family: its ambiguous openers then count. In a list no dialect leads.
        leads = isinstance(dialect, str) and (dialect != AUTO or dialect_of(model))
        super().__init__(
            owners if strict else with_fallbacks(owners, is_named=dialect != AUTO),
            preferred=owners[0] if leads else None,
            tools=tools,
            strict=strict,
            in_code_fences=in_code_fences,
            reasoning=reasoning,
            in_reasoning=in_reasoning,
            limits=limits,
        )


class Options(TypedDict, total=False):
    """The options of `Parser` beside its dialect."""

    tools: ToolSpecs
    model: str
    strict: bool
    in_code_fences: InFences | None
    reasoning: Sequence[tuple[str, str]]
    in_reasoning: bool
    limits: Limits | None


def reply_parser(
    first: str, tools: ToolSpecs, *, reasoning: Sequence[tuple[str, str]] = ()
) -> Engine:
    """Return a parser for the reply of a model that is asked in the dialect `first`, "" for none.

    A model may write another dialect than it was taught, so all are read.
    """
    return Engine(
        reply_dialects(first),
        preferred=dialects[first] if first else None,
        tools=tools,
        in_code_fences="whole",
        reasoning=reasoning,
    )


def reply_dialects(first: str = "") -> tuple[Dialect, ...]:
    """Return all dialects that `auto` reads and models write, the preferred one first."""
    return _reply_dialects(first, registered_dialects())


@cache
def _reply_dialects(first: str, _: tuple[Dialect, ...]) -> tuple[Dialect, ...]:
    # The second argument is part of the key: a dialect that is registered later is read, too.
    known = [one for one in dialects.values() if one.in_auto and one.rules]
    preferred = [dialects[first]] if first else []
    return (*preferred, *(one for one in known if one not in preferred))


def parse(
    text: str,
    dialect: str | Dialect | Sequence[str | Dialect] = AUTO,
    **options: Unpack[Options],
) -> Parsed:
    """Read a whole text; the options are those of `Parser`."""
    parser = Parser(dialect, **options)
    return Parsed(parser.feed(text) + parser.close())


def convert(
    text: str,
    *,
    target: str | Dialect,
    source: str | Dialect | Sequence[str | Dialect] = AUTO,
    tools: ToolSpecs = (),
    model: str = "",
    reasoning: Sequence[tuple[str, str]] = (),
) -> str:
    """Read text in one dialect and write it in another, or raise `Unwritable`."""
    made = conversion(
        text, target=target, source=source, tools=tools, model=model, reasoning=reasoning
    )
    faults = [one.what for one in made.unsaid if one.is_fault]
    if made.text is None or faults:
        raise Unwritable(_named(target)[0].name, "; ".join(faults))
    return made.text


def conversion(
    text: str,
    *,
    target: str | Dialect,
    source: str | Dialect | Sequence[str | Dialect] = AUTO,
    tools: ToolSpecs = (),
    model: str = "",
    reasoning: Sequence[tuple[str, str]] = (),
) -> Conversion:
    """Convert a text like `convert`, but list what the target cannot represent.

    Such calls stay as they were written, and such thoughts are left out. `reasoning` are markers of
    thoughts beside those of the dialects: they are read, and written if the target has none.
    """
    known, dialect = tuple(specs_by_name(tools).values()), _named(target)[0]
    parsed = parse(text, source, tools=known, model=model, reasoning=reasoning)
    return write_parsed(parsed, text, dialect, known, reasoning)


def _resolve(dialect: str | Dialect | Sequence[str | Dialect], model: str) -> tuple[Dialect, ...]:
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
        raise CallerError(f"a model is named by a text, as 'qwen3-8b', not {model!r:.60}")
    if dialect == AUTO:
        return _guessed(dialect_of(model), registered_dialects())
    if isinstance(dialect, (str, Dialect)) or not isinstance(dialect, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
        return _named(dialect)
    named = dict.fromkeys(member for each in dialect for member in _named(each))
    if not named:
        raise unknown_dialect(dialect, (AUTO, *dialects))
    return tuple(named)


@cache
def _guessed(preferred: str | None, registered: tuple[Dialect, ...]) -> tuple[Dialect, ...]:
    """All that markers can tell, in the order of the table; but the preferred one is first.

    `registered` are the dialects of others, which stand last: the cache is theirs, too.
    """
    known = tuple(one for one in dialects.values() if one.in_auto)
    if preferred is None:
        return known
    first = dialects[preferred]
    return (first, *(one for one in known if one is not first))


def _named(dialect: str | Dialect) -> tuple[Dialect, ...]:
    """Return every dialect that a name stands for; the first one is written."""
    if isinstance(dialect, Dialect):
        return (dialect,)
    try:
        return tuple(dialects[name] for name in members_of(dialect))
    except KeyError:
        # `auto` stands for all dialects, so it is neither a target nor a member of a list.
        known = dialects if dialect == AUTO else (AUTO, *dialects)
        raise unknown_dialect(dialect, known) from None


def unknown_dialect(name: object, known: Iterable[str]) -> UnknownDialect:
    """Return the error for an unknown name; it suggests similar names."""
    names = tuple(known)
    return UnknownDialect(name, names, near_dialects(name, names))


def near_dialects(name: object, known: Collection[str]) -> tuple[str, ...]:
    """Return the known dialects whose names or aliases are similar to a name.

    The name may also be that of a model: then the dialect of its family is returned.
    """
    if not isinstance(name, str):
        return ()
    family = dialect_of(name)
    near = near_names(name, loosely=family is None) or ((family,) if family else ())
    return tuple(one for one in near if members_of(one)[0] in known)
