"""`callblocks serve`: chats, timelines, artifacts and approvals over HTTP.

Without --ask, --allow, --allow-trait or --policy no call runs, as everywhere. Questions of the
policy are answered by clients, and by `callblocks approvals`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

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
    from callblocks.session.host import Host

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
    default=_PORT,
    show_default=True,
    help="The port; 0 for one that is free.",
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
    "--sdk-version",
    type=click.Choice(("5", "6", "7")),
    default="6",
    show_default=True,
    help="The stream of clients that do not say their AI SDK's version; 7 reads that of 6.",
)
@serving_options
def command(
    host: str,
    port: int,
    token: str,
    no_token: bool,
    origin: tuple[str, ...],
    public_url: tuple[str, ...],
    sdk_version: str,
    model: tuple[str, ...],
    **place: Unpack[PlaceOptions],
) -> None:
    """Serve chats, timelines, artifacts and approvals over HTTP, until Ctrl-C.

    It says its addresses, where a browser finds the page of the chats; the token is part of them
    unless they go to a file. On a loopback address only this machine is answered. GET
    /api/openapi.json says what programs find. With none of --ask, --allow, --allow-trait and
    --policy no call runs.
    """
    if token and no_token:
        raise click.UsageError("--token and --no-token exclude each other")
    named = model[0] if model else model_of_environment()
    options = ChatOptions(model=named, **place)
    check_team(options)
    from callblocks.cli.options.state_folder import without_password
    from callblocks.server.app import serve
    from callblocks.server.settings import SDK_VERSIONS, ServerSettings

    settings = ServerSettings(
        host=host,
        port=port,
        token=token or ("" if no_token else _own_token(host, public_url)),
        no_token=no_token,
        origins=origin,
        public_urls=public_url,
        sdk_version=SDK_VERSIONS[("5", "6", "7").index(sdk_version)],
    )
    public = [url.origin for url in settings.public]
    with without_password(options["store"]):
        others = model[1:] if model else None
        serve(
            settings,
            lambda: _open(options, others),
            lambda address: _tell([address, *public], settings.token, is_own=not token),
        )


def _open(options: ChatOptions, others: tuple[str, ...] | None) -> Host:
    from callblocks.cli.chat.chat_setup import ChatSetup
    from callblocks.cli.options.tool_setup import check_names

    host = ChatSetup(options, None, others).host
    check_names(options, host.registry.names)
    if not host.settings.policy.enabled:
        say("no call runs: give --ask, --allow, --allow-trait or --policy")
    return host


def _own_token(host: str, public_urls: tuple[str, ...]) -> str:
    """Return the kept token for a server that only this machine reaches, or "".

    For an address that others reach, somebody has to choose a token.
    """
    from callblocks.cli.options.state_folder import kept_token, state_folder
    from callblocks.server.settings import is_loopback

    is_local = is_loopback(host) and not public_urls
    return kept_token(state_folder()) if is_local else ""


def _tell(addresses: list[str], token: str, *, is_own: bool) -> None:
    """Print where the page is, with the token, which the page takes from there.

    A token of --token is shown on a terminal only, one that was made here also to a program that
    reads from a pipe. A file, such as a log, never gets it.
    """
    is_shown = sys.stdout.isatty() or (is_own and is_pipe())
    secret = f"/#token={token}" if token and is_shown else ""
    sys.stdout.writelines(f"{address}{secret}\n" for address in addresses)
    sys.stdout.flush()
    if is_own and token and not is_shown:
        from callblocks.cli.options.state_folder import TOKEN, state_folder

        say(f"the token is in {state_folder() / TOKEN}; a browser gets it as /#token=…")
