"""Read text by the names of dialects; write it in another.

    parsed = parse(text, dialect="emoji-bracket")
    parser = Parser(dialect=["tool-fence", "emoji-bracket"])
    convert(text, source="auto", target="tool-fence")

`auto` is every dialect that can be told by its markers: whichever opens first owns the text
until its block ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from callblocks.dialects import dialects
from callblocks.model.errors import UnknownDialect
from callblocks.model.specs import ToolSpecs
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine import Engine
from callblocks.parsing.limits import Limits
from callblocks.parsing.parsed import Parsed

__all__ = ("AUTO", "Parser", "convert", "parse")

AUTO = "auto"


class Parser(Engine):
    """Fed pieces of text, answers with events; `close` says that the text is over.

    `dialect` is a name, a list of names, or `auto`. `tools` let arguments be bound and typed.
    `strict` repairs nothing: what breaks a dialect's grammar is malformed.
    `in_code_fences` says whether calls quoted in Markdown code fences are calls: yes where
    dialects are named, no with `auto`, which guesses. `reasoning` names pairs of markers that
    wrap what the model thinks, beside those that a dialect has. `in_reasoning` says that the
    prompt opened a thought, which the text goes on with.
    """

    def __init__(
        self,
        dialect: str | Dialect | Sequence[str | Dialect] = AUTO,
        *,
        tools: ToolSpecs = (),
        strict: bool = False,
        in_code_fences: bool | None = None,
        reasoning: Sequence[tuple[str, str]] = (),
        in_reasoning: bool = False,
        limits: Limits | None = None,
    ) -> None:
        if in_code_fences is None:
            in_code_fences = dialect != AUTO
        super().__init__(
            _resolve(dialect),
            tools=tools,
            strict=strict,
            in_code_fences=in_code_fences,
            reasoning=reasoning,
            in_reasoning=in_reasoning,
            limits=limits,
        )


def parse(
    text: str,
    dialect: str | Dialect | Sequence[str | Dialect] = AUTO,
    *,
    tools: ToolSpecs = (),
    strict: bool = False,
    in_code_fences: bool | None = None,
    reasoning: Sequence[tuple[str, str]] = (),
    in_reasoning: bool = False,
    limits: Limits | None = None,
) -> Parsed:
    """Read a whole text; the options are those of `Parser`."""
    parser = Parser(
        dialect,
        tools=tools,
        strict=strict,
        in_code_fences=in_code_fences,
        reasoning=reasoning,
        in_reasoning=in_reasoning,
        limits=limits,
    )
    return Parsed(parser.feed(text) + parser.close())


def convert(
    text: str,
    *,
    target: str | Dialect,
    source: str | Dialect | Sequence[str | Dialect] = AUTO,
    tools: ToolSpecs = (),
) -> str:
    """Read text in one dialect and write it in another, or raise `Unwritable`."""
    known = tuple(tools)
    dialect = _named(target)
    return dialect.write(parse(text, source, tools=known).items, known)


def _resolve(dialect: str | Dialect | Sequence[str | Dialect]) -> tuple[Dialect, ...]:
    if dialect == AUTO:
        return tuple(known for known in dialects.values() if known.in_auto)
    if isinstance(dialect, str | Dialect) or not isinstance(dialect, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
        return (_named(dialect),)
    named = tuple(map(_named, dialect))
    if not named:
        raise UnknownDialect(dialect, (AUTO, *dialects))
    return named


def _named(dialect: str | Dialect) -> Dialect:
    if isinstance(dialect, Dialect):
        return dialect
    if not isinstance(dialect, str) or dialect not in dialects:  # pyright: ignore[reportUnnecessaryIsInstance] callers err
        # `auto` is all of them: it is no dialect to write, nor one of a list.
        raise UnknownDialect(dialect, dialects if dialect == AUTO else (AUTO, *dialects))
    return dialects[dialect]
