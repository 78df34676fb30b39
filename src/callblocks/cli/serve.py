"""`callblocks serve`: chats, timelines, artifacts and approvals over HTTP.

Without --ask, --allow, --allow-trait or --policy no call runs, as everywhere. Questions of the
policy are answered by clients, and by `callblocks approvals`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

import click

from callblocks.cli.chat_options import (
    ChatOptions,
    PlaceOptions,
    check_team,
    model_of_environment,
    serving_options,
)
from callblocks.cli.exits import EXIT_CODES, say

if TYPE_CHECKING:
    from callblocks.session.host import Host

__all__ = ("command",)

_PORT = 8765


@click.command("serve", short_help="Serve chats and timelines over HTTP.", epilog=EXIT_CODES)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to bind; any but a loopback address needs a token.",
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
    help="What clients send as `Authorization: Bearer …`.  [environment: CALLBLOCKS_TOKEN]",
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
    origin: tuple[str, ...],
    public_url: tuple[str, ...],
    sdk_version: str,
    model: tuple[str, ...],
    **place: Unpack[PlaceOptions],
) -> None:
    """Serve chats, timelines, artifacts and approvals over HTTP, until Ctrl-C.

    It says its addresses, where a browser finds the page of the chats. On a loopback address no
    token is needed, and only this machine is answered. GET /api/openapi.json says what programs
    find. With none of --ask, --allow, --allow-trait and --policy no call runs.
    """
    named = model[0] if model else model_of_environment()
    options = ChatOptions(model=named, **place)
    check_team(options)
    from callblocks.cli.timeline_store import without_password
    from callblocks.server.serving import serve
    from callblocks.server.settings import SDK_VERSIONS, ServerSettings

    settings = ServerSettings(
        host=host,
        port=port,
        token=token,
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
            lambda address: _tell([address, *public], token),
        )


def _open(options: ChatOptions, others: tuple[str, ...] | None) -> Host:
    from callblocks.cli.chat_place import Place
    from callblocks.cli.deciding import check_names

    host = Place(options, None, others).host
    check_names(options, host.registry.names)
    if not host.settings.policy.enabled:
        say("no call runs: give --ask, --allow, --allow-trait or --policy")
    return host


def _tell(addresses: list[str], token: str) -> None:
    """Where the page is; it takes the token from there. What reads along keeps no secret."""
    secret = f"/#token={token}" if token and sys.stdout.isatty() else ""
    sys.stdout.writelines(f"{address}{secret}\n" for address in addresses)
    sys.stdout.flush()
