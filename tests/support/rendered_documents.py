"""The tools for documents, with a renderer inside this process."""

from __future__ import annotations

import warnings
from typing import Any

from callblocks.toolkits.documents.render_program import make
from callblocks.toolkits.documents.render_protocol import (
    Cited,
    Failed,
    Given,
    Heard,
    Kind,
    Made,
    Outside,
    RenderJob,
    RenderProgress,
    Told,
    Wanted,
)

SOURCES = [
    Cited(4, "Harbour statistics", "https://example.org/stats", "2030-01-02"),
    Cited(7, "The skipper's log", "fi:turn_1.files/log.md"),
]


class Desk:
    """One who asks for documents, and remembers what was said."""

    def __init__(self, **files: bytes) -> None:
        self.files = {name.replace("_", "."): content for name, content in files.items()}
        self.steps: list[str] = []
        self.notices: list[str] = []
        self.wanted: list[str] = []

    def made(self, kind: Kind, content: str = "", **fields: Any) -> Made:
        """A document, which has to be there."""
        made = self.ask(kind, content, **fields)
        assert isinstance(made, Made), made
        return made

    def failed(self, kind: Kind, content: str = "", **fields: Any) -> str:
        """The code of a document that cannot be."""
        failed = self.ask(kind, content, **fields)
        assert isinstance(failed, Failed), failed
        return failed.code

    def ask(self, kind: Kind, content: str, **fields: Any) -> Made | Failed:
        job = RenderJob(kind=kind, name="report", content=content, sources=SOURCES, **fields)
        with warnings.catch_warnings():
            # In its process nobody hears what libraries say to those who write them.
            warnings.simplefilter("ignore", DeprecationWarning)
            return make(job, Outside(self._hear, self._give))

    def _hear(self, heard: Heard) -> None:
        match heard:
            case RenderProgress():
                self.steps.append(heard.text.strip())
            case Told():
                self.notices.append(heard.code)
            case Wanted():
                self.wanted.append(heard.name)
            case _:
                raise AssertionError(heard)

    def _give(self) -> Given:
        return Given(self.files.get(self.wanted[-1]))
