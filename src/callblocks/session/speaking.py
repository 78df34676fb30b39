"""The speaker of a turn, as chosen: its model, and how its replies are read.

A model that thinks for itself is taught the dialect, and only that is read. One that plays scripts
has its text put into it; what the dialect cannot say stays as it is written, so all are read.
"""

from __future__ import annotations

from collections.abc import Callable

from callblocks.dialects import dialects
from callblocks.model.errors import Unwritable
from callblocks.models.scenario import scenarios_of
from callblocks.parser import AUTO, Parser, convert
from callblocks.parsing.openers import InFences
from callblocks.session.choosing import Choice, Offers, taught_dialects
from callblocks.session.settings import SessionSettings
from callblocks.session.speaker import Speaker
from callblocks.tools.registry import Registry

__all__ = ("speaker_of",)


def speaker_of(
    offers: Offers, choice: Choice, tools: Registry, settings: SessionSettings
) -> Speaker:
    """Who replies in a turn of that choice."""
    offered = offers.chosen(choice)
    reads, writes = taught_dialects(offered.dialect)
    # Where any dialect may be meant, a code fence is a quotation unless all of it is calls.
    guesses = offered.dialect == AUTO
    translate = None
    if choice.dialect and not guesses and scenarios_of(offered.model):
        guesses, translate = True, _translator(choice.dialect, tools, settings)
        others, _ = taught_dialects(AUTO)
        reads = [writes, *(one for one in others if one is not writes)]

    def parser() -> Parser:
        fences: InFences = "whole" if guesses else True
        return Parser(reads, tools=tools, in_code_fences=fences, reasoning=settings.reasoning)

    grammar = writes.grammar(tools, "gbnf") if settings.grammar else ""
    return Speaker(offered.model, parser, grammar, choice.scenario, translate)


def _translator(dialect: str, tools: Registry, settings: SessionSettings) -> Callable[[str], str]:
    target = dialects[dialect]

    def translate(text: str) -> str:
        try:
            return convert(text, target=target, tools=tools, reasoning=settings.reasoning)
        except Unwritable:
            return text

    return translate
