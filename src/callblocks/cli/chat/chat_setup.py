"""Setup of a chat from options: the model, the tools, the policy and the store.

--model scripted            calls in every dialect are read: its scripts have them all
--model http://…#name       the model is taught the dialect of its family; every one is read
--model NAME                as the config file says
--team team.toml            models, tools and dialects are those of the file
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import msgspec

from callblocks.approvals.question import Asker
from callblocks.cli.chat.recording import given_skills
from callblocks.cli.exits import Fault, Refusal, say
from callblocks.cli.options.chat_options import (
    SETTINGS,
    ChatOptions,
    ModelOptions,
    overrides_of,
    shown_setting,
)
from callblocks.cli.options.read_options import AUTO
from callblocks.cli.options.state_folder import state_folder
from callblocks.cli.options.tool_setup import (
    check_names,
    code_files,
    given_office,
    given_policy,
    open_mcp,
)
from callblocks.core.errors import CallerError, ModelError, UnknownDialect
from callblocks.models.model import Model
from callblocks.models.model_config import Config, NamedModel, open_named, read_config
from callblocks.models.scripted import ScriptedModel
from callblocks.protocols.mcp.servers import servers_path
from callblocks.session.host import Host, HostSettings, OpenParts, open_parts
from callblocks.session.model_choice import Offered, SessionSettings, check_dialect
from callblocks.session.session import Session
from callblocks.session.team_file import read_team
from callblocks.session.turn_lock import interrupted_turn, open_turn, owner_lives
from callblocks.toolkits.react_tools import in_turn, turn_tools
from callblocks.tools.registry import Registry

__all__ = (
    "OFFICE_SCRIPTS",
    "ChatModels",
    "ChatSetup",
    "left_turn",
    "session_settings",
    "suited_dialect",
)

# --- The models of a chat, by the config file and the options, and the dialect that suits each ---
#
# scripted        the scripts that come with callblocks; in a workspace with an office also
#                 those that work on its sample
# anything else   a name of the config file, or as `callblocks.models.open_model` reads it

OFFICE_SCRIPTS = Path(__file__).with_name("office_scripts")
"""The scripts that work on the sample of `callblocks workspace init`."""

SCRIPTED = "scripted"
_NO_MODEL = "no model is configured, so scripts answer; `callblocks models` says how to add one"


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
            opened.grammar,
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
    return SessionSettings(
        system=first.system or "",
        max_tokens=options["max_tokens"],
        grammar=bool(first.grammar),
    )


def _has_office(workspace: str) -> bool:
    from callblocks.toolkits.office.local.local_office import is_office
    from callblocks.toolkits.office.open_office import FOLDER

    return is_office(Path(workspace, FOLDER))


# --- Setup of a chat from options: the model, the tools, the policy and the store ---


class ChatSetup:
    """A host with its model, which `talk_with` and `talk_in` change. Used in one event loop.

    `others` are further models that a turn may choose; None for all of the config file, where
    those that cannot be used are left out. `parts` opens what the host shares.
    """

    def __init__(
        self,
        options: ChatOptions,
        asker: Asker | None,
        others: Sequence[str] | None = (),
        parts: OpenParts = open_parts,
    ) -> None:
        self._options = options
        self._asker = asker
        self._parts = parts
        self._policy = given_policy(options)
        self._skills = given_skills(options["skills"])
        self._named: set[str] = set()
        self._checked = False
        self._opener = opener = ChatModels(options)
        self._team = None if options["team"] is None else read_team(options["team"], opener.opened)
        self._others: tuple[Offered, ...] = ()
        if self._team is not None:
            voice = self._team.consensus
            self._first = Offered(voice.model, voice.dialect, system=options["system"])
        else:
            named = options["model"]
            if not named and not opener.config.default:
                say(_NO_MODEL)
            is_strict = named is not None or others is not None
            open_first = opener.open if is_strict else opener.first
            self._first = open_first(named or opener.default)
            self._others = tuple(
                opener.configured(self._first.label) if others is None else map(opener.open, others)
            )
        for model in self._models:
            _tell_broken(model)
        self._mcp = open_mcp()
        self.host = self._open(self._first)

    @property
    def model(self) -> Model:
        """The model that replies."""
        return self._first.model

    @property
    def dialect(self) -> str:
        """The dialect that it writes."""
        return self._first.dialect

    def session(self, name: str) -> Session:
        """The chat of a name; the person at the terminal is asked, where there is one."""
        session = self.host.session(name, self._asker)
        if not self._checked:
            check_names(self._options, self.tools(session).names)
            self._checked = True
        return session

    @property
    def who(self) -> str:
        """With whom one talks here."""
        if self._team is None:
            return self._first.name
        return f"{self._team.name or 'a team'} ({', '.join(self._team.names)})"

    def tools(self, session: Session) -> Registry:
        """All that the model may call, or anybody of the team."""
        every, recorder = self._chosen(), session.recorder
        own = turn_tools(recorder, recorder.coming_turn)
        only = self._options["only"]
        return in_turn(every, own.only(only) if only else own)

    def new_name(self) -> str:
        """The name of a chat that is not there yet: `chat-20300131-120000`."""
        name = first = time.strftime("chat-%Y%m%d-%H%M%S")
        for number in itertools.count(2):
            if name not in self._named and not self.host.store.head(name).count:
                break
            name = f"{first}-{number}"
        self._named.add(name)
        return name

    def newest(self) -> str:
        """The name of the chat that was written to last."""
        chats = [one for one in self.host.store.names() if not self._is_member(one.name)]
        if not chats:
            raise Refusal("no chat is kept yet; without --last a new one begins")
        return max(chats, key=lambda one: one.updated).name

    async def talk_with(self, spec: str, name: str) -> Session:
        """Go on with a chat and another model; where there is none such, all stays as it is."""
        self._check_alone("model")
        # A server may be asked for its models: the keyboard goes on meanwhile.
        first = await asyncio.to_thread(self._opener.open, spec)
        session = await self._replace_model(first, name)
        self._options["model"] = spec
        return session

    async def set_option(self, key: str, value: Any, name: str) -> Session:
        """Go on with a chat and another option of its model; where that fails, nothing changes."""
        self._check_alone(key)
        options = cast("dict[str, Any]", self._options)
        before = options[key]
        options[key] = value
        try:
            spec = self._options["model"] or self._opener.default
            return await self._replace_model(await asyncio.to_thread(self._opener.open, spec), name)
        except BaseException:
            options[key] = before
            raise

    @property
    def model_settings(self) -> list[str]:
        """Return the model's settings, one in a line; unset ones are left to the server."""
        return [shown_setting(name, self._options) for name in SETTINGS]

    def talk_in(self, dialect: str, name: str) -> Session:
        """Go on with a chat in another dialect; where there is none such, all stays as it is."""
        self._check_alone("dialect")
        session = self._move(msgspec.structs.replace(self._first, dialect=dialect), name)
        self._options["dialect"] = dialect
        return session

    async def _replace_model(self, first: Offered, name: str) -> Session:
        before = self.model
        try:
            session = self._move(first, name)
        except BaseException:
            await first.model.close()
            raise
        _tell_broken(first.model)
        await before.close()
        return session

    async def close(self) -> None:
        """Let go of everything."""
        try:
            self.host.close()
        finally:
            if self._mcp is not None:
                self._mcp.close()
            for model in self._models:
                await model.close()

    @property
    def _models(self) -> Sequence[Model]:
        if self._team is not None:
            return self._team.models
        return [one.model for one in (self._first, *self._others)]

    def _chosen(self) -> Registry:
        every = self.host.registry
        if self._team is None:
            return every
        voices = (*self._team.members, self._team.consensus)
        named = {name for voice in voices for name in voice.chosen(every).names}
        return Registry(tool for tool in every.tools if tool.name in named)

    def _is_member(self, name: str) -> bool:
        return self._team is not None and self._team.is_member(name)

    def _check_alone(self, what: str) -> None:
        if self._team is not None:
            raise Fault(f"the file of the team says the {what} of each; change it there")

    def _move(self, first: Offered, name: str) -> Session:
        """Put another host in the place of this one."""
        host = self._open(first)
        try:
            session = host.session(name, self._asker)
        except BaseException:
            host.close()
            raise
        before, self.host, self._first = self.host, host, first
        before.close()
        return session

    def _open(self, first: Offered) -> Host:
        options, given = self._options, self._options["tools"]
        servers = None if self._mcp is None else str(servers_path())
        own = (options["policy"], options["team"], options["skills"], servers)
        steering = (*own, *code_files(options["workspace"]))
        return Host(
            HostSettings(
                state=state_folder(),
                workspace=Path(options["workspace"]),
                model=first.model,
                policy=self._policy,
                dialect=first.dialect,
                label=first.label,
                others=self._others,
                store=options["store"],
                artifacts=options["artifacts"],
                tools=given if isinstance(given, Registry) else None,
                only=options["only"],
                office=given_office(options["office"]),
                skills=self._skills,
                own=tuple(path for path in steering if path),
                team=self._team,
                session=session_settings(options, first),
                mcp=self._mcp,
            ),
            self._parts,
        )


def _tell_broken(model: Model) -> None:
    """Name the files in a folder of scripts that are none."""
    if isinstance(model, ScriptedModel):
        for name, why in model.broken.items():
            say(f"{model.name}: {name} is no script: {why}")


def left_turn(session: Session) -> str | None:
    """The last turn, if its program died before its end."""
    state = session.recorder.state
    turn = open_turn(state)
    if turn is None:
        return interrupted_turn(state)
    return None if owner_lives(state.owners[turn]) else turn
