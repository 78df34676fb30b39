"""Older rounds as one line each, so that a view stays within its budget.

    [TOOL CALL abc] react.write → ok, fi:turn_1.files/a.md; read it again with react.read(…)
    [User say]: (folded, about 900 tokens; read it again with react.read(…))
    [folded]: 12 calls and 3 messages that came before are not listed here; their files, …

Folding changes what a provider has cached, so it is rare: once the budget would be passed, the
view is folded down to half of it. Calls and attachments go first, the oldest before the others;
then prompts, answers and notes; then lines are no longer listed, only counted (see `unlisted`),
first those of calls that nobody needs to see again. The newest round
and the newest prompt stay. Where those alone pass the budget, the texts of the round are left out
one by one, then it is a line like others, then not even that; and last the prompt.

Every folding frees a part of the budget, so that the next one is not due with the next block: a
quarter of it, or half of what a long prompt leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from callblocks.core.json_values import json_text
from callblocks.timeline.codec.call_blocks import result_kind
from callblocks.timeline.timeline import CallKey
from callblocks.views.model_view.section import Scale, Section, header, id_word, word

__all__ = (
    "Folding",
    "Unlisted",
    "again",
    "files_in",
    "files_of",
    "is_message",
    "is_spent",
    "round_line",
    "section_line",
)

# --- The one line that stands for what is folded, and says how to get it back ---
#
# What calls of the kinds `read` and `hide` brought or hid (`react.read`, `react.hide`) can be read
# where it was made: their lines say no more than that they were called.

_MESSAGES = ("user.prompt", "assistant.completion", "react.notes")
_SPENT = ("read", "hide")
_PATHS = 3
_LONGEST = 200
"""Characters of a path, a name or an id that a line can hold."""


def round_line(sections: list[Section]) -> str:
    """Return the line of a call and its result."""
    block = sections[0].block
    results = [one for one in sections if one.block.type == "react.tool.result"]
    faults = (one.status for one in results if one.status != "ok")
    status = next(faults, "ok") if results else "no result"
    name = f"[TOOL CALL {id_word(_short(block.call_id))}] {word(_short(block.tool_id))} → {status}"
    if is_spent(sections[0]):
        return f"{name}\n"
    files = files_in(results)
    others = [section.paragraphs[0].path for section in results]
    told = "".join(f", {word(path)}" for path in files[:_PATHS])
    return f"{name}{told}{again(files or others)}\n"


def section_line(section: Section) -> str:
    """Return the line of a message, or of attachments."""
    how = again([paragraph.path for paragraph in section.paragraphs])
    return f"{header(section.block).rstrip()} (folded, about {section.cost} tokens{how})\n"


def files_in(sections: list[Section]) -> list[str]:
    """The files among results and attachments, each once."""
    paths = [
        one.path
        for section in sections
        for one in section.paragraphs
        if one.is_artifact or section.block.type == "user.attachment"
    ]
    return _readable(paths)


def files_of(section: Section) -> list[str]:
    """The files that a section shows, or that its line stands for."""
    if is_spent(section):
        return []
    return files_in([section]) if section.line is None else section.files


def again(paths: list[str], what: str = "it") -> str:
    """Return the end of a line that says how to read paths again."""
    few = _readable(paths)[:_PATHS]
    return f"; read {what} again with react.read(paths={word(json_text(few))})" if few else ""


def is_message(section: Section) -> bool:
    """Return whether a section is a message of the person or the model."""
    return section.block.type in _MESSAGES


def is_spent(section: Section) -> bool:
    """Return whether a section is of a call whose result is not needed again.

    For a call through `custom`, only the call block has the kind of result; it comes first, and
    counts for the whole call.
    """
    return result_kind(section.block) in _SPENT and not is_message(section)


def _readable(paths: list[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if path and len(path) <= _LONGEST]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


# --- The line for everything that a folded view no longer lists: counts, and names of files ---
#
#     [folded]: 12 calls and 3 messages that came before are not listed here; their files, the
#     newest
#     first: fi:turn_2.files/b.md, fi:turn_1.files/a.md and 7 more; read one again with
#     react.read(…)
#
# That is one line. Files are named as far as an eighth of the budget reaches.

_SHARE = 8


class Unlisted:
    """Counts the unlisted sections. `line` stands for all of them, at the top; "" for none."""

    def __init__(self, scale: Scale) -> None:
        self.line = ""
        self._scale = scale
        self._calls = self._messages = 0
        self._files: dict[str, None] = {}
        self._named = 0
        self._last: CallKey | None = None
        """The call of what was unlisted last, which is counted once."""

    @property
    def room(self) -> int:
        """The number of tokens that the line may still grow by for names of files."""
        return max(0, self._share - self._named)

    @property
    def _share(self) -> int:
        return (self._scale.limit or 0) // _SHARE

    def take(self, section: Section) -> None:
        """Count a section; `settle` makes the line when all are taken."""
        is_call = bool(section.key[1]) and not is_message(section)
        self._calls += is_call and section.key != self._last
        self._messages += not is_call
        self._last = section.key if is_call else self._last
        for path in files_of(section):
            self._files.pop(path, None)
            self._files[path] = None

    def settle(self) -> None:
        """Rewrite the line from the counts."""
        if self._calls or self._messages:
            files = self._named_files()
            self._named = self._scale.text(files)
            counts = f"{self._calls} calls and {self._messages} messages"
            self.line = f"[folded]: {counts} that came before are not listed here{files}\n"

    def _named_files(self) -> str:
        """The files that there is room for; nothing where there is none."""
        newest: list[str] = []
        cost = 0
        for path in reversed(self._files):
            cost += self._scale.text(f", {word(path)}")
            if cost > self._share:
                break
            newest.append(path)
        # What the words around them cost is known only when they stand together.
        while newest and self._scale.text(self._words(newest)) > self._share:
            newest.pop()
        return self._words(newest) if newest else ""

    def _words(self, paths: list[str]) -> str:
        more = len(self._files) - len(paths)
        rest = f" and {more} more" if more else ""
        listed = ", ".join(map(word, paths))
        return f"; their files, the newest first: {listed}{rest}{again(paths[:1], 'one')}"


# --- Older rounds as one line each, so that a view stays within its budget ---


class Folding:
    """The folded part of a view. `generation` counts the foldings."""

    def __init__(self, scale: Scale) -> None:
        self.generation = 0
        self._scale = scale
        self._unlisted = Unlisted(scale)

    @property
    def line(self) -> str:
        """The line that stands for all that is no longer listed, at the top; "" for nothing."""
        return self._unlisted.line

    def cost(self, sections: list[Section]) -> int:
        """Return the tokens of a view of these sections."""
        return self._scale.text(self.line) + sum(section.cost for section in sections)

    def fold(self, sections: list[Section], limit: int) -> list[Section]:
        """Fold down to half the budget; the sections that are left."""
        self.generation += 1
        prompt = [one for one in sections if one.block.type == "user.prompt"][-1:]
        left = self._reduce(sections, limit // 2, [*prompt, *_newest_round(sections)])
        if self.cost(left) > limit:
            goal = max(limit * 3 // 4, (limit + sum(one.cost for one in prompt)) // 2)
            self._leave_out(left, min(goal, limit), prompt)
            if self.cost(left) > goal:
                left = self._reduce(left, goal, prompt)
        if self.cost(left) > limit:
            self._leave_out(left, limit, ())
        return left if self.cost(left) <= limit else self._reduce(left, limit // 2, ())

    def _reduce(self, sections: list[Section], goal: int, kept: Iterable[Section]) -> list[Section]:
        """Fold all but what is kept, and list no more than costs so much."""
        job = _Job(self._scale, sections, self.cost(sections) - goal, kept)
        return job.unlist(job.fold_messages(job.fold_rounds(sections)), self._unlisted)

    def _leave_out(self, sections: list[Section], goal: int, kept: Collection[Section]) -> None:
        """Show of things only headers until they cost so much; messages last."""
        cost = self.cost(sections)
        for section in sorted(sections, key=is_message):
            folded = section.line is not None or section in kept
            for at in range(0 if folded else len(section.paragraphs)):
                if cost <= goal:
                    return
                cost -= section.cost
                section.leave_out(at)
                cost += section.cost


class _Job:
    """One folding: `excess` is how many tokens are still too many."""

    def __init__(
        self, scale: Scale, sections: list[Section], excess: int, kept: Iterable[Section]
    ) -> None:
        self.excess = excess
        self._scale = scale
        self._rounds = _rounds(sections)
        self._kept = {section.first for section in kept}

    def fold_rounds(self, sections: list[Section]) -> list[Section]:
        """Calls with all that belongs to them, and attachments."""
        gone: set[int] = set()
        for section in sections:
            if self.excess <= 0:
                break
            if section.first in gone or not self._may_fold(section) or is_message(section):
                continue
            if section.first in self._rounds:
                gone |= self._fold_round(self._rounds[section.first])
            elif section.block.type == "user.attachment":
                self._fold(section, section_line(section), files_in([section]))
        return [section for section in sections if section.first not in gone]

    def fold_messages(self, sections: list[Section]) -> list[Section]:
        """Prompts, answers and notes, where their line is shorter."""
        for section in sections:
            if self.excess <= 0:
                break
            if self._may_fold(section) and is_message(section):
                line = section_line(section)
                if self._scale.text(line) < section.cost:
                    self._fold(section, line, [])
        return sections

    def unlist(self, sections: list[Section], unlisted: Unlisted) -> list[Section]:
        """The sections that are still listed; the oldest are only counted."""
        gone: set[int] = set()
        room = unlisted.room
        for section in sorted(sections, key=lambda one: not is_spent(one)):
            if self.excess <= 0:
                break
            if section.first not in self._kept:
                gone.add(section.first)
                self.excess -= section.cost
                if files_of(section):
                    # The line becomes longer, by no more than there is room for.
                    self.excess += room
                    room = 0
                unlisted.take(section)
        unlisted.settle()
        return [section for section in sections if section.first not in gone]

    def _may_fold(self, section: Section) -> bool:
        return section.line is None and section.first not in self._kept

    def _fold(self, section: Section, line: str, files: list[str]) -> None:
        self.excess -= section.cost
        section.fold(line, files)
        self.excess += section.cost

    def _fold_round(self, sections: list[Section]) -> set[int]:
        """The first section gets the line; the numbers of the others, which show nothing."""
        first, *others = sections
        self._fold(first, round_line(sections), files_in(sections))
        self.excess -= sum(section.cost for section in others)
        return {section.first for section in others}


def _newest_round(sections: list[Section]) -> list[Section]:
    """The last section, and those of the same call."""
    return [sections[-1], *_rounds(sections).get(sections[-1].first, ())]


def _rounds(sections: list[Section]) -> dict[int, list[Section]]:
    """For each section of a call, those that belong to the same call and are not folded.

    An id may come again in its turn: a call after results is another one.
    """
    rounds: dict[int, list[Section]] = {}
    running: dict[CallKey, list[Section]] = {}
    for section in sections:
        if not section.key[1] or is_message(section) or section.line is not None:
            continue
        opens = section.block.type in ("react.tool.code", "react.tool.call")
        own = running.get(section.key)
        if own is None or (opens and own[-1].block.type not in ("react.tool.code",)):
            own = running[section.key] = []
        own.append(section)
        rounds[section.first] = own
    return rounds
