"""Models of known quality: right in a given share of trials, by how they are asked.

    SkilledModel(tasks, {"hermes": 0.9, "emoji-bracket": 0.6})      opened as a setup says

It knows the examples of the tasks, and whether it is right in a trial follows from its seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, Mapping, Sequence

from callblocks.core.blocks import text_of
from callblocks.core.calls import Call
from callblocks.dialects import dialects
from callblocks.evals.task import Task
from callblocks.evals.trials import Setup
from callblocks.models.model import (
    NATIVE,
    NativeDelta,
    Piece,
    Request,
    Spoken,
    Stopped,
    Usage,
    UsedMode,
)

__all__ = ("MARKS", "SkilledModel", "right_answer")

MARKS = {"hermes": "<tool_call>", "emoji-bracket": "🛠️[", "tool-fence": "```tool"}
"""What stands in the prompt that teaches a dialect, and in no other's."""


def right_answer(task: Task) -> str:
    """Return what may stand beside the right calls of a task."""
    if task.asks:
        return f"Could you tell me: {task.asks[0]}?"
    return task.says[0] if task.says else "Well."


class SkilledModel:
    """A model that does tasks by their examples. Its skills are by the name of a setup."""

    writes_results = False

    def __init__(
        self,
        tasks: Sequence[Task],
        skills: Mapping[str, float],
        setup: Setup | None = None,
    ) -> None:
        self.name = "skilled"
        self.mode: UsedMode = "native" if setup is not None and setup.native else "text"
        self.asked = 0
        self._tasks, self._skills = tasks, skills

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.asked += 1
        task = next(task for task in self._tasks if task.prompt in request.prompt)
        name = self._setup(request)
        seed = f"{request.extra.get('seed')} {name}"
        is_right = random.Random(seed).random() < self._skills.get(name, 0.0)
        answer = right_answer(task)
        if not is_right:
            # A call that is wrong in every task, or nothing of what should be said.
            yield Spoken("No idea.")
            if not task.calls and task.tools:
                for piece in self._calls([Call(id="w", name=task.tools[0].name)], task, name):
                    yield piece
        else:
            calls = [
                Call(id=f"c{number}", name=call.name, input=call.example())
                for number, call in enumerate(task.calls, 1)
            ]
            # A chain has one call in each round.
            own = calls[request.round - 1 : request.round] if task.rounds > 1 else calls
            yield Spoken(f"{answer} ")
            for piece in self._calls(own, task, name):
                yield piece
        yield Usage(tokens_in=100, tokens_out=20)
        yield Stopped("stop")

    async def close(self) -> None: ...

    def _setup(self, request: Request) -> str:
        if self.mode == "native":
            return NATIVE
        taught = text_of(list(request.messages[0].parts))
        name = next(name for name, mark in MARKS.items() if mark in taught)
        return f"{name} + grammar" if request.grammar else name

    def _calls(self, calls: Sequence[Call], task: Task, name: str) -> list[Piece]:
        if self.mode == "native":
            return [
                NativeDelta(slot, call.id, call.name, json.dumps(call.input))
                for slot, call in enumerate(calls)
            ]
        if not calls:
            return []
        dialect = dialects[name.removesuffix(" + grammar")]
        return [Spoken(dialect.write(["\n", *calls], task.tools))]
