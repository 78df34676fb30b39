"""The tags of a dialect with arguments in tags, and the sets of tags that may follow each."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.shapes.tags import BLANKS, NOTHING, Tag, closing, head

__all__ = ("Beside", "XmlTags")

_ANY_CLOSING = Shape(("<", "/", "[^<>\\s]{1,60}", ">"))
_STRAY = "[^<>]{1,40}"
_JSON = Shape((BLANKS, "\\{"))


class Beside(NamedTuple):
    """Text that may stand in a call, or behind it, in place of an argument or its end.

    `json_bodies`: a JSON object may stand for the arguments; in other dialects that is a repair.
    `json_element`: an opening tag, with the brace, and an end tag around such an object. `outer`:
    tags that end the message around a call, and so the call.
    """

    json_bodies: bool = False
    json_element: tuple[Shape, Shape] | None = None
    outer: tuple[str, ...] = ()


ONLY_ARGUMENTS = Beside()


class XmlTags:
    """The tags of a dialect; there may be no wrapper.

    `beside`: text that a call may hold other than arguments.

    Each set of markers belongs to a state of the reader: `first` in the wrapper, `inside` a call,
    `value_ends` within a value, and one behind each end. `begun` is the beginning of an argument,
    which makes a call certain.
    """

    def __init__(
        self,
        *,
        call: Tag,
        call_end: Tag,
        argument: Tag,
        argument_end: Tag,
        wrapper: Tag = NOTHING,
        wrapper_end: Tag = NOTHING,
        beside: Beside = ONLY_ARGUMENTS,
    ) -> None:
        self.call, self.call_end = call, call_end
        self.argument, self.argument_end = argument, argument_end
        self.wrapper, self.wrapper_end = wrapper, wrapper_end
        self.has_wrapper = wrapper is not NOTHING
        # One set of markers per state. Each tag has blanks before it, so that a tag and its
        # indentation are one marker and no blank is consumed without a tag behind it.
        ends = (call_end, wrapper_end)
        self.first = _after_blanks(call)
        within = (argument, *ends, *((call,) if self.has_wrapper else ()))
        element, element_end = beside.json_element or (None, None)
        objects = [Shape((BLANKS, *element.atoms)), _JSON] if element else [_JSON]
        self.json_bodies = beside.json_bodies
        self.outer = closing(*beside.outer) if beside.outer else NOTHING
        wrapped_calls = self._wrapped_calls()
        self.inside = Markers(*_spaced(*within, self.outer), *wrapped_calls, *objects)
        self.begun = Markers(*(Shape((BLANKS, *head(one).atoms)) for one in argument.exact))
        self.after_argument = Markers(*_spaced(argument, call, *ends, self.outer), *wrapped_calls)
        self.after_call = _after_blanks(call, wrapper_end)
        self.wrapper_ends = _after_blanks(wrapper_end)
        self.after_wrapper = Markers(*wrapped_calls)
        # Within a value any closing tag stops the stream: a misspelt `</param>` must be looked at,
        # too, and `XmlCall` decides whether it is an end or part of the value.
        outer = (shape for tag in (argument_end, *ends) for shape in tag.shapes)
        self.value_ends = Markers(*outer, _ANY_CLOSING)
        self.call_ends = Markers(*(shape for tag in ends for shape in tag.shapes))
        self.after_element = _after_blanks(*ends)
        self.element_end = Tag("", element_end) if element_end else NOTHING
        self.element_ends = Markers(*self.element_end.shapes, *self.call_ends.shapes)

    @cached_property
    def skipped_to(self) -> Markers:
        """The tags that end a call whose arguments cannot be read."""
        return Markers(*self.call_ends.shapes, *self.call.shapes)

    @cached_property
    def after_stray(self) -> Markers:
        """A few words after a call in its wrapper, and the tag that follows them."""
        return Markers(*_spaced(*(self.wrapper_end, self.call), before=_STRAY))

    @cached_property
    def argument_marks(self) -> re.Pattern[str]:
        """The tags that open and close arguments, to be searched for in a value."""
        return Markers(*self.argument.shapes, *self.argument_end.shapes).final

    def bare(self, tag: str) -> str:
        """Return a tag without the blanks, and the opening of a wrapper, before it."""
        bare = tag.lstrip()
        return self.wrapper.cut_off(bare).lstrip() if self.wrapper.is_in(bare) else bare

    def is_call_or_wrapper_end(self, tag: str) -> bool:
        """Return whether a tag ends a call, or the wrapper."""
        return self.call_end.is_in(tag) or self.wrapper_end.is_in(tag)

    @property
    def openers(self) -> tuple[Shape, ...]:
        """The tags that may open a block."""
        return (*(self.wrapper.shapes if self.has_wrapper else ()), *self.call.shapes)

    def _wrapped_calls(self) -> list[Shape]:
        openings = list(self.wrapper.after(BLANKS))
        return [shape for opening in openings for shape in self.call.after(*opening.atoms, BLANKS)]


def _spaced(*tags: Tag, before: str = BLANKS) -> list[Shape]:
    return [shape for tag in tags for shape in tag.after(before)]


def _after_blanks(*tags: Tag) -> Markers:
    return Markers(*_spaced(*tags))
