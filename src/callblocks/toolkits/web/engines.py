"""The search engines that a person configured, in the order of the setting.

    CALLBLOCKS_SEARCH="searxng=http://127.0.0.1:8888 brave tavily"
    CALLBLOCKS_BRAVE_KEY=…    or BRAVE_API_KEY
    CALLBLOCKS_TAVILY_KEY=…   or TAVILY_API_KEY

An engine that needs a key has a default address; `brave=https://…` names another. Private addresses
are permitted here, because a person chose them and not a model. A key is sent over https or to this
machine only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from callblocks.model.errors import ToolError
from callblocks.runtime.net.client import Client
from callblocks.runtime.net.limits import NetLimits
from callblocks.runtime.net.url import Url, read_url
from callblocks.toolkits.web.asking import SearchAdapter
from callblocks.toolkits.web.brave import Brave
from callblocks.toolkits.web.searxng import SearXNG
from callblocks.toolkits.web.tavily import Tavily

__all__ = ("ENGINES", "SETTING", "read_engines")

# The environment variable that names the engines.
SETTING = "CALLBLOCKS_SEARCH"

# The engines that are known.
ENGINES = ("searxng", "brave", "tavily")

_KEYED: dict[str, tuple[str, Callable[[str, Client, str], SearchAdapter]]] = {
    "brave": ("https://api.search.brave.com", Brave),
    "tavily": ("https://api.tavily.com", Tavily),
}
# Printable ASCII only: a line break in a key could inject a header.
_KEY = re.compile(r"[!-~]{1,500}")
_LOCAL = ("127.0.0.1", "::1", "localhost")
_LIMITS = NetLimits(body=4 * 1024 * 1024, redirects=3, connect=5.0, read=15.0, deadline=20.0)


def read_engines(environment: Mapping[str, str]) -> tuple[SearchAdapter, ...]:
    """Return the engines that the environment names; `bad_setting` if the setting is malformed."""
    return tuple(_engine(word, environment) for word in environment.get(SETTING, "").split())


def _engine(word: str, environment: Mapping[str, str]) -> SearchAdapter:
    name, _, address = word.partition("=")
    if name == "searxng":
        url = _address(name, address)
        return SearXNG(str(url).rstrip("/"), _client(url))
    if name not in _KEYED:
        known = ", ".join(ENGINES)
        raise _bad(f"it names an engine that is not known; there are: {known}")
    home, make = _KEYED[name]
    url = _address(name, address or home)
    if url.scheme == "http" and url.host not in _LOCAL:
        raise _bad(f"the address of {name} must be https: a key goes there")
    return make(str(url).rstrip("/"), _client(url), _key(name, environment))


def _address(name: str, address: str) -> Url:
    # The message does not repeat the address: it may contain a password.
    why = f"{name} needs an address: {name}=https://search.example.org"
    try:
        url = read_url(address)
    except ToolError as error:
        raise _bad(why) from error
    if "?" in url.target:
        raise _bad(why)
    return url


def _client(url: Url) -> Client:
    host = f"[{url.host}]" if ":" in url.host else url.host
    # The net guard refuses private addresses; this one host and port is exempt, for this client
    # alone.
    return Client(_LIMITS, allow=(f"{host}:{url.port}",))


def _key(name: str, environment: Mapping[str, str]) -> str:
    own, usual = f"CALLBLOCKS_{name.upper()}_KEY", f"{name.upper()}_API_KEY"
    key = (environment.get(own) or environment.get(usual, "")).strip()
    if not _KEY.fullmatch(key):
        raise _bad(f"{name} needs a key; set {own}")
    return key


def _bad(why: str) -> ToolError:
    return ToolError("bad_setting", f"{SETTING} cannot be used: {why}; a person must correct it")
