"""The name of a dialect as an argument: checked, and completed by the shell."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

__all__ = ("AUTO", "DIALECT", "MODEL_DIALECT", "ONE_DIALECT")

AUTO = "auto"


class DialectName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """One of the dialects, by any of its names, or `auto` where that is allowed.

    `-` and `_` are the same in a name. For a `model` it is one that it can be taught.
    """

    name = "name"

    def __init__(self, *, auto: bool, model: bool = False) -> None:
        self._auto = auto
        self._model = model

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        spellings = self._spellings()
        name = spellings.get(_plain(value))
        if name is None:
            near = self._near(value, spellings)
            what = f"no dialect {value!r}{' that models write' if self._model else ''}"
            hint = f"did you mean {near}? " if near else ""
            self.fail(f"{what}; {hint}`callblocks dialects` lists them", param, ctx)
        return name

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

    def _spellings(self) -> dict[str, str]:
        """Every name and alias as it is compared, and the dialect that it means."""
        from callblocks.dialects import aliases_of

        known = self._known()
        aliases = {_plain(alias): name for name in known for alias in aliases_of(name)}
        return aliases | {_plain(name): name for name in known}

    def _near(self, value: str, spellings: dict[str, str]) -> str:
        """The dialect that was probably meant, also by the name of a model; "" for none."""
        from callblocks.dialects import dialect_of
        from callblocks.tools.names import close_to

        if near := close_to(_plain(value), spellings):
            return spellings[near] if _plain(spellings[near]) == near else near
        of_model = dialect_of(value) or ""
        return of_model if of_model in spellings.values() else ""

    def _known(self) -> dict[str, str]:
        from callblocks.dialects import dialects

        every = {AUTO: "every dialect that can be told by its markers"} if self._auto else {}
        # What no model can be taught only displays calls.
        known = [one for one in dialects.values() if one.rules or not self._model]
        return every | {dialect.name: dialect.summary for dialect in known}


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


DIALECT = DialectName(auto=True)
ONE_DIALECT = DialectName(auto=False)
MODEL_DIALECT = DialectName(auto=True, model=True)
