"""What kind of file a name says it is, and which kinds are read where.

    notes.md  markdown      tides.csv  csv      page.html  html
    a.pdf     pdf           a.docx     docx     all else   text, if it is

Formats that others build with care to break a reader (HTML, PDF, DOCX) are read in a process of
its own, and only when `file_ingest` asks for it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ("APART", "KINDS", "Kind", "kind_of")

Kind: TypeAlias = Literal["text", "markdown", "csv", "html", "pdf", "docx"]

KINDS: tuple[Kind, ...] = get_args(Kind)
# The kinds that are read in a process of its own.
APART: frozenset[Kind] = frozenset(("html", "pdf", "docx"))

_BY_SUFFIX: dict[str, Kind] = {
    **dict.fromkeys(("md", "markdown", "mdown", "mkd"), "markdown"),
    **dict.fromkeys(("csv", "tsv"), "csv"),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    "pdf": "pdf",
    "docx": "docx",
}


def kind_of(path: str) -> Kind:
    """The kind of a file by the end of its name."""
    name = path.rpartition("/")[2]
    return _BY_SUFFIX.get(name.rpartition(".")[2].lower() if "." in name else "", "text")
