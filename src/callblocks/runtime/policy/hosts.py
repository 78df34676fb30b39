r"""The host of a URL, parsed by the same rules as the HTTP client parses it.

    https://Docs.Example.org:8443/a    docs.example.org
    http://bücher.example/             xn--bcher-kva.example
    http://[2001:DB8::1]/              2001:db8::1
    http://[::ffff:10.0.0.1]/          10.0.0.1
    http://good.example\@evil.example  none
    http://me:pw@example.org/          none: clients differ on where the host begins
    http://127.1/  file:///etc/passwd  none

A second parser could see another host than the one that is contacted. A URL that the client refuses
has no host, and a policy treats that as unsafe.
"""

from __future__ import annotations

from callblocks.model.errors import ToolError
from callblocks.runtime.net.url import read_url

__all__ = ("host_of",)


def host_of(url: object) -> str | None:
    """Return the host in lower case, without brackets and trailing dot; `None` where there
    is none.
    """
    if not isinstance(url, str):
        return None
    try:
        host = read_url(url).host
    except ToolError:
        return None
    return _unmapped(host) if ":" in host else host


def _unmapped(address: str) -> str:
    """Return an IPv4-mapped IPv6 address as the IPv4 address."""
    import ipaddress

    return str(ipaddress.IPv6Address(address).ipv4_mapped or address)
