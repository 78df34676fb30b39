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

from callblocks.timeline.rounds import CallKey
from callblocks.views.model_view.folded import (
    files_in,
    files_of,
    is_message,
    is_spent,
    round_line,
    section_line,
)
from callblocks.views.model_view.section import Scale, Section
from callblocks.views.model_view.unlisted import Unlisted

__all__ = ("Folding",)


class Folding:
    """What of a view is folded. `generation` counts how often it was folded anew."""

    def __init__(self, scale: Scale) -> None:
        self.generation = 0
        self._scale = scale
        self._unlisted = Unlisted(scale)

    @property
    def line(self) -> str:
        """The line that stands for all that is no longer listed, at the top; "" for nothing."""
        return self._unlisted.line

    def cost(self, sections: list[Section]) -> int:
        """What a view of these sections costs."""
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
