"""Older rounds as one line each, so that a view stays within its budget.

    [TOOL CALL abc] react.write → ok, fi:turn_1.files/a.md; read it again with react.read(…)
    [User say]: (folded, about 900 tokens; read it again with react.read(…))
    [folded]: 12 calls and 3 messages that came before are not listed here

Folding changes what a provider has cached, so it is rare: once the budget would be passed, the
view is folded down to half of it. Calls and attachments go first, the oldest before the others;
then prompts, answers and notes; then lines are no longer listed, only counted. The newest round
and the newest prompt stay. Where those alone pass the budget, their texts are left out one by one.
"""

from __future__ import annotations

from callblocks.timeline.rounds import CallKey
from callblocks.views.model_view.folded import round_line, section_line
from callblocks.views.model_view.section import Scale, Section

__all__ = ("Folding",)

_MESSAGES = ("user.prompt", "assistant.completion", "react.notes")


class Folding:
    """What of a view is folded. `generation` counts how often it was folded anew."""

    def __init__(self, scale: Scale) -> None:
        self.generation = 0
        self._scale = scale
        self._calls = 0
        self._messages = 0

    @property
    def line(self) -> str:
        """The line that stands for all that is no longer listed, at the top; "" for nothing."""
        if not self._calls and not self._messages:
            return ""
        counts = f"{self._calls} calls and {self._messages} messages"
        return f"[folded]: {counts} that came before are not listed here\n"

    def cost(self, sections: list[Section]) -> int:
        """What a view of these sections costs."""
        return self._scale.text(self.line) + sum(section.cost for section in sections)

    def fold(self, sections: list[Section], limit: int) -> list[Section]:
        """Fold down to half the budget; the sections that are left."""
        self.generation += 1
        job = _Job(self._scale, sections, self.cost(sections) - limit // 2)
        left = job.unlist(job.fold_messages(job.fold_rounds(sections)))
        self._calls += job.calls
        self._messages += job.messages
        self._leave_out(left, limit)
        return left

    def _leave_out(self, sections: list[Section], limit: int) -> None:
        """Where too much is left, show of the newest things only headers, the prompt last."""
        cost = self.cost(sections)
        for section in sorted(sections, key=_is_message):
            for at in range(len(section.paragraphs) if section.line is None else 0):
                if cost <= limit:
                    return
                cost -= section.cost
                section.leave_out(at)
                cost += section.cost


class _Job:
    """One folding: `excess` is how many tokens are still too many."""

    def __init__(self, scale: Scale, sections: list[Section], excess: int) -> None:
        self.excess = excess
        self.calls = self.messages = 0
        self._scale = scale
        self._rounds = _rounds(sections)
        prompts = (one for one in reversed(sections) if one.block.type == "user.prompt")
        newest = [sections[-1], *self._rounds.get(sections[-1].first, ()), *list(prompts)[:1]]
        self._kept = {section.first for section in newest}

    def fold_rounds(self, sections: list[Section]) -> list[Section]:
        """Calls with all that belongs to them, and attachments."""
        gone: set[int] = set()
        for section in sections:
            if self.excess <= 0:
                break
            if section.first in gone or not self._may_fold(section) or _is_message(section):
                continue
            if section.first in self._rounds:
                gone |= self._fold_round(self._rounds[section.first])
            elif section.block.type == "user.attachment":
                self._fold(section, section_line(section))
        return [section for section in sections if section.first not in gone]

    def fold_messages(self, sections: list[Section]) -> list[Section]:
        """Prompts, answers and notes, where their line is shorter."""
        for section in sections:
            if self.excess <= 0:
                break
            if self._may_fold(section) and _is_message(section):
                line = section_line(section)
                if self._scale.text(line) < section.cost:
                    self._fold(section, line)
        return sections

    def unlist(self, sections: list[Section]) -> list[Section]:
        """The sections that are still listed; the oldest are only counted."""
        left: list[Section] = []
        for section in sections:
            if self.excess <= 0 or section.first in self._kept:
                left.append(section)
                continue
            self.excess -= section.cost
            self.messages += _is_message(section) or not section.key[1]
            self.calls += bool(section.key[1]) and not _is_message(section)
        return left

    def _may_fold(self, section: Section) -> bool:
        return section.line is None and section.first not in self._kept

    def _fold(self, section: Section, line: str) -> None:
        self.excess -= section.cost
        section.fold(line)
        self.excess += section.cost

    def _fold_round(self, sections: list[Section]) -> set[int]:
        """The first section gets the line; the numbers of the others, which show nothing."""
        first, *others = sections
        self._fold(first, round_line(sections))
        self.excess -= sum(section.cost for section in others)
        return {section.first for section in others}


def _rounds(sections: list[Section]) -> dict[int, list[Section]]:
    """For each section of a call, those that belong to the same call and are not folded.

    An id may come again in its turn: a call after results is another one.
    """
    rounds: dict[int, list[Section]] = {}
    running: dict[CallKey, list[Section]] = {}
    for section in sections:
        if not section.key[1] or _is_message(section) or section.line is not None:
            continue
        opens = section.block.type in ("react.tool.code", "react.tool.call")
        own = running.get(section.key)
        if own is None or (opens and own[-1].block.type not in ("react.tool.code",)):
            own = running[section.key] = []
        own.append(section)
        rounds[section.first] = own
    return rounds


def _is_message(section: Section) -> bool:
    return section.block.type in _MESSAGES
