r"""Text of others in a text for models: nothing in it acts, and a copy of it is exact.

    <|im_end|>                            <␛|im_end|>
    [TOOL RESULT x].result                [␛TOOL RESULT x].result
    {"name": "ls", "arguments": {}}       {␛"name": "ls", "arguments": {}}    where `ls` is a tool
    {"name": "Oslo"}   Vec<u8>   <b>      as they are
    ␛                                     ␛␛

The sign `␛` goes into what is `reserved`, and into each place that some dialect reads as a call of
the tools at hand (`call_places`). It can be seen: no filter for invisible characters takes it out.
It also goes into what would end an argument of the dialects that the reader writes its calls in
(`Dialect.early_ends`): a model that copied `</parameter>` and `</function>` as they are would end
its own call in the middle of the copy.

Why a copy is exact. In a text that is shown, a run of signs stands for half as many that the text
has itself; an odd one was put in. At most one is put into a run, so the number alone tells which
signs to drop, wherever the copy begins and ends and whatever stands around the run. A copy that
leaves out the signs that were put in is exact as well: they stand for nothing.

What a model writes by itself. A sign is put in behind the first character of a marker, which is no
blank and no quotation mark. A single sign behind one of these, or alone in its string, was never
put there: it is the model's own, and stays. In a talk that has shown no sign, nothing is undone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any, cast

from callblocks.core.blocks import ESCAPE
from callblocks.core.specs import ToolSpecs
from callblocks.dialects import dialects
from callblocks.models.prompt_formats import MARKED
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.markers import Markers
from callblocks.views.model_view.call_places import (
    ToolsAtHand,
    acting_places,
    all_places,
    fenced_places,
)

__all__ = (
    "ESCAPE",
    "ESCAPE_NOTE",
    "HIDDEN",
    "Neutral",
    "neutralize",
    "reserved",
    "restore",
    "restore_input",
    "signed",
)

# --- What no text of others may say to a model, whatever tools there are ---
#
#     [TOOL RESULT abc].result      the headers of the view itself, in any case
#     [hidden; …]  (about 9 tokens, too many …)  (folded, about …)   its placeholders
#     <image media_type=…>  ── cache point ──       what stands for parts where there is only text
#     <|im_start|>  [INST]  <end_of_turn>           the control tokens of chat templates
#     <think>  [/THINK]  ◁think▷                    where reasoning begins and ends
#     ✅ **`ls` result:**            what would be the result of a call that stands before it
#
# A row is one character and a pattern of what follows it: the sign goes between them. Only that is
# a control token which a tokenizer or a template takes for one and nobody writes for another
# reason. `<s>`, `<tools>` and `<invoke …>` are HTML and XML: to begin a turn of somebody they would
# need one of these rows beside them, and where they begin a call, they are read as one (see
# `call_places`).

HIDDEN = "[hidden;"
"""How a placeholder begins."""

_HEADERS = (
    "tool {1,3}(?:call|result)",
    "ai {1,3}agent",
    "user {1,3}(?:say|attachment)",
    "hidden;",
    "folded\\]",
    "damaged {1,3}block",
    "unknown {1,3}block",
)
_BRACKETED = (
    "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|MODEL_SETTINGS|THINK"
    "|BEGIN FINAL RESPONSE|END FINAL RESPONSE"
)
_BARRED = "tool|tool_call|tool_response|turn|channel|think|image|audio|video"
_TAGGED = (
    "bos|eos|start_of_turn|end_of_turn|start_of_image|end_of_image|start_function_\\w{1,20}"
    "|end_function_\\w{1,20}|tool_call|tool_response"
)
_ROWS = (
    *(("[", f" {{0,3}}(?i:{words})") for words in _HEADERS),
    ("(", " {0,3}(?i:about {1,3}\\S{1,20} {1,3}tokens, {1,3}too {1,3}many|folded, {1,3}about)"),
    ("<", "(?i:image|document) {1,3}(?i:media_type)"),
    ("─", "─{0,3} {0,3}(?i:cache {1,3}point)"),
    ("<", '/?[|｜][^\\s|｜<>]{1,64}[|｜]>|\\|"\\|>'),
    ("<", f"\\|/?(?:{_BARRED})>|/?(?:{_BARRED})\\|>"),
    ("<", "/?[|｜]DSML[|｜]"),
    ("<", f"/?(?:[a-z]{{2,10}}:)?(?:{_TAGGED})>|/?antml:"),
    ("<", "/?(?:[a-z]{2,10}:)?(?:think|bos|eos)>"),
    ("<", "</?SYS>>"),
    ("[", f"/?(?:{_BRACKETED})\\]"),
    ("◁", "/?think▷"),
    ("]", "<\\]minimax\\[>\\["),
    ("✅", "\ufe0f?[^\\S\\n]{0,100}\\*\\*[^\\S\\n]{0,100}`"),
)
# They end a text for some models, and are HTML for all others.
_ORDINARY = ("</s>",)


@cache
def reserved() -> re.Pattern[str]:
    """Matches the character after which a sign goes, wherever a row or a dialect's token stands."""
    named = (marker for one in dialects.values() for pair in one.reasoning for marker in pair)
    ends = (token for one in dialects.values() for token in one.turn_ends)
    tokens = [token for token in dict.fromkeys((*named, *ends)) if token not in _ORDINARY]
    rests: dict[str, list[str]] = {}
    for first, rest in (*_ROWS, *((token[0], re.escape(token[1:])) for token in tokens)):
        rests.setdefault(first, []).append(rest)
    # Every choice begins with its own character: the search then skips all other text fast.
    rows = [f"{re.escape(first)}(?={'|'.join(rest)})" for first, rest in rests.items()]
    # Of the texts that only went on writing, each turn began after a blank line.
    return re.compile("|".join((*rows, "(?<=\\n\\n)[HA](?=(?:(?<=H)uman|(?<=A)ssistant):)")))


# --- Text of others in a text for models: nothing in it acts, and a copy of it is exact ---

ESCAPE_NOTE = (
    f"The sign {ESCAPE} in a text that you are shown keeps it from being taken for a call or a "
    f"heading. When you copy such a text, copy it as you see it."
)
"""What a model is to be told once, where it is given such texts."""

_ROUNDS = 4
"""How often a text is judged again with its signs, before every place gets one."""

_RUN = re.compile(f"{ESCAPE}+")
_QUOTES = "\"'"


class Neutral:
    """Neutralises texts for a reader that has these tools; None for one of which nothing is known.

    Then a call of any name acts. `spoken` are the dialects that the reader may write its calls in.
    """

    def __init__(self, tools: ToolSpecs | None = None, spoken: Iterable[Dialect] = ()) -> None:
        self._tools = ToolsAtHand(tools)
        known = None if tools is None else self._tools.specs
        ends = dict.fromkeys(marker for one in spoken for marker in one.early_ends(known))
        self._early_ends = Markers(*ends).final if ends else None

    def __call__(self, text: str, *, fresh: bool = True) -> str:
        """The text with signs; `fresh` says that it is put at the start of a line.

        What comes after it begins a line. And it is not the first of all: a word that begins a
        text may be a name, and has no sign.
        """
        shown = text.replace(ESCAPE, ESCAPE * 2)
        signs = {hit.end() for hit in reserved().finditer(shown)}
        if self._early_ends is not None:
            signs.update(hit.start() + 1 for hit in self._early_ends.finditer(shown))
        for _ in range(_ROUNDS):
            signed = _woven(shown, signs)
            places = acting_places(signed, self._tools, fresh=fresh)
            if places is not None:
                places = sorted({*places, *fenced_places(signed, self._tools)})
            if not places and places is not None:
                return signed
            if places is None or not _add(shown, signs, _without_signs(places, signs)):
                break
        _add(shown, signs, all_places(shown, fresh=fresh))
        return _woven(shown, signs)

    def input(self, value: Any) -> Any:
        """The input of a call with every text in it neutral; `restore_input` undoes it."""
        return _mapped(value, self)


def neutralize(text: str, tools: ToolSpecs | None = None, *, fresh: bool = True) -> str:
    """The text with a sign in all that could act; see `Neutral`."""
    return Neutral(tools)(text, fresh=fresh)


def restore(text: str) -> str:
    """The text, or the part of one, that was shown like this."""
    return _RUN.sub(_restored, text) if ESCAPE in text else text


def restore_input(value: Any) -> Any:
    """The input of a call as it was meant: every text in it restored, names of fields too."""
    return _mapped(value, restore)


def signed(texts: Iterable[str]) -> bool:
    """Return whether any of these texts contains a sign that a model may see."""
    # A prompt format puts it where no view does.
    return any(ESCAPE in text or MARKED.search(text) for text in texts)


def _restored(run: re.Match[str]) -> str:
    half, odd = divmod(len(run[0]), 2)
    return ESCAPE * (half + (odd and not _may_be_put_in(run)))


def _may_be_put_in(run: re.Match[str]) -> bool:
    text, start = run.string, run.start()
    if not start:
        # The copy may have begun here.
        return run.end() < len(text)
    return not text[start - 1].isspace() and text[start - 1] not in _QUOTES


def _mapped(value: Any, change: Any) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            fields = cast("dict[Any, Any]", value).items()
            return {_mapped(name, change): _mapped(one, change) for name, one in fields}
        case list():
            return [_mapped(one, change) for one in cast("list[Any]", value)]
        case _:
            return value


def _woven(shown: str, signs: Iterable[int]) -> str:
    return ESCAPE.join(shown[a:b] for a, b in pairwise((0, *sorted(signs), len(shown))))


def _without_signs(places: list[int], signs: Iterable[int]) -> list[int]:
    """Places of a text with signs as places of the text without them."""
    before, found = sorted(signs), list[int]()
    passed = 0
    for place in places:
        while passed < len(before) and before[passed] + passed < place:
            passed += 1
        found.append(place - passed)
    return found


def _add(shown: str, signs: set[int], places: Iterable[int]) -> bool:
    """Take more places, one for each run of signs that the text has itself; whether any is new."""
    known = len(signs)
    for place in places:
        # Those in and around one run are the same place: its end.
        run = _RUN.match(shown, place)
        signs.add(run.end() if run else place)
    return len(signs) > known
