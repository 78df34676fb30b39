"""What a job that has the network finds of the machine's own: name servers and certificates.

No proxy is among it, and no key: those are in an environment and in folders that a job never has.
"""

from __future__ import annotations

import os

__all__ = ("NAMES", "certificates", "names")

NAMES = ("/etc/resolv.conf", "/etc/services", "/etc/protocols")
"""Files that tell who knows the address of a name, and what ports and protocols are called."""

_OWN_NAMES = ("/etc/hosts", "/etc/nsswitch.conf")
_CERTIFICATES = (
    *("/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/openssl.cnf"),
    *("/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/ca-trust/extracted"),
    *("/etc/ca-certificates", "/var/lib/ca-certificates"),
)


def certificates() -> list[str]:
    """The folders and files of certificates that are here; each distribution has its own."""
    return [path for path in _CERTIFICATES if os.path.exists(path)]


def names() -> list[str]:
    """The files of names that are here, for a job that has no `/etc` of its own."""
    return [path for path in (*NAMES, *_OWN_NAMES) if os.path.isfile(path)]
