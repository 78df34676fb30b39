"""`callblocks serve`: chats, timelines, artifacts and approvals over HTTP.

Without --ask, --allow, --allow-trait or --policy no call runs, as everywhere. Questions of the
policy are answered by clients, and by `callblocks approvals`.

With --role the process is one of a cluster, and all that it keeps is in PostgreSQL.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Unpack

import click

from callblocks.cli.exits import EXIT_CODES, is_pipe, say
from callblocks.cli.options.chat_options import (
    ChatOptions,
    PlaceOptions,
    check_team,
    model_of_environment,
    serving_options,
)

if TYPE_CHECKING:
    from callblocks.server.settings import ServerSettings
    from callblocks.session.host import Host, OpenParts

__all__ = ("command",)

_PORT = 8765


@click.command("serve", short_help="Serve chats and timelines over HTTP.", epilog=EXIT_CODES)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to bind.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The port; 0 for one that is free.  [default: {_PORT}; of a worker 0]",
)
@click.option(
    "--token",
    envvar="CALLBLOCKS_TOKEN",
    default="",
    help="What clients send as `Authorization: Bearer …`.  [environment: CALLBLOCKS_TOKEN;"
    " default: one that is made once, and kept in the state folder]",
)
@click.option(
    "--no-token",
    is_flag=True,
    help="Let every user and program of this machine in; on a loopback address only.",
)
@click.option(
    "--origin",
    multiple=True,
    metavar="URL",
    help="Let pages of this origin ask, as http://localhost:5173; may be given again.",
)
@click.option(
    "--public-url",
    multiple=True,
    metavar="URL",
    help="Answer by this address of a proxy, as https://chat.example; may be given again.",
)
@click.option(
    "--proxy",
    multiple=True,
    metavar="NETWORK",
    help="Believe the last address in X-Forwarded-For of proxies in this network, as 10.0.0.0/8;"
    " may be given again. Those on this machine are believed with --public-url.",
)
@click.option(
    "--sdk-version",
    type=click.Choice(("5", "6", "7")),
    default="6",
    show_default=True,
    help="The stream of clients that do not say their AI SDK's version; 7 reads that of 6.",
)
@click.option(
    "--role",
    type=click.Choice(("api", "worker", "both")),
    help="Be part of a cluster on the --store, which is postgresql://…: answer clients, run turns,"
    " or both.",
)
@click.option(
    "--limit",
    multiple=True,
    metavar="NAME=VALUE",
    help="A limit of the cluster, as running=4 (turns of one user at once), for all of its"
    " processes that start from now on; may be given again. docs/cluster.md lists them.",
)
@serving_options
def command(  # noqa: PLR0913, PLR0917 each is an option
    host: str,
    port: int | None,
    token: str,
    no_token: bool,
    origin: tuple[str, ...],
    public_url: tuple[str, ...],
    proxy: tuple[str, ...],
    sdk_version: str,
    role: Literal["api", "worker", "both"] | None,
    limit: tuple[str, ...],
    model: tuple[str, ...],
    **place: Unpack[PlaceOptions],
) -> None:
    """Serve chats, timelines, artifacts and approvals over HTTP, until Ctrl-C.

    It says its addresses, where a browser finds the page of the chats; the token is part of them
    unless they go to a file. On a loopback address only this machine is answered. GET
    /api/openapi.json says what programs find. With none of --ask, --allow, --allow-trait and
    --policy no call runs.

    A worker (--role worker) answers /healthz, /readyz and /metrics alone.
    """
    if token and no_token:
        raise click.UsageError("--token and --no-token exclude each other")
    if limit and role is None:
        raise click.UsageError("--limit is for processes with a --role")
    named = model[0] if model else model_of_environment()
    options = ChatOptions(model=named, **place)
    check_team(options)
    from callblocks.cli.options.state_folder import without_password
    from callblocks.server.app import serve
    from callblocks.server.settings import SDK_VERSIONS, ServerSettings

    if role is not None:
        _check_role(options, role)
    with without_password(options["store"]):
        settings = ServerSettings(
            host=host,
            port=port if port is not None else 0 if role == "worker" else _PORT,
            token=token or ("" if no_token else _own_token(host, public_url, role, options)),
            no_token=no_token,
            origins=origin,
            public_urls=public_url,
            proxies=proxy,
            sdk_version=SDK_VERSIONS[("5", "6", "7").index(sdk_version)],
        )
        public = [url.origin for url in settings.public]
        others = model[1:] if model else None

        def tell(address: str) -> None:
            _tell([address, *public], settings.token, is_own=not token, is_shared=role is not None)

        if role is None:
            serve(settings, lambda: _open(options, others), tell)
        else:
            _serve_role(role, settings, options, others, limit, tell)


def _check_role(options: ChatOptions, role: str) -> None:
    """Refuse a cluster without what it needs."""
    from callblocks.core.extras import require
    from callblocks.timeline.log.open_store import server_address

    store = options["store"]
    if store is None or server_address(store) is None:
        raise click.UsageError(f"--role {role} needs --store postgresql://…, which all share")
    require("scale", f"callblocks serve --role {role}")


def _serve_role(
    role: Literal["api", "worker", "both"],
    settings: ServerSettings,
    options: ChatOptions,
    others: tuple[str, ...] | None,
    limits: Sequence[str],
    tell: Callable[[str], None],
) -> None:
    """Be a part of a cluster until stopped."""
    from callblocks.cli.options.state_folder import state_folder
    from callblocks.cluster.dbos_engine import DbosEngine
    from callblocks.cluster.shared_state import shared_limits
    from callblocks.cluster.worker import Cluster
    from callblocks.server.cluster_roles import serve_role

    store = options["store"] or ""
    if options["artifacts"] is None:
        say(f"artifacts are in {state_folder()}: other machines need --artifacts s3://…")
    # What is wrong with the settings is said before the database is asked for anything.
    settings.check()
    cluster = Cluster(store, state_folder(), DbosEngine, shared_limits(store, limits))
    try:
        serve_role(role, settings, cluster, lambda parts: _open(options, others, parts), tell)
    finally:
        cluster.close()


def _open(
    options: ChatOptions, others: tuple[str, ...] | None, parts: OpenParts | None = None
) -> Host:
    from callblocks.cli.chat.chat_setup import ChatSetup
    from callblocks.cli.options.tool_setup import check_names
    from callblocks.session.host import open_parts

    host = ChatSetup(options, None, others, parts or open_parts).host
    check_names(options, host.registry.names)
    if not host.settings.policy.enabled:
        say("no call runs: give --ask, --allow, --allow-trait or --policy")
    return host


def _own_token(
    host: str, public_urls: tuple[str, ...], role: str | None, options: ChatOptions
) -> str:
    """Return the kept token for a server that only this machine reaches, or "".

    For an address that others reach, somebody has to choose a token. All replicas of a cluster have
    the same one.
    """
    from callblocks.cli.options.state_folder import kept_token, state_folder
    from callblocks.server.settings import is_loopback

    if not is_loopback(host) or public_urls:
        return ""
    if role is None:
        return kept_token(state_folder())
    from callblocks.cluster.shared_state import shared_token

    return shared_token(options["store"] or "")


def _tell(addresses: list[str], token: str, *, is_own: bool, is_shared: bool = False) -> None:
    """Print where the page is, with the token, which the page takes from there.

    A token of --token is shown on a terminal only, one that was made here also to a program that
    reads from a pipe. A file, such as a log, never gets it.
    """
    is_shown = sys.stdout.isatty() or (is_own and is_pipe())
    secret = f"/#token={token}" if token and is_shown else ""
    sys.stdout.writelines(f"{address}{secret}\n" for address in addresses)
    sys.stdout.flush()
    if is_own and token and not is_shown and is_shared:
        say("a token was made and is in the database; give one with --token to have it elsewhere")
    elif is_own and token and not is_shown:
        from callblocks.cli.options.state_folder import TOKEN, state_folder

        say(f"the token is in {state_folder() / TOKEN}; a browser gets it as /#token=…")
