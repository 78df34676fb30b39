"""Optional packages: which extra brings which, and one line where one of them is missing.

    pip install callblocks                read, write, teach, convert, and the plain command line
    pip install 'callblocks[chat]'        that, and what a chat in the terminal needs

`EXTRAS` repeats the extras of pyproject.toml, because a program that runs from its sources has no
metadata to read; a test holds the two equal. `require` checks that an extra is there, whole and
new enough. `needing` does so around a block and turns an `ImportError` of the block into the same
line. Both raise `MissingExtra`, which is an `ImportError` and a mistake of the caller.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

from callblocks.core.errors import CallerError

__all__ = ("EXTRAS", "Extra", "MissingExtra", "fault_of", "install_line", "needing", "require")

_OURS = "callblocks"
_NAMED = 3
"""So many packages are named in a message, and then how many more there are."""


class MissingExtra(CallerError, ImportError):
    """Packages of an extra are missing, too old or do not load; the message names the extra."""

    def __init__(self, extra: str, message: str) -> None:
        super().__init__(message)
        self.extra = extra


class Extra(NamedTuple):
    """One extra: `packages` maps a distribution to its oldest version, `includes` names others."""

    about: str
    packages: Mapping[str, str]
    includes: tuple[str, ...] = ()


EXTRAS: Mapping[str, Extra] = {
    "run": Extra(
        "run calls under a policy, and declare tools",
        {
            "jsonschema-rs": "0.40",
            "pydantic": "2.14",
            "pydantic-core": "",
            "typing-extensions": "4.12",
        },
    ),
    "chat": Extra(
        "talk with models in the terminal, with colours",
        {
            "httptools": "0.6",
            "httpx2": "2.10",
            "markdown-it-py": "3.0",
            "prompt-toolkit": "3.0.50",
            "rich": "13.7",
        },
        ("run",),
    ),
    "server": Extra(
        "serve chats and timelines over HTTP, with the page",
        {
            "httptools": "0.6",
            "httpx2": "2.10",
            "markdown-it-py": "3.0",
            "prometheus-client": "0.22",
            "starlette": "1.0",
            "uvicorn": "0.34",
            "uvloop": "0.21",
        },
        ("run",),
    ),
    "documents": Extra(
        "make PDF, PNG, DOCX, PPTX and XLSX files, and read PDF",
        {
            "latex2mathml": "3.77",
            "markdown-it-py": "3.0",
            "mdit-py-plugins": "0.5",
            "openpyxl": "3.1",
            "pillow": "11",
            "pygments": "2.18",
            "pypdf": "6",
            "pypdfium2": "5",
            "python-docx": "1.2",
            "python-pptx": "1.0.2",
            "tinyhtml5": "2",
            "weasyprint": "68",
            "ziamath": "0.12",
        },
        ("run",),
    ),
    "web": Extra(
        "search and fetch pages, and call HTTP services",
        {
            "httpcore2": "2.10",
            "idna": "3.7",
            "lxml-html-clean": "0.4",
            "protego": "0.6",
            "trafilatura": "2.1",
        },
        ("run",),
    ),
    "office": Extra(
        "mail, files, calendars, sheets and tasks in a folder",
        {"icalendar": "7", "openpyxl": "3.1", "python-dateutil": "2.9"},
        ("run",),
    ),
    "google": Extra(
        "the same on Google Workspace",
        {
            "google-api-python-client": "2.190",
            "google-auth": "2.40",
            "google-auth-oauthlib": "1.2",
            "httplib2": "0.30",
            "oauthlib": "3.2",
            "requests": "2.32",
            "urllib3": "2",
        },
        ("office",),
    ),
    "postgres": Extra("keep timelines on a PostgreSQL server", {"psycopg": "3.2"}),
    "scale": Extra("serve chats from many machines", {"dbos": "3.4.0"}, ("postgres", "server")),
    "s3": Extra("keep files in a bucket of any service that speaks S3", {"obstore": "0.12"}),
    "mcp": Extra(
        "use the tools of MCP servers, and be one",
        {"anyio": "4.10", "httpcore2": "2.10", "httpx2": "2.10", "mcp": "2.3", "mcp-types": "2.3"},
        ("run",),
    ),
    "bulk": Extra(
        "convert and audit Parquet, on S3 and on a Dask cluster",
        {"distributed": "2026.8", "obstore": "0.12", "pyarrow": "26"},
        ("run",),
    ),
    "eval": Extra("measure how well a model calls tools, in each dialect", {}, ("chat",)),
    "otel": Extra(
        "send traces to a collector of OpenTelemetry",
        {
            "opentelemetry-api": "1.45",
            "opentelemetry-exporter-otlp-proto-http": "1.45",
            "opentelemetry-sdk": "1.45",
        },
        ("server",),
    ),
}
"""Every extra that users install; `all` is all of them."""

# Distributions whose module has another name, and those that are left out on some systems.
_MODULES = {
    "google-api-python-client": "googleapiclient",
    "google-auth": "google",
    "markdown-it-py": "markdown_it",
    "opentelemetry-api": "opentelemetry",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "pillow": "PIL",
    "python-dateutil": "dateutil",
    "python-docx": "docx",
    "python-pptx": "pptx",
}
_LEFT_OUT = {"uvloop": "win32"}


def install_line(extra: str) -> str:
    """Return the command that installs an extra; "" is callblocks alone."""
    return f"pip install '{_OURS}[{extra}]'" if extra else f"pip install {_OURS}"


def packages_of(extra: str) -> dict[str, str]:
    """Return the distributions that an extra needs here with their oldest versions.

    Several extras are named as pip names them: `office,server`.
    """
    needed: dict[str, str] = {}
    for one in extra.split(","):
        needed |= EXTRAS[one].packages
        for included in EXTRAS[one].includes:
            needed |= packages_of(included)
    return {name: needed[name] for name in needed if _LEFT_OUT.get(name) != sys.platform}


@cache
def fault_of(extra: str) -> str:
    """Say what is wrong with the packages of an extra; "" where all are there and new enough."""
    versions = {name: _version(name) for name in packages_of(extra)}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        return f"needs packages that are not installed ({', '.join(missing[:_NAMED])}{more})"
    for name, oldest in packages_of(extra).items():
        version = versions[name] or ""
        if _numbers(version) < _numbers(oldest):
            return f"needs {name} {oldest} or newer, and {version} is installed"
    return ""


def require(extra: str, what: str) -> None:
    """Raise `MissingExtra` unless all packages of an extra are there and new enough.

    `what` is the feature that needs them: the beginning of the message.
    """
    if fault := fault_of(extra):
        raise MissingExtra(extra, f"{what} {fault}: {install_line(extra)}")


@contextmanager
def needing(extra: str, what: str) -> Generator[None]:
    """Require an extra for a block, and name it where an import in the block fails.

    With "" nothing is required first, and the package that fails to load tells the extra.
    """
    if extra:
        require(extra, what)
    try:
        yield
    except MissingExtra:
        raise
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package == _OURS:  # our own mistake
            raise
        owner = extra or _owner(package)
        # What is there and does not load is not mended by installing it as it is.
        again = "" if _is_absent(package) else " --force-reinstall"
        why = " ".join(str(error).split())
        raise MissingExtra(
            owner,
            f"{what} needs {package or 'a package'}, which cannot be imported ({why:.200}): "
            f"{install_line(owner)}{again}",
        ) from error


def _is_absent(package: str) -> bool:
    from importlib.util import find_spec

    try:
        return bool(package) and find_spec(package) is None
    except ValueError:
        return False


def _owner(package: str) -> str:
    """Return the first extra that brings a module; "" where none does."""
    for extra, known in EXTRAS.items():
        if package in {_MODULES.get(name, name.replace("-", "_")) for name in known.packages}:
            return extra
    return ""


def _version(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    module = _MODULES.get(distribution, distribution.replace("-", "_"))
    try:
        # Metadata without its package is what an interrupted removal leaves behind.
        return version(distribution) if find_spec(module) is not None else None
    except (PackageNotFoundError, ValueError):
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release of a version as numbers, without trailing zeros: `2.14.0rc1` is 2, 14."""
    release = re.match(r"v?(?:\d+!)?(\d+(?:\.\d+)*)", version)
    numbers = [int(one) for one in release[1].split(".")] if release else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
