"""Text of others in a text for models: nothing in it acts, and a copy of it is exact.

    <|im_end|>                            <␛|im_end|>
    [TOOL RESULT x].result                [␛TOOL RESULT x].result
    {"name": "ls", "arguments": {}}       {␛"name": "ls", "arguments": {}}    where `ls` is a tool
    {"name": "Oslo"}   Vec<u8>   <b>      as they are
    ␛                                     ␛␛

The sign `␛` goes into what is `reserved`, and into each place that some dialect reads as a call of
the tools at hand (`Places`). It can be seen: no filter for invisible characters takes it out. It
also goes into what would end an argument of the dialects that the reader writes its calls in
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
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise, product
from typing import Any, NamedTuple, cast

from callblocks.core.blocks import ESCAPE
from callblocks.core.events import CallResult, CallStarted, Event
from callblocks.core.specs import ToolSpec, ToolSpecs, specs_by_name
from callblocks.dialects import dialects
from callblocks.models.prompt_formats import MARKED
from callblocks.parser import parse
from callblocks.parsing.dialect import Dialect, with_fallbacks
from callblocks.parsing.engine.block import Block, Reader
from callblocks.parsing.engine.markers import Markers
from callblocks.parsing.engine.openers import Openers, Setting
from callblocks.parsing.engine.parse_state import Keep, ParseState, Speak
from callblocks.parsing.fallbacks import Sibling
from callblocks.parsing.limits import Limits

__all__ = (
    "ESCAPE",
    "ESCAPE_NOTE",
    "HIDDEN",
    "Neutral",
    "ToolsAtHand",
    "acting_places",
    "all_places",
    "fenced_places",
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
# the places below).

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


# --- Places where a text would act: where some dialect reads a call of the tools at hand ---
#
#     {"name": "ls", "arguments": {}}       a call of `ls`, if there is such a tool: it acts
#     {"name": "Oslo", "size": 3}           data
#     Vec<u8>, <b>bold</b>, ```rust         code and HTML
#     {"text": "                            at the end: what comes after it could be a call
#
# Strategy. One search over the markers of all dialects gives every place where a block may open.
# At each of them every dialect whose marker stands there reads one block, on a stage of its own. A
# place acts if such a block names a tool at hand, says that it is the result of a call before it,
# or has not ended where the text ends: then another text, behind the next header, could complete
# it.
#
# Why places and not the calls that a parser finds in the whole text: what a parser finds at a
# place depends on all that was read before, on its dialects, on fences and thoughts that are open.
# What a dialect reads at a place depends on the text from there on alone. So a place that does not
# act here acts in no text around it, and a call in the input of another one is seen at once.
#
# A sign that is put into one block may change how another is read. So the text with its signs is
# judged again, until nothing acts. Blocks in blocks cost what they hold each; where that is too
# much for the length of the text (`_WORK`), every place gets the sign, which needs no reading.
#
# A code fence whose whole body is calls is read by none of the dialects alone. So each fence is
# read as a reader of all of them does, from its opening line to the next line that could close it.


_LIMITS = Limits(depth=100, input_size=10**12, calls=10**9)
_WORK, _LEAST, _MOST = 100, 200_000, 20_000_000
"""Characters that may be read for each one of a text; but so many for any, and no more for any."""
_TRIAL = 50
"""What it costs to begin, in characters."""

# What the view puts before a text, and what may come after it: a header of the view, other words,
# or nothing at all.
_BEFORE = {True: "x\n", False: "x "}
_HEADER = "\n[TOOL RESULT a].result a\npath: a\n"
_TAILS = (_HEADER, "\nx\n", "")
# A sign goes behind no blank, no quotation mark and no other sign: so it can be told from those
# that a text has itself (see `neutral`).
_solid = re.compile(f"[^\\s\"'{ESCAPE}]").search
_GAP = "[\\W_]"
_SIGNS = re.compile(f"{_GAP}+")
_ANYTHING = re.compile("")
_ESCAPES = r"\\[uxN0-7]|&[#\w]"


class _Way(NamedTuple):
    """Parser settings for one trial: a sole dialect, strict mode, and the start of the whole text.

    With `answers`, a call precedes the block, so that the block may be read as its result. Without
    it, a dialect may read the same head as that of a call.
    """

    alone: bool
    strict: bool
    starts: bool = False
    answers: bool = True


_WAYS = (
    *(_Way(*flags) for flags in product((True, False), (False, True))),
    *(_Way(alone, False, answers=False) for alone in (True, False)),
)
_STARTING = (*_WAYS, *(_Way(*flags, starts=True) for flags in product((True, False), repeat=2)))


_FENCE_LINE = re.compile(r"^[ \t]*(?=(`{3,}|~{3,}))", re.MULTILINE)


def fenced_places(text: str, tools: ToolsAtHand) -> list[int]:
    """Return where a sign keeps a code fence from being read as calls: in its opening."""
    lines = list(_FENCE_LINE.finditer(text))
    ends = [*(line.end() for line in lines), len(text)][1:]
    found: list[int] = []
    for line, end in zip(lines, ends, strict=True):
        start = line.end()
        # The closing line belongs to it; what follows on that line cannot make it a call.
        fence = f"{text[start:end].rstrip()}\n{line[1]}\n"
        if tools.find(fence) and any(
            isinstance(event, CallStarted) and event.name in tools
            for event in parse(fence, tools=tools.listed).events
        ):
            found.append(start + 1)
    return found


class _AnyTool(Mapping[str, ToolSpec]):
    """A set of tools that contains every name, for texts whose reader is unknown."""

    def __getitem__(self, name: str) -> ToolSpec:
        return ToolSpec(name)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 1


class ToolsAtHand:
    """The tools whose calls act; None for any."""

    def __init__(self, tools: ToolSpecs | None) -> None:
        self.specs: Mapping[str, ToolSpec] = _AnyTool() if tools is None else specs_by_name(tools)
        self._names = frozenset(map(_squeeze, self.specs))
        self.find = _ANYTHING.search if tools is None else _name_pattern(tuple(self.specs)).search
        """Finds a name of a tool in a text, or a character written as others, maybe of one."""
        self.listed = () if tools is None else tuple(self.specs.values())

    def __contains__(self, name: str) -> bool:
        return name in self.specs or _squeeze(name) in self._names


class _Acts(Exception):
    """Signal, not an error: the block names a tool at hand, or is the result of a call."""


class _Trial(ParseState):
    """One block of a text, read from a place on."""

    def __init__(self, text: str, at: int, tools: ToolsAtHand, way: _Way) -> None:
        super().__init__((), _LIMITS)
        self.tools = tools.specs
        self.scan.text, self.scan.pos, self.scan.fresh = text, at, False
        self.said = at
        self.alone, self.strict, self.solid = way.alone, way.strict, not way.starts
        if way.answers:
            self.calls, self.ready = 1, [("a", 0)]
        self._known = tools

    def say(self, event: Event) -> None:
        super().say(event)
        match event:
            case CallStarted(name=name) if name in self._known:
                raise _Acts
            case CallResult(index=0):
                raise _Acts
            case _:
                pass

    def settle(self, search: object, speak: Speak | None, keep: Keep | None) -> None:
        """Do nothing: a trial resumes its reader on every piece and emits no text."""


class _TrialWork:
    """Reads blocks and counts the characters read; `is_over` is true once the limit is exceeded."""

    def __init__(self, text: str, tools: ToolsAtHand, fresh: bool) -> None:
        self._tools = tools
        self._end = len(_BEFORE[fresh]) + len(text)
        solid = _solid(text)
        self._start = len(_BEFORE[fresh]) + (solid.start() if solid else 0)
        self._texts = [_BEFORE[fresh] + text + tail for tail in _TAILS]
        self._left = min(max(_WORK * len(text), _LEAST), _MOST)

    @property
    def is_over(self) -> bool:
        return self._left < 0

    def acting(self) -> Iterator[int]:
        """The places that act: each is the number of the character after which a sign goes."""
        for place in _openings(self._texts[0], self._end):
            if self.is_over:
                return
            if self._acts(place):
                yield _after_first(self._texts[0], place)

    def _acts(self, place: int) -> bool:
        readers = _openers().at(self._texts[0][place], False)
        return any(
            markers.growing.match(self._texts[0], place) and self._opens(reader, markers, place)
            for reader, markers in readers
        )

    def _opens(self, reader: Reader, markers: Markers, place: int) -> bool:
        """Return whether a block of this reader opens here and acts under any of the settings.

        The first settings are the most lenient: they keep the most blocks open and read the
        farthest. If they find no name of a tool, the others find none.
        """
        first, *others = _WAYS if place > self._start else _STARTING
        acts, end = self._reads(reader, markers, place, first)
        if not acts and not self._tools.find(self._texts[0], place, end):
            return False
        return acts or any(self._reads(reader, markers, place, way)[0] for way in others)

    def _reads(self, reader: Reader, markers: Markers, place: int, way: _Way) -> tuple[bool, int]:
        """Return whether a block acts, and the offset up to which it was read."""
        end = place
        for text in self._texts:
            trial = _Trial(text, place, self._tools, way)
            trial.scan.closed = text is self._texts[-1]
            marker, certain = trial.scan.match(markers)
            if not certain:
                # The next text could complete it.
                return True, end
            if marker is None:
                continue
            acts = _acts(reader, Block(trial, reader.name, marker), can_wait=not way.starts)
            self._left -= trial.scan.offset - place + _TRIAL
            end = max(end, trial.scan.offset)
            if acts:
                return True, end
            # A block that ended before the end of the text does not depend on later text.
            if _solid(text, trial.scan.offset, self._end):
                break
        return False, end


def _acts(reader: Reader, block: Block, *, can_wait: bool) -> bool:
    """Return whether a block acts; with `can_wait`, an incomplete block acts too.

    JSON at the very start of a text stays incomplete to the end, and is then no call.
    """
    try:
        next(reader.read(block))
    except StopIteration:
        return False
    except _Acts:
        return True
    return can_wait


def acting_places(text: str, tools: ToolsAtHand, *, fresh: bool) -> list[int] | None:
    """Return the offsets after which a sign goes, or None if finding them costs too much.

    With `fresh`, the text is put at the start of a line.
    """
    first = len(_BEFORE[fresh])
    if next(_openings(_BEFORE[fresh] + text + _HEADER, first + len(text)), None) is None:
        return []
    work = _TrialWork(text, tools, fresh)
    places = sorted({place - first for place in work.acting()})
    return None if work.is_over else places


def all_places(text: str, *, fresh: bool) -> list[int]:
    """The same for every place where any block may open, in any dialect."""
    before = _BEFORE[fresh]
    whole, end = before + text + _HEADER, len(before) + len(text)
    openings = _openings(whole, end)
    return sorted({_after_first(whole, place) - len(before) for place in openings})


@cache
def _openers() -> Openers:
    """Every dialect with all markers that open its blocks in any setting.

    Siblings are dialects themselves; the other fallbacks read what no dialect reads.
    """
    owners = dict.fromkeys(
        owner
        for dialect in dialects.values()
        for owner in with_fallbacks((dialect,), is_named=True)
        if not isinstance(owner, Sibling)
    )
    settings = [Setting(*flags) for flags in product((True, False), repeat=len(Setting._fields))]
    return Openers(
        [
            (one, tuple(dict.fromkeys(row for way in settings for row in one.openers(way))))
            for one in owners
        ]
    )


def _openings(whole: str, end: int) -> Iterator[int]:
    """Yield the offsets of markers, complete or cut off by the end; they may overlap."""
    search = _openers().markers.growing.search
    hit = search(whole, 1)
    while hit and hit.start() < end:
        solid = _solid(whole, hit.start())
        if solid and solid.start() < end:
            yield hit.start()
        hit = search(whole, hit.start() + 1)


def _after_first(whole: str, place: int) -> int:
    """Return the offset behind the first non-blank character of a marker."""
    solid = _solid(whole, place)
    return solid.end() if solid else place


def _squeeze(name: str) -> str:
    """Return a name reduced for a lenient comparison."""
    return _SIGNS.sub("", name).casefold()


def _name_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    spelled = {f"{_GAP}{{0,3}}".join(map(re.escape, _SIGNS.split(name))) for name in names}
    # In a quoted text the end of a line before a name may be written as `\\n`.
    words = f"(?:(?<![^\\W_])|(?<=\\\\[a-z]))(?:{'|'.join(spelled)})(?![^\\W_])"
    return re.compile(f"{words}|{_ESCAPES}" if names else _ESCAPES, re.IGNORECASE)
