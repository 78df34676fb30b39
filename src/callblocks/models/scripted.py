"""The model that plays scripts: a folder of Markdown transcripts, matched to a person's words.

    model = ScriptedModel()                      # the scripts that come with callblocks
    model = ScriptedModel(Path("talks"), pace=0)

See `callblocks.models.script` for the form of a transcript. A fence that carries its own output is
a call with its result; that is why this model, alone of all, writes results.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

from callblocks.model.errors import CallerError
from callblocks.model.parts import text_of
from callblocks.models.filling import fill, plain_line
from callblocks.models.model import Piece, Request, Spoken, Stopped, Usage
from callblocks.models.pace import NATURAL, paced
from callblocks.models.scenario import Scenario
from callblocks.models.script import Script
from callblocks.models.script_folder import DEFAULT, ScriptFolder

__all__ = ("ScriptedModel",)

EMBEDDED = Path(__file__).with_name("scripts")
_CLOSING = "That is all that my script says."
_LOST = "I play scripts, and none of mine fits what you said."
_A_TOKEN = 4  # characters, as a rule of thumb


class ScriptedModel:
    """A model that replies from a folder of scripts; `None` is the built-in one.

    `more` are further folders, whose scripts are among them by their names. `context` is the number
    of tokens that it pretends to accept. `pace` is in characters per second and overrides the
    script's: 0 is at once, `None` the script's own pace, or a natural one.
    """

    writes_results = True

    def __init__(
        self,
        folder: Path | None = None,
        *,
        pace: float | None = None,
        more: Iterable[Path] = (),
        context: int | None = None,
    ) -> None:
        if pace is not None and not (math.isfinite(pace) and pace >= 0):
            raise CallerError(f"the pace is in characters a second, from 0 on, not {pace}")
        self._scripts = ScriptFolder(EMBEDDED if folder is None else folder, more)
        self._pace = pace
        self.context = context
        self.name = "scripted" if folder is None else f"scripted:{folder.absolute().name}"

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Return prompts that a person may try, one for each script."""
        scripts = self._scripts.scripts
        return tuple(dict.fromkeys(one.prompt for one in scripts if one.name != DEFAULT))

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Return the scenarios, one for each script."""
        return tuple(
            Scenario(one.name, one.title, one.prompt)
            for one in self._scripts.scripts
            if one.name != DEFAULT
        )

    @property
    def broken(self) -> dict[str, str]:
        """Return the files of the folder that are no scripts, with the reason."""
        return self._scripts.broken

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply of the script that matches the person's message, for this round."""
        said = request.prompt or _last_said(request)
        # A named scenario is played whatever the person says; a page can thus offer it as a button.
        script = self._scripts.named(request.scenario) or self._scripts.find(said)
        whole = self._text(script, said, request)
        text, reason = _cut(whole, request)
        written = 0
        async for piece in paced(text, self._pace_of(script)):
            written += len(piece)
            yield Spoken(piece)
        asked = sum(len(text_of(list(message.parts))) for message in request.messages)
        yield Usage(tokens_in=_tokens(asked), tokens_out=_tokens(written))
        yield Stopped(reason)

    async def close(self) -> None:
        """Do nothing: there are no resources."""

    def _text(self, script: Script | None, said: str, request: Request) -> str:
        if script is None:
            return self._lost()
        if request.round > len(script.replies):
            return _CLOSING
        reply = script.replies[max(0, request.round - 1)]
        translated = reply if request.translate is None else request.translate(reply)
        return fill(translated, said, request.results)

    def _lost(self) -> str:
        known = self.suggestions
        lines = "".join(f"- {plain_line(prompt)}\n" for prompt in known)
        tried = f"Try one of these:\n\n{lines}" if known else "There are none in my folder yet."
        broken = [f"- {plain_line(f'{name}: {why}')}\n" for name, why in self.broken.items()]
        about = f"\n\nThese files are no scripts:\n\n{''.join(broken)}" if broken else ""
        return f"{_LOST} {tried.rstrip() if about else tried}{about}"

    def _pace_of(self, script: Script | None) -> float:
        if self._pace is not None:
            return self._pace
        return NATURAL if script is None or script.pace is None else script.pace


def _last_said(request: Request) -> str:
    said = [text_of(list(one.parts)) for one in request.messages if one.role == "user"]
    return said[-1] if said else ""


def _cut(text: str, request: Request) -> tuple[str, str]:
    """Return the text up to a stop word or the most tokens, and the reason of its end."""
    for word in request.stop:
        text = text.partition(word)[0] if word else text
    most = len(text) if request.max_tokens is None else request.max_tokens * _A_TOKEN
    return text[:most], "length" if most < len(text) else "stop"


def _tokens(characters: int) -> int:
    return math.ceil(characters / _A_TOKEN)
