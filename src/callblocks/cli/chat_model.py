"""The models of a chat, by the config file and the options, and the dialect that suits each.

scripted        the scripts that come with callblocks; in a workspace with an office also
                those that work on its sample
anything else   a name of the config file, or as `callblocks.models.opening` reads it
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from callblocks.cli.dialect_name import AUTO
from callblocks.cli.exits import say
from callblocks.cli.model_options import ModelOptions, overrides_of
from callblocks.model.errors import CallerError, ModelError, UnknownDialect
from callblocks.models.config import Config, NamedModel, open_named, read_config
from callblocks.models.scripted import ScriptedModel
from callblocks.session.choosing import Offered, check_dialect
from callblocks.session.settings import SessionSettings

if TYPE_CHECKING:
    from callblocks.cli.chat_options import ChatOptions

__all__ = ("OFFICE_SCRIPTS", "ChatModels", "session_settings", "suited_dialect")

OFFICE_SCRIPTS = Path(__file__).with_name("office_scripts")
"""The scripts that work on the sample of `callblocks workspace init`."""

SCRIPTED = "scripted"


class OpenOptions(ModelOptions):
    """The options that say which model is opened, and how."""

    dialect: str | None
    office: str
    workspace: str


class ChatModels:
    """Opens models as the config file and the options of a command say.

    The config file is read once. `options` are looked at with each model: a chat changes them.
    """

    def __init__(self, options: OpenOptions | ChatOptions, config: Config | None = None) -> None:
        self.config = read_config() if config is None else config
        self._options = options

    @property
    def default(self) -> str:
        """The model that is used where the command names none."""
        return self.config.default or SCRIPTED

    def open(self, spec: str) -> Offered:
        """Open a model for a chat in the workspace, with the name that turns call it by."""
        options = self._options
        if self._plays_office(spec):
            return Offered(
                ScriptedModel(more=(OFFICE_SCRIPTS,)), suited_dialect(spec, options["dialect"])
            )
        opened = self.opened(spec)
        named = options["dialect"] or opened.dialect
        system = options["system"]
        return Offered(
            opened.model,
            suited_dialect(opened.spec, named),
            opened.name,
            opened.system if system is None else system,
        )

    def opened(self, spec: str) -> NamedModel:
        """Open a model of any name or form, and check the dialect that the config file has."""
        opened = open_named(spec, self.config, overrides_of(self._options))
        if opened.dialect:
            try:
                check_dialect(opened.dialect)
            except UnknownDialect as error:
                where = self.config.where(opened.name)
                raise CallerError(f"{where}, dialect: {error}") from error
        return opened

    def configured(self, apart: str) -> Iterator[Offered]:
        """Open all further models of the config file that can be used; say why others cannot."""
        names = [name for name in self.config.models if name != apart]
        # A server may be asked for its models, and take seconds to say nothing: all at once.
        with ThreadPoolExecutor(max(1, len(names))) as workers:
            tried = list(workers.map(self._try, names))
        for name, found in zip(names, tried, strict=True):
            if (usable := _told(name, found)) is not None:
                yield usable

    def first(self, spec: str) -> Offered:
        """The model that replies without a choice where nobody named it on the command line.

        A server starts also where that one cannot be used: then the scripts reply.
        """
        return _told(spec, self._try(spec)) or self.open(SCRIPTED)

    def _try(self, spec: str) -> Offered | CallerError | ModelError:
        try:
            return self.open(spec)
        except (CallerError, ModelError) as error:
            return error

    def _plays_office(self, spec: str) -> bool:
        if spec != SCRIPTED or spec in self.config.models or overrides_of(self._options).named:
            return False
        options = self._options
        return options["office"] == "local" and _has_office(options["workspace"])


def _told(spec: str, found: Offered | CallerError | ModelError) -> Offered | None:
    """Return a model that can be used, or say why it cannot."""
    if isinstance(found, Offered):
        return found
    say(f"{spec} is not offered: {found}")
    return None


def suited_dialect(spec: str, named: str | None) -> str:
    """The dialect that was named, or the one that suits a model."""
    scripted = spec.partition(":")[0] == SCRIPTED
    return named or (AUTO if scripted else "")


def session_settings(options: ModelOptions, first: Offered) -> SessionSettings:
    """Return how a session is set up with a model that speaks unless another is chosen."""
    return SessionSettings(system=first.system or "", max_tokens=options["max_tokens"])


def _has_office(workspace: str) -> bool:
    from callblocks.toolkits.workspace.local.office import is_office
    from callblocks.toolkits.workspace.opening import FOLDER

    return is_office(Path(workspace, FOLDER))
