"""The socket that a server listens at, and its address as a client writes it."""

from __future__ import annotations

import errno
import socket

from callblocks.core.errors import CallerError
from callblocks.core.text import brief

__all__ = ("address_of", "listen_at")

_BACKLOG = 2048


def listen_at(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address, port 0 for one that is free.

    An address that cannot be had is a `CallerError`: the caller's settings named it.
    """
    host = host.strip("[]")
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        # Another program may listen at a port that was bound with SO_REUSEADDR: this fails then.
        bound.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        bound.close()
        number = error.errno if isinstance(error, OSError) else None
        words = getattr(error, "strerror", None) or str(error)
        if number == errno.EADDRINUSE:
            words = "it is in use; name another with --port, or 0 for one that is free"
        raise CallerError(f"cannot listen at {brief(host)}, port {port}: {words}") from error
    bound.setblocking(False)
    return bound


def address_of(bound: socket.socket) -> str:
    """Return the address of a bound socket, as a client writes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
