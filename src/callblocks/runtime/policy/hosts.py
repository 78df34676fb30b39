r"""The host that a URL asks, read by the same rules as the client that asks it.

    https://Docs.Example.org:8443/a    docs.example.org
    http://bücher.example/             xn--bcher-kva.example
    http://[2001:DB8::1]/              2001:db8::1
    http://[::ffff:10.0.0.1]/          10.0.0.1
    http://good.example\@evil.example  none
    http://me:pw@example.org/          none: clients differ on where the host begins
    http://127.1/  file:///etc/passwd  none

What the client refuses has no host, and a policy takes it for the worse.
"""

from __future__ import annotations

from callblocks.model.errors import ToolError
from callblocks.runtime.net.url import read_url

__all__ = ("host_of",)


def host_of(url: object) -> str | None:
    """The host in lower case, without brackets and a last dot; `None` where there is none."""
    if not isinstance(url, str):
        return None
    try:
        host = read_url(url).host
    except ToolError:
        return None
    return _unmapped(host) if ":" in host else host


def _unmapped(address: str) -> str:
    """An IPv4 address in an IPv6 one is itself."""
    import ipaddress

    return str(ipaddress.IPv6Address(address).ipv4_mapped or address)
