"""The network guard: the one door to the network.

A name is resolved once, every resulting address is checked, and the connection goes to exactly the
address that was checked. TLS still verifies the name.

Attacks that this stops
- DNS rebinding: a name that resolves to a public address for the check and to 127.0.0.1 for the
  connection. There is no second resolution: the backend gets an address, never a name.
- Mixed answers: one public and one private address. All answers must be public, not only the first.
- Redirects and retries to the inside: every connection is made here, whatever asked for it.
- Scanning through error messages: a refusal does not name the address that a name resolved to.

    Guard(read_allowed(("127.0.0.1:8123",)))
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias, cast

import httpcore2

from callblocks.core.errors import ToolError
from callblocks.guard.net.addresses import (
    Allowed,
    name_refusal,
    port_refusal,
    refusal,
)
from callblocks.guard.workers.threads import run_in_thread

__all__ = ("Guard", "Resolver", "resolve")

# Return the addresses of a host, the best first; raise `OSError` where there are none.
Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

_TRIED = 4


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the operating system for the addresses of a host.

    `getaddrinfo` cannot be cancelled, and the owner of a name can make it hang. So it runs in a
    thread of its own instead of the default executor, whose few threads everything else shares.
    """
    found = await run_in_thread(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Guard(httpcore2.AsyncNetworkBackend):
    """A network backend of httpcore2 that connects to public addresses only.

    `backend` makes the connections and is given addresses only.
    """

    def __init__(
        self,
        allow: Allowed = frozenset(),
        resolver: Resolver | None = None,
        backend: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        self._allow = allow
        self._resolver = resolver or resolve
        self._backend = backend or cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    def refuse_inside(self, host: str, port: int) -> None:
        """Raise what connecting would raise by the text of host and port alone.

        No name is resolved: a DNS query would send the name out before anybody permitted the
        request.
        """
        if (host, port) in self._allow:
            return
        _check_name(host, port)
        if _is_address(host):
            _check_address(host, host)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first of the host's addresses that answers, if all of them are public."""
        failed: Exception | None = None
        for address in await self._addresses(host, port, timeout):
            try:
                return await self._backend.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = failed or error
        raise failed or _not_found(host)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: a socket of this machine is never public."""
        raise ToolError("address_refused", "a socket of this machine cannot be asked")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int, timeout: float | None) -> Sequence[str]:
        self.refuse_inside(host, port)
        found = await self._resolve(host, port, timeout)
        # Every address is checked, not only those that are tried: a mixed answer is an attack.
        for address in () if (host, port) in self._allow else found:
            _check_address(host, address)
        return found[:_TRIED]

    async def _resolve(self, host: str, port: int, timeout: float | None) -> Sequence[str]:
        if _is_address(host):
            return [host]
        try:
            async with asyncio.timeout(timeout):
                return await self._resolver(host, port)
        except TimeoutError as error:
            raise ToolError("timeout", f"nobody knew the address of {host} in time") from error
        except socket.gaierror as error:
            if error.errno == socket.EAI_AGAIN:
                raise ToolError(
                    "network_error", f"no name server answered when asked for {host}; try later"
                ) from error
            raise _not_found(host) from error
        except (OSError, UnicodeError) as error:
            raise _not_found(host) from error


def _check_name(host: str, port: int) -> None:
    service = port_refusal(port)
    if service is not None:
        raise ToolError("invalid_url", f"port {port} is for {service}, not for http")
    why = name_refusal(host)
    if why is not None:
        raise _refused(f"{host} is {why}")


def _check_address(host: str, address: str) -> None:
    why = refusal(address)
    if why is None:
        return
    if _is_address(host):
        raise _refused(f"{host} is {why}")
    # The address is not named: it would map the inner network for an attacker.
    raise _refused(f"{host} leads to an address that is {why}")


def _refused(why: str) -> ToolError:
    return ToolError("address_refused", f"{why}; only public addresses can be asked")


def _not_found(host: str) -> ToolError:
    return ToolError("host_not_found", f"{host} has no address; check how the name is written")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
