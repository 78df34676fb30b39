"""The name of a dialect as an argument: checked, and completed by the shell."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

__all__ = ("AUTO", "DIALECT", "MODEL_DIALECT", "ONE_DIALECT")

AUTO = "auto"


class DialectName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """One of the dialects, by any of its names, or `auto` where that is allowed.

    Case, `-`, `_` and `.` do not count in a name. For a `model` it is one that it can be taught.
    """

    name = "name"

    def __init__(self, *, auto: bool, model: bool = False) -> None:
        self._auto = auto
        self._model = model

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from callblocks.dialects import dialects, members_of
        from callblocks.parser import near_dialects

        known = self._known()
        if self._auto and value.lower() == AUTO:
            return AUTO
        members = members_of(value) if value in dialects else ()
        if not members or members[0] not in known:
            near = " or ".join(near_dialects(value, known))
            what = f"no dialect {value!r}{' that models write' if self._model else ''}"
            hint = f"did you mean {near}? " if near else ""
            self.fail(f"{what}; {hint}`callblocks dialects` lists them", param, ctx)
        # A name of several dialects stays as it is, so that all of them are read.
        return members[0] if len(members) == 1 else value

    @property
    def names(self) -> tuple[str, ...]:
        """All that may be given."""
        return tuple(self._known())

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [
            CompletionItem(name, help=about)
            for name, about in self._known().items()
            if name.startswith(incomplete)
        ]

    def _known(self) -> dict[str, str]:
        from callblocks.dialects import dialects

        every = {AUTO: "every dialect that can be told by its markers"} if self._auto else {}
        # What no model can be taught only displays calls.
        known = [one for one in dialects.values() if one.rules or not self._model]
        return every | {dialect.name: dialect.summary for dialect in known}


DIALECT = DialectName(auto=True)
ONE_DIALECT = DialectName(auto=False)
MODEL_DIALECT = DialectName(auto=True, model=True)
