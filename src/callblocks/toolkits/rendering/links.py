"""The links that a document may have: to the web, to a mailbox, and within itself.

Others (`javascript:`, `file:`, `smb:`, a file beside the document) are removed and their text
stays. Opening an `smb:` or `file:` link can leak the reader's credentials to a foreign server.
"""

# One of the packages has no types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

__all__ = ("leads_outside", "without_doors")

_SCHEMES = ("http", "https", "mailto")
_LONGEST = 2_000
_LINK = "{http://www.w3.org/1999/xlink}href"


def leads_outside(link: str) -> bool:
    """Tell if a link leads to the web or to a mailbox."""
    try:
        return urlsplit(link).scheme in _SCHEMES and len(link) < _LONGEST
    except ValueError:
        return False


def without_doors(tree: Any) -> None:
    """Remove unsafe links and embedded attachments from an HTML tree."""
    for element in tree.iter():
        tag = str(element.tag).rpartition("}")[2].lower()
        if tag in ("a", "area"):
            for name in ("href", _LINK):
                link = element.get(name, "").strip()
                if link and not link.startswith("#") and not leads_outside(link):
                    del element.attrib[name]
        if tag in ("a", "area", "link") and "attachment" in element.get("rel", "").lower():
            del element.attrib["rel"]
