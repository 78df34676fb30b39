"""The machine's files that a job with the network gets: resolver settings and certificates.

No proxy and no key is among them: those are in an environment and in folders that a job never has.
"""

from __future__ import annotations

import os

__all__ = ("NAMES", "certificates", "names")

# Files of name servers, and of the names of ports and protocols.
NAMES = ("/etc/resolv.conf", "/etc/services", "/etc/protocols")

_OWN_NAMES = ("/etc/hosts", "/etc/nsswitch.conf")
_CERTIFICATES = (
    *("/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/openssl.cnf"),
    *("/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/ca-trust/extracted"),
    *("/etc/ca-certificates", "/var/lib/ca-certificates"),
)


def certificates() -> list[str]:
    """Return the existing folders and files of certificates; each distribution has its own."""
    return [path for path in _CERTIFICATES if os.path.exists(path)]


def names() -> list[str]:
    """Return the existing files of names, for a job that has no `/etc` of its own."""
    return [path for path in (*NAMES, *_OWN_NAMES) if os.path.isfile(path)]
